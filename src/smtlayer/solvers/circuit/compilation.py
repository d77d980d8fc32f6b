"""Compiles a theory to a decision diagram, by the best of several orders of its variables."""

from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smtlayer.errors import TooLargeError
from smtlayer.interrupts import interruptible
from smtlayer.solvers import store
from smtlayer.solvers.circuit.bdd import Bdd, DiagramTooLargeError
from smtlayer.solvers.circuit.diagram import Diagram, Level, Pack, extract
from smtlayer.solvers.circuit.order import orders
from smtlayer.solvers.circuit.problem import Problem
from smtlayer.solvers.circuit.sums import to_problem
from smtlayer.solvers.lru import Lru
from smtlayer.theory import Theory

MAX_NODES = 100_000
_ROOM = 10  # nodes during the construction, for each of the finished diagram
_ROOMS = (50_000, 200_000)  # with which all orders are tried before any gets more
_CLAUSES = 2  # for each node of the limit; more would take long just to read
_HOPELESS = 0.25  # share of the constraints that must have fitted for an order to get more

_memory = Lru[tuple[str, str], Diagram | str](16)


@interruptible
def to_diagram(theory: Theory, max_nodes: int = MAX_NODES) -> Diagram:
    """The diagram of a theory, from the disk cache if it was compiled before.

    The result depends on the arguments alone: work is counted in nodes.

    Raises:
        NotFiniteError: If the theory does not come down to bits.
        TooLargeError: If the diagram takes more nodes, or the theory too many clauses.
    """
    key = (f"circuit_{max_nodes}", theory.digest)
    found = _memory.get(key)
    if found is None:
        found = _stored(key)
    if found is None:
        found = _compile(theory, max_nodes)
        store.save(*key, **_arrays(found))
    _memory[key] = found
    if isinstance(found, str):
        raise TooLargeError(found)
    return found


def _compile(theory: Theory, max_nodes: int) -> Diagram | str:
    """The smallest diagram, or why there is none."""
    problem = to_problem(theory)
    n_clauses = int((problem.cnf.numbers == 0).sum())
    if n_clauses > _CLAUSES * max_nodes:
        return (
            f"its decision diagram would be compiled from {n_clauses:,} clauses, more than "
            f"{_CLAUSES} for each of max_nodes={max_nodes:,}"
        )
    left, reason = list(orders(problem)), ""
    for room in sorted({min(room, _ROOM * max_nodes) for room in (*_ROOMS, _ROOM * max_nodes)}):
        found: Bdd | None = None
        for order in left.copy():
            try:
                found = Bdd(problem, order, found.n_nodes if found else max_nodes, room)
            except DiagramTooLargeError as error:
                reason = reason or error.reason
                if error.progress < _HOPELESS:
                    left.remove(order)
        if found is not None:
            return _extracted(found, problem, max_nodes)
    return reason


def _extracted(found: Bdd, problem: Problem, max_nodes: int) -> Diagram | str:
    try:
        return extract(found, problem, max_nodes)
    except TooLargeError as error:
        return error.reason


def _arrays(found: Diagram | str) -> dict[str, NDArray[Any]]:
    if isinstance(found, str):
        return {"reason": np.frombuffer(found.encode(), dtype=np.uint8)}
    levels = found.levels
    packs = [pack for level in levels for pack in level.packs]
    return {
        "levels": np.array([level.value.shape for level in levels]),
        "packs": np.array([pack.signs.shape for pack in packs]),
        "variables": np.concatenate([pack.variables for pack in packs]),
        "signs": np.concatenate([pack.signs.ravel() for pack in packs]),
        "child": np.concatenate([level.child.ravel() for level in levels]).astype(np.int32),
        "value": np.concatenate([level.value.ravel() for level in levels]).astype(np.int32),
        "columns": np.array(found.columns),
    }


def _stored(key: tuple[str, str]) -> Diagram | str | None:
    kept = store.load(*key)
    if kept is None:
        return None
    if "reason" in kept:
        return kept["reason"].tobytes().decode()
    n_values, n_variables = kept["packs"].T
    n_packs, n_nodes, n_arcs = kept["levels"].T
    variables = _split(kept["variables"], n_variables)
    signs = _split(kept["signs"], n_values * n_variables)
    packs = iter(
        Pack(tuple(names.tolist()), values.reshape(-1, len(names)))
        for names, values in zip(variables, signs, strict=True)
    )
    children = _split(kept["child"].astype(np.int64), n_nodes * n_arcs)
    values = _split(kept["value"].astype(np.int64), n_packs * n_nodes * n_arcs)
    levels = [
        Level(tuple(islice(packs, shape[0])), child.reshape(shape[1:]), value.reshape(shape))
        for shape, child, value in zip(kept["levels"].tolist(), children, values, strict=True)
    ]
    return Diagram(tuple(levels), tuple(kept["columns"].tolist()))


def _split(array: NDArray[Any], sizes: NDArray[np.int64]) -> list[NDArray[Any]]:
    return np.split(array, np.cumsum(sizes)[:-1])
