"""Validation of the options of a layer, and the rules that they name."""

from collections.abc import Mapping

import torch

from smtlayer.errors import ArgumentError, ArgumentTypeError, UnsatisfiableTheoryError
from smtlayer.nn.rules.base import BlameRule, ForwardRule
from smtlayer.nn.rules.maxsmt import maxsmt, smt
from smtlayer.nn.rules.parse import parse_rule
from smtlayer.solvers import Solver, Status
from smtlayer.solvers.check import conflict_of

_FORWARD: Mapping[str, ForwardRule] = {"smt": smt, "maxsmt": maxsmt}


def forward_rule(option: str, rule: str | ForwardRule) -> ForwardRule:
    """The forward rule that an option names, or is."""
    if isinstance(rule, str):
        check_choice(option, rule, tuple(_FORWARD))
        return _FORWARD[rule]
    if not isinstance(rule, ForwardRule):
        raise ArgumentTypeError(
            f"SMTLayer expects {option} as 'smt', 'maxsmt' or a ForwardRule. Got {rule!r}."
        )
    return rule


def blame_rule(rule: str | BlameRule) -> BlameRule:
    """The blame rule that an option describes, or is."""
    if isinstance(rule, str):
        return parse_rule(rule)
    if not isinstance(rule, BlameRule):
        raise ArgumentTypeError(
            f"SMTLayer expects backward as a rule such as core (a BlameRule), or its text. "
            f"Got {rule!r}."
        )
    return rule


def check_choice(option: str, name: object, choices: tuple[str, ...]) -> None:
    """Raises unless an option has one of these values."""
    if name not in choices:
        listed = ", ".join(map(repr, choices))
        raise ArgumentError(f"SMTLayer: {option}={name!r} is not one of {listed}.")


def refuse_unsatisfiable(solver: Solver) -> None:
    """Raises if a theory has no model, with the constraints that contradict each other."""
    free = torch.zeros(1, solver.theory.n_inputs, dtype=torch.int8, device="cpu")
    if solver.solve(free).status.item() != Status.UNSAT:
        return
    conflict = conflict_of(solver.theory)
    given = [part.position for part in conflict if part.index is not None]
    if not conflict:
        reason = "Theory.check may find out why, given more time"
    elif not given:
        reason = "The values of its one-hot symbols already contradict each other"
    elif len(given) == 1:
        reason = f"Constraint {given[0]} already contradicts itself"
    else:
        listed = f"{', '.join(given[:-1])} and {given[-1]}"
        reason = f"Constraints {listed} already contradict each other"
    if given and len(given) < len(conflict):
        reason += ", given the values of its one-hot symbols"
    raise UnsatisfiableTheoryError(f"Theory has no model at all, whatever its inputs. {reason}.")
