import itertools
import os
import re
from collections import Counter
from pathlib import Path

import pytest
import torch

from smtlayer import SMTLayer
from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_studies.tasks.liars.data import all_puzzles, configurations, shown_configurations
from smtlayer_studies.tasks.liars.sentences import (
    KINDS,
    LONGEST,
    WORDS,
    Kind,
    tokens,
    wording,
    words_of,
)
from smtlayer_studies.tasks.liars.task import LiarsPuzzle
from smtlayer_studies.tasks.liars.words import WordVectors, load_words

ALL = 10**6
NAMES = ["alice", "bob", "charlie"]
SPEECH = {"says", "says that", "said", "said that", ":"}
CLAIMS = {
    "did it": 1, "is guilty": 1, "is definitely guilty": 1, "definitely did it": 1,
    "is the criminal": 1, "did not do it": 0, "is innocent": 0, "is definitely innocent": 0,
    "definitely did not do it": 0, "is a good person": 0,
}  # fmt: skip
VOCABULARY = [  # padding first
    "", *NAMES, "says", "said", "that", ":", "is", "did", "not", "do", "it", "guilty", "innocent",
    "definitely", "the", "criminal", "a", "good", "person", ".",
]  # fmt: skip


@pytest.fixture(scope="module")
def task():
    return LiarsPuzzle()


@pytest.fixture
def glove_dir():
    folder = os.environ.get("SMTLAYER_DATA")
    if not folder or not (Path(folder) / "glove").is_dir():
        pytest.skip("needs GloVe: name the folder that holds glove/ with SMTLAYER_DATA")
    return Path(folder)


def read(sentence):
    """What a sentence says, from the paper's phrases: speaker, subject, accuses."""
    match = re.fullmatch(r"(\w+) (.+) (alice|bob|charlie) (.+) \.", sentence)
    assert match
    assert match[2] in SPEECH
    return NAMES.index(match[1]), NAMES.index(match[3]), CLAIMS[match[4]]


def sentences_of(rows):
    """The sentences of all rows as (speaker, subject, accuses), by an independent reader."""
    distinct, which = rows.items.reshape(-1, LONGEST).unique(dim=0, return_inverse=True)
    meanings = []
    for row in distinct.tolist():
        sentence = " ".join(VOCABULARY[token] for token in row).rstrip()
        assert "  " not in sentence  # padding only at the end
        meanings.append(read(sentence))
    return torch.tensor(meanings)[which].reshape(len(rows), 3, 3)


def by_speaker(rows):
    """Per row, what alice, bob and charlie say; and the order in which they speak."""
    found = sentences_of(rows)
    order = found[:, :, 0]
    assert torch.equal(order.sort(-1).values, torch.arange(3).expand(len(rows), 3))
    return found.take_along_dim(order.argsort(-1)[..., None], 1), order


def guilty(sentences):
    return [
        g
        for g in range(3)
        if all((speaker != g) == (accuses == (whom == g)) for speaker, whom, accuses in sentences)
    ]


def test_each_kind_of_sentence_has_25_different_wordings_that_say_it():
    assert len(KINDS) == 12
    every = set()
    for kind in KINDS:
        sentences = {wording(kind, number) for number in range(25)}
        assert len(sentences) == 25
        assert {read(s) for s in sentences} == {(kind.speaker, kind.subject, kind.accuses)}
        every |= sentences
    assert len(every) == 300
    assert max(len(s.split()) for s in every) == LONGEST
    assert {word for s in every for word in s.split()} == set(WORDS)
    assert len(WORDS) == len(set(WORDS)) == 21


def test_the_sentences_of_the_papers_example_are_among_the_wordings():
    alice = {wording(Kind(0, 1, False), n) for n in range(25)}
    bob = {wording(Kind(1, 0, False), n) for n in range(25)}
    charlie = {wording(Kind(2, 0, True), n) for n in range(25)}
    assert "alice said that bob did not do it ." in alice
    assert "bob : alice is definitely innocent ." in bob
    assert "charlie : alice did it ." in charlie


def test_tokens_spell_the_sentence():
    for kind, number in itertools.product(KINDS, range(25)):
        assert words_of(torch.tensor(tokens(wording(kind, number)))) == wording(kind, number)


def test_there_are_24_configurations_with_one_culprit_and_375000_puzzles():
    found = {tuple((k.speaker, k.subject, k.accuses) for k in some) for some in configurations()}
    claims = [
        [(one, other, accuses) for other in range(3) if other != one for accuses in (False, True)]
        for one in range(3)
    ]
    assert found == {s for s in itertools.product(*claims) if len(guilty(s)) == 1}
    assert len(found) == 24
    puzzles = all_puzzles(torch.Generator())
    assert len(puzzles) == 375_000
    ways = puzzles.wordings @ torch.tensor([625, 25, 1]) + 15_625 * puzzles.configurations
    assert len(ways.unique()) == 375_000
    assert torch.bincount(puzzles.orders).min() > 61_000  # of 62,500


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_split_has_the_papers_sizes_and_no_configuration_in_both_parts(seed):
    task = LiarsPuzzle(split=seed)
    train, test = task.rows("train", ALL, 0), task.rows("test", ALL, 0)
    assert (len(train), len(test)) == (9_400, 28_062)
    shown, unseen = (
        {str(kinds) for kinds in by_speaker(rows)[0].tolist()} for rows in (train, test)
    )
    assert len(shown) == len(unseen) == 12
    assert not shown & unseen
    assert train.seen.all()
    assert not test.seen.any()


def test_training_has_one_order_of_each_configuration_and_test_all_six(task):
    for split, orders in (("train", 1), ("test", 6)):
        sentences, order = by_speaker(task.rows(split, ALL, 0))
        found = {}
        for key, value in zip(sentences.tolist(), order.tolist(), strict=True):
            found.setdefault(str(key), set()).add(tuple(value))
        assert {len(some) for some in found.values()} == {orders}


def test_no_puzzle_of_a_split_is_another_in_a_different_order(task):
    for split in ("train", "test"):
        items = task.rows(split, ALL, 0).items
        by_name = items.take_along_dim(items[:, :, :1].argsort(1), 1)
        assert len(by_name.unique(dim=0)) == len(items)


@pytest.mark.parametrize("split", ["train", "test"])
def test_rows_carry_what_their_words_say(task, split):
    rows = task.rows(split, ALL, 0)
    assert rows.items.shape == (len(rows), 3, LONGEST)
    sentences = sentences_of(rows)
    signs = torch.cat(
        [torch.eye(3)[sentences[..., 0]], torch.eye(3)[sentences[..., 1]], sentences[..., 2:]], -1
    )
    assert rows.symbols.dtype == torch.int8
    assert torch.equal(rows.symbols, (2 * signs - 1).flatten(1).to(torch.int8))
    known = {}
    for row, target in zip(sentences.tolist(), rows.targets.tolist(), strict=True):
        culprit = known.setdefault(str(row), guilty(row))
        assert target == [float([agent] == culprit) for agent in range(3)]


def test_the_theory_agrees_with_the_targets(task):
    rows = task.rows("test", 300, 0)
    assert torch.equal(SMTLayer(task.theory)(rows.symbols.float()), 2 * rows.targets - 1)


def test_the_split_is_the_tasks_own_whatever_the_seed_of_the_rows(task):
    rows, again = task.rows("train", ALL, 0), LiarsPuzzle().rows("train", ALL, 7, epoch=3)
    assert torch.equal(rows.items, again.items)
    assert torch.equal(task.rows("train", 100, 0).items, rows.items[:100])
    other = LiarsPuzzle(split=0).rows("train", ALL, 0)
    assert not torch.equal(rows.items, other.items)


def test_every_kind_of_sentence_occurs_in_training():
    for seed in range(40):  # about ten of these would fail without the rule
        shown = shown_configurations(torch.Generator().manual_seed(seed))
        assert shown.sum() == 12
        kinds = Counter(k for i in shown.nonzero().flatten() for k in configurations()[i])
        assert len(kinds) == 12


def test_validation_rows_are_the_training_configurations_in_other_wordings(task):
    parted = LiarsPuzzle(validation=0.1)
    train, validation = (parted.rows(name, ALL, 0) for name in ("train", "validation"))
    assert (len(train), len(validation)) == (8_460, 940)
    assert torch.equal(torch.cat([train.items, validation.items]), task.rows("train", ALL, 0).items)
    assert validation.seen.all()
    assert torch.equal(parted.rows("test", ALL, 0).items, task.rows("test", ALL, 0).items)
    sentences, shown = by_speaker(validation)[0], by_speaker(train)[0]
    assert {str(s) for s in sentences.tolist()} <= {str(s) for s in shown.tolist()}


def test_splits_and_shares_that_are_impossible_are_errors(task):
    with pytest.raises(ConfigError, match=r"No puzzles are set apart.*such as 0\.1"):
        task.rows("validation", 10, 0)
    with pytest.raises(ConfigError, match=r"validation must be from 0 to below 1\. Got 1\.5\."):
        LiarsPuzzle(validation=1.5)
    with pytest.raises(ConfigError, match=r"must leave puzzles .* sets 9400 of 9400 apart"):
        LiarsPuzzle(validation=0.99999)
    with pytest.raises(ConfigError, match=r"must leave puzzles .* sets 0 of 9400 apart"):
        LiarsPuzzle(validation=1e-9)
    assert task.pretraining.autoencoder is None  # it has no images to reconstruct


def test_the_record_names_the_word_vectors(task):
    assert (task.name, task.data_source) == (
        "liars-puzzle",
        "liars-puzzle, random 300-d word vectors",
    )
    padded = LiarsPuzzle(vectors=WordVectors(torch.ones(21, 100)))
    assert padded.data_source == "liars-puzzle, GloVe 100-d padded to 300"
    assert task.data_title != padded.data_title


def test_word_vectors_are_padded_with_zeros_and_the_padding_has_none():
    vectors = torch.rand(21, 100)
    table = WordVectors(vectors).table()
    assert table.shape == (22, 300)
    assert torch.equal(table[1:, :100], vectors)
    assert not table[0].any()
    assert not table[:, 100:].any()
    task = LiarsPuzzle(vectors=WordVectors(vectors))
    network = task.network()
    task.pretraining.initialize(network)
    assert torch.equal(network.words.weight, table)
    assert network.words.weight.requires_grad


def test_without_glove_words_are_random_and_glove_asked_for_is_missed(tmp_path):
    assert load_words(tmp_path) is None
    with pytest.raises(MissingDataError, match=r"glove-100d is needed, and .* does not exist"):
        load_words(tmp_path, "glove-100d")


def test_the_vectors_of_glove_are_found_by_word(glove_dir):
    words = load_words(glove_dir)
    assert words.vectors.shape == (21, 100)
    torch.testing.assert_close(words.vectors[0, :3], torch.tensor([0.28502, -0.43555, 0.061894]))
    torch.testing.assert_close(words.vectors[20, :2], torch.tensor([-0.33979, 0.20941]))
    assert load_words(glove_dir, "random") is None
