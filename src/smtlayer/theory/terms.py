"""All terms of formulas in flat arrays, read from z3 in one pass."""

from array import array
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

_MUCH_LONGER = 10
QUANTIFIER, BOUND = -1, -2  # kinds of terms that are no z3 operation
_LOGIC = {
    z3.Z3_OP_TRUE, z3.Z3_OP_FALSE, z3.Z3_OP_NOT, z3.Z3_OP_AND, z3.Z3_OP_OR, z3.Z3_OP_XOR,
    z3.Z3_OP_IMPLIES, z3.Z3_OP_IFF, z3.Z3_OP_EQ, z3.Z3_OP_ITE, z3.Z3_OP_DISTINCT,
}  # fmt: skip


def _unchecked(function: Any) -> Any:
    """A z3 function that only reads, without the error check that takes half of its time."""
    return getattr((function.__defaults__ or (None,))[-1], "f", function)


_id, _ast_kind = _unchecked(z3.Z3_get_ast_id), _unchecked(z3.Z3_get_ast_kind)
_declaration, _kind = _unchecked(z3.Z3_get_app_decl), _unchecked(z3.Z3_get_decl_kind)
_n_args, _arg = _unchecked(z3.Z3_get_app_num_args), _unchecked(z3.Z3_get_app_arg)
_sort, _sort_kind = _unchecked(z3.Z3_get_sort), _unchecked(z3.Z3_get_sort_kind)


@dataclass(frozen=True, eq=False, slots=True)
class Terms:
    """All terms of some formulas, each once and after its arguments.

    Unlike a z3 context, it can be used by several threads at once.
    """

    kinds: "array[int]" = field(default_factory=lambda: array("i"))  # of z3, or one of the above
    starts: "array[int]" = field(default_factory=lambda: array("q", [0]))  # of arguments, in `flat`
    flat: "array[int]" = field(default_factory=lambda: array("i"))  # positions of all arguments
    logical: bytearray = field(default_factory=bytearray)  # whether all parts are Boolean
    roots: list[int] = field(default_factory=list)  # positions of the formulas
    names: dict[int, str] = field(default_factory=dict)  # of uninterpreted symbols, by position
    widths: dict[int, int] = field(default_factory=dict)  # of bit-vectors, by position
    declarations: dict[int, tuple[str, Any]] = field(default_factory=dict)  # by z3 id
    bound: list[tuple[int, Any]] = field(default_factory=list)  # quantifiers with their positions

    def args(self, i: int) -> "array[int]":
        """Positions of a term's arguments."""
        return self.flat[self.starts[i] : self.starts[i + 1]]

    def inside(self, roots: Iterable[int]) -> set[int]:
        """Positions of some terms and of all their parts."""
        found = set(roots)
        stack = list(found)
        while stack:
            fresh = set(self.args(stack.pop())) - found
            found |= fresh
            stack.extend(fresh)
        return found


def read_terms(formulas: Sequence[Any]) -> Terms:
    """Reads the terms of formulas, which must belong to one z3 context.

    Calls the C functions of z3, as its Python classes take several times as long.
    """
    terms, place = Terms(), dict[int, int]()
    context = formulas[0].ctx if formulas else z3.main_ctx()
    ref = context.ref()
    roots = [formula.as_ast() for formula in formulas]
    keys = [_id(ref, root) for root in roots]
    todo: list[Any] = [(key, root, None) for key, root in zip(keys, roots, strict=True)][::-1]
    while todo:
        key, ast, children = todo.pop()
        if key in place:
            continue
        if children is None:
            children = [(_id(ref, child), child, None) for child in _children(ref, ast)]
            missing = [child for child in children if child[0] not in place]
            if missing:
                todo.append((key, ast, children))
                todo.extend(reversed(missing))
                continue
        place[key] = len(terms.kinds)
        _add(terms, context, ast, [place[child[0]] for child in children])
    terms.roots.extend(place[key] for key in keys)
    return terms


def logical_with(terms: Terms, atoms: Container[int]) -> bytearray:
    """Whether all parts of each term are Boolean, with those at some positions taken as symbols."""
    found = bytearray(terms.logical)
    for i, kind in enumerate(terms.kinds):
        if i in atoms or (not found[i] and kind in _LOGIC and all(found[j] for j in terms.args(i))):
            found[i] = True
    return found


def _children(ref: Any, ast: Any) -> list[Any]:
    kind = _ast_kind(ref, ast)
    if kind == z3.Z3_VAR_AST:
        return []
    if kind == z3.Z3_QUANTIFIER_AST:
        return [z3.Z3_get_quantifier_body(ref, ast)]
    return [_arg(ref, ast, i) for i in range(_n_args(ref, ast))]


def _add(terms: Terms, context: Any, ast: Any, args: list[int]) -> None:
    ref = context.ref()
    ast_kind, logical = (_ast_kind(ref, ast) if len(args) < 2 else z3.Z3_APP_AST), False
    if ast_kind == z3.Z3_VAR_AST:
        kind = BOUND
    elif ast_kind == z3.Z3_QUANTIFIER_AST:
        kind = QUANTIFIER
        terms.bound.append((len(terms.kinds), z3.QuantifierRef(ast, context)))
    else:
        declaration = _declaration(ref, ast)
        kind = _kind(ref, declaration)
        if kind in _LOGIC:
            logical = all(terms.logical[i] for i in args)
        elif kind == z3.Z3_OP_UNINTERPRETED:
            terms.names[len(terms.kinds)] = _declared(terms, context, declaration)
            logical = not args and _sort_kind(ref, _sort(ref, ast)) == z3.Z3_BOOL_SORT
        if not logical and _sort_kind(ref, _sort(ref, ast)) == z3.Z3_BV_SORT:
            terms.widths[len(terms.kinds)] = z3.Z3_get_bv_sort_size(ref, _sort(ref, ast))
    terms.kinds.append(kind)
    terms.flat.extend(args)
    terms.starts.append(len(terms.flat))
    terms.logical.append(logical)


def _declared(terms: Terms, context: Any, declaration: Any) -> str:
    """Adds the declaration of an uninterpreted symbol; returns its name."""
    key = _id(context.ref(), declaration)
    if key not in terms.declarations:
        kept = z3.FuncDeclRef(declaration, context)
        terms.declarations[key] = str(kept.name()), kept
    return terms.declarations[key][0]


def is_shared(terms: Terms) -> bool:
    """Whether formulas share so many terms that each written in full would be much longer."""
    sizes, whole = list[int](), len(terms.kinds)
    for i in range(whole):
        sizes.append(min(1 + sum(sizes[j] for j in terms.args(i)), _MUCH_LONGER * whole))
    return sum(sizes[root] for root in terms.roots) > _MUCH_LONGER * whole
