"""Answers of the pages, over HTTP as in a browser."""

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
from smtlayer_playground.fields import encode_image
from smtlayer_playground.images import like_mnist
from smtlayer_playground.server import STATIC
from smtlayer_playground.sudoku import SudokuPage
from smtlayer_playground.sudoku_core import GROUPS
from smtlayer_playground.trained import Trained
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.mnist import load_digits
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

WEIGHTS = torch.tensor([8, 4, 2, 1])


class PerfectReader(nn.Module):
    """Knows all images that the page offers, and reads any other image as 1."""

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
        bits = (torch.tensor(numbers)[:, None] & WEIGHTS).bool()
        return torch.where(bits, 4.0, -4.0).reshape(1, -1)


@pytest.fixture(scope="module")
def perfect():
    run = Trained("visual-sudoku", STATIC, {}, PerfectReader(), sudoku_theory(), {}, "")
    return SudokuPage(run, DigitBank())


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


def test_no_file_of_the_page_refers_to_another_site():
    for file in STATIC.iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text, file
        assert "https:" not in text, file


@pytest.mark.parametrize("path", ["/static/../server.py", "/static/%2e%2e/server.py", "/server.py"])
def test_nothing_else_is_served(client, path):
    assert client.get(path).status_code == 404


def test_about_names_the_networks(client):
    about = client.get("/api/about").json()
    assert about["addition"]["run"]["folder"] == "smtlayer_playground/reader.npz"
    assert about["sudoku"]["run"]["data"].startswith("the sums of two MNIST images")
    assert about["liars"]["run"] is None
    assert about["limits"]["seconds"] == 60


def test_two_digits_are_read_and_added(post):
    status, answer = post(
        "addition", {"digits": [encode_image(image_of(3)), encode_image(image_of(4))]}
    )
    assert status == 200
    explained = answer["explanation"]
    assert [symbol["name"] for symbol in explained["read"]] == ["a", "b"]
    assert all(len(symbol["columns"]) == 4 for symbol in explained["read"])
    values = {symbol["name"]: symbol["value"] for symbol in explained["read"]}
    values |= {change["name"]: change["taken"] for change in explained["overruled"]}
    assert explained["answer"]["total"] == values["a"] + values["b"]
    assert answer["ms"] > 0
    assert base64.b64decode(answer["images"][0]) == image_of(3).numpy().tobytes()


def test_a_wanted_sum_blames_inputs_that_rule_it_out(post):
    digits = [encode_image(image_of(3)), encode_image(image_of(4))]
    answer = post("addition", {"digits": digits, "wanted": 18})[1]["explanation"]
    assert answer["blame"]["inputs"]
    blamed = {c for part in answer["blame"]["inputs"] for c in part["columns"]}
    read = {c["name"]: c["value"] for symbol in answer["read"] for c in symbol["columns"]}
    theory = addition_theory()
    signs = torch.tensor(
        [0 if n not in blamed else 1 if read[n] else -1 for n in theory.input_names]
    )
    fitting = [(a, b) for a in range(10) for b in range(10) if a + b == 18]
    codes = [theory.encode(a=a, b=b) for a, b in fitting]
    assert all((signs * code < 0).any() for code in codes)  # no pair with that sum agrees
    impossible = post("addition", {"digits": digits, "wanted": 25})[1]["explanation"]
    assert impossible["blame"]["inputs"] == []


def test_a_drawing_is_read_like_its_original(post):
    misread = 0
    for digit in range(10):
        image = image_of(digit, 1)
        large = image.float()[None, None].repeat_interleave(4, -1).repeat_interleave(4, -2)
        drawing = torch.zeros(140, 140, dtype=torch.uint8)
        drawing[5:117, 20:132] = large[0, 0].to(torch.uint8)
        shift = (like_mnist(drawing).float() - image.float()).abs().mean()
        assert shift < 20, digit
        digits = [encode_image(image), encode_image(drawing)]
        read = post("addition", {"digits": digits})[1]["explanation"]["read"]
        misread += read[0]["value"] != read[1]["value"]
    assert misread <= 1


def test_a_flipped_bit_is_read_as_its_opposite(post):
    request = {"digits": [encode_image(image_of(8)), encode_image(image_of(1))]}
    plain = post("addition", request)[1]["explanation"]["read"][0]
    flipped = [c["name"] for c in plain["columns"] if c["value"] != (c["name"] in ("a[3]", "a[2]"))]
    answer = post("addition", request | {"flipped": flipped})[1]["explanation"]
    assert answer["read"][0]["value"] == 12  # no digit
    assert answer["status"] == "repaired"
    assert [change["name"] for change in answer["overruled"]] == ["a"]
    assert answer["overruled"][0]["taken"] <= 9
    assert answer["cost"] > 0
    assert answer["conflict"]["inputs"][0]["name"] == "a"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "addition",
            {"digits": [encode_image(image_of(1))] * 2, "flipped": ["x"]},
            "columns among",
        ),
        ("addition", {}, "two images"),
        ("addition", {"digits": ["", ""]}, "base64"),
        ("addition", {"digits": ["%%", "%%"]}, "base64"),
        ("addition", {"digits": [None, None]}, "Draw both"),
        ("addition", {"digits": [encode_image(image_of(1))] * 2, "wanted": 99}, "from 0 to 31"),
        ("digit", {"digit": "7"}, "from 0 to 9"),
        ("digit", {}, "from 0 to 9"),
        ("sudoku", {"images": []}, "81 images"),
        ("sudoku", {"images": [None] * 81}, "at least one hint"),
        ("board", {"seed": -1}, "whole number"),
        ("liars", {"sentences": ["a"]}, "3 strings"),
        ("liars", {"sentences": [1, 2, 3]}, "must be a string"),
        ("theory", {"text": 3}, "must be a string"),
        ("theory", {"text": "(assert true)", "inputs": "a", "outputs": "a", "signs": 3}, "object"),
        ("theory", {"text": "(", "inputs": "a", "outputs": "", "signs": {"a": 2}}, "-1, 0 or 1"),
    ],
)
def test_an_invalid_request_is_rejected_with_a_reason(post, name, content, words):
    status, answer = post(name, content)
    assert status == 400
    assert words in answer["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b"[" * 100_000])
def test_a_body_that_is_not_a_json_object_is_rejected(client, body):
    answer = client.post("/api/liars", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert "JSON" in answer.json()["error"]


def test_a_board_has_one_solution_and_an_image_for_each_hint(post):
    board = post("board", {"seed": 7})[1]
    assert board == post("board", {"seed": 7})[1] | {"ms": board["ms"]}
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


def test_a_board_that_is_read_correctly_is_solved(perfect):
    board = perfect.board({"seed": 3})
    answer = perfect.answer({"images": board["images"]})
    assert answer["overruled"] == []
    assert answer["cost"] == 0
    assert answer["solution"] == board["solution"]
    assert answer["conflict"] is None
    assert [cell and cell["value"] for cell in answer["read"]] == [
        n or None for n in board["shown"]
    ]


def disturbed(page, seed, direct):
    """A board with one hint replaced by a number that clashes directly, or by one that does not."""
    board = page.board({"seed": seed})
    shown = board["shown"]
    for place in (i for i, number in enumerate(shown) if number):
        near = {c for rule in GROUPS if place in rule.cells for c in rule.cells} - {place}
        seen = {shown[cell] for cell in near} - {0}
        choices = (seen if direct else set(range(1, 10)) - seen) - {shown[place]}
        if choices:
            board["images"][place] = page.bank.draw(min(choices), random.Random(0))
            shown[place] = min(choices)
            return place, board
    raise AssertionError("every hint clashes with all numbers")


@pytest.mark.parametrize(("seed", "direct"), [(3, True), (4, True), (5, False), (7, False)])
def test_a_disturbed_board_is_repaired_and_has_a_minimal_core(perfect, seed, direct):
    _, board = disturbed(perfect, seed, direct)
    answer = perfect.answer({"images": board["images"]})
    assert answer["proved"]
    assert is_solved(answer["solution"])
    assert answer["cost"] == pytest.approx(sum(cell["cost"] for cell in answer["overruled"]))
    overruled = {cell["cell"] for cell in answer["overruled"]}
    assert overruled
    for cell, number in enumerate(board["shown"]):
        assert not number or (answer["solution"][cell] == number) == (cell not in overruled)
    core = answer["conflict"]
    values = {cell: board["shown"][cell] for cell in core["cells"]}
    groups = [rule["cells"] for rule in core["rules"]]
    assert not is_consistent(values, groups)
    for cell in values:
        assert is_consistent({c: n for c, n in values.items() if c != cell}, groups)
    for group in groups:
        assert is_consistent(values, [g for g in groups if g is not group])
    assert (len(values) == 2) == direct


def is_consistent(values, groups):
    """Whether z3 finds a board with these numbers in which these groups have distinct numbers."""
    cells = [z3.Int(f"c{i}") for i in range(81)]
    solver = z3.Solver()
    solver.add([z3.And(cell >= 1, cell <= 9) for cell in cells])
    solver.add([z3.Distinct([cells[i] for i in group]) for group in groups])
    solver.add([cells[i] == number for i, number in values.items()])
    return solver.check() == z3.sat


def test_a_hint_that_is_not_a_sudoku_number_is_a_core_by_itself(perfect):
    board = perfect.board({"seed": 3})
    place = next(i for i, shown in enumerate(board["shown"]) if shown)
    board["images"][place] = perfect.bank.draw(0, random.Random(0))
    answer = perfect.answer({"images": board["images"]})
    assert answer["conflict"]["cells"] == (place,)
    assert answer["conflict"]["rules"][0]["label"] == "a cell contains a number from 1 to 9"
    assert is_solved(answer["solution"])


def test_a_correction_replaces_the_reading(perfect):
    board = perfect.board({"seed": 3})
    place = next(i for i, shown in enumerate(board["shown"]) if shown)
    board["images"][place] = perfect.bank.draw(board["shown"][place] % 9 + 1, random.Random(0))
    assert (
        perfect.answer({"images": board["images"]})["read"][place]["value"] != board["shown"][place]
    )
    corrections = {str(place): board["shown"][place]}
    answer = perfect.answer({"images": board["images"], "corrections": corrections})
    assert answer["read"][place]["value"] == board["shown"][place]
    assert (answer["solution"], answer["overruled"]) == (board["solution"], [])


@pytest.mark.parametrize("corrections", [[], {"81": 1}, {"0": 0}, {"0": 10}, {"0": "3"}, {"-1": 3}])
def test_corrections_must_be_numbers_for_cells_with_a_hint(perfect, corrections):
    board = perfect.board({"seed": 3})
    board["images"][0] = perfect.bank.draw(1, random.Random(0))
    with pytest.raises(PlaygroundError, match="must be"):
        perfect.answer({"images": board["images"], "corrections": corrections})


def test_a_pasted_theory_answers_the_three_queries(post):
    answer = post("theory", theory_page.XOR)[1]
    assert answer["solve"]["status"] == "sat"
    assert answer["solve"]["outputs"] == {"y": False}
    assert answer["maximize"]["cost"] == 0
    assert answer["wanted"]["outputs"] == {"y": True}
    assert len(answer["wanted"]["overruled"]) == 1
    assert answer["core"]["columns"] == ["a", "b"]
    assert answer["core"]["constraints"] == ["odd"]
    free = post("theory", theory_page.XOR | {"signs": {"a": 0, "b": 1}})[1]
    assert free["core"]["status"] == "sat"
    assert free["wanted"]["overruled"] == []


def test_confidence_decides_what_is_overruled(post):
    for sure, other in (("a", "b"), ("b", "a")):
        answer = post("theory", theory_page.XOR | {"confidence": {sure: 5, other: 0.5}})[1]
        assert answer["wanted"]["overruled"] == [other]
        assert answer["wanted"]["cost"] == pytest.approx(0.5)


def test_one_hot_symbols_are_named_with_their_values(post):
    request = {
        "text": "(declare-const n Int) (declare-datatypes () ((Pet cat dog)))"
        "(declare-const pet Pet) (assert (= (= pet cat) (> n 2)))",
        "inputs": "n in 1..3",
        "outputs": "pet in cat/dog",
        "signs": {"n=1": -1, "n=2": -1, "n=3": 1},
    }
    status, answer = post("theory", request)
    assert status == 200, answer
    assert answer["solve"]["outputs"] == {"pet": "cat"}
    assert answer["read"] == {"n": 3}


def test_a_theory_with_too_many_models_to_list_is_solved(post):
    names = [f"x{i}" for i in range(30)]
    declared = "".join(f"(declare-const {name} Bool)" for name in names)
    request = {"text": f"{declared}(assert (or {' '.join(names)}))", "inputs": ",".join(names)}
    signs = dict.fromkeys(names, -1)
    status, answer = post("theory", request | {"outputs": "x0", "signs": signs})
    assert status == 200, answer
    assert answer["backend"] == "Sat"
    assert len(answer["maximize"]["overruled"]) == 1
    assert answer["core"]["columns"] == names


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
def test_a_theory_that_cannot_be_read_is_rejected_with_a_reason(post, change, words):
    status, answer = post("theory", theory_page.XOR | change)
    assert status == 400
    assert words in answer["error"]


def test_the_examples_of_the_page_are_solved(post):
    text = (STATIC / "examples.js").read_text().partition("export const EXAMPLES = ")[2]
    found = 0
    for block in text.split("\n  },\n")[:-1]:
        fields = dict(line.strip().split(": ", 1) for line in block.splitlines() if '",' in line)
        request = {name: json.loads(fields[name].rstrip(",")) for name in ("inputs", "outputs")}
        request["text"] = block.split("`")[1]
        status, answer = post("theory", request)
        assert status == 200, answer
        found += 1
    assert found >= 4
