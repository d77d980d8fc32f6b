"""SMT-LIB text comes in and goes out, and means the same on both sides."""

import copy
import gc
import itertools
import sys
from fractions import Fraction

import pytest
import torch
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from smtlayer import SMTLayer, Theory, TheoryError, one_hot
from smtlayer.testing import THEORIES, random_theory

SYMBOLS = "(declare-const a Bool)\n(declare-fun b () Bool)\n(declare-const y Bool)\n"
XOR = SYMBOLS + "(assert (= y (xor a b)))\n"


def read(text, inputs=("a", "b"), outputs=("y",)):
    return Theory.from_smtlib(text, inputs=list(inputs), outputs=list(outputs))


def xor():
    a, b, y = z3.Bools("a b y")
    return Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y])


def differ_nowhere(one, other):
    """Whether z3 proves that two theories hold of the same values."""
    solver = z3.Solver(ctx=z3.Context())
    left, right = (
        z3.And([formula.translate(solver.ctx) for formula in theory.formulas])
        for theory in (one, other)
    )
    return solver.check(left != right) == z3.unsat


def models(theory):
    """Which columns can hold together, asked of the theory's own formulas."""
    solver = z3.Solver(ctx=theory.inputs[0].ctx)
    solver.add(*theory.formulas)
    columns = (*theory.inputs, *theory.outputs)
    for truths in itertools.product((False, True), repeat=len(columns)):
        solver.push()
        solver.add(*(column == truth for column, truth in zip(columns, truths, strict=True)))
        if solver.check() == z3.sat:
            yield truths
        solver.pop()


def again(theory):
    """The theory, written and read."""
    requests = [
        [
            one_hot(symbol.name, symbol.values) if symbol.kind == "one-hot" else symbol.name
            for symbol in symbols
        ]
        for symbols in (theory.input_symbols, theory.output_symbols)
    ]
    return read(theory.to_smtlib(), *requests)


CASES = {
    **{name: build for name, build in THEORIES.items() if name != "functions"},
    **{f"random{seed}": lambda s=seed: random_theory(s) for seed in range(20)},
}


@pytest.mark.parametrize("name", CASES)
def test_a_theory_written_and_read_differs_nowhere(name):
    theory = CASES[name]()
    twin = again(theory)
    assert differ_nowhere(theory, twin)
    assert twin.input_names == theory.input_names
    assert twin.output_names == theory.output_names


def test_the_proof_of_equivalence_distinguishes_theories():
    a, b, y = z3.Bools("a b y")
    assert not differ_nowhere(xor(), Theory(y == z3.Or(a, b), [a, b], [y]))


def test_a_theory_over_a_declared_sort_written_and_read_has_the_same_models():
    theory = THEORIES["functions"]()  # z3 does not take the two sorts of one name for the same
    assert list(models(theory)) == list(models(again(theory)))
    assert len(list(models(theory))) == 3


def test_a_theory_without_one_hot_symbols_comes_back_equal():
    for theory in (xor(), THEORIES["addition"](), THEORIES["quantified"](), random_theory(7)):
        assert again(theory) == theory


names = st.text(
    st.characters(exclude_characters="|\\", exclude_categories=["Cc", "Cs"]), min_size=1
)


@settings(deadline=None, max_examples=50)
@given(names.filter(lambda name: name not in ("y", "_", "as", "true", "false", "and", "or", "xor")))
def test_any_name_survives_the_text(name):
    a, y = z3.Bool(name), z3.Bool("y")
    theory = Theory(y == z3.Not(a), inputs=[a], outputs=[y])
    assert again(theory) == theory
    assert again(theory).input_names == (name,)


def test_a_line_break_in_a_name_does_not_break_the_comment():
    a, y = z3.Bool("a\n(assert false)"), z3.Bool("y")
    theory = Theory(y == a, inputs=[a], outputs=[y])
    assert again(theory) == theory


def test_the_text_says_what_comes_in_and_what_goes_out():
    x, y = z3.Int("x"), z3.Bool("y")
    theory = Theory(y == (x > 1), inputs=[one_hot(x, [1, 2])], outputs=[y])
    lines = theory.to_smtlib().splitlines()
    assert lines[:2] == ["; inputs: x", "; outputs: y"]
    assert sorted(lines[2:4]) == ["(declare-fun x () Int)", "(declare-fun y () Bool)"]
    assert lines[4:] == ["(assert (= y (> x 1)))", "(assert (or (= 1 x) (= 2 x)))"]


@pytest.mark.parametrize(
    "text",
    [
        XOR,
        XOR.replace("\n", "\r\n"),
        "(set-logic QF_UF)(set-info :status sat)" + XOR,
        XOR + "(check-sat)(get-model)(get-value (a b))(exit)",
        XOR + "(check-sat)\n(exit)\n(assert false)\n(push)",
        XOR + "(get-assertions)(get-unsat-core)(echo \"(assert false)\")",
        "; (assert false) \"\n" + XOR,
        "; it's | a ( \" comment\n" + XOR.replace("xor a", "xor ; ) | \"\n a"),
        SYMBOLS + "(assert (let ((p (xor a b))) (= y p)))",
        SYMBOLS + "(assert (let ((p a)) (let ((q (xor p b)) (p b)) (and (= y q) (= p b)))))",
        SYMBOLS + "(define-fun f ((p Bool) (q Bool)) Bool (xor p q))(assert (= y (f a b)))",
        SYMBOLS + "(define-fun sum () Bool (xor a b))(assert (= y sum))",
        SYMBOLS + "(assert (exists ((p Bool)) (and (= p (xor a b)) (= p y))))",
        SYMBOLS + "(assert (forall ((p Bool)) (=> (= p (xor a b)) (= p y))))",
        SYMBOLS + "(assert (! (= y (xor a b)) :named rule))",
        "(set-option :produce-unsat-cores true)"
        + SYMBOLS + "(assert (! (= y (xor a b)) :named rule))",
        SYMBOLS.replace("declare-const a", "declare-const |a|") + "(assert (= |y| (xor a |b|)))",
    ],
)  # fmt: skip
def test_a_script_means_what_it_says(text):
    assert differ_nowhere(read(text), xor())


def test_quoted_names_may_hold_anything():
    text = (
        '(declare-const |my "a;(| Bool)(declare-const |b c| Bool)(declare-const y Bool)'
        '(assert (= y (xor |my "a;(| |b c|)))'
    )
    theory = read(text, inputs=['my "a;(', "b c"])
    assert theory.input_names == ('my "a;(', "b c")
    assert again(theory) == theory


def test_strings_may_hold_semicolons_and_parentheses():
    text = (
        "(declare-const s String)(declare-const y Bool)"
        '(assert (= y (= s ";(""|")))(assert (or (= s ";(""|") (= s ")")))'
    )
    theory = read(text, inputs=[one_hot("s", [';("|', ")"])])
    assert theory.input_names == ('s=;("|', "s=)")
    assert list(models(theory)) == [(False, True, False), (True, False, True)]


def test_numbers_and_bit_vectors_are_read_by_sort():
    text = (
        "(declare-const v (_ BitVec 3))(declare-const n Int)(declare-const r Real)"
        "(assert (= n (bv2nat v)))(assert (= r (/ n 4)))"
    )
    theory = read(text, ["v"], [one_hot("n", range(8)), one_hot("r", [Fraction(3, 4), "1/2"])])
    assert theory.input_names == ("v[2]", "v[1]", "v[0]")
    assert theory.output_names[-2:] == ("r=3/4", "r=1/2")
    assert theory.check().n_models == 2


def test_datatypes_are_read_and_their_members_named():
    text = """
        (declare-datatypes ((Hue 0)) (((cyan) (pink) (grey))))
        (declare-const mine Hue) (declare-const yours Hue)
        (assert (distinct mine yours))
        (assert (=> ((_ is cyan) mine) (= yours grey)))
    """
    hues = ["cyan", "pink", "grey"]
    theory = read(text, [one_hot("mine", hues)], [one_hot("yours", hues)])
    assert theory.check().n_models == 5
    assert differ_nowhere(again(theory), theory)


def test_recursive_definitions_are_kept():
    text = """
        (define-fun-rec power ((n Int)) Int (ite (<= n 0) 1 (* 2 (power (- n 1)))))
        (declare-const n Int) (declare-const y Bool)
        (assert (= y (= (power n) 8)))
    """
    theory = read(text, [one_hot("n", [2, 3])])
    expected = [(False, True, True), (True, False, False)]
    assert list(models(theory)) == expected
    assert list(models(again(theory))) == expected


def test_a_script_is_read_from_a_path_and_from_its_name(tmp_path):
    path = tmp_path / "exclusive or (1).smt2"
    path.write_text(XOR, encoding="utf-8")
    assert read(path) == read(str(path)) == read(XOR)


@pytest.mark.parametrize(
    "command",
    ["(push 1)", "(push)", "(pop 1)", "(reset)", "(reset-assertions)", "(assert-soft a)",
     "(minimize (ite a 1 0))", "(maximize 1)", "(include \"other.smt2\")"],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", "(exit)"])
def test_what_a_theory_cannot_hold_is_refused_with_its_line(command, end):
    name = command.strip("()").split()[0]
    text = f"{XOR}; a comment (push)\n\n  {command}\n{end}"
    with pytest.raises(TheoryError, match=f"from_smtlib: line 7 has the command '{name}', which a"):
        read(text)


def test_a_misspelt_command_is_refused_rather_than_skipped():
    with pytest.raises(TheoryError, match=r"line 5 has .* 'asert', .* Did you mean 'assert'"):
        read(XOR + "(asert a)")


CAPTURING = """(declare-const x Int)(declare-const a Bool)(declare-const y Bool)
(define-fun bigger ((t Int)) Bool (exists ((x Int)) (> x t)))
(assert (=> a (> x 3))) (assert (= y (bigger x)))"""


def test_a_bound_name_around_a_symbol_of_that_name_is_refused():
    message = r"a quantifier binds the name 'x', and a symbol inside it.*Rename the bound"
    with pytest.raises(TheoryError, match=message):
        Theory.from_smtlib(CAPTURING, ["a"], ["y"])
    renamed = CAPTURING.replace("((x Int)) (> x t)", "((k Int)) (> k t)")
    theory = Theory.from_smtlib(renamed, ["a"], ["y"])
    assert SMTLayer(theory)(torch.tensor([[1.0], [-1.0]])).tolist() == [[1.0], [1.0]]


def test_a_bound_name_beside_a_symbol_of_that_name_is_fine():
    x = z3.Int("x")
    a, y = z3.Bools("a y")
    inner = z3.ForAll([x], z3.Implies(x > 5, x > 3))
    theory = Theory([y == inner, a == (x > 3)], inputs=[a], outputs=[y])
    assert SMTLayer(theory)(torch.tensor([[1.0], [-1.0]])).tolist() == [[1.0], [1.0]]


def test_text_and_paths_are_distinguished(tmp_path):
    with pytest.raises(TypeError, match=r"expects SMT-LIB text or a path. Got NoneType"):
        Theory.from_smtlib(None, ["a"], ["y"])
    with pytest.raises(TheoryError, match="the text is empty"):
        Theory.from_smtlib(" ", ["a"], ["y"])
    with pytest.raises(TheoryError, match="is a folder, not a file"):
        Theory.from_smtlib(tmp_path, ["a"], ["y"])
    with pytest.raises(TheoryError, match="there is no file"):
        Theory.from_smtlib("a\0b", ["a"], ["y"])
    script = "(declare-const a Bool)(declare-const y Bool)(assert (= a y))"
    marked = tmp_path / "marked.smt2"
    marked.write_text(script, encoding="utf-8-sig")
    assert Theory.from_smtlib(marked, ["a"], ["y"]).n_inputs == 1


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            r"(declare-const |\|| Bool){}(declare-const |x| Bool)(assert |x|)",
            "line 1 has a backslash",
        ),
        ("(declare-const x Bool)(assert x)#| | |# {} |", r"line 1 has a comment within #\|"),
    ],
)
def test_no_script_makes_z3_write_a_file(tmp_path, script, message):
    target = tmp_path / "written"
    hidden = f'(set-option :regular-output-channel "{target}")(echo "gotcha")'
    with pytest.raises(TheoryError, match=message):
        Theory.from_smtlib(script.format(hidden), inputs=["x"], outputs=["x"])
    assert not target.exists()


def test_text_that_z3_would_read_in_part_is_refused():
    text = "(declare-const a Bool)\n(declare-const b Bool)(assert (= a b))\0(assert (not a))"
    with pytest.raises(TheoryError, match="line 2 has a NUL character"):
        Theory.from_smtlib(text, ["a"], ["b"])
    assert Theory.from_smtlib("\ufeff" + text.split("\0")[0], ["a"], ["b"]).n_inputs == 1


def test_no_name_makes_z3_write_a_file(tmp_path):
    target = tmp_path / "written"
    name = f'x| x)) (set-option :regular-output-channel "{target}") (assert (= |x'
    with pytest.raises(TheoryError, match="no constant is declared as"):
        Theory.from_smtlib("(declare-const x Bool)(assert x)", inputs=[name], outputs=["x"])
    assert not target.exists()


def test_a_press_while_a_context_is_made_is_all_that_is_heard_of_it(monkeypatch):
    def press(config):
        raise KeyboardInterrupt

    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    theory = Theory.from_smtlib("(declare-const a Bool)(assert a)", inputs=["a"], outputs=["a"])
    with monkeypatch.context() as patch:
        patch.setattr(z3.z3, "Z3_mk_context_rc", press)
        with pytest.raises(KeyboardInterrupt):
            copy.deepcopy(theory)
    gc.collect()
    assert not complaints
    assert copy.deepcopy(theory) == theory
