"""What differs from the paper stands beside each figure, and follows from the record."""

from pathlib import Path

import pytest

from made_records import record
from smtlayer_studies.reports.differences import NOTES, differences
from smtlayer_studies.reports.results import read_record
from smtlayer_studies.runs import load_experiment

PLAIN = {
    "mnist-addition-10": "digits ≤ 9; cores by confidence",
    "visual-algebra-1": "numbers in range; cores by confidence",
    "visual-algebra-2": "letters a to m; numbers in range; cores by confidence",
    "liars-puzzle": "random word vectors; cores by confidence",
    "visual-sudoku-50": "other boards; batches of 4; cores by confidence",
}


def of(row, method):
    return differences(record(row, method, config=load_experiment(row).config(method).as_dict()))


@pytest.mark.parametrize(("row", "expected"), PLAIN.items())
def test_the_papers_recipe_differs_in_what_the_column_names(row, expected):
    assert "; ".join(of(row, "paper")) == expected


@pytest.mark.parametrize(
    ("row", "method", "expected"),
    [
        ("mnist-addition-50", "conventional", ""),
        ("mnist-addition-50", "conventional-same-budget", "shifts ≤ 2 px; Adam(0.001); 8 epochs"),
        ("mnist-addition-50", "no-shift",
         "digits ≤ 9; Adam(0.001); 8 epochs; mix(core, marginal); log-odds"),
        ("visual-algebra-2", "best",
         "letters a to m; numbers in range; distilled from own network; SGD(0.01); 17 + 1 epochs; "
         "up to 3 starts; mix(core, marginal); log-odds"),
        ("visual-algebra-2", "own-network",
         "letters a to m; numbers in range; own network; Adam(0.001); 1 + 8 epochs; "
         "mix(core, marginal); log-odds"),
        ("liars-puzzle", "as-printed",
         "random word vectors; 15 epochs; up to 2 starts; mix(core, marginal); log-odds"),
        ("liars-puzzle", "best",
         "random word vectors; one speaker per sentence; 15 epochs; annealed marginal; log-odds"),
        ("visual-sudoku-10", "best",
         "other boards; one-hot digits; shifts ≤ 2 px; Adam(0.001); 60 epochs; batches of 16; "
         "maxsmt; log-odds"),
    ],
)  # fmt: skip
def test_other_methods_differ_in_more(row, method, expected):
    assert "; ".join(of(row, method)) == expected


def test_a_portfolio_is_named_with_its_rules():
    for row in ("visual-algebra-1", "long-addition-2"):
        settings = ['members.rules=["core", "maxsmt"]', "members.seeds=2", "train.epochs=4"]
        config = load_experiment(row).config(
            "best", settings=[*settings, "train.loss=cross-entropy"]
        )
        found = differences(record(row, config=config.as_dict()))
        assert {"portfolio of 4", "core or maxsmt"} <= set(found)


def test_what_the_paper_does_not_have_differs_in_nothing():
    assert differences(record()) == ()
    config = load_experiment("liars-puzzle").config("best").as_dict()
    assert differences(record("mine", config=config)) == ()


def test_every_record_that_is_kept_can_be_compared():
    paths = sorted((Path(__file__).parents[2] / "results").glob("*/*-seed*.json"))
    assert len(paths) > 200
    for path in paths:
        kept = read_record(path)
        assert differences(kept) or kept["method"] == "conventional", path


def test_the_notes_explain_the_words():
    text = " ".join(NOTES).lower()
    for word in ("digits ≤ 9", "numbers in range", "one speaker per sentence", "other boards",
                 "letters a to m", "random word vectors", "shifts", "cores by confidence",
                 "log-odds", "starts", "portfolio", "epochs"):  # fmt: skip
        assert word in text
