"""Builds SATNet with its kernels for a GPU, and compares these with its code for the CPU.

    pip download --no-deps --no-build-isolation satnet==0.1.2
    python benchmarks/rivals/build_satnet.py satnet-0.1.2.tar.gz build/satnet
    PYTHONPATH=build/satnet python benchmarks/rivals/learn.py --device cuda

Needs a GPU, `nvcc` and torch. The kernels of the release are changed in two points: the gradient of
the inputs, by a correction that SATNet's authors merged after the release
(https://github.com/locuslab/SATNet/pull/10), and a function that CUDA 13 no longer has.
"""

import importlib
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import torch
from torch import Tensor

CHANGES = {
    "if (lane == 0) val1": "if (kk == 0) val1",
    "if (lane == 1) val2": "if (kk == 1) val2",
    "= saturate(": "= __saturatef(",
}
TOLERANCE = 0.01  # of the largest entry; 40 iterations in single precision


def unpack(archive: Path, folder: Path) -> None:
    """Writes the release into a folder, with its kernels changed."""
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            member.name = str(Path(*Path(member.name).parts[1:]))
            tar.extract(member, folder, filter="data")
    kernels = folder / "src" / "satnet_cuda.cu"
    text = kernels.read_text(encoding="utf-8")
    for old, new in CHANGES.items():
        if old not in text:
            raise SystemExit(f"build_satnet.py expects satnet 0.1.2. {archive} has no {old!r}.")
        text = text.replace(old, new)
    kernels.write_text(text, encoding="utf-8")


def differences(devices: tuple[str, str] = ("cpu", "cuda")) -> dict[str, float]:
    """How far answers and gradients of two devices are apart, as shares of the largest entry."""
    import satnet

    torch.manual_seed(1)
    layer, given = satnet.SATNet(12, 16, 8), torch.rand(6, 12)
    found = [_answers_and_gradients(layer.to(device), given.to(device)) for device in devices]
    names = ("answers", "gradient of the inputs", "gradient of the clauses")
    return {
        name: float((a - b).abs().max() / a.abs().max())
        for name, a, b in zip(names, *found, strict=True)
    }


def _answers_and_gradients(layer: torch.nn.Module, given: Tensor) -> list[Tensor]:
    known = (torch.arange(12, device=given.device) < 8).int().expand(6, 12).contiguous()
    inputs = given.clone().requires_grad_()
    with same_start():
        found = layer(inputs, known)
    gradients = torch.autograd.grad(found[:, 8:].sum(), (inputs, layer.S))
    return [each.detach().cpu().clone() for each in (found, *gradients)]


@contextmanager
def same_start() -> Iterator[None]:
    """SATNet's random vectors and order of variables are the same on all devices."""
    random = torch.Generator().manual_seed(0)

    def normal(self: Tensor) -> Tensor:
        return self.copy_(torch.randn(self.shape, generator=random))

    def order(count: int, *, dtype: torch.dtype, device: str) -> Tensor:
        return torch.arange(count - 1, -1, -1, dtype=dtype, device=device)

    with patch.object(Tensor, "normal_", normal), patch.object(torch, "randperm", order):
        yield


def main(words: Sequence[str]) -> int:
    if len(words) != 2:
        raise SystemExit(__doc__)
    archive, folder = map(Path, words)
    unpack(archive, folder)
    subprocess.run([sys.executable, "setup.py", "build_ext", "--inplace"], cwd=folder, check=True)
    importlib.invalidate_caches()  # the folder may be new
    sys.path.insert(0, str(folder.resolve()))
    found = differences()
    for name, share in found.items():
        print(f"{name}: {share:.1e} apart on GPU and CPU")
    return int(max(found.values()) > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
