"""Rules as text: printed rules can be parsed, and errors name what cannot be."""

import random
import re

import pytest
import z3

from helpers import seeds
from smtlayer import SMTLayer, Theory
from smtlayer.nn import (
    anneal,
    blackbox,
    core,
    decision,
    marginal,
    maxsmt,
    mix,
    parse_rule,
    perturbed,
    sample,
    schedule,
)
from smtlayer.testing.theories import xor

KINDS = (
    "anneal_core, core, maxsmt, sample, marginal, topk, decision, perturbed, blackbox, mix(...) or "
    "schedule(...)"
)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("core", core),
        (" maxsmt() ", maxsmt),
        ("core()", core),
        ("sample", sample),
        ("sample(temperature=2.0)", sample(temperature=2)),
        ("marginal(temperature=anneal(4, 1, until=0.7))",
         marginal(temperature=anneal(4, 1, until=0.7))),
        ("mix(core, marginal)", mix(core, marginal)),
        ("mix((core, 0.25), (sample, 0.75))", mix((core, 0.25), (sample, 0.75))),
        ("mix((core, anneal(0, 1)), sample)", mix((core, anneal(0, 1)), sample)),
        ("schedule((0.3, marginal(temperature=4)), (1.0, core))",
         schedule((0.3, marginal(temperature=4)), (1.0, core))),
        ("sample(temperature=anneal(end=1, start=4, shape='geometric'))",
         sample(temperature=anneal(4, 1, shape="geometric"))),
        ("decision", decision),
        ("perturbed(samples=8)", perturbed(samples=8)),
        ("perturbed(sigma=anneal(2, 0.5))", perturbed(sigma=anneal(2, 0.5), samples=10)),
        ("mix(decision(), (blackbox(interpolation=2), 0.5))",
         mix(decision, (blackbox(interpolation=2), 0.5))),
        ("mix(\n  core,\n  schedule((1, mix(sample, maxsmt))),\n)",
         mix(core, schedule((1, mix(sample, maxsmt))))),
    ],
)  # fmt: skip
def test_text_is_read_as_code(text, rule):
    assert parse_rule(text) == rule
    x = z3.Bool("x")
    assert SMTLayer(Theory(x == x, [x], [x]), backward=text)._backward == rule


def random_rule(draw, depth=3):
    number = draw.choice([1, 2, 0.1, 1e-7, 1 / 3, 1e22, 7.0])
    temperature = draw.choice([
        number, anneal(number, 3), anneal(2, number, until=draw.random() + 1e-9),
        anneal(number, 1 / 7, shape="geometric"),
    ])  # fmt: skip
    singles = {
        "core": core, "maxsmt": maxsmt, "decision": decision,
        "sample": sample(temperature=temperature), "marginal": marginal(temperature=temperature),
        "perturbed": perturbed(sigma=temperature, samples=draw.randint(1, 30)),
        "blackbox": blackbox(interpolation=temperature),
    }  # fmt: skip
    kind = draw.choice([*singles, "mix", "schedule"])
    if kind == "mix" and depth:
        parts = [random_rule(draw, depth - 1) for _ in range(draw.randint(1, 3))]
        return mix(*(part if draw.random() < 0.5 else (part, temperature) for part in parts))
    if kind == "schedule" and depth:
        ends = sorted({draw.random() + 1e-9 for _ in range(draw.randint(0, 2))} - {1.0})
        return schedule(*((end, random_rule(draw, depth - 1)) for end in (*ends, 1)))
    return singles.get(kind, core)


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_what_a_rule_prints_reads_back(seed):
    rule = random_rule(random.Random(seed))
    assert parse_rule(str(rule)) == rule
    assert str(parse_rule(str(rule))) == str(rule)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("coer", f"Rule 'coer': expected {KINDS}. Got coer. Did you mean 'core'?"),
        ("sat", f"Rule 'sat': expected {KINDS}. Got sat."),
        ("mixed(core)",
         f"Rule 'mixed(core)': expected {KINDS}. Got mixed(...). Did you mean 'mix'?"),
        ("mix", "Rule 'mix': mix needs its arguments, as in mix(...)."),
        ("mix(core", f"Rule 'mix(core' cannot be read. Expected {KINDS}."),
        ("", f"Rule '' cannot be read. Expected {KINDS}."),
        ("core; core", f"Rule 'core; core' cannot be read. Expected {KINDS}."),
        ("anneal(4, 1)", f"Rule 'anneal(4, 1)' is not a rule. Expected {KINDS}."),
        ("3", f"Rule '3' is not a rule. Expected {KINDS}."),
        ("sample(temp=2)", "Rule 'sample(temp=2)': sample takes temperature. Got temp."),
        ("sample(temperature=2, temperature=3)",
         "Rule 'sample(temperature=2, temperature=3)': sample has temperature more than once."),
        ("core(x=2)", "Rule 'core(x=2)': core takes no options. Got x."),
        ("sample(temperature=anneal(4, 1, untl=1))",
         "Rule 'sample(temperature=anneal(4, 1, untl=1))': anneal takes start, end, until, shape. "
         "Got untl. Did you mean 'until'?"),
        ("perturbed(sigma=-1)", "Rule 'perturbed(sigma=-1)': perturbed expects sigma above 0, a "
         "number or anneal(...). Got -1."),
        ("perturbed(samples=0.5)", "Rule 'perturbed(samples=0.5)': perturbed expects samples as a "
         "whole number of at least 1. Got 0.5."),
        ("blackbox(interpolation=0)", "Rule 'blackbox(interpolation=0)': blackbox expects "
         "interpolation above 0, a number or anneal(...). Got 0."),
        ("blackbox(lambda_=2)",
         "Rule 'blackbox(lambda_=2)': blackbox takes interpolation. Got lambda_."),
        ("perturb", f"Rule 'perturb': expected {KINDS}. Got perturb. Did you mean 'perturbed'?"),
        ("sample(2)", "Rule 'sample(2)': sample(...): too many positional arguments."),
        ("sample(temperature=0)",
         "Rule 'sample(temperature=0)': sample expects temperature above 0, a number or "
         "anneal(...). Got 0."),
        ("sample(temperature=anneal(4))",
         "Rule 'sample(temperature=anneal(4))': anneal(...): missing a required argument: 'end'."),
        ("mix(parts=core)",
         "Rule 'mix(parts=core)': mix(...): got an unexpected keyword argument 'parts'."),
        ("schedule(core)",
         "Rule 'schedule(core)': schedule expects rules such as core in pairs (end, rule). "
         "Got core."),
    ],
)  # fmt: skip
def test_text_that_cannot_be_parsed_is_reported(text, message):
    for read in (parse_rule, lambda text: SMTLayer(xor(), backward=text)):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            read(text)


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "core.__class__", "mix(*x)", "mix(**x)", "[core]", "lambda: core",
     "mix(core for x in y)", "core if 1 else sample", "mix(core)(sample)", "1 + 1", "True", "\0",
     "sample(temperature=True)", "mix((core, True))",
     "sample(temperature=1j)", "sample(temperature=2 ** 9)", "f'{core}'", "core @ core",
     "(" * 500 + "core" + ")" * 500, "mix(" * 5000 + "core" + ")" * 5000, "-" * 90000 + "1"],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_nothing_but_rules_is_run(text):
    with pytest.raises(ValueError, match=r"^Rule "):
        parse_rule(text)


@pytest.mark.parametrize("wrong", [None, 3, core])
def test_a_rule_is_read_from_text(wrong):
    with pytest.raises(TypeError, match=r"^parse_rule expects a text such as 'core'. Got "):
        parse_rule(wrong)


def test_the_text_of_a_user_may_not_be_a_class_or_list():
    for wrong in (["core"], type(core), None):
        with pytest.raises(TypeError, match=r"^SMTLayer expects backward as a rule such as core"):
            SMTLayer(xor(), backward=wrong)
