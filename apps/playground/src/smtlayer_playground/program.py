"""The Python program that computes what the requirements page shows."""

import keyword
from collections.abc import Iterator, Sequence

from torch import Tensor

from smtlayer.theory import Theory
from smtlayer_playground.operations import Apply, python_text, quoted
from smtlayer_playground.requirement_text import Declared, DimacsRequirements, Requirements

_OWN_NAMES = frozenset(
    ("torch", "z3", "SMTLayer", "Theory", "matches", "one_hot", "symbols", "requirements", "inputs",
     "outputs", "theory", "layer", "logits", "known", "given", "marginals", "name", "probability",
     "print", "zip", "list", "range")
)  # fmt: skip
_TAIL = """\
marginals = layer.marginals(logits{options})
for name, probability in zip(theory.output_names, marginals.outputs.tolist(), strict=True):
    print(f"{{name:<{width}}} {{100 * probability:5.1f}} %")
print(f"All requirements hold with probability {{marginals.log_prob.exp():.4f}}.")
"""


def program(
    found: Requirements | DimacsRequirements, logits: Tensor, given: Tensor, *, weighed: bool
) -> str:
    """A program that builds the theory, and prints the explanation and the probabilities.

    Args:
        found: The requirements.
        logits: (n,), 0 for an input about which nothing is known.
        given: (n,) bool, the facts.
        weighed: Whether the backend weighs models, so that there are probabilities.
    """
    theory = found.theory
    imports, definitions = (
        _clauses(found) if isinstance(found, DimacsRequirements) else _definitions(found)
    )
    parts = [
        '"""Requirements as a layer, from the playground of smtlayer."""\n',
        *imports,
        "",
        *definitions,
        "layer = SMTLayer(theory)",
        "",
        *_evidence(theory, logits, given),
    ]
    options = (", known=known" if (logits == 0).any() else "") + (
        ", given=given" if given.any() else ""
    )
    parts.append(f"print(layer.explain(logits{options})[0])")
    text = "\n".join(parts) + "\n"
    width = max(map(len, theory.output_names))
    return text + (_TAIL.format(options=options, width=width) if weighed else "")


def _clauses(found: DimacsRequirements) -> tuple[list[str], list[str]]:
    listed = ", ".join(f"{number}: {quoted(name)}" for number, name in found.names.items())
    names = f", names={{{listed}}}" if found.names else ""
    lines = [f'    {quoted(line)} "\\n"' for line in found.text.splitlines() if line.strip()]
    return (
        ["import torch", "", "from smtlayer import SMTLayer, Theory"],
        ["dimacs = (", *lines, ")", f"theory = Theory.from_dimacs(dimacs{names})"],
    )


def _definitions(found: Requirements) -> tuple[list[str], list[str]]:
    variables = _variables([one.name for one in found.symbols])
    words = ["SMTLayer", "Theory"]
    if any(_uses(one.term, "matches") for one in found.requirements):
        words.append("matches")
    if any(one.values for one in found.symbols):
        words.append("one_hot")
    imports = ["import torch", "import z3", "", f"from smtlayer import {', '.join(words)}"]
    lines = [_symbol(one, variables[one.name]) for one in found.symbols]
    lines += ["", "symbols = {", *(_column(one, variables[one.name]) for one in found.symbols), "}"]
    lines += ["", "requirements = {"]
    lines += [
        f"    {quoted(r.name)}: {python_text(r.term, variables)}," for r in found.requirements
    ]
    lines += ["}"]
    inputs = [one.name for one in found.symbols if one.is_input]
    lines += ["", "outputs = list(symbols.values())"]
    if len(inputs) < len(found.symbols):
        lines += [f"inputs = [symbols[name] for name in {_listed(inputs)}]"]
    chosen = "inputs" if len(inputs) < len(found.symbols) else "outputs"
    return imports, [*lines, f"theory = Theory(requirements, inputs={chosen}, outputs=outputs)"]


def _uses(term: object, operation: str) -> bool:
    return isinstance(term, Apply) and (
        term.operation == operation or any(_uses(one, operation) for one in term.arguments)
    )


def _variables(names: Sequence[str]) -> dict[str, str]:
    """A Python variable for each name, other than those that the program uses itself."""
    found: dict[str, str] = {}
    taken = set(names) | _OWN_NAMES
    for name in names:
        variable = name
        while variable in _OWN_NAMES or keyword.iskeyword(variable) or variable in found.values():
            variable += "_"
            while variable in taken:
                variable += "_"
        found[name] = variable
    return found


def _symbol(one: Declared, variable: str) -> str:
    kind = "Bool" if not one.values else "String" if isinstance(one.values[0], str) else "Int"
    return f"{variable} = z3.{kind}({quoted(one.name)})"


def _column(one: Declared, variable: str) -> str:
    if not one.values:
        return f"    {quoted(one.name)}: {variable},"
    first, last = one.values[0], one.values[-1]
    values = list(one.values)
    is_range = isinstance(first, int) and values == list(range(first, last + 1))
    listed = _listed(values) if isinstance(first, str) else repr(values)
    shown = f"range({first}, {last + 1})" if is_range else listed
    return f"    {quoted(one.name)}: one_hot({variable}, {shown}),"


def _evidence(theory: Theory, logits: Tensor, given: Tensor) -> Iterator[str]:
    yield "logits = torch.tensor("
    yield "    ["
    for symbol in theory.input_symbols:
        numbers = ", ".join(str(round(logit, 4)) for logit in logits[symbol.columns].tolist())
        values = f" = {', '.join(map(str, symbol.values))}" if symbol.kind == "one-hot" else ""
        yield f"        {numbers},  # {symbol.name}{values}"
    yield "    ]"
    yield ")"
    if (logits == 0).any():
        yield "known = logits != 0  # a logit of 0 says nothing"
    if given.any():
        facts = [name for name, is_fact in zip(theory.input_names, given, strict=True) if is_fact]
        yield "# facts, which are never overruled"
        yield f"given = torch.tensor([name in {_listed(facts)} for name in theory.input_names])"


def _listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, texts))}]"
