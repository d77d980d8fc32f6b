"""Two processes that share a batch learn what one learns from the whole."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from nn import ddp_script

HERE = Path(__file__).parent
RECIPE = HERE.parents[1] / "docs" / "how-to" / "distributed.md"

pytestmark = pytest.mark.skipif(
    not (dist.is_available() and dist.is_gloo_available()), reason="needs torch.distributed"
)


def run(*command, **environment):
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, check=False,
        timeout=600, env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """What two processes found, each for itself."""
    folder = tmp_path_factory.mktemp("ddp")
    script, size = HERE / "ddp_script.py", {"WORLD_SIZE": "2"}
    with ThreadPoolExecutor() as threads:
        both = [threads.submit(run, script, folder, RANK=rank, **size) for rank in "01"]
        for one in both:
            one.result()
    return [torch.load(folder / f"rank{rank}.pt") for rank in (0, 1)]


def test_there_are_two_processes(ranks):
    assert [rank["size"] for rank in ranks] == [2, 2]
    assert len({os.getpid(), *(rank["process"] for rank in ranks)}) == 3


@pytest.mark.parametrize("case", ddp_script.CASES)
def test_two_processes_learn_what_one_learns_from_the_whole_batch(ranks, case):
    network = ddp_script.make_network(case)
    alone = ddp_script.train(network, slice(None))
    assert all(gradient.any() for gradient in alone["gradients"])
    assert network[-1].stats.blamed > 0, "no row was put to a blame rule"
    for rank in ranks:
        for name, expected in alone.items():
            torch.testing.assert_close(rank[case][name], expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("case", ddp_script.CASES)
def test_both_processes_end_with_the_same_parameters(ranks, case):
    one, two = (rank[case]["parameters"] for rank in ranks)
    assert all(map(torch.equal, one, two))


@pytest.mark.parametrize("case", ddp_script.CASES)
def test_a_share_alone_has_another_gradient(ranks, case):
    half = slice(0, ddp_script.ROWS // 2)
    alone = ddp_script.train(ddp_script.make_network(case), half)
    assert not torch.allclose(alone["gradients"][0], ranks[0][case]["gradients"][0])


@pytest.mark.slow  # the launcher is a third process that imports torch
def test_torchrun_starts_the_same_training(ranks, tmp_path):
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    run(*launcher, HERE / "ddp_script.py", tmp_path)
    for rank, expected in enumerate(ranks):
        found = torch.load(tmp_path / f"rank{rank}.pt")
        for case in ddp_script.CASES:
            torch.testing.assert_close(found[case], expected[case], rtol=1e-12, atol=1e-15)


def test_the_script_in_the_documentation_runs_and_learns(tmp_path):
    (script,) = re.findall(r"```python\n(.*?)```", RECIPE.read_text(), re.DOTALL)
    (tmp_path / "train.py").write_text(script)
    as_torchrun_says = {
        "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "0", "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    answer = run(tmp_path / "train.py", **as_torchrun_says)
    assert int(re.fullmatch(r"(\d+)% right\n", answer)[1]) > 80
