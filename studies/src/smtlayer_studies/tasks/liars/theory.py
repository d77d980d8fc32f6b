"""The theory of the liar's puzzle: who is guilty, given who says what of whom."""

from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

import z3

from smtlayer.theory import Theory
from smtlayer_studies.tasks.liars.sentences import AGENTS

SENTENCES = (1, 2, 3)


def liars_theory(*, as_printed: bool = False) -> Theory:
    """Who is guilty, given who says what of whom: equation (2) of the paper.

    Inputs, sentence by sentence: who speaks (3), of whom (3), and whether it is an accusation.
    Outputs: who is guilty (3).

    Args:
        as_printed: Leave out what the puzzle states and the equation does not: that each sentence
            has one speaker, and that no one speaks of themselves.
    """
    guilty = {agent: z3.Bool(f"{agent}_is_guilty") for agent in AGENTS}
    accuses = {sentence: z3.Bool(f"accuses_{sentence}") for sentence in SENTENCES}
    turns = list(product(AGENTS, SENTENCES))
    speaker = {(agent, s): z3.Bool(f"{agent}_speaks_{s}") for agent, s in turns}
    subject = {(agent, s): z3.Bool(f"about_{agent}_{s}") for agent, s in turns}

    rules = {"one of the three is guilty": _exactly_one(guilty.values())}
    for agent in AGENTS:
        rules[f"{agent} speaks once"] = _exactly_one(speaker[agent, s] for s in SENTENCES)
    for s in SENTENCES:
        rules[f"sentence {s} is about one"] = _exactly_one(subject[agent, s] for agent in AGENTS)
    for s, one, other in product(SENTENCES, AGENTS, AGENTS):
        honest, true = z3.Not(guilty[one]), accuses[s] == guilty[other]
        statement = z3.And(speaker[one, s], subject[other, s])
        rules[
            f"sentence {s}, if {one} speaks of {other}, is false if {one} is guilty, else true"
        ] = z3.Implies(statement, honest == true)
    if not as_printed:
        for s in SENTENCES:
            rules[f"sentence {s} has one speaker"] = _exactly_one(speaker[a, s] for a in AGENTS)
        for agent, s in turns:
            itself = z3.And(speaker[agent, s], subject[agent, s])
            rules[f"{agent} does not speak of {agent} in sentence {s}"] = z3.Not(itself)

    inputs: list[Any] = []
    for s in SENTENCES:
        inputs += [speaker[agent, s] for agent in AGENTS]
        inputs += [subject[agent, s] for agent in AGENTS]
        inputs.append(accuses[s])
    return Theory(rules, inputs=inputs, outputs=list(guilty.values()))


def _exactly_one(symbols: Iterable[Any]) -> Any:
    some = list(symbols)
    return z3.And(z3.Or(some), *(z3.Not(z3.And(pair)) for pair in combinations(some, 2)))
