"""Viterbi, written by hand in PyTorch, on BIO tags with at most two entities."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from comparison import RUN, Agreement, Case, Rival
from smtlayer import SMTLayer
from smtlayer_benchmarks.theories import ENTITIES, TAGS, TYPES, bio_theory

STATES = TAGS * (ENTITIES + 1)  # of the product automaton


def cases(tokens: int = 24, rows: int = 128, repeats: int = 20) -> Iterator[Case]:
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(RUN * (repeats + 1), rows, tokens, TAGS, generator=generator)
    layer = SMTLayer(bio_theory(tokens)).eval()
    readings = {"log-softmax scores": logits.log_softmax(-1), "logits plus 6": logits + 6}
    for name, scores in readings.items():
        yield make_case(layer, f"{rows} rows of {tokens} tokens, {name}", scores)


def make_case(layer: SMTLayer, size: str, scores: Tensor) -> Case:
    rows = scores.shape[1]
    sparse = sparse_viterbi()

    @torch.no_grad()
    def ours(i: int) -> Tensor:
        return layer(scores[i].flatten(1)).reshape(scores.shape[1:]).argmax(-1)

    def total(tags: Tensor) -> Tensor:
        return scores[0].double().gather(-1, tags[..., None]).sum((1, 2))

    def agreement() -> Agreement:
        found, best, other = ours(0), sparse(scores[0]), dense_viterbi(scores[0])
        equal = (total(found) - total(best)).abs() <= 1e-4
        valid = legal(found) & legal(best) & legal(other)
        same = bool(((total(other) - total(best)).abs() <= 1e-4).all())
        return Agreement(
            bool(equal.all() and valid.all()) and same,
            f"the scores of {int(equal.sum())} of {rows} rows are equal (to 1e-4); "
            f"all tag sequences are legal in {int(valid.sum())}",
        )

    theirs = {
        "table of predecessors": lambda i: sparse(scores[i]),
        "matrix of transitions": lambda i: dense_viterbi(scores[i]),
    }
    return Case(size, ours, theirs, agreement, repeats=len(scores) // RUN - 1, run=RUN)


def dense_viterbi(scores: Tensor) -> Tensor:
    """Viterbi with a matrix of transitions between all states."""
    matrix = torch.full((STATES, STATES), float("-inf"))
    for state, before in enumerate(predecessors()):
        matrix[before, state] = 0
    steps = scores.repeat(1, 1, ENTITIES + 1)  # (B, tokens, states)
    value = steps[:, 0] + starts()
    back = []
    for i in range(1, scores.shape[1]):
        value, came = (value[:, :, None] + matrix).max(1)
        value = value + steps[:, i]
        back.append(came)
    state = value.argmax(-1)
    path = [state]
    for came in reversed(back):
        state = came.gather(1, state[:, None])[:, 0]
        path.append(state)
    return torch.stack(path[::-1], 1) % TAGS


def sparse_viterbi() -> Callable[[Tensor], Tensor]:
    """Viterbi with a table of each state's predecessors, rows last in memory."""
    none = [STATES]  # a state that is never reached
    table = torch.tensor([(known + none * TAGS)[:TAGS] for known in predecessors()])

    def decode(scores: Tensor) -> Tensor:
        steps = scores.permute(1, 2, 0).repeat(1, ENTITIES + 1, 1)  # (tokens, states, B)
        value = torch.full((STATES + 1, len(scores)), float("-inf"))
        value[:STATES] = steps[0] + starts()[:, None]
        back = []
        for step in steps[1:]:
            best, came = value[table].max(1)
            torch.add(best, step, out=value[:STATES])
            back.append(came)
        state = value.argmax(0)
        path = [state]
        for came in reversed(back):
            state = table[state, came.gather(0, state[None])[0]]
            path.append(state)
        return torch.stack(path[::-1], 1) % TAGS

    return decode


def predecessors() -> list[list[int]]:
    """The states that may precede each state (number of entities, tag)."""
    found = []
    for count in range(ENTITIES + 1):
        first = TAGS * count
        begin = list(range(first - TAGS, first)) if count else []
        outside = list(range(first, first + TAGS))
        insides = [[first + kind, first + kind + TYPES] for kind in range(1, TYPES + 1)]
        found += [outside, *[begin] * TYPES, *insides]
    return found


def starts() -> Tensor:
    """0 for the states of a first token, else -inf: (states,)."""
    start = torch.full((ENTITIES + 1, TAGS), float("-inf"))
    start[0, 0], start[1, 1 : TYPES + 1] = 0, 0
    return start.flatten()


def legal(tags: Tensor) -> Tensor:
    """Whether each row of tags satisfies the rules, checked directly."""
    inside = tags > TYPES
    last = torch.cat([torch.zeros_like(tags[:, :1]), tags[:, :-1]], 1)
    follows = (last == tags) | (last == tags - TYPES)
    begins = (tags >= 1) & (tags <= TYPES)
    return (~inside | follows).all(-1) & (begins.sum(-1) <= ENTITIES)


RIVAL = Rival(
    name="bio-tags",
    title="Viterbi by hand",
    distribution=None,
    module="torch",
    problem=f"best BIO tags of 4 types, at most {ENTITIES} entities",
    differs="Viterbi is about 40 lines written for these rules, and has to be written again for "
    "others; ours is the formula. The faster of two implementations counts",
    bar=3,
    faster=False,
    cases=cases,
)
