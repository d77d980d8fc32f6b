"""Which outputs can be true, and which can be false, given facts about the inputs.

A model shows one value of every output. After a first model, each row is asked for a model with a
value that none has shown so far, until every other value is shown or ruled out: at most one query
per output, and fewer where a model shows several new values.
"""

import torch
from torch import Tensor

from smtlayer.solvers.base import FindsPossible, Possible, Solver, Status


def possible_outputs(solver: Solver, facts: Tensor) -> Possible:
    """The possible values of each row's outputs.

    Args:
        solver: Any solver.
        facts: (B, n) int8, signs of the inputs that are certain, 0 for all others.

    Examples:
        >>> import z3
        >>> from smtlayer import Sat, Theory
        >>> a, b, y = z3.Bools("a b y")
        >>> solver = Sat().compile(Theory(y == z3.And(a, b), inputs=[a, b], outputs=[y]))
        >>> possible_outputs(solver, torch.tensor([[1, 0], [-1, 0]])).true
        tensor([[ True],
                [False]])
    """
    if isinstance(solver, FindsPossible):
        return solver.possible(facts)
    return possible_by_models(solver, facts)


def possible_by_models(solver: Solver, facts: Tensor) -> Possible:
    """The same by the queries that every solver answers; rows with the same facts are asked once.

    A row is UNKNOWN if the solver gave up on any of its queries.
    """
    facts, place = torch.unique(facts, dim=0, return_inverse=True)
    first = solver.solve(facts)
    status, true, false = first.status.clone(), first.outputs > 0, first.outputs < 0
    missing = true ^ false  # (B, m) one value of the output was shown, the other not yet asked for
    while missing.any():
        rows = missing.any(-1).nonzero().squeeze(-1)
        column = missing[rows].to(torch.uint8).argmax(-1, keepdim=True)  # (b, 1)
        sign = true[rows].gather(-1, column).to(torch.int8) * -2 + 1
        wanted = torch.zeros_like(true[rows], dtype=torch.int8).scatter_(-1, column, sign)
        certain = torch.full_like(facts[rows], torch.inf, dtype=torch.float64)
        found = solver.maximize(facts[rows], certain, wanted)
        status[rows] = torch.where(found.status == Status.UNKNOWN, found.status, status[rows])
        true[rows] |= found.outputs > 0
        false[rows] |= found.outputs < 0
        missing[rows] = missing[rows].scatter(-1, column, False)
        missing &= true ^ false
    return Possible(status[place], true[place], false[place])
