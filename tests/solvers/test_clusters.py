"""Rows over Dask, MPI and Ray: each with real processes, on this machine."""

import os
import subprocess
import sys
from pathlib import Path

import faulty
import pytest
import torch
from faulty import BAD, assert_answers, rows, solver

from smtlayer import Z3
from smtlayer.testing.theories import addition

NUMBERS = list(range(20))
PATH = os.pathsep.join([str(Path(__file__).parent), *sys.path])


def assert_same_as_here(workers):
    theory = addition(4)
    here, there = Z3().compile(theory), Z3(workers=workers).compile(theory)
    inputs = torch.randint(-1, 2, (30, 8), dtype=torch.int8)
    wanted, weights = torch.randint(-1, 2, (30, 5), dtype=torch.int8), torch.rand(30, 8)
    assert here.solve(inputs).status.equal(there.solve(inputs).status)
    expected, found = (s.core(inputs, weights, wanted) for s in (here, there))
    assert expected.status.equal(found.status)
    assert expected.inputs.equal(found.inputs)


@pytest.mark.slow  # starts a cluster
@pytest.mark.filterwarnings("ignore")  # what Dask and its web server warn of is theirs
def test_dask():
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert_same_as_here(client.get_executor)
        executor = client.get_executor()
        assert_same_as_here(executor)
        assert_answers(
            solver(faulty.Crashes, executor).solve(rows(*NUMBERS)), NUMBERS, unknown=[BAD]
        )


MPI = """
import faulty
from mpi4py.futures import MPIPoolExecutor

if __name__ == "__main__":
    numbers = list(range(100))
    with MPIPoolExecutor() as executor:
        found = faulty.solver(faulty.Crashes, executor).solve(faulty.rows(*numbers))
        print("answered by", executor.num_workers)
    faulty.assert_answers(found, numbers, unknown=[faulty.BAD])
"""


@pytest.mark.slow  # starts three processes
def test_mpi(tmp_path):
    pytest.importorskip("mpi4py", reason="needs the extra mpi")
    mpiexec = Path(sys.executable).parent / "mpiexec"
    if not mpiexec.exists():
        pytest.skip("needs mpiexec beside python: the extra mpi")
    script = tmp_path / "script.py"
    script.write_text(MPI)
    done = subprocess.run(
        [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", script],
        env={**os.environ, "PYTHONPATH": PATH},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "answered by 2" in done.stdout


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what Ray warns of is Ray's
def test_ray():
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    from rays import RayExecutor

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": PATH}},
    )
    try:
        assert_same_as_here(RayExecutor)
        executor = RayExecutor()
        assert_answers(
            solver(faulty.Crashes, executor).solve(rows(*NUMBERS)), NUMBERS, unknown=[BAD]
        )
    finally:
        ray.shutdown()
