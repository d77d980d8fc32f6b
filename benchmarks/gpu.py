"""Prints the ratios on a GPU, one JSON object per line; needs no command line packages."""

import json
from collections.abc import Iterator
from dataclasses import asdict

from smtlayer_benchmarks.likelihood import likelihood_ratios
from smtlayer_benchmarks.speed import layer_against_z3, step_against_dense
from smtlayer_benchmarks.timing import Ratio
from smtlayer_cli.provenance import here


def ratios(device: str = "cuda", times: int = 3) -> Iterator[Ratio]:
    """Training steps are timed several times."""
    yield layer_against_z3()
    for _ in range(times):
        yield step_against_dense(device)
        yield from likelihood_ratios(device)


if __name__ == "__main__":
    for ratio in ratios():
        print(json.dumps(asdict(ratio) | {"met": ratio.met} | here("cuda")), flush=True)
