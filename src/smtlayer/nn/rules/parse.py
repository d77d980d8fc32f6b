"""Reads blame rules from text, in the syntax of the code that makes them."""

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from smtlayer.errors import ArgumentError, ArgumentTypeError, did_you_mean
from smtlayer.nn.rules.anneal import anneal
from smtlayer.nn.rules.anneal_core import anneal_core
from smtlayer.nn.rules.base import BlameRule
from smtlayer.nn.rules.composite import mix, schedule
from smtlayer.nn.rules.core import core
from smtlayer.nn.rules.decision import blackbox, decision, perturbed
from smtlayer.nn.rules.maxsmt import maxsmt
from smtlayer.nn.rules.posterior import marginal, sample, topk

_SINGLE = (anneal_core, core, maxsmt, sample, marginal, topk, decision, perturbed, blackbox)
RULES: Mapping[str, BlameRule] = {repr(rule): rule for rule in _SINGLE}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: type(rule) for name, rule in RULES.items()},
    "mix": mix, "schedule": schedule, "anneal": anneal,
}  # fmt: skip
_EXPECTED = f"{', '.join(RULES)}, mix(...) or schedule(...)"


def parse_rule(text: str) -> BlameRule:
    """Returns the blame rule that a text describes, such as the one that a rule prints.

    Raises:
        ValueError: If the text does not describe a rule.

    Examples:
        >>> rule = parse_rule("mix((core, 0.25), marginal(temperature=anneal(4, 1, until=0.7)))")
        >>> rule
        mix((core, 0.25), marginal(temperature=anneal(4, 1, until=0.7)))
        >>> parse_rule(str(rule)) == rule
        True
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"parse_rule expects a text such as 'core'. Got {text!r}.")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ArgumentError(f"Rule {text!r} cannot be read. Expected {_EXPECTED}.") from error
    try:
        rule = _value(tree.body)
    except (ValueError, TypeError, RecursionError) as error:
        raise ArgumentError(f"Rule {text!r}: {error}") from error
    if isinstance(rule, BlameRule):
        return rule
    raise ArgumentError(f"Rule {text!r} is not a rule. Expected {_EXPECTED}.")


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() | str()):
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Tuple(elts=parts):
            return tuple(_value(part) for part in parts)
        case ast.Name(id=name) if name in RULES:
            return RULES[name]
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) if name not in _FUNCTIONS:
            got = f"{name}(...)" if isinstance(node, ast.Call) else name
            raise ArgumentError(f"expected {_EXPECTED}. Got {got}.{did_you_mean(name, _FUNCTIONS)}")
        case ast.Name(id=name):
            raise ArgumentError(f"{name} needs its arguments, as in {name}(...).")
        case ast.Call(func=ast.Name(id=name), args=given, keywords=options):
            return _call(name, given, options)
    raise ArgumentError(f"expected names, numbers and tuples alone. Got {ast.unparse(node)}.")


def _call(name: str, given: list[ast.expr], options: list[ast.keyword]) -> Any:
    signature = inspect.signature(_FUNCTIONS[name])
    arguments = [_value(part) for part in given]
    keywords: dict[str, Any] = {}
    for option in options:
        if option.arg in keywords:
            raise ArgumentError(f"{name} has {option.arg} more than once.")
        keywords[option.arg or "**"] = _value(option.value)
    for word in keywords:
        if word not in signature.parameters:
            nearest = did_you_mean(word, signature.parameters)
            takes = ", ".join(signature.parameters) or "no options"
            raise ArgumentError(f"{name} takes {takes}. Got {word}.{nearest}")
    try:
        signature.bind(*arguments, **keywords)
    except TypeError as error:
        raise ArgumentError(f"{name}(...): {error}.") from error
    return _FUNCTIONS[name](*arguments, **keywords)
