"""Trainings of ours and of other libraries: small ones run; the tables follow from records."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import z3

import answers
import klay_addition
import learn
import learning_table
from learners import Progress
from learning_plot import draw_learning
from methods import METHODS, Budget
from problems import PROBLEMS, LeNet, Problem, hint_reader, with_digits
from smtlayer import SMTLayer, Theory, one_hot
from smtlayer_studies.tasks.addition.theory import addition_theory

ROOT = Path(__file__).parents[2]
OPTIONS = {"name": "mnist-addition", "percent": 10, "data": "sample"}
TINY = Problem("mnist-addition-10", "tiny", OPTIONS, lambda: LeNet(4), 1, 16, 64, 50, timed=1)


@pytest.mark.parametrize(
    "name", ["conventional", "ours", "likelihood", "topk", "topk-digits", "topk-answers"]
)
def test_a_method_is_trained_and_scored(name):
    method = replace(METHODS[name], budgets={})
    record = learn.trained(method, TINY, seed=1)
    assert (record["problem"], record["method"], record["seed"]) == (TINY.name, name, 1)
    assert (record["examples"], record["steps"], record["batch_size"]) == (64, 4, 16)
    assert record["data"] == "sample"
    assert 0 <= record["scores"]["accuracy"] <= 1
    assert ("symbols" in record["scores"]) == (name != "conventional")
    assert ("model_accuracy" in record["scores"]) == (name not in ("conventional", "ours"))
    (epoch,) = record["training"]
    assert epoch["loss"] > 0
    assert 0 <= epoch["accuracy"] <= 1


def test_a_training_follows_from_its_seed():
    found = [learn.trained(METHODS["topk"], TINY, seed)["scores"] for seed in (3, 3, 4)]
    assert found[0] == found[1]
    examples = METHODS["topk"].examples(TINY, 0)
    weights = [METHODS["topk"].start(TINY, examples, seed, 4).model.network for seed in (3, 3, 4)]
    first, same, other = (next(iter(network.parameters())) for network in weights)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_an_answer_is_as_probable_as_its_most_probable_proofs():
    layer = SMTLayer(with_digits(addition_theory()))
    logits = torch.randn(4, 20, dtype=torch.float64)
    every = answers.all_answers(layer)
    assert layer.theory.decode(every)["total"].tolist() == list(range(19))
    logits.requires_grad_()
    a, b = (part.softmax(-1) for part in logits.split(10, -1))
    proofs = [[a[:, i] * b[:, total - i] for i in range(10) if 0 <= total - i < 10]
              for total in range(19)]  # fmt: skip
    by_hand = [torch.stack(each, -1).sort(descending=True).values[:, :3].sum(-1) for each in proofs]
    expected = torch.stack(by_hand, -1)
    found = answers.answer_probabilities(layer, logits, every, k=3)
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(expected)
    gradients = [
        torch.autograd.grad((each * weights).sum(), logits)[0] for each in (found, expected)
    ]
    torch.testing.assert_close(*gradients)


def test_the_most_probable_answer_need_not_be_that_of_the_most_probable_model():
    size, y = z3.Int("size"), z3.Bool("y")
    layer = SMTLayer(Theory(y == (size > 0), [one_hot(size, range(4))], [y]), inference="maxsmt")
    logits = torch.tensor([[0.4, 0.25, 0.25, 0.1], [0.7, 0.1, 0.1, 0.1]]).log()
    assert layer.eval()(logits).tolist() == [[-1], [-1]]
    by_all = answers.MostProbableAnswer(layer, answers.ALL)
    assert by_all(logits).tolist() == [[1], [-1]]
    assert answers.MostProbableAnswer(layer, 1)(logits).tolist() == [[-1], [-1]]


def test_a_method_is_scored_by_its_own_answers(monkeypatch):
    method = METHODS["likelihood"]
    record = learn.trained(method, TINY, seed=0)
    nine = method.examples(TINY, 0).theory.encode_outputs(total=[9])
    monkeypatch.setattr(
        answers.MostProbableAnswer, "forward", lambda self, z: nine.repeat(len(z), 1).to(z)
    )
    other = learn.trained(method, TINY, seed=0)
    test = method.examples(TINY, 0).rows("test", TINY.test_rows, learn.TEST_SEED)
    nines = ((test.targets > 0) == (nine > 0)).all(-1).double().mean()
    assert other["scores"]["accuracy"] == nines > 0
    assert other["scores"]["model_accuracy"] == record["scores"]["model_accuracy"] != nines
    assert other["scores"]["symbols"] == record["scores"]["symbols"]
    long = PROBLEMS["long-addition-2"]
    model = method.start(TINY, method.examples(TINY, 0), 0, 4).model
    assert method.answering(model, long) is None
    assert METHODS["ours"].answering(model, TINY) is None


def test_wrong_answers_lose_probability_by_the_loss_of_scallop():
    examples = METHODS["topk-answers"].examples(TINY, 0)
    learner = METHODS["topk-answers"].start(TINY, examples, 0, 40)
    batch = examples.rows("train", 16, 0).batch(torch.arange(16))
    losses = [learner.step(batch) for _ in range(40)]
    assert losses[0].loss == pytest.approx(0.2, abs=0.05)  # 19 answers, all about as probable
    assert losses[-1].loss < 0.8 * losses[0].loss


def test_klay_is_trained_by_the_likelihood_that_ours_has(monkeypatch):
    monkeypatch.setattr(klay_addition, "to_klay", SMTLayer)  # in KLay's place
    monkeypatch.setattr(klay_addition, "log_likelihood", lambda layer, theory: layer.log_prob)
    losses = [
        [learner.step(batch).loss for batch in learn.batches(method, TINY, 0)]
        for method in (METHODS["klay"], METHODS["likelihood-digits"])
        for learner in [method.start(TINY, method.examples(TINY, 0), 0, 4)]
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    authors = METHODS["klay-authors"]
    learner = authors.start(TINY, authors.examples(TINY, 0), 0, 2)
    before = [weight.detach().clone() for weight in learner.model.network.parameters()]
    (batch, *_) = learn.batches(METHODS["klay"], TINY, 0)
    assert learner.step(batch).loss == pytest.approx(losses[0][0], rel=1e-5)
    after = learner.model.network.parameters()
    changes = [(new - old).abs().max().item() for new, old in zip(after, before, strict=True)]
    assert max(changes) == pytest.approx(3e-4, rel=0.05)  # the first step of Adam at this rate


def test_a_training_is_settled_if_it_fits_or_no_longer_improves():
    def epochs(*losses):
        return [Progress(loss, 0.5) for loss in losses]

    assert not learn.settled(epochs(1.0))
    assert not learn.settled(epochs(1.0, 1.0, 1.0))  # three epochs are always allowed
    assert learn.settled(epochs(1.0, 1.0, 1.0, 0.99))
    assert not learn.settled(epochs(1.0, 0.97, 1.0, 1.0))
    assert learn.settled(epochs(1.0, 0.97, 1.0, 1.0, 0.96))
    assert learn.settled([Progress(1.0, 0.98), Progress(0.5, 0.99)])
    assert not learn.settled([Progress(1.0, 0.99), Progress(0.5, 0.98)])
    assert not learn.settled([Progress(1.0)])  # no accuracy


def test_a_training_ends_when_it_is_settled(monkeypatch):
    seen = []
    monkeypatch.setattr(learn, "settled", lambda epochs: seen.append(len(epochs)) or len(seen) == 2)
    for until_settled, count in ((True, 2), (False, 3)):
        budget = Budget(3, 16, until_settled=until_settled)
        method = replace(METHODS["conventional"], budgets={TINY.name: budget})
        record = learn.trained(method, TINY, seed=0)
        assert (len(record["training"]), record["steps"]) == (count, 4 * count)
        assert record["examples"] == 64 * count
    assert seen == [1, 2]
    method = replace(
        METHODS["conventional"], budgets={TINY.name: Budget(3, 16, until_settled=True)}
    )
    monkeypatch.setattr(learn, "settled", lambda epochs: True)
    assert len(learn.trained(method, replace(TINY, epochs=2), seed=0)["training"]) == 2  # at least


def test_digits_by_softmax_have_the_same_examples():
    bits, digits = (METHODS[name].examples(TINY, 0) for name in ("topk", "topk-digits"))
    ours, theirs = (each.rows("train", 20, 0) for each in (bits, digits))
    assert torch.equal(ours.items, theirs.items)
    assert torch.equal(ours.targets, theirs.targets)
    assert theirs.symbols.shape == (20, 2 * 10)
    read = digits.theory.decode_inputs(theirs.symbols)
    total = torch.as_tensor(read["a"]) + torch.as_tensor(read["b"])
    assert torch.equal(
        total, torch.as_tensor(digits.theory.decode(theirs.targets * 2 - 1)["total"])
    )


def test_methods_are_timed_in_turn():
    methods = [METHODS["ours"], METHODS["conventional"]]
    problem = replace(TINY, epochs=3)
    found = list(learn.timed(problem, methods))
    assert [r["method"] for r in found] == ["ours", "conventional"]
    for record in found:
        assert record["range"][0] <= record["per_1000"] <= record["range"][1]
        assert record["beside"] == ["ours", "conventional"]


def test_every_problem_has_its_network_and_a_budget():
    for method in METHODS.values():
        assert method.problems <= set(PROBLEMS)
        for name in method.problems:
            assert method.budget(PROBLEMS[name]).epochs > 0
    images = torch.zeros(2, 81, 28, 28)
    images[0, 5] = 1
    read = hint_reader()(images)
    assert read.shape == (2, 81 * 9)
    assert read[0].nonzero().flatten().tolist() == list(range(45, 54))


def test_a_method_has_the_network_of_its_authors_where_it_names_one():
    problem = PROBLEMS["visual-algebra-1"]
    for name, normalised in (("ltn", 0), ("ltn-network", 2)):
        network = METHODS[name].network(problem)
        kinds = [type(layer) for layer in network.modules()]
        assert kinds.count(torch.nn.BatchNorm1d) == normalised
        assert network(torch.rand(3, 4, 28, 28)).shape == (3, 40)


def test_results_are_added_to_a_file_once(tmp_path, monkeypatch, capsys):
    file = tmp_path / "found.jsonl"
    monkeypatch.setitem(learn.PROBLEMS, "mnist-addition-10", TINY)
    words = ["--problems", "mnist-addition-10", "--methods", "conventional", "--seeds", "0,1"]
    assert learn.main([*words, "--into", str(file)]) == 0
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert [r["seed"] for r in records] == [0, 1]
    assert all(r["commit"] and r["machine"] for r in records)
    assert learn.main([*words, "--into", str(file)]) == 0
    assert len(file.read_text().splitlines()) == 2
    assert learn.main([*words[:-2], "--list"]) == 0
    assert capsys.readouterr().out == "conventional: can run here; tiny\n"


def test_what_cannot_run_is_skipped_and_wrong_names_are_refused(monkeypatch, capsys):
    monkeypatch.setattr("methods.find_spec", lambda _: None)
    assert learn.main(["--methods", "satnet-large,satnet-sudoku"]) == 0
    assert capsys.readouterr().err == (
        "skipped satnet-large: satnet is not installed. "
        "Install it as benchmarks/rivals/requirements/satnet.txt says.\n"
        "skipped satnet-sudoku: it is trained on cuda, not on cpu. Use --device cuda.\n"
    )
    for method in METHODS.values():
        if method.module:
            assert (ROOT / method.missing(method.devices[0]).split()[-2]).exists()
    with pytest.raises(SystemExit):
        learn.main(["--methods", "scallop"])
    assert "--methods expects names among ours, ours-digits" in capsys.readouterr().err


def accuracy(method, problem, *values):
    return [
        {"kind": "accuracy", "method": method, "problem": problem, "scores": {"accuracy": value}}
        for value in values
    ]


def test_a_table_has_means_spreads_and_what_the_paper_reports():
    records = [
        *accuracy("ours", "mnist-addition-10", 0.98, 0.99, 0.97),
        *accuracy("satnet-sudoku", "visual-sudoku-10", 0.0),
        *accuracy("satnet", "mnist-addition-10", 0.1, 0.3, 0.2),
    ]
    problems = ("mnist-addition-10", "visual-sudoku-10")
    rows = learning_table.accuracy_rows(records, problems)
    assert rows == [
        ("ours, `anneal_core`", "98.0 ± 1.0", "–"),  # noqa: RUF001
        (METHODS["satnet"].title, "20.0 ± 10.0", "–"),  # noqa: RUF001
        (METHODS["satnet-sudoku"].title, "–", "0.0 (1)"),  # noqa: RUF001
        ("SATNet, paper †", "10.0", "0.0"),
        ("Scallop, paper †", "33.7", "–"),  # noqa: RUF001
        ("SMTLayer, paper †", "98.1", "66.0"),
    ]
    assert learning_table.titles(problems) == ("MNIST+ 10 %", "Visual Sudoku 10 %")
    assert len(learning_table.method_rows()) == len(METHODS)


def test_the_summary_has_one_row_per_library_by_its_first_method():
    cpu = {"kind": "seconds", "machine": {"device": "cpu"}, "problem": "mnist-addition-100"}
    records = [
        *accuracy("likelihood", "mnist-addition-100", 0.1, 0.1, 0.1),
        *accuracy("likelihood", "liars-puzzle", 0.6, 0.6, 0.6),
        *accuracy("likelihood-digits", "mnist-addition-100", 0.9, 0.9, 0.9),
        *accuracy("satnet", "mnist-addition-100", 0.5, 0.5, 0.5),
        *accuracy("satnet-sudoku", "visual-sudoku-10", 0.0, 0.0, 0.0),
        cpu | {"method": "likelihood", "per_1000": 0.1},
        cpu | {"method": "likelihood-digits", "per_1000": 0.234},
        cpu | {"method": "deepproblog", "per_1000": 8.4},
    ]
    rows = {row[0]: row for row in learning_table.summary_rows(records)}
    assert len(rows) == len(learning_table.SUMMARY)
    none = learning_table.NONE
    assert rows["ours, exact likelihood"] == (
        "ours, exact likelihood", METHODS["likelihood"].needs,
        none, "90.0 ± 0.0", none, "60.0 ± 0.0", none, "0.23",
    )  # fmt: skip
    assert rows["SATNet"][3:] == ("50.0 ± 0.0", none, none, "0.0 ± 0.0", none)
    assert rows["DeepProbLog"][-1] == "8.4, batches of 2"
    assert len(learning_table.summary_heads()) == len(rows["SATNet"])


def test_tables_of_seconds_have_the_times_of_one_device():
    problems = ("mnist-addition-100", "visual-sudoku-10")
    cpu, gpu = ({"kind": "seconds", "machine": {"device": name}} for name in ("cpu", "NVIDIA H200"))
    records = [
        cpu | {"method": "deepproblog", "problem": problems[0], "per_1000": 8.234, "range": [8, 9]},
        gpu | {"method": "ours", "problem": problems[0], "per_1000": 0.0234, "range": [0.0211, 1]},
        gpu | {"method": "satnet-sudoku", "problem": problems[1], "per_1000": 448.7,
               "range": [402.0, 470.4]},
        *accuracy("klay", problems[0], 0.5),
    ]  # fmt: skip
    assert learning_table.seconds_rows(records, problems, "cpu") == [
        ("DeepProbLog, 1 epoch", "8.2 (8 to 9), batches of 2", "–"),  # noqa: RUF001
    ]
    sudoku = METHODS["satnet-sudoku"].title
    assert learning_table.seconds_rows(records, problems, "cuda") == [
        ("ours, `anneal_core`", "0.023 (0.021 to 1)", "–"),  # noqa: RUF001
        (sudoku, "–", "449 (402 to 470), batches of 40"),  # noqa: RUF001
    ]
    assert learning_table.titles_with_batches(problems) == (
        "MNIST+ 100 %, batches of 128", "Visual Sudoku 10 %, batches of 16",
    )  # fmt: skip


def test_earlier_settings_are_tabled_by_their_titles():
    problems = ("mnist-addition-10", "mnist-addition-100")
    small = [r | {"title": "small"} for r in accuracy("satnet", problems[0], 0.1, 0.2, 0.3)]
    large = [r | {"title": "large"} for r in accuracy("satnet", problems[1], 0.5)]
    assert learning_table.earlier_rows([*small, *large], problems) == [
        ("small", "20.0 ± 10.0", "–"), ("large", "–", "50.0 (1)"),  # noqa: RUF001
    ]  # fmt: skip


def test_the_picture_has_a_dot_per_seed_and_a_mark_per_quoted_figure(tmp_path, monkeypatch):
    records = [
        *accuracy("ours", "mnist-addition-10", 0.98, 0.99, 0.97),
        *accuracy("satnet", "mnist-addition-100", 0.1, 0.3),
        *accuracy("satnet-sudoku", "visual-sudoku-10", 0.0),
        {"kind": "seconds", "method": "klay", "problem": "mnist-addition-10", "per_1000": 1.2},
    ]
    figures = []
    monkeypatch.setattr("matplotlib.pyplot.close", figures.append)
    draw_learning(records, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    panels = figures[0].axes
    assert [axis.get_title() for axis in panels] == list(learning_table.titles(learning_table.ENDS))
    names = [label.get_text() for label in panels[0].get_yticklabels()]
    methods = ["ours, anneal_core", *(METHODS[n].title for n in ("satnet", "satnet-sudoku"))]
    assert names == [*methods, *learning_table.QUOTED.values()]
    spots = [
        [spot for dots in axis.collections for spot in dots.get_offsets().tolist()]
        for axis in panels
    ]
    assert spots[0] == [[98, 0], [99, 0], [97, 0], [10, 3], [33.7, 4], [98.1, 5]]
    assert spots[1][:2] == [[10, 1], [30, 1]]
    assert spots[4] == [[0, 2], [0, 3], [66, 5]]  # Scallop has no Sudoku
    assert list(panels[1].lines[0].get_xdata()) == [20, 20]  # the mean
