"""Prints the ratios on a GPU, one JSON object per line; needs no command line packages."""

import json
from dataclasses import asdict

from smtlayer_benchmarks.speed import layer_against_z3, step_against_dense
from smtlayer_cli.provenance import here

if __name__ == "__main__":
    for ratio in (layer_against_z3(), *(step_against_dense("cuda") for _ in range(3))):
        print(json.dumps(asdict(ratio) | {"met": ratio.met} | here("cuda")), flush=True)
