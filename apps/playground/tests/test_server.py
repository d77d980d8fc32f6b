"""What the pages answer, over HTTP as a browser asks."""

import base64
import json
import random

import pytest
import torch
import z3
from torch import nn

from smtlayer.theory.declarations import declarations_in
from smtlayer_playground import theory as theory_page
from smtlayer_playground.digits import DigitBank
from smtlayer_playground.errors import PlaygroundError
from smtlayer_playground.fields import as_text
from smtlayer_playground.images import like_mnist
from smtlayer_playground.server import STATIC
from smtlayer_playground.sudoku import SudokuPage
from smtlayer_playground.sudoku_core import GROUPS
from smtlayer_playground.trained import Trained
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.mnist import load_digits
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

PLACES = torch.tensor([8, 4, 2, 1])


class PerfectReader(nn.Module):
    """Knows every image that the page offers; what it does not know it takes for a 1."""

    def __init__(self):
        super().__init__()
        digits = load_digits("auto").test
        self.known = {
            image.numpy().tobytes(): int(label)
            for image, label in zip(digits.images, digits.labels, strict=True)
        }

    def forward(self, images):
        raw = (images * 255).round().to(torch.uint8)[0]
        numbers = [self.known.get(image.numpy().tobytes(), 1) for image in raw]
        bits = (torch.tensor(numbers)[:, None] & PLACES).bool()
        return torch.where(bits, 4.0, -4.0).reshape(1, -1)


@pytest.fixture(scope="module")
def perfect():
    run = Trained("visual-sudoku", STATIC, {}, PerfectReader(), sudoku_theory(), {}, "")
    return SudokuPage(run, run, DigitBank())


def image_of(digit, number=0):
    digits = load_digits("auto").test
    return digits.images[digits.labels == digit][number]


def test_the_page_and_its_files_are_served_with_their_headers(client):
    page = client.get("/")
    assert page.status_code == 200
    assert page.text.startswith("<!doctype html>")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    for file in STATIC.iterdir():
        found = client.get(f"/static/{file.name}")
        assert found.status_code == 200
        assert found.content == file.read_bytes()


def test_no_file_of_the_page_names_another_place():
    for file in STATIC.iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text, file
        assert "https:" not in text, file


@pytest.mark.parametrize("path", ["/static/../server.py", "/static/%2e%2e/server.py", "/server.py"])
def test_nothing_else_is_served(client, path):
    assert client.get(path).status_code == 404


def test_about_tells_where_the_networks_come_from(client, addition_folder):
    about = client.get("/api/about").json()
    assert about["addition"]["run"]["folder"] == str(addition_folder)
    assert about["sudoku"]["own"] is False
    assert about["liars"]["run"] is None
    assert about["limits"]["seconds"] == 60


def test_two_digits_are_read_and_added(ask):
    status, told = ask("addition", {"digits": [as_text(image_of(3)), as_text(image_of(4))]})
    assert status == 200
    explained = told["explanation"]
    assert [symbol["name"] for symbol in explained["read"]] == ["a", "b"]
    assert all(len(symbol["columns"]) == 4 for symbol in explained["read"])
    values = {symbol["name"]: symbol["value"] for symbol in explained["read"]}
    values |= {over["name"]: over["taken"] for over in explained["overruled"]}
    assert explained["answer"]["total"] == values["a"] + values["b"]
    assert told["ms"] > 0
    assert base64.b64decode(told["images"][0]) == image_of(3).numpy().tobytes()


def test_a_wanted_sum_blames_inputs_that_rule_it_out(ask):
    digits = [as_text(image_of(3)), as_text(image_of(4))]
    told = ask("addition", {"digits": digits, "wanted": 18})[1]["explanation"]
    assert told["blame"]["inputs"]
    blamed = {c for part in told["blame"]["inputs"] for c in part["columns"]}
    read = {c["name"]: c["value"] for symbol in told["read"] for c in symbol["columns"]}
    theory = addition_theory()
    signs = torch.tensor(
        [0 if n not in blamed else 1 if read[n] else -1 for n in theory.input_names]
    )
    fitting = [(a, b) for a in range(10) for b in range(10) if a + b == 18]
    codes = [theory.encode(a=a, b=b) for a, b in fitting]
    assert all((signs * code < 0).any() for code in codes)  # no pair with that sum agrees
    impossible = ask("addition", {"digits": digits, "wanted": 25})[1]["explanation"]
    assert impossible["blame"]["inputs"] == []


def test_a_drawing_is_read_like_the_image_it_was_made_of(ask, pages):
    misread = 0
    for digit in range(10):
        image = image_of(digit, 1)
        large = image.float()[None, None].repeat_interleave(4, -1).repeat_interleave(4, -2)
        drawing = torch.zeros(140, 140, dtype=torch.uint8)
        drawing[5:117, 20:132] = large[0, 0].to(torch.uint8)
        shift = (like_mnist(drawing).float() - image.float()).abs().mean()
        assert shift < 20, digit
        read = [
            ask("addition", {"digits": [as_text(picture)] * 2})[1]["explanation"]["read"][0][
                "value"
            ]
            for picture in (image, drawing)
        ]
        misread += read[0] != read[1]
    assert misread <= 1


def test_a_bit_that_is_flipped_is_taken_for_its_opposite(ask):
    question = {"digits": [as_text(image_of(8)), as_text(image_of(1))]}
    plain = ask("addition", question)[1]["explanation"]["read"][0]
    flipped = [c["name"] for c in plain["columns"] if c["value"] != (c["name"] in ("a[3]", "a[2]"))]
    told = ask("addition", question | {"flipped": flipped})[1]["explanation"]
    assert told["read"][0]["value"] == 12  # no digit
    assert told["status"] == "repaired"
    assert [over["name"] for over in told["overruled"]] == ["a"]
    assert told["overruled"][0]["taken"] <= 9
    assert told["cost"] > 0
    assert told["conflict"]["inputs"][0]["name"] == "a"


@pytest.mark.parametrize(
    ("name", "question", "words"),
    [
        ("addition", {"digits": [as_text(image_of(1))] * 2, "flipped": ["x"]}, "columns out of"),
        ("addition", {}, "two pictures"),
        ("addition", {"digits": ["", ""]}, "base64"),
        ("addition", {"digits": ["%%", "%%"]}, "base64"),
        ("addition", {"digits": [None, None]}, "Draw both"),
        ("addition", {"digits": [as_text(image_of(1))] * 2, "wanted": 99}, "from 0 to 31"),
        ("digit", {"digit": "7"}, "from 0 to 9"),
        ("digit", {}, "from 0 to 9"),
        ("sudoku", {"images": []}, "81 pictures"),
        ("sudoku", {"images": [None] * 81}, "at least one hint"),
        ("board", {"seed": -1}, "whole number"),
        ("liars", {"sentences": ["a"]}, "3 texts"),
        ("liars", {"sentences": [1, 2, 3]}, "must be a text"),
        ("theory", {"text": 3}, "must be a text"),
        ("theory", {"text": "(assert true)", "inputs": "a", "outputs": "a", "signs": 3}, "object"),
        ("theory", {"text": "(", "inputs": "a", "outputs": "", "signs": {"a": 2}}, "-1, 0 or 1"),
    ],
)
def test_what_is_no_question_is_refused_in_words(ask, name, question, words):
    status, told = ask(name, question)
    assert status == 400
    assert words in told["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(client, body):
    told = client.post("/api/liars", content=body, headers={"content-type": "application/json"})
    assert told.status_code == 400
    assert "JSON" in told.json()["error"]


def test_a_board_has_one_solution_and_an_image_for_each_hint(ask):
    board = ask("board", {"seed": 7})[1]
    assert board == ask("board", {"seed": 7})[1] | {"ms": board["ms"]}
    for shown, image, number in zip(
        board["shown"], board["images"], board["solution"], strict=True
    ):
        assert (image is None) == (shown == 0)
        assert shown in (0, number)
    assert sum(shown > 0 for shown in board["shown"]) >= 31


def is_solved(board):
    numbers = list(range(1, 10))
    return all(sorted(board[cell] for cell in rule.cells) == numbers for rule in GROUPS)


def test_groups_are_those_of_the_theory():
    cells = [{f"cell_{cell // 9}_{cell % 9}" for cell in rule.cells} for rule in GROUPS]
    assert cells == [set(declarations_in([rule])) for rule in sudoku_theory().constraints[81:]]


def test_a_board_that_is_read_right_is_solved(perfect):
    board = perfect.board({"seed": 3})
    told = perfect.ask({"images": board["images"]})
    assert told["overruled"] == []
    assert told["cost"] == 0
    assert told["solution"] == board["solution"]
    assert told["conflict"] is None
    assert [cell and cell["value"] for cell in told["read"]] == [n or None for n in board["shown"]]


def disturbed(page, seed, direct):
    """A board with one hint swapped: for a number that its row has already, or one nobody sees."""
    board = page.board({"seed": seed})
    shown = board["shown"]
    for place in (i for i, number in enumerate(shown) if number):
        near = {c for rule in GROUPS if place in rule.cells for c in rule.cells} - {place}
        seen = {shown[cell] for cell in near} - {0}
        choices = (seen if direct else set(range(1, 10)) - seen) - {shown[place]}
        if choices:
            board["images"][place] = page.bank.draw_text(min(choices), random.Random(0))
            shown[place] = min(choices)
            return place, board
    raise AssertionError("every hint clashes with all numbers")


@pytest.mark.parametrize(("seed", "direct"), [(3, True), (4, True), (5, False), (7, False)])
def test_a_disturbed_board_is_repaired_and_its_core_named(perfect, seed, direct):
    _, board = disturbed(perfect, seed, direct)
    told = perfect.ask({"images": board["images"]})
    assert told["proved"]
    assert is_solved(told["solution"])
    assert told["cost"] == pytest.approx(sum(cell["cost"] for cell in told["overruled"]))
    overruled = {cell["cell"] for cell in told["overruled"]}
    assert overruled
    for cell, number in enumerate(board["shown"]):
        assert not number or (told["solution"][cell] == number) == (cell not in overruled)
    core = told["conflict"]
    values = {cell: board["shown"][cell] for cell in core["cells"]}
    groups = [rule["cells"] for rule in core["rules"]]
    assert not can_hold(values, groups)
    for cell in values:
        assert can_hold({c: n for c, n in values.items() if c != cell}, groups)
    for group in groups:
        assert can_hold(values, [g for g in groups if g is not group])
    assert (len(values) == 2) == direct


def can_hold(values, groups):
    """Whether numbers from 1 to 9 fit the given ones and the given groups, asked of z3."""
    cells = [z3.Int(f"c{i}") for i in range(81)]
    solver = z3.Solver()
    solver.add([z3.And(cell >= 1, cell <= 9) for cell in cells])
    solver.add([z3.Distinct([cells[i] for i in group]) for group in groups])
    solver.add([cells[i] == number for i, number in values.items()])
    return solver.check() == z3.sat


def test_a_hint_that_is_no_number_of_sudoku_is_its_own_core(perfect):
    board = perfect.board({"seed": 3})
    place = next(i for i, shown in enumerate(board["shown"]) if shown)
    board["images"][place] = perfect.bank.draw_text(0, random.Random(0))
    told = perfect.ask({"images": board["images"]})
    assert told["conflict"]["cells"] == (place,)
    assert told["conflict"]["rules"][0]["label"] == "a cell holds a number from 1 to 9"
    assert is_solved(told["solution"])


def test_a_number_that_somebody_says_stands_for_what_is_read(perfect):
    board = perfect.board({"seed": 3})
    place = next(i for i, shown in enumerate(board["shown"]) if shown)
    board["images"][place] = perfect.bank.draw_text(board["shown"][place] % 9 + 1, random.Random(0))
    assert perfect.ask({"images": board["images"]})["read"][place]["value"] != board["shown"][place]
    said = {str(place): board["shown"][place]}
    told = perfect.ask({"images": board["images"], "said": said})
    assert told["read"][place]["value"] == board["shown"][place]
    assert (told["solution"], told["overruled"]) == (board["solution"], [])


@pytest.mark.parametrize("said", [[], {"81": 1}, {"0": 0}, {"0": 10}, {"0": "3"}, {"-1": 3}])
def test_what_is_said_of_hints_must_be_numbers_of_hints(perfect, said):
    board = perfect.board({"seed": 3})
    board["images"][0] = perfect.bank.draw_text(1, random.Random(0))
    with pytest.raises(PlaygroundError, match="must be"):
        perfect.ask({"images": board["images"], "said": said})


def test_the_digit_reader_of_addition_reads_boards_too(ask):
    board = ask("board", {"seed": 5})[1]
    status, told = ask("sudoku", {"images": board["images"]})
    assert status == 200
    assert is_solved(told["solution"])
    right = [r["value"] == n for r, n in zip(told["read"], board["shown"], strict=True) if r]
    assert sum(right) > 0.7 * len(right)


def test_a_pasted_theory_answers_the_three_questions(ask):
    told = ask("theory", theory_page.XOR)[1]
    assert told["solve"]["status"] == "sat"
    assert told["solve"]["outputs"] == {"y": False}
    assert told["maximize"]["cost"] == 0
    assert told["wanted"]["outputs"] == {"y": True}
    assert len(told["wanted"]["overruled"]) == 1
    assert told["core"]["columns"] == ["a", "b"]
    assert [part["label"] for part in told["core"]["constraints"]] == ["odd"]
    free = ask("theory", theory_page.XOR | {"signs": {"a": 0, "b": 1}})[1]
    assert free["core"]["status"] == "sat"
    assert free["wanted"]["overruled"] == []


def test_confidence_decides_what_is_overruled(ask):
    for sure, other in (("a", "b"), ("b", "a")):
        told = ask("theory", theory_page.XOR | {"confidence": {sure: 5, other: 0.5}})[1]
        assert told["wanted"]["overruled"] == [other]
        assert told["wanted"]["cost"] == pytest.approx(0.5)


def test_symbols_with_values_are_named_with_them(ask):
    question = {
        "text": "(declare-const n Int) (declare-datatypes () ((Pet cat dog)))"
        "(declare-const pet Pet) (assert (= (= pet cat) (> n 2)))",
        "inputs": "n in 1..3",
        "outputs": "pet in cat/dog",
        "signs": {"n=1": -1, "n=2": -1, "n=3": 1},
    }
    status, told = ask("theory", question)
    assert status == 200, told
    assert told["solve"]["outputs"] == {"pet": "cat"}
    assert told["read"] == {"n": 3}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"text": "(assert"}, "line 1"),
        ({"text": "(frobnicate)"}, "'frobnicate'"),
        (
            {
                "text": "(declare-const a Bool)(assert (and a (not a)))",
                "inputs": "a",
                "outputs": "a",
            },
            "no model",
        ),
        ({"inputs": "a, c"}, "'c'"),
        ({"inputs": ""}, "Name the inputs"),
        ({"inputs": "a in 5..1"}, "numbers"),
        ({"inputs": "a b"}, "not a name"),
        (
            {"text": "(declare-const a Int)(assert (> a 2))", "inputs": "a", "outputs": "a"},
            "n in 1..9",
        ),
    ],
)
def test_a_theory_that_cannot_be_read_is_refused_in_words(ask, change, words):
    status, told = ask("theory", theory_page.XOR | change)
    assert status == 400
    assert words in told["error"]


def test_the_examples_of_the_page_can_be_asked(ask):
    text = (STATIC / "examples.js").read_text().partition("export const EXAMPLES = ")[2]
    found = 0
    for block in text.split("\n  },\n")[:-1]:
        fields = dict(line.strip().split(": ", 1) for line in block.splitlines() if '",' in line)
        question = {name: json.loads(fields[name].rstrip(",")) for name in ("inputs", "outputs")}
        question["text"] = block.split("`")[1]
        status, told = ask("theory", question)
        assert status == 200, told
        found += 1
    assert found >= 4
