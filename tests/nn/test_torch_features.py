"""Features of torch that a solver cannot take part in: each works or says what to do instead."""

import re
import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad

from smtlayer import SMTLayer
from smtlayer.nn.validate import UNTRACEABLE
from smtlayer.testing.theories import xor

# torch's own: scripting is deprecated, and forward mode uses it inside.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

VMAP = re.escape(
    "SMTLayer cannot run inside vmap or compute batched gradients: a solver needs the values of "
    "all rows. Call the layer outside vmap, as it takes any leading batch dimensions; use "
    "jacobian(vectorize=False) and grad(is_grads_batched=False)."
)
TRANSFORM = (
    r"SMTLayer cannot run inside torch\.func transforms \(grad, vjp, jvp, jacrev\): its gradient "
    r"is not the derivative of its outputs\. Use loss\.backward\(\) or torch\.autograd\.grad\.$"
)
NO_VALUES = r"SMTLayer needs the values of its logits, and a meta or fake tensor has none\. Load"


@pytest.fixture(scope="module")
def layer():
    return SMTLayer(xor())


@pytest.fixture
def logits():
    return torch.randn(3, 2)


def test_vmap_is_refused(layer, logits):
    with pytest.raises(RuntimeError, match=VMAP):
        torch.func.vmap(layer)(logits)
    with pytest.raises(RuntimeError, match=VMAP):
        torch.vmap(lambda known: layer(logits[0], known))(logits > 0)
    with pytest.raises(RuntimeError, match=VMAP):
        torch.vmap(lambda given: layer(logits[0], given=given))(logits > 0)
    with pytest.raises(RuntimeError, match=VMAP):
        torch.vmap(lambda row: layer.solve(row).cost)(logits)
    assert layer(logits.reshape(3, 1, 2)).shape == (3, 1, 1)  # what the message advises


def test_batched_gradients_are_refused(layer, logits):
    jacobian = torch.autograd.functional.jacobian
    with pytest.raises(RuntimeError, match=VMAP):
        jacobian(layer, logits[0], vectorize=True)
    leaf = logits.clone().requires_grad_()
    with pytest.raises(RuntimeError, match=VMAP):
        torch.autograd.grad(layer(leaf), leaf, torch.ones(2, 3, 1), is_grads_batched=True)
    assert jacobian(layer, logits[0]).shape == (1, 2)  # what the message advises


@pytest.mark.parametrize("transform", ["grad", "vjp", "jvp", "jacrev"])
def test_function_transforms_are_refused(layer, logits, transform):
    calls = {
        "grad": lambda: torch.func.grad(lambda z: layer(z).sum())(logits),
        "vjp": lambda: torch.func.vjp(layer, logits),
        "jvp": lambda: torch.func.jvp(layer, (logits,), (logits,)),
        "jacrev": lambda: torch.func.jacrev(layer)(logits),
    }
    with pytest.raises(RuntimeError, match=TRANSFORM):
        calls[transform]()


def test_forward_mode_is_refused(layer, logits):
    message = r"SMTLayer has no forward-mode derivative: .* Use loss\.backward\(\)"
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match=message):
        layer(forward_ad.make_dual(logits, logits))


def test_a_functional_call_works(layer, logits):
    network = nn.Sequential(nn.Linear(2, 2), layer)
    parameters = dict(network.named_parameters())
    assert torch.equal(torch.func.functional_call(network, parameters, logits), network(logits))


def test_scripting_is_refused(layer):
    for module in (layer, nn.Sequential(nn.Linear(2, 2), layer)):
        with pytest.raises(RuntimeError, match=re.escape(UNTRACEABLE)):
            torch.jit.script(module)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_a_traced_layer_still_asks_the_solver(layer, logits):
    traced = torch.jit.trace(layer, logits)
    for rows in (3, 16):
        other = torch.randn(rows, 2)
        assert torch.equal(traced(other), layer(other))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("strict", [False, True])
def test_export_is_refused(layer, logits, strict):
    network = nn.Sequential(nn.Linear(2, 2), layer)
    with pytest.raises(Exception, match=re.escape(UNTRACEABLE)):
        torch.export.export(network, (logits,), strict=strict)


def test_a_compiled_network_without_graph_breaks_is_refused(layer, logits):
    with pytest.raises(Exception, match=re.escape(UNTRACEABLE)):
        torch.compile(lambda z: layer(z.sin()), backend="eager", fullgraph=True)(logits)


def test_symbolic_tracing_is_refused_unless_the_layer_is_a_leaf(layer, logits):
    network = nn.Sequential(nn.Linear(2, 2), layer)
    with pytest.raises(TypeError, match=r"Proxy of torch\.fx\. Use a Tracer for which SMTLayer is"):
        torch.fx.symbolic_trace(network)

    class Tracer(torch.fx.Tracer):
        def is_leaf_module(self, module, name):
            return isinstance(module, SMTLayer) or super().is_leaf_module(module, name)

    traced = torch.fx.GraphModule(network, Tracer().trace(network))
    assert torch.equal(traced(logits), network(logits))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_eight_bits_are_refused(layer, logits, dtype):
    message = (
        rf"^SMTLayer expects logits of at least 16 bits\. Got {dtype}\. "
        r"Call layer\(logits\.float\(\)\)\.$"
    )
    with pytest.raises(TypeError, match=message):
        layer(logits.to(dtype))
    layer(logits.to(dtype).float())


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_sparse_tensors_are_refused(layer, logits, layout):
    sparse = logits.to_sparse(layout=layout)
    message = (
        rf"^SMTLayer expects dense logits\. Got a tensor of layout {layout}\. "
        r"Call layer\(logits\.to_dense\(\)\)\.$"
    )
    with pytest.raises(TypeError, match=message):
        layer(sparse)
    assert torch.equal(layer(sparse.to_dense()), layer(logits))
    message = r"^SMTLayer expects dense known\. .* Call layer\(known\.to_dense\(\)\)\.$"
    with pytest.raises(TypeError, match=message):
        layer(logits, (logits > 0).to_sparse(layout=layout))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested_tensors_are_refused(layer, logits, layout):
    nested = torch.nested.nested_tensor([logits, logits[:1]], layout=layout)
    message = r"SMTLayer expects dense logits\. Got a nested tensor\. Call the layer on torch\.cat"
    with pytest.raises(TypeError, match=message):
        layer(nested)
    assert layer(torch.cat(nested.unbind())).shape == (4, 1)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
def test_quantized_tensors_are_refused(layer, logits):
    message = r"Got torch\.quint8\. Call layer\(logits\.dequantize\(\)\)\.$"
    with pytest.raises(TypeError, match=message):
        layer(torch.quantize_per_tensor(logits, 0.1, 0, torch.quint8))


def test_tensors_without_values_are_refused(layer, logits):
    with pytest.raises(RuntimeError, match=NO_VALUES):
        layer(logits.to("meta"))
    with torch._subclasses.FakeTensorMode(), pytest.raises(RuntimeError, match=NO_VALUES):
        layer(torch.ones(3, 2))


def in_a_fresh_process(code, **options):
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow  # see test_public_names.py
def test_importing_the_layer_imports_little_beside_torch_and_z3():
    *new, compiler = in_a_fresh_process("""
        import sys, torch, z3
        before = set(sys.modules)
        from smtlayer import SMTLayer
        print(*set(sys.modules) - before, "torch._dynamo" in sys.modules)
    """)
    assert compiler == "False"
    packages = {name.split(".")[0] for name in new}
    assert packages <= {"smtlayer", "pysat", "pysolvers", "pycard", "pyformula", "numpy"}
    assert len([name for name in new if not name.startswith("smtlayer.")]) <= 15


@pytest.mark.slow  # the next test uses a layer, and test_robustness.py compiles networks
def test_the_compiler_is_not_imported_until_a_network_is_compiled():
    code = """
        import sys, torch, z3
        from smtlayer import SMTLayer, Theory

        a, b, y = z3.Bools("a b y")
        before, after = torch.nn.Linear(2, 2), torch.nn.Linear(1, 1)
        layer = SMTLayer(Theory(y == z3.Xor(a, b), [a, b], [y]))

        def network(x):
            return after(layer(before(x).sin())).cos()

        x, graphs = torch.randn(4, 2), []
        expected = network(x)
        expected.sum().backward()
        layer.solve(x), layer.possible(x), layer.explain(x)
        print("torch._dynamo" in sys.modules)

        def count(module, inputs):
            graphs.append(module)
            return module.forward

        compiled = torch.compile(network, backend=count)
        print(all(torch.equal(compiled(x), expected) for _ in range(3)), len(graphs))
    """
    assert in_a_fresh_process(code) == ["False", "True", "2"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits")
def test_the_layer_is_used_where_nothing_can_be_written_and_without_the_compiler():
    def full():  # as on a full disk or in a read-only container
        import resource
        import signal

        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    code = """
        import sys, torch, z3
        from smtlayer import SMTLayer, Theory
        a, b, y = z3.Bools("a b y")
        layer = SMTLayer(Theory(y == z3.Xor(a, b), [a, b], [y]))
        logits = torch.tensor([[1.0, -1.0]], requires_grad=True)
        outputs = layer(logits)
        outputs.sum().backward()
        layer.solve(logits), layer.possible(logits), layer.explain(logits)
        print(outputs.item(), "torch._dynamo" in sys.modules)
    """
    assert in_a_fresh_process(code, preexec_fn=full) == ["1.0", "False"]
