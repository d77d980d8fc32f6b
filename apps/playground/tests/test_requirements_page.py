"""Answers of the requirements page, over HTTP as in a browser, and its programs."""

import ast
import json
import math
import random
import re
import subprocess
import sys

import pytest
import torch
import z3
from hostile import REQUIREMENTS
from page_examples import requirement_examples

from smtlayer import SMTLayer, Theory, one_hot

EXAMPLES = requirement_examples()
ROAD = {"text": "not (red and green)\nred or green", "logits": {"red": 2.0, "green": 1.0}}


def test_answers_are_those_of_the_library(post):
    status, answer = post("requirements", ROAD)
    assert status == 200, answer
    red, green = z3.Bools("red green")
    rules = [z3.Not(z3.And(red, green)), z3.Or(red, green)]
    layer = SMTLayer(Theory(rules, inputs=[red, green], outputs=[red, green]))
    logits = torch.tensor([2.0, 1.0], dtype=torch.float32)
    marginals, row = layer.marginals(logits), layer.explain(logits)[0]
    assert answer["probabilities"] == pytest.approx(
        dict(zip(("red", "green"), marginals.outputs.tolist(), strict=True))
    )
    assert answer["all_hold"] == pytest.approx(marginals.log_prob.exp().item())
    assert answer["repair"]["cost"] == pytest.approx(row.cost)
    assert [part["name"] for part in answer["repair"]["overruled"]] == ["green"]
    assert answer["repair"]["values"] == row.answer
    assert [part["name"] for part in answer["core"]["inputs"]] == ["red", "green"]
    assert answer["core"]["requirements"] == ["not (red and green)"]


def test_the_logits_of_values_are_read_by_their_differences(post):
    text = 't in A/B/C\nt != "A"\noutput u\nu == (t == "C")'
    answers = [
        post("requirements", {"text": text, "logits": {"t=A": 5 + k, "t=B": 2 + k, "t=C": 1 + k}})[
            1
        ]
        for k in (0, -4)
    ]
    t = z3.String("t")
    letters = one_hot(t, "ABC")
    layer = SMTLayer(Theory(t != "A", inputs=[letters], outputs=[letters]))
    expected = layer.marginals(torch.tensor([5.0, 2.0, 1.0])).outputs.tolist()
    for answer in answers:
        shares = [answer["probabilities"][f"t={letter}"] for letter in "ABC"]
        assert shares == pytest.approx(expected)
        (change,) = answer["repair"]["overruled"]
        assert (change["read"], change["taken"]) == ("A", "B")
        assert answer["repair"]["cost"] == pytest.approx(3)
        assert answer["core"]["requirements"] == ['t != "A"']
    assert [symbol["is_input"] for symbol in answers[0]["symbols"]] == [True, False]


def test_a_logit_of_zero_says_nothing(post):
    answer = post("requirements", {"text": "a\nb or c", "logits": {}})[1]
    assert answer["repair"]["status"] == "fits"
    assert answer["repair"]["cost"] == 0
    assert answer["probabilities"] == pytest.approx({"a": 1, "b": 2 / 3, "c": 2 / 3})


def test_facts_are_never_overruled(post):
    plain = post("requirements", ROAD)[1]
    fact = post("requirements", ROAD | {"given": ["green"]})[1]
    assert [part["name"] for part in plain["repair"]["overruled"]] == ["green"]
    assert [part["name"] for part in fact["repair"]["overruled"]] == ["red"]
    assert [part["name"] for part in fact["core"]["given"]] == ["green"]
    both = post("requirements", ROAD | {"given": ["green", "red"]})[1]
    assert both["repair"]["status"] == "contradicts"
    assert both["repair"]["cost"] is None
    assert both["core"]["requirements"] == ["not (red and green)"]


def test_declared_values_of_outputs_take_part_in_a_core(post):
    text = "n in 0..3\noutput total in 5..6\ntotal == n + 4"
    answer = post("requirements", {"text": text, "logits": {"n=3": 2.0}})[1]
    assert answer["core"]["requirements"] == ["total == n + 4", "total is one of 5, 6"]


def test_without_a_weighing_backend_there_are_no_probabilities(post):
    draw = random.Random(0)
    clauses = [draw.sample(range(1, 41), 3) for _ in range(60)]
    text = "\n".join(" ".join(str(v * draw.choice((-1, 1))) for v in c) + " 0" for c in clauses)
    status, answer = post("requirements", {"text": text, "logits": {"x1": 1.0, "x2": -1.0}})
    assert status == 200, answer
    assert answer["backend"] == "Sat"  # too many models to list
    assert (answer["probabilities"], answer["all_hold"]) == (None, None)
    assert answer["repair"]["status"] == "fits"
    assert "marginals" not in answer["program"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"text": 3}, "'text' must be a string"),
        ({"text": "x" * 6_000}, "at most 5,000 characters"),
        ({"text": "a\nnot a"}, "contradict each other, whatever the inputs are: a; not a. Change"),
        ({"text": "a => b"}, "Line 1: 'a => b' cannot be read. Write 'implies'"),
        ({"text": "true or b"}, "Rename the symbol"),
        ({"text": "1 2"}, "has no 0 at its end"),
        ({"logits": [1]}, "'logits' must be an object"),
        ({"logits": {"red": "2"}}, "'logit' must be a number"),
        ({"logits": {"red": math.inf}}, "'logit' must be a number"),
        ({"given": "red"}, "'given' must list at most 40 names"),
        ({"text": "a or \ud800"}, "must be Unicode text"),
    ],
)
def test_an_invalid_request_is_rejected_with_a_reason(client, change, words):
    body = json.dumps(ROAD | change)  # unlike httpx, Python's writer accepts any number and string
    answer = client.post(
        "/api/requirements", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 413)
    assert words in answer.json()["error"]


CALLED = {"Bool", "Int", "String", "one_hot", "range", "list", "Theory", "SMTLayer", "tensor",
          "And", "Or", "Not", "Implies", "Distinct", "AtMost", "AtLeast", "PbEq", "matches",
          "explain", "marginals", "print", "zip", "values", "tolist", "exp",
          "from_dimacs"}  # fmt: skip


@pytest.mark.parametrize("text", REQUIREMENTS, ids=lambda text: ascii(text[:30]))
def test_hostile_text_is_not_executed_and_does_not_enter_the_program(client, tmp_path, text):
    path = tmp_path / "touched"
    body = json.dumps({"text": text.replace("PATH", str(path)), "logits": {}, "given": []})
    answer = client.post(
        "/api/requirements", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (200, 400, 413, 422)
    assert not path.exists()
    if answer.status_code != 200:
        assert answer.json()["error"]
        return
    for node in ast.walk(ast.parse(answer.json()["program"])):
        if isinstance(node, ast.Call):
            function = node.func
            assert (function.attr if isinstance(function, ast.Attribute) else function.id) in CALLED
        assert not isinstance(node, ast.Import) or node.names[0].name in ("torch", "z3")


RUN_ALL = """
import runpy, sys
for path in sys.argv[1:]:
    print("PROGRAM")
    runpy.run_path(path)
"""


def check_printed(text, answer):
    """The program prints what the page shows."""
    words = " ".join(text.split())
    for column, probability in answer["probabilities"].items():
        assert re.search(rf"(?<!\S){re.escape(column)} {100 * probability:.1f} %", words), column
    assert f"hold with probability {answer['all_hold']:.4f}." in words
    repair, core = answer["repair"], answer["core"]
    if repair["overruled"]:
        assert f"repaired at a cost of {repair['cost']:.2f}" in words
        for change in repair["overruled"]:
            cost = f"(cost {change['cost']:.2f})"
            assert (
                f"{change['name']}: {change['taken']} instead of {change['read']} {cost}" in words
            )
        for line in core["requirements"]:
            assert f'"{line}"' in words or "|" in line or " or " in line, line
    else:
        assert "Fits the theory." in words


def run_programs(programs, folder):
    paths = [folder / f"program{i}.py" for i in range(len(programs))]
    for path, text in zip(paths, programs, strict=True):
        path.write_text(text, encoding="utf-8")
    words = [sys.executable, "-c", RUN_ALL, *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=600)
    return done.stdout.split("PROGRAM\n")[1:]


def test_the_examples_run_as_python_programs(post, tmp_path):
    assert len(EXAMPLES) == 5
    answers = [post("requirements", example)[1] for example in EXAMPLES.values()]
    assert all(answer["core"] and answer["repair"]["overruled"] for answer in answers)
    printed = run_programs([answer["program"] for answer in answers], tmp_path)
    for text, answer in zip(printed, answers, strict=True):
        check_printed(text, answer)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_each_program_runs_in_a_process_of_its_own(post, tmp_path, name):
    logits = {column: -logit for column, logit in EXAMPLES[name]["logits"].items()}
    for example in (EXAMPLES[name], EXAMPLES[name] | {"logits": logits}):
        status, answer = post("requirements", example)
        assert status == 200, answer
        (printed,) = run_programs([answer["program"]], tmp_path)
        check_printed(printed, answer)
