"""All models of a formula, straight from z3: what tests of task theories compare with."""

import z3


def every_model(theory, symbols, limit=2000):
    """The values of Boolean and bit-vector symbols in all models, of which there are few."""
    solver = z3.SimpleSolver()
    solver.add(*theory.formulas)
    found = set()
    while solver.check() == z3.sat:
        model = solver.model()
        values = [model.eval(symbol, model_completion=True) for symbol in symbols]
        found.add(tuple(z3.is_true(v) if z3.is_bool(v) else v.as_long() for v in values))
        assert len(found) <= limit
        pairs = zip(symbols, values, strict=True)
        solver.add(z3.Or([symbol != value for symbol, value in pairs]))
    assert solver.check() == z3.unsat
    return found
