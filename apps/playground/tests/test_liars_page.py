"""Typed puzzles: what keywords find in them, and whom the solver names."""

from itertools import product

import pytest
from made_run import liars_run

from smtlayer.theory.declarations import declarations_in
from smtlayer_playground.liars import LiarsPage, rules
from smtlayer_playground.trained import load
from smtlayer_playground.words import by_keywords
from smtlayer_studies.tasks.liars.data import culprits
from smtlayer_studies.tasks.liars.sentences import AGENTS, KINDS, N_WORDINGS, wording
from smtlayer_studies.tasks.liars.theory import liars_theory


@pytest.fixture(scope="module")
def page():
    return LiarsPage(None)


def test_keywords_read_every_wording_of_the_data():
    for kind, number in product(KINDS, range(N_WORDINGS)):
        read = by_keywords([wording(kind, number)])
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
def test_keywords_read_other_words_too(page, sentence, expected):
    told = page.ask({"sentences": [sentence, "", ""]})["sentences"][0]
    found = [told[part]["read"] for part in ("speaker", "subject", "claim")]
    assert (
        " ".join(str(word and word.lower()).replace("none", "None") for word in found) == expected
    )


def test_words_of_doubt_weigh_less():
    sure, plain, vague = (
        abs(by_keywords([f"Alice says Bob is {word} guilty"]).logits[0, -1].item())
        for word in ("definitely", "", "probably")
    )
    assert sure > plain > vague > 0


def test_all_that_three_can_say_is_judged_as_plain_python_judges(page):
    kinds = [[kind for kind in KINDS if kind.speaker == agent] for agent in range(3)]
    fitting = 0
    for said in product(*kinds):
        told = page.ask({"sentences": [wording(kind, 3) for kind in said]})
        possible = [AGENTS[agent].capitalize() for agent in culprits(said)]
        assert (told["overruled"] == []) == bool(possible)
        assert (told["conflict"] is None) == bool(possible)
        if possible:
            assert told["guilty"] in possible
            assert told["suspects"] == possible
        fitting += bool(possible)
    assert 24 <= fitting < 64


def test_a_suspect_is_cleared_by_the_sentences_that_speak_for_them(page):
    question = {"sentences": ["Alice says Bob did it.", "Bob says that Charlie is guilty.",
                              "Charlie: Alice is innocent."]}  # fmt: skip
    told = page.ask(question)
    assert (told["guilty"], told["blame"]) == ("Bob", None)
    cleared = page.ask(question | {"accused": 0})["blame"]
    assert cleared["rules"]
    assert cleared["parts"]
    assert all(0 <= part["sentence"] <= 2 for part in cleared["parts"])
    assert page.ask(question | {"accused": 1})["blame"] is None


def test_who_speaks_twice_breaks_a_rule_that_is_named(page):
    told = page.ask({"sentences": ["Alice says Bob did it."] * 2 + ["Bob says Alice did it."]})
    assert any("exactly one" in rule for rule in told["conflict"]["rules"])


@pytest.mark.parametrize("as_printed", [False, True])
def test_rules_are_told_in_the_order_of_the_theory(as_printed):
    told, constraints = (
        rules(as_printed=as_printed),
        liars_theory(as_printed=as_printed).constraints,
    )
    assert len(told) == len(constraints)
    for words, constraint in zip(told, constraints, strict=True):
        names = set(declarations_in([constraint]))
        for agent in AGENTS:
            if agent.capitalize() in words:
                assert any(agent in name for name in names), words
        for number in "123":
            if f"sentence {number}" in words:
                assert any(name.endswith(f"_{number}") for name in names), words
                assert not any(name[-1] in set("123") - {number} for name in names), words


def test_a_network_reads_what_it_knows_and_says_when_it_does_not(tmp_path):
    page = LiarsPage(load(liars_run(tmp_path / "liars")))
    known = [
        "Bob: Alice did it",
        "alice says charlie is innocent.",
        "Charlie said that Bob did it.",
    ]
    told = page.ask({"sentences": known})
    assert (told["reader"], told["note"]) == ("network", "")
    strange = page.ask({"sentences": [*known[:2], "Charlie suspects Bob."]})
    assert strange["reader"] == "keywords"
    assert "'suspects'" in strange["note"]
    assert page.ask({"sentences": ["", "", ""]})["reader"] == "keywords"
    assert page.about()["run"]["folder"] == str(tmp_path / "liars")


def test_empty_sentences_leave_everyone_suspect(page):
    told = page.ask({"sentences": ["", "  ", ""]})
    assert told["suspects"] == ["Alice", "Bob", "Charlie"]
