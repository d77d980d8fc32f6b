"""Wrong answers, each in one way, made out of a right solver's right ones."""

import dataclasses
import functools

import torch

from helpers import Asked, unknown_where
from smtlayer import Core, Solution, Status


def only(name: str):
    """Leaves the answers to all other questions alone."""

    def narrow(wrong):
        @functools.wraps(wrong)
        def change(solver, asked, answer):
            return wrong(solver, asked, answer) if asked.name == name else answer

        return change

    return narrow


# Law 1


@only("solve")
def overrules_an_input(solver, asked, answer):
    any_model = solver.solve(torch.zeros_like(asked.inputs))
    found = (answer.status == Status.SAT)[:, None]
    return Solution(answer.status, any_model.inputs * found, any_model.outputs * found, answer.cost)


@only("maximize")
def overlooks_the_wanted_outputs(solver, asked, answer):
    return solver.maximize(asked.inputs, asked.weights)


def shifts_the_outputs(solver, asked, answer):
    if isinstance(answer, Core):
        return answer
    return dataclasses.replace(answer, outputs=answer.outputs.roll(1, dims=-1))


def shifts_the_inputs(solver, asked, answer):
    return dataclasses.replace(answer, inputs=answer.inputs.roll(1, dims=-1))


# Law 2


def takes_unsat_for_sat(solver, asked, answer):
    return dataclasses.replace(answer, status=torch.ones_like(answer.status))


@only("core")
def takes_sat_for_unsat(solver, asked, answer):
    return dataclasses.replace(answer, status=torch.zeros_like(answer.status))


def takes_unknown_for_unsat(solver, asked, answer):
    given_up = unknown_where(asked.inputs[:, 0] > 0, answer)
    status = torch.where(given_up.status == Status.SAT, Status.SAT, Status.UNSAT)
    return dataclasses.replace(given_up, status=status.to(torch.int8))


# Law 3


@only("core")
def blames_no_input(solver, asked, answer):
    return Core(answer.status, torch.zeros_like(answer.inputs))


@only("core")
def blames_everybody(solver, asked, answer):
    unsat = (answer.status == Status.UNSAT)[:, None]
    return Core(answer.status, (asked.inputs != 0) & unsat)


@only("core")
def blames_free_inputs(solver, asked, answer):
    unsat = (answer.status == Status.UNSAT)[:, None]
    return Core(answer.status, (answer.inputs | (asked.inputs == 0)) & unsat)


@only("core")
def blames_inputs_of_satisfiable_rows(solver, asked, answer):
    sat = (answer.status == Status.SAT)[:, None]
    return Core(answer.status, answer.inputs | ((asked.inputs != 0) & sat))


@only("core")
def blames_inputs_of_rows_it_gave_up(solver, asked, answer):
    return Core(torch.full_like(answer.status, Status.UNKNOWN), answer.inputs)


@only("core")
def adds_one_to_the_core(solver, asked, answer):
    other = (asked.inputs != 0) & ~answer.inputs & (answer.status == Status.UNSAT)[:, None]
    first = other & (other.cumsum(-1) == 1)
    return Core(answer.status, answer.inputs | first)


@only("core")
def blames_the_most_confident(solver, asked, answer):
    return solver.core(asked.inputs, 1 / asked.weights, asked.outputs)


@only("core")
def deletes_by_column(solver, asked, answer):
    return solver.core(asked.inputs, torch.ones_like(asked.weights), asked.outputs)


@only("core")
def breaks_ties_from_the_right(solver, asked, answer):
    columns = torch.arange(asked.inputs.shape[-1], dtype=torch.float64) * 1e-9
    return solver.core(asked.inputs, asked.weights * (1 + columns), asked.outputs)


@only("core")
def shifts_the_blame(solver, asked, answer):
    return Core(answer.status, answer.inputs.roll(1, dims=-1) & (asked.inputs != 0))


# Law 4


@only("maximize")
def overrules_the_fewest(solver, asked, answer):
    return with_true_cost(
        solver.maximize(asked.inputs, torch.ones_like(asked.weights), asked.outputs), asked
    )


@only("maximize")
def loses_tiny_weights(solver, asked, answer):
    weights = asked.weights.nan_to_num()
    largest = weights.amax(-1, keepdim=True)
    heard = asked.inputs * (weights >= largest * 1e-16)
    return with_true_cost(solver.maximize(heard, asked.weights, asked.outputs), asked)


@only("maximize")
def loses_tiny_costs(solver, asked, answer):
    return dataclasses.replace(answer, cost=torch.where(answer.cost < 1e-14, 0, answer.cost))


@only("maximize")
def charges_for_free_inputs(solver, asked, answer):
    free = (asked.inputs == 0).sum(-1)
    return dataclasses.replace(answer, cost=answer.cost + free)


@only("maximize")
def weighs_free_inputs(solver, asked, answer):
    return dataclasses.replace(answer, cost=answer.cost + (asked.weights * 0).sum(-1))


@only("maximize")
def overrules_without_need(solver, asked, answer):
    return with_true_cost(solver.maximize(-asked.inputs, asked.weights, asked.outputs), asked)


def with_true_cost(solution: Solution, asked: Asked) -> Solution:
    overruled = solution.inputs * asked.inputs < 0
    cost = torch.where(overruled, asked.weights, 0).sum(-1)
    cost = torch.where(solution.status == Status.SAT, cost, torch.inf)
    return dataclasses.replace(solution, cost=cost)


# Laws 5 and 6


def answers_the_row_before(solver, asked, answer):
    before = torch.arange(len(asked.inputs)) // 2 * 2
    fields = (getattr(answer, field.name) for field in dataclasses.fields(answer))
    return type(answer)(*(field[before] for field in fields))


def gives_up_on_the_last_row(solver, asked, answer):
    return unknown_where(torch.arange(len(asked.inputs)) == len(asked.inputs) - 1, answer)


@only("core")
def blames_by_position(solver, asked, answer):
    falling = torch.arange(len(asked.inputs))[:, None] % 2 == 0
    weights = torch.where(falling, asked.weights, 1 / asked.weights)
    return solver.core(asked.inputs, weights, asked.outputs)


@only("solve")
def models_by_position(solver, asked, answer):
    swapped = (torch.arange(len(asked.inputs)) % 2 == 1) & (answer.status == Status.SAT)
    outputs = torch.where(swapped[:, None], -answer.outputs, answer.outputs)
    return dataclasses.replace(answer, outputs=outputs)


@only("maximize")
def costs_by_position(solver, asked, answer):
    return dataclasses.replace(answer, cost=answer.cost + torch.arange(len(asked.inputs)))


class EveryOtherTime:
    """Answers wrongly every second time."""

    def __init__(self, wrong):
        self.wrong, self.calls = wrong, 0

    def __call__(self, solver, asked, answer):
        self.calls += 1
        return self.wrong(solver, asked, answer) if self.calls % 2 else answer


# Law 7


def gives_up(solver, asked, answer):
    return unknown_where(asked.inputs[:, 0] > 0, answer)


def leaves_outputs(solver, asked, answer):
    if isinstance(answer, Core):
        return answer
    given_up = gives_up(solver, asked, answer)
    return dataclasses.replace(given_up, outputs=answer.outputs)


def leaves_inputs(solver, asked, answer):
    if isinstance(answer, Core):
        return answer
    given_up = gives_up(solver, asked, answer)
    return dataclasses.replace(given_up, inputs=answer.inputs)


def leaves_a_cost(solver, asked, answer):
    if isinstance(answer, Core):
        return answer
    given_up = gives_up(solver, asked, answer)
    return dataclasses.replace(given_up, cost=answer.cost)


# Law 9


def without_facts(asked: Asked) -> torch.Tensor:
    return torch.where(asked.weights == torch.inf, 1e9, asked.weights)


@only("maximize")
def overrules_facts(solver, asked, answer):
    return with_true_cost(solver.maximize(asked.inputs, without_facts(asked), asked.outputs), asked)


@only("maximize")
def charges_for_facts(solver, asked, answer):
    facts = ((asked.weights == torch.inf) & (asked.inputs != 0)).sum(-1)
    return dataclasses.replace(answer, cost=answer.cost + facts)


@only("maximize")
def gives_up_repairs_with_facts(solver, asked, answer):
    overruled = (answer.inputs * asked.inputs < 0).any(-1)
    lost = overruled & (asked.weights == torch.inf).any(-1)
    given_up = unknown_where(lost, answer)
    return dataclasses.replace(given_up, status=torch.where(lost, 0, answer.status))


@only("core")
def blames_facts(solver, asked, answer):
    facts = (asked.weights == torch.inf) & (asked.inputs != 0)
    return Core(answer.status, answer.inputs | (facts & (answer.status == 0)[:, None]))


@only("core")
def takes_facts_for_heavy_inputs(solver, asked, answer):
    return solver.core(asked.inputs, without_facts(asked), asked.outputs)


@only("core")
def spares_facts_too_late(solver, asked, answer):
    found = solver.core(asked.inputs, without_facts(asked), asked.outputs)
    return Core(found.status, found.inputs & (asked.weights != torch.inf))


@only("core")
def ignores_facts(solver, asked, answer):
    signs = asked.inputs.masked_fill(asked.weights == torch.inf, 0)
    return solver.core(signs, asked.weights, asked.outputs)


# Law 10


@only("maximize")
def takes_queries_for_unsat(solver, asked, answer):
    none = unknown_where(asked.inputs[:, 0] >= -1, answer)
    return dataclasses.replace(none, status=torch.zeros_like(none.status))
