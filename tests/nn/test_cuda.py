"""On a GPU: the same answers as on a CPU, step by step and as replayed graphs."""

import copy
import pickle
from dataclasses import dataclass, replace

import pytest
import torch
import torch.nn.functional as F

from helpers import Changed
from smtlayer import Z3, Sat, SMTLayer, Table
from smtlayer.nn import (
    BlameRule,
    ForwardRule,
    anneal,
    anneal_core,
    core,
    graph,
    marginal,
    maxsmt,
    mix,
    sample,
    schedule,
)
from smtlayer.testing import LAWS, LISTED_LAWS, THEORIES, Case, random_theory
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
    for name in ("rows", "sat", "unsat", "correct", "blamed", "without_gradient", "contradicted"):
        assert counts[name] == expected[name]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("rule", "graphs"),
    [
        (marginal, 1),
        (marginal(temperature=anneal(4, 1, until=0.7)), 1),
        (marginal(temperature=anneal(4, 1, shape="geometric")), 1),
        (mix(core, marginal(temperature=2)), 2),
        (mix((core, anneal(0, 1)), (marginal, anneal(1, 0))), 2),
        (schedule((0.6, maxsmt), (0.8, core), (1.0, marginal)), 2),
        (anneal_core, 2),
        (maxsmt, 0),
    ],
    ids=str,
)
def test_graphs_of_composed_rules_give_what_the_cpu_gives(rule, graphs, dtype, masked):
    theory = addition(3)
    here, there = SMTLayer(theory, backward=rule), SMTLayer(theory, backward=rule)
    for step in range(12):
        here.progress = there.progress = step / 11
        logits, slope = torch.randn(32, 6, dtype=dtype) * 2, torch.randn(32, 4, dtype=dtype)
        slope[::5] = 0
        known = torch.rand(32, 6) < 0.7 if masked else None
        mask = None if known is None else known.cuda()
        torch.manual_seed(step)  # the same choice on both sides
        wanted = outputs_and_gradient(here, logits, known, slope)
        torch.manual_seed(step)
        found = outputs_and_gradient(there, logits.cuda(), mask, slope.cuda())
        torch.testing.assert_close([tensor.cpu() for tensor in found], list(wanted))
    (captured,) = there._graphs._captured.values()
    assert len(captured._backward_graphs) == graphs
    counts, expected = there.stats.as_dict(), here.stats.as_dict()
    for name in ("rows", "sat", "unsat", "correct", "blamed", "without_gradient", "contradicted"):
        assert counts[name] == expected[name]


class ByColumn(BlameRule):
    """A user's rule: cores that do not depend on confidence."""

    __hash__ = None

    def __init__(self, capturable):
        self._capturable, self.calls = capturable, 0

    @property
    def capturable(self):
        return self._capturable

    def blame(self, solver, question):
        self.calls += 1
        return core.blame(solver, replace(question, weights=torch.ones_like(question.weights)))


class Own(ForwardRule):
    """A user's rule that a graph may hold."""

    capturable = True

    def __init__(self):
        self.calls = 0

    def answer(self, solver, signs, weights):
        self.calls += 1
        return solver.solve(signs)


@pytest.mark.parametrize("composed", [False, True])
@pytest.mark.parametrize("capturable", [False, True])
def test_a_users_rule_is_replayed_as_a_graph_if_it_says_so(capturable, composed):
    theory, forward, rule = addition(3), Own(), ByColumn(capturable)
    here = SMTLayer(theory, backward=ByColumn(capturable))
    there = SMTLayer(theory, forward=forward, backward=mix(rule, rule) if composed else rule)
    for _ in range(9):
        logits, slope = torch.randn(32, 6), torch.randn(32, 4)
        wanted = outputs_and_gradient(here, logits, None, slope)
        found = outputs_and_gradient(there, logits.cuda(), None, slope.cuda())
        torch.testing.assert_close([tensor.cpu() for tensor in found], list(wanted))
    (captured,) = there._graphs._captured.values()
    assert len(captured._backward_graphs) == int(capturable)
    # three batches without a graph, then a warm-up and the capture: replays run no Python code
    assert forward.calls == 3 + 2
    assert rule.calls == (3 + 2 if capturable else 9)
    counts, expected = there.stats.as_dict(), here.stats.as_dict()
    for name in ("rows", "sat", "unsat", "correct", "blamed", "without_gradient", "contradicted"):
        assert counts[name] == expected[name]


def test_each_mode_of_the_layer_has_the_graphs_of_its_rule():
    class Opposite(ForwardRule):
        capturable = True

        def answer(self, solver, signs, weights):
            found = solver.solve(signs)
            return replace(found, outputs=-found.outputs)

    layer = SMTLayer(addition(3), forward=Opposite(), inference="smt")
    logits = torch.randn(32, 6, device="cuda")
    for _ in range(6):
        assert torch.equal(layer.train()(logits), -layer.eval()(logits))
    assert len(layer._graphs._captured) == 2


def test_a_users_rule_that_cannot_be_captured_after_all_is_reported_and_still_right():
    class Host(BlameRule):
        capturable = True

        def blame(self, solver, question):
            assert question.wrong.sum().item() >= 0  # reads a value on the host
            return core.blame(solver, question)

    theory = addition(3)
    here, there = SMTLayer(theory), SMTLayer(theory, backward=Host())
    for step in range(6):
        logits, slope = torch.randn(32, 6), torch.randn(32, 4)
        wanted = outputs_and_gradient(here, logits, None, slope)
        if step == 3:
            with pytest.warns(UserWarning, match="goes on without CUDA graphs"):
                found = outputs_and_gradient(there, logits.cuda(), None, slope.cuda())
        else:
            found = outputs_and_gradient(there, logits.cuda(), None, slope.cuda())
        torch.testing.assert_close([tensor.cpu() for tensor in found], list(wanted))
    assert there._graphs._captured == {}
    assert torch.randn(2, device="cuda").isfinite().all()  # a failed capture leaves no trace


@pytest.mark.parametrize("temperature", [0.5, 2.0])
@pytest.mark.parametrize("cuda_graphs", [False, True])
def test_samples_on_the_gpu_come_as_often_as_the_mean_says(cuda_graphs, temperature):
    rows, rule = 20_000, sample(temperature=anneal(9, temperature))
    layer = SMTLayer(addition(2), backward=rule, cuda_graphs=cuda_graphs)
    layer.progress = 1.0
    row = torch.tensor([[0.4, -0.8, 1.0, 0.1]], device="cuda")
    wanted = torch.tensor([[-1.0, 1.0, 1.0]], device="cuda")  # a sum of 3
    logits, slope = row.repeat(rows, 1), -wanted.repeat(rows, 1)
    mean = layer.solver.marginal(row.double() / temperature, wanted.to(torch.int8)).inputs
    draws = []
    for _ in range(7):
        _, gradient = outputs_and_gradient(layer, logits, None, slope)
        draws.append((torch.sigmoid(logits) - gradient * 4 / 3).round())
        assert (draws[-1] @ torch.tensor([2.0, 1, 2, 1], device="cuda") == 3).all()
        spread = (mean * (1 - mean) / rows).sqrt()
        assert ((draws[-1].double().mean(0) - mean[0]).abs() < 5 * spread).all()
    assert len({tuple(d[:64].flatten().tolist()) for d in draws}) == 7
    repeated = []
    for _ in range(2):
        torch.manual_seed(4)
        repeated.append(outputs_and_gradient(layer, logits, None, slope)[1])
    assert torch.equal(*repeated)


def test_a_graph_counts_though_no_batch_went_back_before():
    layer = SMTLayer(addition(3), backward=mix(core, sample))
    logits = torch.randn(16, 6, device="cuda")
    for _ in range(6):
        layer(logits)
    for _ in range(3):
        outputs_and_gradient(layer, logits, None, torch.ones(16, 4, device="cuda"))
    assert layer.stats.correct + layer.stats.blamed + layer.stats.unknown == 48
    assert layer.stats.rows == 9 * 16


@pytest.mark.parametrize("forward", ["smt", "maxsmt"])
@pytest.mark.parametrize("backward", ["core", "maxsmt", "schedule((1, core))"])
@pytest.mark.parametrize("backend", [Table(), Z3(), Sat()], ids=["table", "z3", "sat"])
def test_every_rule_gives_what_the_cpu_gives(forward, backward, backend):
    theory = addition(2)
    layer = SMTLayer(theory, backend=backend, forward=forward, backward=backward)
    for _ in range(5):
        logits, slope = torch.randn(8, 4), torch.randn(8, 3)
        wanted = outputs_and_gradient(layer, logits, None, slope)
        found = outputs_and_gradient(layer, logits.cuda(), None, slope.cuda())
        torch.testing.assert_close([tensor.cpu() for tensor in found], list(wanted))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_a_solver_of_the_host_is_asked_there_and_its_answers_come_back(dtype):
    theory = addition(2)
    devices = []

    @dataclass(frozen=True, eq=False)
    class OnHost(Changed):
        on_host: bool = True

    def note(asked, answer):
        tensors = (asked.inputs, asked.weights, asked.outputs)
        devices.extend(tensor.device.type for tensor in tensors if tensor is not None)
        return answer

    class Backend:
        def compile(self, theory):
            return OnHost(Sat().compile(theory), note)

    layer, plain = SMTLayer(theory, backend=Backend()), SMTLayer(theory, backend=Sat())
    for _ in range(4):
        logits, slope = torch.randn(8, 4, dtype=dtype), torch.randn(8, 3, dtype=dtype)
        known = torch.rand(8, 4) < 0.7
        wanted = outputs_and_gradient(plain, logits, known, slope)
        found = outputs_and_gradient(layer, logits.cuda(), known.cuda(), slope.cuda())
        assert all(tensor.is_cuda and tensor.dtype == dtype for tensor in found)
        torch.testing.assert_close([tensor.cpu() for tensor in found], list(wanted))
    assert set(devices) == {"cpu"}
    assert layer.stats.rows == plain.stats.rows == 32
    assert layer.solve(logits.cuda()).outputs.is_cuda


@pytest.mark.parametrize("backend", [Table(), Sat()], ids=["table", "sat"])
def test_layers_explain_logits_on_the_gpu_as_on_the_cpu(backend):
    layer = SMTLayer(addition(2), backend=backend)
    logits, wanted = torch.randn(6, 4), torch.tensor([-1, 1, 0], dtype=torch.int8)
    there = layer.explain(logits.cuda(), wanted.cuda(), runner_up=True)
    here = layer.explain(logits, wanted, runner_up=True)
    assert [str(row) for row in there] == [str(row) for row in here]


@pytest.mark.parametrize("backend", [Table(), Z3(), Sat()], ids=["table", "z3", "sat"])
def test_layers_work_while_new_tensors_are_made_on_the_gpu(backend):
    torch.set_default_device("cuda")
    try:
        layer = SMTLayer(addition(2), backend=backend)
        logits, slope = torch.randn(8, 4), torch.randn(8, 3)
        found = outputs_and_gradient(layer, logits, None, slope)
        assert all(tensor.is_cuda for tensor in found)
        wanted = outputs_and_gradient(layer, logits.cpu(), None, slope.cpu())
        explained = str(layer.explain(logits[:1])[0])
        assert explained == str(layer.explain(logits[:1].cpu())[0])
    finally:
        torch.set_default_device(None)
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


def test_a_failing_capture_is_reported_and_survived(monkeypatch):
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
            self.last_error = solver.last_error

        def _ask(self, question, *tensors):
            answer = question(*(None if t is None else t.cuda() for t in tensors))
            return type(answer)(*(getattr(answer, name).cpu() for name in answer.__slots__))

        def solve(self, inputs):
            return self._ask(self._solver.solve, inputs)

        def maximize(self, inputs, weights, outputs=None):
            return self._ask(self._solver.maximize, inputs, weights, outputs)

        def core(self, inputs, weights, outputs):
            return self._ask(self._solver.core, inputs, weights, outputs)

        def sample(self, logits, outputs):
            return self._ask(self._solver.sample, logits, outputs)

        def marginal(self, logits, outputs):
            return self._ask(self._solver.marginal, logits, outputs)

        def log_prob(self, logits, outputs):
            return self._solver.log_prob(logits.cuda(), outputs.cuda()).cpu()

    class Backend:
        def compile(self, theory):
            return OnGpu(Table().compile(theory))

    theories = [build() for build in THEORIES.values()] + [random_theory(s) for s in range(10)]
    for theory in theories:
        case = Case.make(Backend(), theory)
        for law in (*LAWS, *LISTED_LAWS):
            law(case)
    assert len(theories) == len(THEORIES) + 10
