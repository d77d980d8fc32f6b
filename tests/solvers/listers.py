"""All models as a `Lister` finds them, without limits."""

from smtlayer.solvers.table.listing import ClauseLister, TermLister

PLENTY = 10**9


def every_model(lister):
    found = []
    while lister.check():
        found.append(lister.signs())
        lister.forbid()
    return sorted(found)


def by_clauses(cnf):
    return every_model(ClauseLister(cnf, PLENTY))


def by_z3(theory):
    return every_model(TermLister(theory, PLENTY))
