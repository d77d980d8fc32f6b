"""Compiles a theory to a decision diagram, by the best of several orders of its variables."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smtlayer.errors import TooLargeError
from smtlayer.interrupts import interruptible
from smtlayer.solvers import store
from smtlayer.solvers.circuit.bdd import Bdd, DiagramTooLargeError
from smtlayer.solvers.circuit.diagram import Diagram, Level, extract
from smtlayer.solvers.circuit.order import orders
from smtlayer.solvers.circuit.problem import Problem
from smtlayer.solvers.circuit.sums import to_problem
from smtlayer.solvers.lru import Lru
from smtlayer.theory import Theory

MAX_NODES = 100_000
_ROOM = 10  # nodes during the construction, for each of the finished diagram
_ROOMS = (50_000, 200_000)  # with which all orders are tried before any gets more
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
    return {
        "shapes": np.array([(*level.signs.shape, *level.child.shape) for level in levels]),
        "variables": np.concatenate([level.variables for level in levels]),
        "signs": np.concatenate([level.signs.ravel() for level in levels]),
        "child": np.concatenate([level.child.ravel() for level in levels]).astype(np.int32),
        "value": np.concatenate([level.value.ravel() for level in levels]).astype(np.int16),
        "columns": np.array(found.columns),
    }


def _stored(key: tuple[str, str]) -> Diagram | str | None:
    kept = store.load(*key)
    if kept is None:
        return None
    if "reason" in kept:
        return kept["reason"].tobytes().decode()
    n_values, n_variables, n_nodes, n_arcs = kept["shapes"].T
    ends = {
        "variables": n_variables, "signs": n_values * n_variables,
        "child": n_nodes * n_arcs, "value": n_nodes * n_arcs,
    }  # fmt: skip
    parts = {name: np.split(kept[name], np.cumsum(size)[:-1]) for name, size in ends.items()}
    levels = [
        Level(
            tuple(parts["variables"][i].tolist()),
            parts["signs"][i].reshape(shape[:2]),
            parts["child"][i].reshape(shape[2:]).astype(np.int64),
            parts["value"][i].reshape(shape[2:]).astype(np.int64),
        )
        for i, shape in enumerate(kept["shapes"].tolist())
    ]
    return Diagram(tuple(levels), tuple(kept["columns"].tolist()))
