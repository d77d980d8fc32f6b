"""This file finds the minimal core that deletion from the heaviest input to the lightest leaves."""

from collections.abc import Callable, Sequence

from smtlayer.solvers.results import Status

# Whether some inputs can hold, given lightest first; if not, some of them which alone cannot.
Check = Callable[[Sequence[int]], tuple[Status, frozenset[int]]]


def minimal_core(check: Check, order: Sequence[int]) -> tuple[Status, list[int]]:
    """The inputs to blame, for inputs in order of deletion.

    An input that is not in the core found last can go without a question: that core is still one.

    Args:
        check: Answers about a subset of the inputs.
        order: The observed inputs, heaviest first.

    Returns:
        UNSAT and the core, or another status and nobody.
    """
    status, core = check(order[::-1])
    if status is not Status.UNSAT:
        return status, []
    needed: list[int] = []
    for position, i in enumerate(order):
        if i not in core:
            continue
        status, smaller = check([*needed, *order[:position:-1]])
        if status is Status.UNKNOWN:
            return status, []
        if status is Status.SAT:
            needed.append(i)
        else:
            core = smaller
    return Status.UNSAT, needed
