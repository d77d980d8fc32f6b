"""Reads one requirement: Python's syntax tree of a line becomes a term, or an error says why not.

The text is parsed by `ast.parse` and never executed. Only the nodes that this module names are
accepted.
"""

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Literal, final

from smtlayer.errors import did_you_mean
from smtlayer.theory.values import shortened
from smtlayer_playground.errors import PlaygroundError
from smtlayer_playground.operations import Apply, Name, Term

Kind = Literal["truth", "number", "value"]
_MAX_NUMBER = 1_000_000
_ARTICLE = {"truth": "true or false", "number": "a number", "value": "a value"}
_REMEDY: dict[tuple[Kind, Kind], str] = {
    ("number", "truth"): "Compare it, as in: hours <= 8",
    ("value", "truth"): 'Compare it, as in: tag1 == "B"',
    (
        "truth",
        "number",
    ): "Count conditions by a function, as in: exactly(1, a, b)",
    ("truth", "value"): 'Write values in quotes, as in: tag1 == "B"',
    ("value", "number"): "Only numbers can be added, subtracted and multiplied.",
}
_COUNTING = ("exactly", "at_most", "at_least")
FUNCTIONS = (*_COUNTING, "all_different", "matches")
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.LtE: "<=", ast.GtE: ">=", ast.Lt: "<", ast.Gt: ">",
}  # fmt: skip
_COMPUTED: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_INSTEAD: dict[type[ast.AST], str] = {
    ast.BitAnd: "Write 'and'.", ast.BitOr: "Write 'or'.", ast.Invert: "Write 'not'.",
    ast.BitXor: "Write '!='.", ast.RShift: "Write 'implies'.", ast.Tuple: "Write one per line.",
    ast.IfExp: "Write 'A implies B'.",
    ast.In: "Values are declared on a line of their own, as in: hours in 0..5",
    ast.NotIn: "Write !=, as in: size != 3",
    ast.Is: "Write ==.", ast.IsNot: "Write !=.",
}  # fmt: skip


@final
class ExpressionReader:
    """Reads the requirements of one text, line by line.

    Args:
        values: The values of each declared symbol; empty for one that is true or false.
    """

    def __init__(self, values: Mapping[str, Sequence[Any]]) -> None:
        self._values = values
        self.names: dict[str, None] = {}
        """All names that occurred, in their order."""

    def requirement(self, node: ast.expr) -> Apply | Name:
        """The term of a whole line."""
        term = self._expect(node, "truth")
        assert isinstance(term, Apply | Name)  # a constant is neither true nor false here
        return term

    def _expect(self, node: ast.expr, kind: Kind) -> Term:
        if kind != "truth":
            self._check_declared(node, kind)
        found, term = self._read(node)
        if found != kind:
            raise PlaygroundError(
                f"{_shown(node)!r} is {_ARTICLE[found]}. Expected {_ARTICLE[kind]}. "
                f"{_REMEDY[found, kind]}"
            )
        return term

    def _read(self, node: ast.expr) -> tuple[Kind, Term]:
        match node:
            case ast.BoolOp():
                name = "and" if isinstance(node.op, ast.And) else "or"
                return "truth", self._apply(name, node.values)
            case ast.UnaryOp(op=ast.Not()):
                return "truth", self._apply("not", [node.operand])
            case ast.UnaryOp(op=ast.USub()):
                term = self._expect(node.operand, "number")
                return "number", -term if isinstance(term, int) else Apply("*", (-1, term))
            case ast.BinOp() if type(node.op) in _COMPUTED:
                return "number", self._computed(node)
            case ast.Compare():
                return "truth", self._compared(node)
            case ast.Call(func=ast.Name(id=name)):
                return "truth", self._called(name, node)
            case ast.Name(id=name):
                return self._named(name)
            case ast.Constant(value=value):
                return _constant(node, value)
        raise _not_allowed(node, getattr(node, "op", node))

    def _apply(self, operation: str, nodes: Sequence[ast.expr]) -> Apply:
        return Apply(operation, tuple(self._expect(node, "truth") for node in nodes))

    def _named(self, name: str) -> tuple[Kind, Term]:
        if name in FUNCTIONS or name == "implies":
            raise PlaygroundError(
                f"{name!r} is a word of the language, not a name. {_EXAMPLES[name]} "
                f"Choose another name for a symbol."
            )
        self.names[name] = None
        values = self._values.get(name, ())
        kind: Kind = "truth" if not values else "value" if isinstance(values[0], str) else "number"
        return kind, Name(name)

    def _check_declared(self, node: ast.expr, kind: Kind) -> None:
        if isinstance(node, ast.Name) and node.id not in self._values and node.id not in FUNCTIONS:
            use, example = ("a number", "0..9") if kind == "number" else ("a value", "A/B/C")
            hint = did_you_mean(node.id, self._values)
            raise PlaygroundError(
                f"{node.id!r} is used as {use}, but it is not declared.{hint} "
                f"Add a line such as: {node.id} in {example}"
            )

    def _computed(self, node: ast.BinOp) -> Term:
        sides = self._expect(node.left, "number"), self._expect(node.right, "number")
        sign = _COMPUTED[type(node.op)]
        if sign == "*" and not any(isinstance(side, int) for side in sides):
            raise PlaygroundError(
                f"{_shown(node)!r} multiplies two symbols. Multiply by a number, as in: 2 * hours"
            )
        return Apply(sign, sides)

    def _compared(self, node: ast.Compare) -> Term:
        sides = [node.left, *node.comparators]
        pairs = [self._pair(node, *pair) for pair in zip(node.ops, sides, sides[1:], strict=False)]
        return pairs[0] if len(pairs) == 1 else Apply("and", tuple(pairs))

    def _pair(self, node: ast.Compare, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Term:
        sign = _COMPARED.get(type(op))
        if sign is None:
            raise _not_allowed(node, op)
        kinds = self._kind(left), self._kind(right)
        if set(kinds) == {"number", "value"}:
            raise PlaygroundError(
                f"{_shown(node)!r} compares a number with a value in quotes. Write numbers without "
                f"quotes, and values with them."
            )
        kind = kinds[0] if kinds[0] != "truth" else kinds[1]
        if kind != "number" and sign not in ("==", "!="):
            raise PlaygroundError(
                f"{_shown(node)!r} compares by {sign} what has no order. Write == or !=."
            )
        term = Apply(sign, (self._expect(left, kind), self._expect(right, kind)))
        if not term.has_names:
            raise PlaygroundError(f"{_shown(node)!r} has no name in it. Compare a symbol.")
        if kind == "value":
            self._check_values(term)
        return term

    def _kind(self, node: ast.expr) -> Kind:
        """What a side of a comparison is, without reading it."""
        match node:
            case ast.Constant(value=str()):
                return "value"
            case ast.Constant() | ast.BinOp() | ast.UnaryOp(op=ast.USub()):
                return "number"
            case ast.Name(id=name) if self._values.get(name):
                return "value" if isinstance(self._values[name][0], str) else "number"
        return "truth"

    def _check_values(self, term: Apply) -> None:
        """Raises if a symbol is compared with what is none of its values."""
        names = [one.name for one in term.arguments if isinstance(one, Name)]
        for text in (one for one in term.arguments if isinstance(one, str)):
            values = [str(value) for value in self._values[names[0]]]
            if text not in values:
                hint = did_you_mean(text, values, f"Its values: {shortened(', '.join(values))}.")
                raise PlaygroundError(f"{text!r} is not a value of {names[0]!r}.{hint}")

    def _called(self, name: str, node: ast.Call) -> Term:
        if name == "implies":  # as `requirement_text` writes the infix operator
            return self._apply(name, node.args)
        if name not in FUNCTIONS:
            hint = did_you_mean(name, FUNCTIONS, f"Functions: {', '.join(FUNCTIONS)}.")
            raise PlaygroundError(f"There is no function {shortened(name, 30)!r}.{hint}")
        plain = not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        if not plain or len(node.args) < 2:
            raise PlaygroundError(f"{_shown(node)!r} cannot be read. {_EXAMPLES[name]}")
        if name in _COUNTING:
            return self._counted(name, node.args)
        return self._matched(node.args) if name == "matches" else self._different(node.args)

    def _counted(self, name: str, nodes: Sequence[ast.expr]) -> Term:
        first, *others = nodes
        count = first.value if isinstance(first, ast.Constant) else None
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= len(others):
            raise PlaygroundError(
                f"{name} begins with a whole number from 0 to {len(others)}, the number of "
                f"conditions after it. Got {_shown(first)!r}. {_EXAMPLES[name]}"
            )
        return Apply(name, (count, *self._apply(name, others).arguments))

    def _different(self, nodes: Sequence[ast.expr]) -> Term:
        kinds = {self._kind(node) for node in nodes}
        constant = any(isinstance(node, ast.Constant) for node in nodes)
        if constant or len(kinds) > 1 or kinds == {"truth"}:
            raise PlaygroundError(
                f"all_different takes declared symbols, either all numbers or all values. "
                f"{_EXAMPLES['all_different']}"
            )
        (kind,) = kinds
        return Apply("all_different", tuple(self._expect(node, kind) for node in nodes))

    def _matched(self, nodes: Sequence[ast.expr]) -> Term:
        *letters, last = nodes
        pattern = last.value if isinstance(last, ast.Constant) else None
        if not isinstance(pattern, str):
            raise PlaygroundError(
                f"matches ends with a pattern in quotes. Got {_shown(last)!r}. "
                f"{_EXAMPLES['matches']}"
            )
        return Apply("matches", (*map(self._letter, letters), pattern))

    def _letter(self, node: ast.expr) -> Term:
        values = self._values.get(node.id, ()) if isinstance(node, ast.Name) else ()
        if not values:
            raise PlaygroundError(
                f"matches takes symbols with declared values. Got {_shown(node)!r}. "
                f"{_EXAMPLES['matches']}"
            )
        long = next((value for value in values if len(str(value)) != 1), None)
        if long is not None:
            raise PlaygroundError(
                f"matches reads each value as one character. Got the value {long!r} of "
                f"{_shown(node)!r}. Declare values of one character, as in: tag1 in O/B/I"
            )
        return self._read(node)[1]


_EXAMPLES = {
    "exactly": "Write it as in: exactly(1, red, yellow, green)",
    "at_most": "Write it as in: at_most(2, a, b, c)",
    "at_least": "Write it as in: at_least(1, a, b, c)",
    "all_different": "Write it as in: all_different(monday, tuesday), with monday, tuesday in 1..5",
    "matches": 'Write it as in: matches(tag1, tag2, "(O|BI*)*"), with tag1, tag2 in O/B/I',
    "implies": "Write it as in: person implies not car",
}


def _constant(node: ast.expr, value: Any) -> tuple[Kind, Term]:
    if isinstance(value, str):
        return "value", value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_NUMBER:
        return "number", value
    raise PlaygroundError(
        f"{_shown(node)!r} is not a constant of the language. Write whole numbers up to "
        f"{_MAX_NUMBER:,}, and values in quotes."
    )


def _shown(node: ast.AST) -> str:
    """The text of a part of a line."""
    return shortened(ast.unparse(node), 40)


def _not_allowed(node: ast.expr, part: Any) -> PlaygroundError:
    remedy = _INSTEAD.get(type(part), "")
    return PlaygroundError(
        f"{_shown(node)!r} is not part of the language. "
        f"{remedy or 'Use and, or, not, implies, comparisons, + - *, and the functions.'}"
    )
