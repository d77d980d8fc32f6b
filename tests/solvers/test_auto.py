"""Which backend a theory gets, why, and how little it takes the second time."""

import copy
import pickle
import re

import pytest
import torch
import z3

from smtlayer import Z3, Auto, Circuit, Sat, Status, Table, Theory, TooLargeError
from smtlayer.solvers.circuit import compilation
from smtlayer.solvers.clauses import translation
from smtlayer.solvers.table import models as listing
from smtlayer.solvers.table.models import list_models
from smtlayer.testing import FINITE, THEORIES

a, y = z3.Bools("a y")


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Nothing was ever listed or translated; returns what makes a new process of this one."""
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path))

    def restart():
        monkeypatch.setattr(listing, "_memory", {})
        monkeypatch.setattr(translation, "_memory", {})
        monkeypatch.setattr(compilation, "_memory", {})

    restart()
    return restart


def no_work(monkeypatch):
    """Whatever is not in the store cannot be had."""
    monkeypatch.setattr(listing, "_list", None)
    monkeypatch.setattr(translation, "_translate", None)
    monkeypatch.setattr(compilation, "_compile", None)


def free_bits():
    """Far too many models, and thousands of them a second."""
    p, q = z3.BitVecs("p q", 24)
    return Theory(p != q, inputs=[p], outputs=[q])


def no_model():
    return Theory([y == a, a, z3.Not(y)], inputs=[a], outputs=[y])


@pytest.mark.parametrize("name", THEORIES)
def test_a_short_list_of_models_becomes_a_table(name):
    choice = Auto().choose(THEORIES[name]())
    count = len(list_models(THEORIES[name](), 20_000))
    assert choice.backend == Table(20_000, 5_000_000)
    assert choice.reason == (
        f"it has {count} models over its inputs and outputs, few enough to list"
    )


def test_the_reason_for_a_list_has_its_length():
    p, q = z3.BitVecs("p q", 5)
    choice = Auto().choose(Theory(p != q, inputs=[p], outputs=[q]))
    assert choice.backend == Table(20_000, 5_000_000)
    assert choice.reason.startswith("it has 992 models over")
    p, q = z3.BitVecs("p q", 6)
    choice = Auto().choose(Theory(p != q, inputs=[p], outputs=[q]))
    assert choice.reason.startswith("it has 4,032 models over")


@pytest.mark.parametrize("name", THEORIES)
def test_a_finite_theory_with_too_many_models_goes_to_circuit_and_any_other_to_z3(name):
    choice = Auto(max_models=1, timeout_ms=77, workers=3).choose(THEORIES[name]())
    if name in FINITE:
        assert choice.backend == Circuit(20_000)
        assert re.fullmatch(
            r"it has \d+ models over its inputs and outputs, too many to list, but its decision "
            r"diagram has \d+ nodes? in \d levels?",
            choice.reason,
        )
    else:
        many = "it has more than 1 models over its inputs and outputs, too many to list"
        assert choice.backend == Z3(77, workers=3)
        assert choice.reason.startswith(f"{many}, and ")
        assert choice.reason.endswith(" does not come down to bits")


@pytest.mark.parametrize("name", sorted(FINITE.keys() - {"unconstrained"}))
def test_a_finite_theory_with_a_large_diagram_goes_to_sat(name):
    choice = Auto(max_models=1, timeout_ms=77, workers=3, max_nodes=1).choose(THEORIES[name]())
    with pytest.raises(TooLargeError, match="max_nodes=1") as refusal:
        compilation.to_diagram(THEORIES[name](), 1)
    size = str(refusal.value).removeprefix("its decision diagram ")
    assert choice.backend == Sat(77, workers=3)
    assert choice.reason == (
        "it has more than 1 models over its inputs and outputs, too many to list, and its "
        f"decision diagram {size}, but it is finite"
    )


def test_an_integer_without_bounds_goes_to_z3_by_name():
    number = z3.Int("number")
    choice = Auto(max_models=1).choose(Theory([number > 3, y == (number > 5)], [y], [y]))
    assert choice.backend == Z3()
    assert choice.reason.endswith(
        "list, and the integer 'number' has no bounds that could be proved"
    )


def test_a_list_that_is_far_too_long_is_not_begun_in_earnest():
    choice = Auto(max_models=10**9, max_nodes=1).choose(free_bits())
    assert choice.backend == Sat()
    assert choice.reason.startswith(
        "it has far more than 1000000000 models over its inputs and outputs, too many to list, and "
    )
    assert len(list_models(free_bits(), 10**9, Auto().max_work)) == 256


def test_a_list_that_takes_too_much_work_is_not_made():
    choice = Auto(max_work=1_000, max_nodes=1).choose(free_bits())
    assert choice.backend == Sat()
    assert choice.reason.startswith("it needs more than 1,000 steps to list, and ")


def test_the_number_of_models_is_that_of_the_diagram():
    choice = Auto().choose(free_bits())
    assert choice.backend == Circuit(20_000)
    assert choice.reason.startswith("it has about 2.8e+14 models over")
    p, q = z3.BitVecs("p q", 12)
    choice = Auto().choose(Theory(p != q, inputs=[p], outputs=[q]))
    assert choice.reason.startswith(f"it has {4096 * 4095:,} models over")


@pytest.mark.parametrize("theory", [THEORIES["addition"], THEORIES["strings"], free_bits, no_model])
def test_the_second_process_takes_all_from_the_store(theory, fresh, monkeypatch):
    options = Auto(max_models=10**6)
    first = options.choose(theory())
    solver = first.backend.compile(theory())
    fresh()
    no_work(monkeypatch)
    assert options.choose(theory()) == first
    again = options.compile(theory())
    rows = torch.zeros(2, theory().n_inputs, dtype=torch.int8)
    assert again.solve(rows).status.tolist() == solver.solve(rows).status.tolist()
    assert again.name == solver.name


def test_a_theory_without_a_model_gets_a_table_without_rows():
    choice = Auto().choose(no_model())
    assert choice.reason == "it has 0 models over its inputs and outputs, few enough to list"
    solver = choice.backend.compile(no_model())
    assert solver.solve(torch.ones(1, 1, dtype=torch.int8)).status.item() == Status.UNSAT


def test_compile_is_what_choose_says():
    assert Auto().compile(THEORIES["xor"]()).name == "Table"
    assert Auto(max_models=1).compile(THEORIES["xor"]()).name == "Circuit"
    assert Auto(max_models=1, max_nodes=1).compile(THEORIES["xor"]()).name == "Sat"
    assert Auto(max_models=1).compile(THEORIES["strings"]()).name == "Z3"
    assert Auto(max_models=1, timeout_ms=55).compile(THEORIES["strings"]()).limit_ms == 55


def test_options_compare_print_hash_pickle_and_copy():
    assert Auto(max_models=5) == Auto(max_models=5) != Auto()
    assert repr(Auto()) == (
        "Auto(max_models=20000, timeout_ms=10000, max_work=5000000, workers=0, max_nodes=20000)"
    )
    assert len({Auto(), Auto(), Auto(workers=2)}) == 2
    assert pickle.loads(pickle.dumps(Auto(workers=2))) == Auto(workers=2)
    assert copy.deepcopy(Auto(timeout_ms=3)) == Auto(timeout_ms=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_models": 0}, r"^Auto expects max_models as a whole number of 1 or more\. Got 0\.$"),
        ({"timeout_ms": -1}, r"^Auto expects timeout_ms above 0\. Got -1\.$"),
        ({"max_work": 0.0}, r"^Auto expects max_work above 0\. Got 0\.0\.$"),
        ({"workers": -2}, r"^Auto expects workers to be 0, a number of processes"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Auto(**options)
