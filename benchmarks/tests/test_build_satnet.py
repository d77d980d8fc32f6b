"""SATNet's release is changed as described, and its answers on two devices are compared."""

import io
import sys
import tarfile
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import build_satnet


def archive(path, kernels):
    with tarfile.open(path, "w:gz") as tar:
        for name, text in (("setup.py", "build"), ("src/satnet_cuda.cu", kernels)):
            entry = tarfile.TarInfo(f"satnet-0.1.2/{name}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_the_kernels_of_the_release_are_changed(tmp_path):
    old, new = ("; ".join(each) for each in (build_satnet.CHANGES, build_satnet.CHANGES.values()))
    build_satnet.unpack(archive(tmp_path / "release.tar.gz", f"{old}; end"), tmp_path / "out")
    assert (tmp_path / "out" / "src" / "satnet_cuda.cu").read_text() == f"{new}; end"
    assert (tmp_path / "out" / "setup.py").read_text() == "build"


def test_another_release_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"expects satnet 0\.1\.2\. .* has no 'if \(lane == 0\)"):
        build_satnet.unpack(archive(tmp_path / "other.tar.gz", "new kernels"), tmp_path / "out")


class Noisy(nn.Module):
    """In SATNet's place: adds random numbers, and from its second answer on also `more`."""

    more = 0.0

    def __init__(self, n, m, aux):
        super().__init__()
        self.S, self.answers = nn.Parameter(torch.ones(n)), 0

    def forward(self, z, is_input):
        self.answers += 1
        order = torch.randperm(len(self.S), dtype=torch.int, device="cpu").long()
        known = z * is_input * (1 + self.more * (self.answers > 1))
        return known.sum(-1, keepdim=True) * self.S[order] + torch.zeros(z.shape).normal_()


def test_devices_are_compared_from_thesame_start(monkeypatch):
    monkeypatch.setitem(sys.modules, "satnet", SimpleNamespace(SATNet=Noisy))
    found = build_satnet.differences(("cpu", "cpu"))
    assert list(found) == ["answers", "gradient of the inputs", "gradient of the clauses"]
    assert set(found.values()) == {0.0}
    monkeypatch.setattr(Noisy, "more", 0.5)
    found = build_satnet.differences(("cpu", "cpu"))
    assert found["gradient of the inputs"] == pytest.approx(0.5)
    assert min(found.values()) > build_satnet.TOLERANCE
