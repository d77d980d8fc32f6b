"""Which backward rule to begin with, from what is known of a theory."""

from dataclasses import dataclass

from smtlayer.solvers.base import Backend
from smtlayer.solvers.table.table import Table

# Cools down, mixes, and lets cores finish: with networks and Adam it trained addition, algebra and
# the liar's puzzle, which no simple rule does.
COOLING = (
    "schedule((0.3, marginal(temperature=anneal(8, 1, until=0.3, shape='geometric'))), "
    "(0.5, mix(core, marginal)), (1, core))"
)


@dataclass(frozen=True, slots=True)
class Advice:
    """A rule as text for `SMTLayer(theory, backward=...)`, and the reason for it."""

    rule: str
    reason: str


def advise(backend: Backend, pinned: bool | None) -> Advice:
    """The rule to begin with.

    Args:
        backend: The backend that answers for the theory.
        pinned: Whether each label fits one input only; None if that is not known.

    Examples:
        >>> advise(Table(), pinned=True).rule
        'maxsmt'
    """
    if pinned:
        return Advice(
            "maxsmt", "each label fits one input only, so the cheapest repair is the truth"
        )
    if isinstance(backend, Table):
        return Advice(
            COOLING,
            "labels fit several inputs, and Table weighs them all; the training loop must set "
            "layer.progress from 0 to 1",
        )
    several = "labels fit several inputs" if pinned is False else "labels may fit several inputs"
    return Advice(
        "core", f"{several}, and {type(backend).__name__} has no list of models for marginal"
    )
