"""PiShield on the 243 requirements of ROAD-R: repairs of random scores of 41 labels."""

import contextlib
import io
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from comparison import RUN, Agreement, Case, Rival
from smtlayer import SMTLayer
from smtlayer_benchmarks.theories import ROAD_R, Clauses, requirements, road_r_clauses

ORDERS = ("degree", "rev-degree", "betweenness", "rev-betweenness", "closeness", "katz")


def cases(rows: int = 1024) -> Iterator[Case]:
    yield make_case(road_r_clauses(), rows)


def make_case(clauses: Clauses, rows: int, repeats: int = 9) -> Case:
    labels = max(abs(literal) for clause in clauses for literal in clause)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(RUN * (repeats + 1), rows, labels, generator=generator)
    layer = SMTLayer(requirements(clauses)).eval()
    shields = shield_layers(clauses, labels)

    @torch.no_grad()
    def ours(i: int) -> Tensor:
        return layer(logits[i])

    @torch.no_grad()
    def repair(i: int, order: str, mode: str) -> Tensor:
        return shields[order](logits[i].sigmoid(), iterative=mode == "iterative")

    theirs = {
        f"ordering {order}, {mode}": partial(repair, order=order, mode=mode)
        for order in shields
        for mode in ("iterative", "tensors")
    }

    def agreement() -> Agreement:
        own = ours(0) > 0
        repairs = [repair(0) > 0.5 for repair in theirs.values()]
        broken = [int(violated(clauses, found).sum()) for found in (own, *repairs)]
        cheapest, *cheap = (cost(logits[0], found) for found in (own, *repairs))
        shares = [float((found <= cheapest + 1e-4).double().mean()) for found in cheap]
        none_cheaper = all(bool((found >= cheapest - 1e-4).all()) for found in cheap)
        return Agreement(
            not any(broken) and none_cheaper,
            f"violated requirements in {rows:,} rows: ours {broken[0]}, PiShield's "
            f"{max(broken[1:])}; no repair of PiShield's is more probable than ours, "
            f"{max(shares):.1%} are equally probable with its best ordering",
            {"our mean cost": float(cheapest.mean()),
             "their mean cost, best ordering": min(float(found.mean()) for found in cheap)},
        )  # fmt: skip

    return Case(f"{rows:,} rows", ours, theirs, agreement, repeats=repeats, run=RUN)


def shield_layers(clauses: Clauses, labels: int) -> dict[str, torch.nn.Module]:
    """PiShield's layer for each of its orderings; it prints while it compiles."""
    from pishield.shield_layer import build_shield_layer

    lines = [
        " or ".join(f"{'not ' if literal < 0 else ''}y_{abs(literal) - 1}" for literal in clause)
        for clause in clauses
    ]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder, "requirements.txt")
        path.write_text("\n".join(lines) + "\n")
        return {
            order: build_shield_layer(
                labels, str(path), ordering_choice=order, requirements_type="propositional"
            )
            for order in ORDERS
        }


def violated(clauses: Clauses, found: Tensor) -> Tensor:
    """The number of clauses that each row violates."""
    literals = torch.cat([~found, found], -1)  # (B, 2 n)
    n = found.shape[1]
    columns = [[abs(x) - 1 + (n if x > 0 else 0) for x in clause] for clause in clauses]
    return sum((~literals[:, some].any(-1)).long() for some in columns)


def cost(logits: Tensor, found: Tensor) -> Tensor:
    """The sum of |logit| where a row was overruled: less is more probable."""
    return ((found != (logits > 0)) * logits.abs().double()).sum(-1)


RIVAL = Rival(
    name="pishield",
    title="PiShield",
    distribution="pishield",
    module="pishield",
    problem="repair of scores of 41 labels by the 243 requirements of ROAD-R",
    differs="PiShield corrects probabilities rule by rule in a fixed order, without search: its "
    "result satisfies the requirements, but is seldom the most probable one, and it has a "
    "gradient. Ours is the most probable repair. PiShield's fastest ordering counts",
    bar=10,
    faster=True,
    cases=cases,
    data=ROAD_R,
)
