import itertools

import pytest
import torch
import z3

from smtlayer.solvers import Auto, Sat, Status
from smtlayer_studies.tasks.liars.sentences import AGENTS
from smtlayer_studies.tasks.liars.theory import SENTENCES, liars_theory
from tasks.every_model import every_model


def models(**options):
    """All models: per sentence who speaks, of whom, and whether it accuses; then who is guilty."""
    theory = liars_theory(**options)
    found = every_model(theory, [*theory.inputs, *theory.outputs])
    for model in found:
        bits = [int(bit) for bit in model]
        sentences = [(bits[k : k + 3], bits[k + 3 : k + 6], bits[k + 6]) for k in (0, 7, 14)]
        yield sentences, bits[21:]


def is_honest(guilty, speaker, subject, accuses):
    return (speaker != guilty) == (accuses == (subject == guilty))


def configurations():
    """What alice, bob and charlie say, one after the other: of whom, and whether they accuse."""
    says = [
        [(other, accuses) for other in range(3) if other != one for accuses in (False, True)]
        for one in range(3)
    ]
    return list(itertools.product(*says))


def culprits(spoken):
    return [
        guilty
        for guilty in range(3)
        if all(is_honest(guilty, speaker, *statement) for speaker, statement in enumerate(spoken))
    ]


def test_of_64_configurations_24_have_one_solution_and_40_none():
    counts = [len(culprits(spoken)) for spoken in configurations()]
    assert (counts.count(0), counts.count(1), len(counts)) == (40, 24, 64)


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("backend", [Auto(), Sat()], ids=["auto", "sat"])
def test_the_theory_names_the_culprit_of_each_configuration_in_every_order(as_printed, backend):
    solver = backend.compile(liars_theory(as_printed=as_printed))
    for order in itertools.permutations(range(3)):
        signs = []
        for spoken in configurations():
            bits = []
            for speaker in order:
                subject, accuses = spoken[speaker]
                bits += [agent == speaker for agent in range(3)]
                bits += [agent == subject for agent in range(3)]
                bits.append(accuses)
            signs.append([1 if bit else -1 for bit in bits])
        solution = solver.solve(torch.tensor(signs, dtype=torch.int8))
        for spoken, status, outputs in zip(
            configurations(), solution.status.tolist(), solution.outputs.tolist(), strict=True
        ):
            guilty = culprits(spoken)
            assert status == (Status.SAT if guilty else Status.UNSAT)
            wanted = [1 if [agent] == guilty else -1 for agent in range(3)] if guilty else [0] * 3
            assert outputs == wanted


def test_the_models_are_the_solutions_in_every_order_of_the_sentences():
    expected = set()
    for spoken in configurations():
        for guilty, order in itertools.product(culprits(spoken), itertools.permutations(range(3))):
            sentences = tuple((speaker, *spoken[speaker]) for speaker in order)
            expected.add((sentences, guilty))
    found = [
        (
            tuple((who.index(1), whom.index(1), bool(a)) for who, whom, a in sentences),
            guilty.index(1),
        )
        for sentences, guilty in models()
    ]
    assert len(found) == 144
    assert set(found) == expected


def test_as_printed_a_sentence_may_have_many_speakers_who_speak_of_themselves():
    found = list(models(as_printed=True))
    expected = 0
    # each agent speaks in one sentence, whichever; each sentence has one subject
    for turns, subjects, accuses, guilty in itertools.product(
        itertools.product(range(3), repeat=3),
        itertools.product(range(3), repeat=3),
        itertools.product((False, True), repeat=3),
        range(3),
    ):
        expected += all(
            is_honest(guilty, agent, subjects[s], accuses[s]) for agent, s in enumerate(turns)
        )
    assert len(found) == expected == 1458
    for sentences, guilty in found:
        speakers = [who for who, _, _ in sentences]
        assert [sum(turns) for turns in zip(*speakers, strict=True)] == [1, 1, 1]
        assert all(sum(whom) == 1 for _, whom, _ in sentences)
        assert sum(guilty) == 1
    facts = [
        model for model in found if all(sum(who) == 1 and who != whom for who, whom, _ in model[0])
    ]
    assert sorted(facts) == sorted(models())


def test_columns_come_sentence_by_sentence():
    theory = liars_theory()
    assert theory.input_names[:7] == (
        "alice_speaks_1", "bob_speaks_1", "charlie_speaks_1",
        "about_alice_1", "about_bob_1", "about_charlie_1", "accuses_1",
    )  # fmt: skip
    assert theory.input_names[20] == "accuses_3"
    assert theory.output_names == tuple(f"{agent}_is_guilty" for agent in AGENTS)
    assert (theory.n_inputs, len(SENTENCES)) == (21, 3)


@pytest.mark.parametrize("as_printed", [False, True])
def test_the_example_of_the_paper_names_the_liar(as_printed):
    theory = liars_theory(as_printed=as_printed)
    statements = {"alice": ("bob", False), "bob": ("alice", False), "charlie": ("alice", True)}
    true = set()
    for sentence, (speaker, (subject, accuses)) in enumerate(statements.items(), start=1):
        true |= {f"{speaker}_speaks_{sentence}", f"about_{subject}_{sentence}"}
        true |= {f"accuses_{sentence}"} if accuses else set()
    solver = z3.SimpleSolver()
    solver.add(*theory.formulas)
    solver.add(*(symbol == (str(symbol) in true) for symbol in theory.inputs))
    assert solver.check() == z3.sat
    guilty = [z3.is_true(solver.model()[symbol]) for symbol in theory.outputs]
    assert guilty == [False, False, True]


@pytest.mark.parametrize("as_printed", [False, True])
def test_every_rule_has_a_different_name(as_printed):
    theory = liars_theory(as_printed=as_printed)
    named = dict(zip(theory.constraint_names, theory.constraints, strict=True))
    assert len(named) == len(theory.constraints)
    rule = named["sentence 2, if bob speaks of alice, is false if bob is guilty, else true"]
    assert {str(symbol) for symbol in z3.z3util.get_vars(rule)} == {
        "bob_speaks_2", "about_alice_2", "accuses_2", "bob_is_guilty", "alice_is_guilty"
    }  # fmt: skip
