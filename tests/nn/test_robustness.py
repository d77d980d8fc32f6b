"""The layer copied, saved, compiled, in workers, in threads, and interrupted."""

import copy
import io
import os
import pickle
import shutil
import signal
import sys
import textwrap
import threading
import time

import pytest
import torch
import torch.nn.functional as F
import z3
from torch import nn
from torch.utils.data import DataLoader

from helpers import (
    BACKENDS,
    Answers,
    bijection,
    input_gradient,
    majority_of_three,
    random_logits,
    running,
    small_network,
)
from smtlayer import Z3, SMTLayer, Table, Theory
from smtlayer.testing import THEORIES
from smtlayer.testing.theories import addition

TWO = [Table(), Z3()]


def by_name(backend):
    return type(backend).__name__


def saved_and_loaded(layer):
    buffer = io.BytesIO()
    torch.save(layer, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)


COPIES = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda layer: pickle.loads(pickle.dumps(layer)),
    "torch.save": saved_and_loaded,
    "in a network": lambda layer: copy.deepcopy(nn.Sequential(layer))[0],
}


@pytest.mark.parametrize("backend", BACKENDS, ids=by_name)
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_answers_like_the_layer(how, backend):
    layer = SMTLayer(majority_of_three(), backend=backend, backward="maxsmt", weights="softmax")
    logits, slope = random_logits(8, 3), random_logits(8, 1, seed=1)
    expected = input_gradient(layer.eval(), logits, slope)
    twin = COPIES[how](layer)
    assert twin is not layer
    assert (str(twin), twin.training) == (str(layer), False)
    assert torch.equal(twin(logits), layer(logits))
    assert torch.equal(input_gradient(twin, logits, slope), expected)


@pytest.mark.parametrize("name", THEORIES)
def test_every_kind_of_theory_survives_the_journey(name):
    layer = SMTLayer(THEORIES[name](), backend=Z3()).eval()
    logits = random_logits(4, layer.theory.n_inputs)
    twin = pickle.loads(pickle.dumps(layer))
    assert twin.theory == layer.theory
    assert torch.equal(twin.solve(logits).cost, layer.solve(logits).cost)


def test_moving_and_converting_leave_the_layer_as_it_is():
    network = small_network(SMTLayer(addition()), 4)
    features = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    before = network(features)
    assert network.to("cpu") is network
    after = network.double()(features.double())
    assert after.dtype == torch.float64
    assert torch.equal(after.float(), before)
    assert torch.equal(network.to(torch.float32)(features), before)
    network.requires_grad_(False).zero_grad()


def test_a_network_with_the_layer_has_the_state_of_the_network_without_it():
    network = small_network(SMTLayer(addition()), 4)
    assert set(network.state_dict()) == set(network[:3].state_dict())
    other = small_network(SMTLayer(addition()), 4)
    nn.init.zeros_(other[0].weight)
    assert not other.load_state_dict(network.state_dict(), strict=True).missing_keys
    features = torch.ones(2, 3)
    assert torch.equal(other(features), network(features))


@pytest.mark.parametrize(
    ("backend", "context", "workers"),
    [(TWO[0], "fork", 2), (TWO[1], "fork", 2), (Z3(), "spawn", 1)],  # spawning takes seconds
    ids=str,
)
def test_data_loader_workers_ask_a_layer_of_their_own(backend, context, workers):
    layer = SMTLayer(addition(), backend=backend).eval()
    logits = random_logits(12, 4)
    expected = layer(logits)  # the solver is in use here before any process forks
    loader = DataLoader(
        Answers(layer, logits), batch_size=3, num_workers=workers, multiprocessing_context=context,
        timeout=600,
    )  # fmt: skip
    assert torch.equal(torch.cat(list(loader)), expected)
    assert torch.equal(layer(logits), expected)


def test_without_gradients_nothing_is_recorded():
    layer = SMTLayer(addition())
    leaf = random_logits(3, 4).requires_grad_()
    with torch.no_grad():
        outputs = layer(leaf)
    assert not outputs.requires_grad
    with torch.inference_mode():
        assert torch.equal(layer(leaf), outputs)
    assert not layer(leaf.detach()).requires_grad


def test_half_of_a_batch_may_need_no_gradient():
    layer = SMTLayer(addition())
    network = small_network(layer, 4)
    frozen = copy.deepcopy(network[:3]).requires_grad_(False)
    features = torch.ones(2, 3)
    assert not layer(frozen(features)).requires_grad
    assert layer(network[:3](features)).requires_grad


class Surrounded(nn.Module):
    """A network with something to compile before and after the layer."""

    def __init__(self, backend):
        super().__init__()
        self.before = small_network(nn.Identity(), 4)
        self.layer = SMTLayer(addition(), backend=backend)
        self.after = nn.Linear(3, 3)

    def forward(self, features):
        return self.after(torch.tanh(self.layer(self.before(features).sin())))


# Dynamo looks at .grad of what crosses a graph break, whatever breaks the graph.
breaks_the_graph = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")


def learn(network, features, label):
    network.zero_grad()
    outputs = network(features)
    F.binary_cross_entropy_with_logits(outputs, label).backward()
    return outputs.detach(), [p.grad.clone() for p in network.parameters()]


def check_compiled(backend, compiler):
    torch.compiler.reset()
    network = Surrounded(backend)
    features = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    label = (torch.arange(18).reshape(6, 3) % 2).float()
    expected_outputs, expected = learn(network, features, label)
    outputs, gradients = learn(torch.compile(network, backend=compiler), features, label)
    torch.testing.assert_close(outputs, expected_outputs)
    torch.testing.assert_close(gradients, expected)
    assert all(g.any() for g in gradients)


@breaks_the_graph
@pytest.mark.parametrize(
    ("compiler", "backend"),
    [
        ("aot_eager", Table()),
        ("eager", Z3()),
        pytest.param("eager", Table(), marks=pytest.mark.slow),
        pytest.param("aot_eager", Z3(), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_compiled_network_learns_the_same(compiler, backend):
    check_compiled(backend, compiler)


@pytest.mark.slow
@breaks_the_graph
@pytest.mark.skipif(not shutil.which("g++"), reason="needs a C++ compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_network_compiled_to_machine_code_learns_the_same():
    check_compiled(Table(), "inductor")


@breaks_the_graph
def test_what_surrounds_the_layer_is_compiled():
    graphs = []

    def count(module, inputs):
        graphs.append(module)
        return module.forward

    check_compiled(Table(), count)
    assert len(graphs) == 2


@pytest.mark.parametrize("fresh", [False, True], ids=["used before", "fresh copy"])
def test_two_threads_may_ask_one_layer_at_once(fresh):
    layer = SMTLayer(bijection(4, 0, dropped=3), backend=Z3(), backward="maxsmt")
    batches = [random_logits(40, 4, seed) for seed in range(4)]
    slope = random_logits(40, 4, seed=9)
    expected = [input_gradient(layer, batch, slope) for batch in batches]
    shared = copy.deepcopy(layer) if fresh else layer
    found, barrier = [None] * 4, threading.Barrier(4)

    def work(i):
        barrier.wait()
        found[i] = input_gradient(shared, batches[i], slope)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(map(torch.equal, found, expected))


@pytest.mark.parametrize("backward_inside", [False, True])
@pytest.mark.parametrize("backend", TWO, ids=by_name)
def test_autocast_does_not_reach_into_the_solver(backend, backward_inside):
    layer = SMTLayer(addition(5), backend=backend, weights="softmax")
    network = small_network(nn.Identity(), 10)
    features = torch.randn(16, 3, generator=torch.Generator().manual_seed(0)) * 5
    with torch.autocast("cpu", torch.bfloat16):
        logits = network(features)
        logits.retain_grad()
        outputs = layer(logits)
        if backward_inside:
            outputs.sum().backward()
    if not backward_inside:
        outputs.sum().backward()
    assert logits.dtype == outputs.dtype == logits.grad.dtype == torch.bfloat16
    plain = logits.detach().clone()
    assert torch.equal(layer(plain), outputs)
    assert torch.equal(input_gradient(layer, plain, torch.ones(16, 6)), logits.grad)


INTERRUPTED = """
    import torch, z3
    from smtlayer import Enumerate, SMTLayer, Table, Theory, Z3

    x, y = z3.Ints("x y")
    a, b = z3.Bools("a b")
    hard = z3.Implies(a, z3.And(x > 1, y > 1, x * x * x + y * y * y == 1000003**3 + 2))
    theory = Theory([hard, b == (x > y)], inputs=[a], outputs=[b])
    layer = SMTLayer(theory, backend=Z3(timeout_ms=10**8))
    for ask in (
        lambda: layer(torch.ones(2, 1)),
        lambda: Table(max_work=10**12).compile(theory),
        lambda: Enumerate(timeout_ms=10**8).open(theory),
        lambda: theory.check(max_work=10**12, timeout_s=10**5),
    ):
        try:
            print("ready", flush=True)
            ask()
            print("swallowed", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    print(layer(-torch.ones(1, 1)).abs().item(), flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_while_z3_works_is_a_keyboard_interrupt():
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED)]
    with running(command, text=True) as process:
        for who in ("Z3", "Table", "Enumerate", "check"):
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)  # z3 is at work by then
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n", who
        assert process.stdout.readline() == "1.0\n", "the layer does not work afterwards"


def test_the_time_limit_of_z3_is_no_keyboard_interrupt():

    x, y = z3.Ints("x y")
    a, b = z3.Bools("a b")
    hard = z3.Implies(a, z3.And(x > 1, y > 1, x * x * x + y * y * y == 1000003**3 + 2))
    layer = SMTLayer(Theory([hard, b == (x > y)], [a], [b]), backend=Z3(timeout_ms=60))
    assert layer(torch.ones(2, 1)).tolist() == [[0.0], [0.0]]
    assert layer.stats.unknown == 2
