"""Where torch puts new tensors by default does not matter; on "meta" they would hold no data."""

import pickle

import pytest
import torch
import torch.nn.functional as F

from smtlayer import Z3, Auto, Enumerate, Sat, SMTLayer, Table
from smtlayer.testing.theories import addition

BACKENDS = (Table(), Sat(), Z3(), Enumerate(), Auto(), Z3(workers=1))
CASES = [(backend, rule) for backend in BACKENDS for rule in ("core", "maxsmt", "sample")]
CASES += [(Table(), "marginal"), (Auto(), "marginal")]
LONG = [(Z3(workers=1), "maxsmt"), (Z3(workers=1), "sample")]  # a worker has to start


@pytest.mark.parametrize(
    ("backend", "rule"),
    [pytest.param(*case, marks=pytest.mark.slow if case in LONG else []) for case in CASES],
)
def test_a_layer_answers_where_its_logits_are(backend, rule, monkeypatch, tmp_path):
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path))
    monkeypatch.setattr("smtlayer.solvers.table.models._memory", {})
    logits = torch.randn(6, 4, requires_grad=True)
    known, labels = torch.rand(6, 4) > 0.3, torch.randint(0, 2, (6, 3)).float()
    with torch.device("meta"):
        theory = addition(2)
        layer = SMTLayer(theory, backend=backend, backward=rule)
        outputs = layer(logits, known=known)
        F.binary_cross_entropy_with_logits(outputs, labels).backward()
        explained = layer.explain(logits, {"total": [1] * 6}, runner_up=True)
        again = pickle.loads(pickle.dumps(layer))
        assert again.eval()(logits).equal(layer.eval()(logits))
        assert theory.check().satisfiable
        assert again.stats.as_dict()["rows"] == layer.stats.as_dict()["rows"] == 12
        values = theory.decode(layer(logits))["total"].tolist()
    assert [row.answer["total"] for row in explained] == values
    assert logits.grad.device.type == outputs.device.type == "cpu"
