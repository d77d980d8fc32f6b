"""Typed liar's puzzles: what is read in them, and who is guilty."""

from itertools import product

import pytest
from made_run import liars_run

from smtlayer.theory.declarations import declarations_in
from smtlayer_playground.liars import LiarsPage, rules
from smtlayer_playground.sentences import read_by_keywords
from smtlayer_playground.trained import load
from smtlayer_studies.tasks.liars.data import culprits
from smtlayer_studies.tasks.liars.sentences import AGENTS, KINDS, N_WORDINGS, wording
from smtlayer_studies.tasks.liars.theory import liars_theory


@pytest.fixture(scope="module")
def page():
    return LiarsPage(None)


def test_keywords_read_every_wording_of_the_data():
    for kind, number in product(KINDS, range(N_WORDINGS)):
        read = read_by_keywords([wording(kind, number)])
        assert read.known.all()
        assert (read.logits.sign()[0].int().tolist()) == kind.signs, wording(kind, number)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Alice thinks Bob isn't guilty", "alice bob defends"),
        ("“Bob did it!” said Alice", "alice bob accuses"),
        ("Charlie is innocent, claims Bob.", "bob charlie defends"),
        ("According to Charlie, Bob is not a good person.", "charlie bob accuses"),
        ("BOB: ALICE IS A LIAR", "bob alice accuses"),
        ("Alice says: I did not do it", "alice alice defends"),
        ("Bob says hello to Charlie", "bob charlie None"),
        ("nobody said anything", "None None None"),
    ],
)
def test_keywords_read_free_wordings(page, sentence, expected):
    read = page.answer({"sentences": [sentence, "", ""]})["sentences"][0]
    found = [read[part]["read"] for part in ("speaker", "subject", "claim")]
    assert (
        " ".join(str(word and word.lower()).replace("none", "None") for word in found) == expected
    )


def test_words_of_doubt_lower_the_confidence():
    sure, plain, vague = (
        abs(read_by_keywords([f"Alice says Bob is {word} guilty"]).logits[0, -1].item())
        for word in ("definitely", "", "probably")
    )
    assert sure > plain > vague > 0


def test_all_puzzles_are_judged_as_by_plain_python(page):
    kinds = [[kind for kind in KINDS if kind.speaker == agent] for agent in range(3)]
    fitting = 0
    for statements in product(*kinds):
        answer = page.answer({"sentences": [wording(kind, 3) for kind in statements]})
        possible = [AGENTS[agent].capitalize() for agent in culprits(statements)]
        assert (answer["overruled"] == []) == bool(possible)
        assert (answer["conflict"] is None) == bool(possible)
        if possible:
            assert answer["guilty"] in possible
            assert answer["suspects"] == possible
        fitting += bool(possible)
    assert 24 <= fitting < 64


def test_a_suspect_is_cleared_by_sentences(page):
    puzzle = {"sentences": ["Alice says Bob did it.", "Bob says that Charlie is guilty.",
                              "Charlie: Alice is innocent."]}  # fmt: skip
    answer = page.answer(puzzle)
    assert (answer["guilty"], answer["blame"]) == ("Bob", None)
    cleared = page.answer(puzzle | {"accused": 0})["blame"]
    assert cleared["rules"]
    assert cleared["parts"]
    assert all(0 <= part["sentence"] <= 2 for part in cleared["parts"])
    assert page.answer(puzzle | {"accused": 1})["blame"] is None


def test_speaking_twice_violates_a_rule(page):
    answer = page.answer({"sentences": ["Alice says Bob did it."] * 2 + ["Bob says Alice did it."]})
    assert any("exactly one" in rule for rule in answer["conflict"]["rules"])


@pytest.mark.parametrize("as_printed", [False, True])
def test_rules_are_in_the_order_of_the_theory(as_printed):
    texts = rules(as_printed=as_printed)
    constraints = liars_theory(as_printed=as_printed).constraints
    assert len(texts) == len(constraints)
    for words, constraint in zip(texts, constraints, strict=True):
        names = set(declarations_in([constraint]))
        for agent in AGENTS:
            if agent.capitalize() in words:
                assert any(agent in name for name in names), words
        for number in "123":
            if f"sentence {number}" in words:
                assert any(name.endswith(f"_{number}") for name in names), words
                assert not any(name[-1] in set("123") - {number} for name in names), words


def test_a_network_reads_known_words_and_keywords_are_the_fallback(tmp_path):
    page = LiarsPage(load(liars_run(tmp_path / "liars")))
    known = [
        "Bob: Alice did it",
        "alice says charlie is innocent.",
        "Charlie said that Bob did it.",
    ]
    answer = page.answer({"sentences": known})
    assert (answer["reader"], answer["note"]) == ("network", "")
    unknown = page.answer({"sentences": [*known[:2], "Charlie suspects Bob."]})
    assert unknown["reader"] == "keywords"
    assert "'suspects'" in unknown["note"]
    assert page.answer({"sentences": ["", "", ""]})["reader"] == "keywords"
    assert page.about()["run"]["folder"] == str(tmp_path / "liars")


def test_empty_sentences_make_everyone_a_suspect(page):
    answer = page.answer({"sentences": ["", "  ", ""]})
    assert answer["suspects"] == ["Alice", "Bob", "Charlie"]
