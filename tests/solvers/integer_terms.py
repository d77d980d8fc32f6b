"""Random integer terms, and the same in Python."""

import operator
import random

import z3


def euclid(left, right):
    return (left - left % abs(right)) // right


class Draw:
    """Random terms, each with the same in Python: a function of the symbols' values."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.symbols = [z3.Int(f"n{i}") for i in range(self.random.randint(1, 3))]
        self.domains = [self._domain() for _ in self.symbols]

    def _domain(self):
        if self.random.random() < 0.5:
            return sorted(self.random.sample(range(-9, 12), self.random.randint(2, 4)))
        low = self.random.randint(-9, 6)
        return range(low, low + self.random.randint(1, 9))

    def facts(self):
        for symbol, domain in zip(self.symbols, self.domains, strict=True):
            if isinstance(domain, list):
                yield z3.Or([symbol == value for value in domain])
            else:
                low, high = domain[0], domain[-1]
                yield self.random.choice([symbol >= low, low - 1 < symbol, z3.Not(symbol < low)])
                yield self.random.choice([symbol <= high, z3.Not(high < symbol), high >= symbol])

    def number(self, depth):
        kind = self.random.choice("+-*~/%?ns") if depth else self.random.choice("ns")
        if kind == "n":
            value = self.random.randint(-12, 12)
            return z3.IntVal(value), lambda *n: value
        if kind == "s":
            i = self.random.randrange(len(self.symbols))
            return self.symbols[i], lambda *n: n[i]
        left, f = self.number(depth - 1)
        if kind == "~":
            return -left, lambda *n: -f(*n)
        if kind in "/%":
            by = self.random.choice([-7, -4, -3, -2, -1, 1, 2, 3, 5, 8])
            if kind == "/":
                return left / by, lambda *n: euclid(f(*n), by)
            return left % by, lambda *n: f(*n) % abs(by)
        right, g = self.number(depth - 1)
        if kind == "?":
            test, h = self.truth(depth - 1)
            return z3.If(test, left, right), lambda *n: f(*n) if h(*n) else g(*n)
        op = {"+": operator.add, "-": operator.sub, "*": operator.mul}[kind]
        return op(left, right), lambda *n: op(f(*n), g(*n))

    def truth(self, depth):
        names = ["lt", "le", "gt", "ge", "eq", "ne", "distinct", "and", "or", "not"]
        name = self.random.choice(names if depth else names[:7])
        if name == "not":
            test, f = self.truth(depth - 1)
            return z3.Not(test), lambda *n: not f(*n)
        build = self.truth if name in ("and", "or") else self.number
        parts = [build(max(depth - 1, 0)) for _ in range(3 if name == "distinct" else 2)]
        terms, (f, g) = [term for term, _ in parts], [function for _, function in parts[:2]]
        if name == "distinct":
            return z3.Distinct(*terms), lambda *n: len({p(*n) for _, p in parts}) == 3
        if name in ("and", "or"):
            join = {"and": (z3.And, all), "or": (z3.Or, any)}[name]
            return join[0](*terms), lambda *n: join[1]((f(*n), g(*n)))
        compare = getattr(operator, name)
        return compare(*terms), lambda *n: compare(f(*n), g(*n))
