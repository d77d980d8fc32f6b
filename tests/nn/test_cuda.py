"""On a GPU: the same answers as on a CPU, step by step and as replayed graphs."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F

from smtlayer import Z3, SMTLayer, Table
from smtlayer.nn import graph
from smtlayer.testing import LAWS, THEORIES, Case, random_theory
from smtlayer.testing.theories import addition

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def outputs_and_gradient(layer, logits, known, slope):
    logits = logits.detach().clone().requires_grad_()
    outputs = layer(logits, known)
    (outputs * slope).sum().backward()
    return outputs.detach(), logits.grad


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_graphs_give_what_the_cpu_gives(dtype, masked):
    theory = addition(3)
    here, there = SMTLayer(theory), SMTLayer(theory)
    for _ in range(8):
        logits, slope = torch.randn(32, 6, dtype=dtype), torch.randn(32, 4, dtype=dtype)
        known = torch.rand(32, 6) < 0.7 if masked else None
        mask = None if known is None else known.cuda()
        wanted = outputs_and_gradient(here, logits, known, slope)
        found = outputs_and_gradient(there, logits.cuda(), mask, slope.cuda())
        assert all(tensor.is_cuda and tensor.dtype == dtype for tensor in found)
        torch.testing.assert_close([tensor.cpu() for tensor in found], list(wanted))
    assert len(there._graphs._captured) == 1
    counts, expected = there.stats.as_dict(), here.stats.as_dict()
    for name in ("rows", "sat", "unsat", "settled", "asked", "silent", "contradicted"):
        assert counts[name] == expected[name]


@pytest.mark.parametrize("forward", ["smt", "maxsmt"])
@pytest.mark.parametrize("backward", ["core", "maxsmt"])
@pytest.mark.parametrize("backend", [Table(), Z3()], ids=["table", "z3"])
def test_every_rule_gives_what_the_cpu_gives(forward, backward, backend):
    theory = addition(2)
    layer = SMTLayer(theory, backend=backend, forward=forward, backward=backward)
    for _ in range(5):
        logits, slope = torch.randn(8, 4), torch.randn(8, 3)
        wanted = outputs_and_gradient(layer, logits, None, slope)
        found = outputs_and_gradient(layer, logits.cuda(), None, slope.cuda())
        torch.testing.assert_close([tensor.cpu() for tensor in found], list(wanted))


def test_two_forward_passes_before_a_backward_pass_do_not_mix():
    theory = addition(3)
    layer, plain = SMTLayer(theory), SMTLayer(theory, cuda_graphs=False)
    for _ in range(8):
        first, second = torch.randn(2, 16, 6, device="cuda")
        gradients = []
        for who in (layer, plain):
            a, b = first.clone().requires_grad_(), second.clone().requires_grad_()
            outputs = who(a), who(b)
            (outputs[0].sum() - 3 * outputs[1].sum()).backward()
            gradients.append([a.grad, b.grad, *(y.detach() for y in outputs)])
        torch.testing.assert_close(*gradients)


def test_bad_logits_are_named_in_a_replayed_graph_too():
    layer = SMTLayer(addition(3))
    logits = torch.randn(16, 6, device="cuda")
    for _ in range(6):
        layer(logits)
    logits[3, 2] = float("nan")
    with pytest.raises(ValueError, match=r"Row 3, column 2 \(a\[0\]\) is nan"):
        layer(logits)


def test_copies_of_a_layer_with_graphs_work():
    layer = SMTLayer(addition(3))
    logits = torch.randn(16, 6, device="cuda")
    for _ in range(6):
        wanted = layer(logits)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        torch.testing.assert_close(other(logits), wanted)


def test_a_failing_capture_is_told_and_survived(monkeypatch):
    def fail(*arguments):
        raise RuntimeError("no capture today")

    monkeypatch.setattr(graph, "CapturedPasses", fail)
    layer = SMTLayer(addition(3))
    logits = torch.randn(16, 6, device="cuda")
    for _ in range(3):
        wanted = layer(logits)
    with pytest.warns(UserWarning, match="goes on without CUDA graphs"):
        found = layer(logits)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(layer(logits), wanted)


def test_training_with_autocast_and_a_grad_scaler_runs():
    network = torch.nn.Linear(5, 6).cuda()
    layer = SMTLayer(addition(3))
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda")
    before = network.weight.detach().clone()
    for _ in range(8):
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = layer(network(torch.randn(16, 5, device="cuda")))
            loss = F.binary_cross_entropy_with_logits(outputs, torch.zeros_like(outputs))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    assert not torch.equal(before, network.weight)
    assert network.weight.isfinite().all()


def test_the_table_obeys_the_laws_on_the_gpu():
    class OnGpu:
        """A table that is asked on the GPU and answers on the CPU."""

        def __init__(self, solver):
            self._solver = solver
            self.theory, self.name, self.limit_ms = solver.theory, solver.name, solver.limit_ms
            self.deterministic, self.capturable = solver.deterministic, solver.capturable

        def _ask(self, question, *tensors):
            answer = question(*(None if t is None else t.cuda() for t in tensors))
            return type(answer)(*(getattr(answer, name).cpu() for name in answer.__slots__))

        def solve(self, inputs):
            return self._ask(self._solver.solve, inputs)

        def maximize(self, inputs, weights, outputs=None):
            return self._ask(self._solver.maximize, inputs, weights, outputs)

        def core(self, inputs, weights, outputs):
            return self._ask(self._solver.core, inputs, weights, outputs)

    class Backend:
        def compile(self, theory):
            return OnGpu(Table().compile(theory))

    theories = [build() for build in THEORIES.values()] + [random_theory(s) for s in range(10)]
    for theory in theories:
        case = Case.make(Backend(), theory)
        for law in LAWS:
            law(case)
    assert len(theories) == len(THEORIES) + 10
