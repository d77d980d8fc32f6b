"""The callback in real Lightning trainings, small ones."""

import math
import os
import re
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
import z3
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils.data import DataLoader, IterableDataset

from smtlayer import SMTLayer, Theory
from smtlayer.errors import MissingPackageError

pytest.importorskip("lightning", reason="needs the extra lightning")

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers.logger import Logger

from smtlayer.lightning import SolverCallback

ROOT = Path(__file__).parents[1]
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*LeafSpec.* is deprecated"),  # in Lightning itself
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:You defined a `validation_step` but have no"),
]


def make_layer() -> SMTLayer:
    a, b, y = z3.Bools("a b y")
    return SMTLayer(Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y]))


class Xor(LightningModule):
    """Remembers the progress that each step saw, and the counts at the end of each epoch."""

    def __init__(self, layers=1):
        super().__init__()
        self.network = nn.Linear(2, 2)
        self.layers = nn.ModuleList(make_layer() for _ in range(layers))
        self.seen: list[float] = []
        self.stats: list[dict[str, float]] = []

    def loss(self, batch):
        logits = self.network(batch)
        outputs = sum(layer(logits) for layer in self.layers)
        return binary_cross_entropy_with_logits(outputs, torch.ones(len(batch), 1))

    def training_step(self, batch, number):
        assert len({layer.progress for layer in self.layers}) == 1
        self.seen.append(self.layers[0].progress)
        return self.loss(batch)

    def validation_step(self, batch, number):
        self.loss(batch)

    test_step = validation_step

    def on_train_epoch_end(self):
        self.stats.append(self.layers[0].stats.as_dict())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


class Log(Logger):
    """Keeps what it is given."""

    name, version = "log", 0

    def __init__(self):
        super().__init__()
        self.lines = []

    def log_metrics(self, metrics, step=None):
        self.lines.append((step, {k: v for k, v in metrics.items() if k.startswith("solver/")}))

    def log_hyperparams(self, params, *args, **kwargs):
        pass

    def of(self, name):
        key = f"solver/{name}"
        return [(step, line[key]) for step, line in self.lines if key in line]


def rows(count):
    return DataLoader(torch.randn(count, 2), batch_size=4)


def make_trainer(callback=None, callbacks=(), make=Trainer, **options):
    quiet = {"logger": False, "accelerator": "cpu", "log_every_n_steps": 1}
    for part in ("checkpointing", "progress_bar", "model_summary"):
        quiet[f"enable_{part}"] = False
    return make(callbacks=[callback or SolverCallback(), *callbacks], **(quiet | options))


def test_progress_of_every_layer_rises_to_one():
    module = Xor(layers=2)
    make_trainer(max_epochs=2).fit(module, rows(20))
    assert module.seen == pytest.approx([step / 10 for step in range(10)])
    assert [layer.progress for layer in module.layers] == [1.0, 1.0]


def test_progress_counts_steps_and_not_batches():
    module = Xor()
    make_trainer(max_epochs=2, accumulate_grad_batches=2).fit(module, rows(20))
    steps = [0, 0, 1, 1, 2, 3, 3, 4, 4, 5]  # the fifth batch of an epoch makes one step alone
    assert module.seen == pytest.approx([step / 6 for step in steps])
    assert module.layers[0].progress == 1.0


@pytest.mark.filterwarnings("ignore:Checkpoint directory .* is not empty")
@pytest.mark.filterwarnings("ignore:You're resuming from a checkpoint that ended before")
@pytest.mark.parametrize("saved_at", [5, 7])  # at the end of an epoch, and in the middle of one
def test_a_resumed_training_goes_on_with_its_progress(tmp_path, saved_at):
    def fit(module, logger, path=None):
        keep = ModelCheckpoint(tmp_path, "{step}", every_n_train_steps=saved_at, save_top_k=-1)
        trainer = make_trainer(
            max_epochs=3, callbacks=[keep], logger=logger, enable_checkpointing=True
        )
        trainer.fit(module, rows(20), ckpt_path=path)

    whole, later, log = Xor(), Xor(), Log()
    fit(whole, False)
    fit(later, log, tmp_path / f"step={saved_at}.ckpt")
    assert later.seen == whole.seen[saved_at:]
    assert later.layers[0].progress == 1.0
    assert [count for _, count in log.of("rows")] == [4 * (10 - saved_at), 20]


@pytest.mark.parametrize("layers", [1, 2])
def test_each_epoch_logs_what_its_layers_counted(layers):
    module, log = Xor(layers), Log()
    make_trainer(max_epochs=3, logger=log).fit(module, rows(20))
    names = ["rows", "sat", "unsat", "unknown", "unproved", "cache_hits",
             "correct", "blamed", "without_gradient", "contradicted", "undecided"]  # fmt: skip
    for name in names:
        assert log.of(name) == [
            (5 * epoch + 4, layers * stats[name]) for epoch, stats in enumerate(module.stats)
        ]
    assert [count for _, count in log.of("rows")] == [20 * layers] * 3
    assert log.of("blamed")[0][1] > 0
    assert log.of("blamed_share")[0][1] == pytest.approx(log.of("blamed")[0][1] / (20 * layers))
    assert [value for _, value in log.of("progress")] == pytest.approx([1 / 3, 2 / 3, 1])
    assert not log.of("rows_step")
    for (_, seconds), (_, part) in zip(log.of("seconds"), log.of("time_share"), strict=True):
        assert seconds > 0
        assert 0 < part < 1


def test_validation_and_test_are_counted_apart():
    module, log = Xor(), Log()
    trainer = make_trainer(SolverCallback(every_n_steps=5), max_epochs=2, logger=log,
                           val_check_interval=2)  # fmt: skip
    trainer.fit(module, rows(20), rows(12))
    assert [count for _, count in log.of("rows")] == [20, 20]
    assert [count for _, count in log.of("rows_step")] == [20, 20]
    assert [count for _, count in log.of("val_rows")] == [12] * 4
    assert not log.of("val_asked")
    assert module.stats[0]["rows"] == 20 + 2 * 12  # the layer's own counts hold all
    (tested,) = trainer.test(module, rows(8), verbose=False)
    assert tested["solver/test_rows"] == 8


def test_steps_are_logged_if_asked():
    log = Log()
    trainer = make_trainer(SolverCallback(every_n_steps=2), max_epochs=2, logger=log,
                           accumulate_grad_batches=2)  # fmt: skip
    trainer.fit(Xor(), rows(24))  # 6 batches, 3 steps an epoch
    assert log.of("rows_step") == [(1, 16), (3, 16), (5, 16)]  # the second in both epochs
    assert [count for _, count in log.of("rows")] == [24, 24]


@pytest.mark.parametrize("validation", [None, rows(4)])
def test_a_module_without_a_layer_is_refused(validation):
    module = Xor(layers=0)
    module.hidden = [make_layer()]
    with pytest.raises(ValueError, match=r"Got Xor without one\. Keep the layer in an attribute"):
        make_trainer(max_epochs=1).fit(module, rows(4), validation)


class Endless(IterableDataset):
    def __iter__(self):
        while True:
            yield torch.randn(2)


@pytest.mark.parametrize("options", [{"max_epochs": -1}, {"max_epochs": 1}])
def test_a_training_of_unknown_length_needs_a_total(options):
    with pytest.raises(ValueError, match=r"does not know how many steps .* pass total"):
        make_trainer(**options).fit(Xor(), DataLoader(Endless(), 4))


def test_a_total_is_taken_at_its_word():
    module = Xor()
    make_trainer(SolverCallback(total=4), max_steps=6).fit(module, DataLoader(Endless(), 4))
    assert module.seen == [0, 0.25, 0.5, 0.75, 1, 1]


@pytest.mark.parametrize("number", [-1, 0.5, math.nan, "1"])
def test_bad_arguments_are_refused(number):
    every = re.escape(f"every_n_steps as a whole number of at least 0. Got {number!r}.")
    with pytest.raises(ValueError, match=every):
        SolverCallback(every_n_steps=number)
    total = re.escape(f"total as a whole number, at least one step. Got {number!r}.")
    with pytest.raises(ValueError, match=total):
        SolverCallback(total=number)


def test_the_trainer_may_come_from_either_package():
    other = pytest.importorskip("pytorch_lightning")
    callback, seen = SolverCallback(), []

    class Module(other.LightningModule):
        def __init__(self):
            super().__init__()
            self.network, self.layer = nn.Linear(2, 2), make_layer()

        def training_step(self, batch, number):
            seen.append(self.layer.progress)
            return self.layer(self.network(batch)).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    trainer = make_trainer(callback, make=other.Trainer, max_epochs=2)
    trainer.fit(Module(), rows(8))
    assert seen == [0, 0.25, 0.5, 0.75]
    assert trainer.callback_metrics["solver/rows"] == 8


def run(*arguments, folder):
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False,
        timeout=300, env=os.environ | {"PYTHONPATH": str(ROOT / "tests"), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


@pytest.mark.slow
def test_counts_of_all_processes_are_summed(tmp_path):
    script = """
        from test_lightning import Log, SolverCallback, Xor, make_trainer, rows

        log = Log()
        callback = SolverCallback(every_n_steps=5)
        trainer = make_trainer(callback, max_epochs=2, logger=log, devices=2, strategy="ddp")
        trainer.fit(Xor(), rows(40), rows(16))
        if trainer.global_rank == 0:
            print(log.of("rows"), log.of("rows_step"), log.of("val_rows"))
    """
    (tmp_path / "script.py").write_text(textwrap.dedent(script))
    done = run("script.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[(4, 40.0), (9, 40.0)] [(4, 40.0), (9, 40.0)] [(4, 16.0), (9, 16.0)]" in done.stdout


def test_without_the_package_the_callback_says_what_to_install(monkeypatch):
    monkeypatch.setattr("smtlayer.lightning._missing", ImportError("none"))
    with pytest.raises(MissingPackageError, match=r"needs the lightning package\. Install"):
        SolverCallback()


@pytest.mark.slow  # imports everything in a new process
def test_without_the_package_all_else_can_be_imported():
    code = """
        import sys
        import pytest
        import smtlayer.errors
        import smtlayer_studies.runs
        print("imported", "lightning" in sys.modules)
        sys.modules["lightning"] = None
        from smtlayer.lightning import SolverCallback
        try:
            SolverCallback()
        except smtlayer.errors.MissingPackageError as error:
            print("raised", error)
        paths = ["src/smtlayer/loop.py", "src/smtlayer/lightning.py", "tests/test_lightning.py"]
        sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *paths]))
    """
    done = run("-c", textwrap.dedent(code), folder=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr  # nor are tests in the way
    first, second, *_ = done.stdout.splitlines()
    assert first == "imported False"
    assert second == (
        "raised The Lightning callback needs the lightning package. "
        'Install it with: pip install ".[lightning]" # in a checkout of smtlayer'
    )


@pytest.mark.usefixtures("own_z3_context")
def test_the_example_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "06_lightning.py"))
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "solver/progress: 1\n" in printed.out
    assert printed.out.endswith("100% of 1000 new games are judged right\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("own_z3_context")
def test_the_script_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "how-to" / "lightning.md").read_text()
    (script,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(script, {"__name__": "__main__"})
    assert re.search(r"\b(9\d|100)% correct$", capsys.readouterr().out.strip())
