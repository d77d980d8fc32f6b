"""How long large Boolean theories take to build and to compile, and what shared terms become.

    python benchmarks/large_theories.py                     # 120,000 and 200,000 clauses
    python benchmarks/large_theories.py --clauses 50000 --steps 400

Seconds are those of the processor, so that other processes on the machine count little. Nothing
comes from the store.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import z3

from smtlayer import Sat, Theory
from smtlayer.solvers.clauses.translation import to_cnf


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Prints the seconds that a block takes."""
    start = time.process_time()
    yield
    print(f"  {what:<24} {time.process_time() - start:6.1f} s")


def clauses(count: int) -> None:
    """A theory of clauses of three literals."""
    print(f"{count:,} clauses of 3 literals")
    v = [z3.Bool(f"v{i}") for i in range(count + 2)]
    formulas = [z3.Or(z3.Not(v[i]), v[i + 1], v[i + 2]) for i in range(count)]
    with timed("Theory(...)"):
        theory = Theory(formulas, inputs=v[:8], outputs=v[-4:])
    text = "".join(f"-{i + 1} {i + 2} {i + 3} 0\n" for i in range(count))
    with timed("Theory.from_dimacs"):
        Theory.from_dimacs(text, inputs=range(1, 9), outputs=range(count - 1, count + 3))
    with timed("with all symbols"):
        Theory.from_dimacs(text)
    with timed("Sat().compile(theory)"):
        solver = Sat().compile(theory)
    with timed("the first question"):
        solver.solve(theory.encode(v0=True)[None])


GATES: dict[str, Callable[[Any, Any], Any]] = {
    "Or(x, a)": lambda x, a: z3.Or(x, a),
    "Xor(And(x, a), Or(x, Not(a)))": lambda x, a: z3.Xor(z3.And(x, a), z3.Or(x, z3.Not(a))),
    "If(a, x, Not(x))": lambda x, a: z3.If(a, x, z3.Not(x)),
}


def shared(name: str, steps: int) -> None:
    """A chain of terms, each inside the next, and an output for each of them."""
    print(f"a chain of {steps:,} times {name}, with an output for each step")
    term, rules = z3.Bool("x"), []
    for i in range(steps):
        term = GATES[name](term, z3.Bool(f"a{i}"))
        rules.append(z3.Bool(f"y{i}") == term)
    with timed("Theory(...)"):
        theory = Theory(rules, [z3.Bool("x")], [z3.Bool(f"y{i}") for i in range(steps)])
    with timed("to_cnf(theory)"):
        cnf = to_cnf(theory)
    n_clauses, n_literals = int((cnf.numbers == 0).sum()), int(np.count_nonzero(cnf.numbers))
    print(f"  {n_clauses:,} clauses, {n_literals:,} literals, {cnf.n_variables:,} variables")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--clauses", type=int, nargs="*", default=[120_000, 200_000])
    options.add_argument("--steps", type=int, default=800, help="length of the chains")
    given = options.parse_args()
    os.environ["SMTLAYER_CACHE"] = "off"
    for gate in GATES:
        shared(gate, given.steps)
    for size in given.clauses:
        clauses(size)
