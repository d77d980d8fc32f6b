"""The tasks as problems for the laboratory: their theories without images."""

from smtlayer.errors import ConfigError, did_you_mean
from smtlayer.lab import LabProblem
from smtlayer_studies.tasks.registry import find_lab_problems, resolve


def task_problem(name: str) -> LabProblem:
    """The theory of a task, with the combinations of symbols that it shows and tests.

    Examples:
        >>> problem = task_problem("mnist-addition-10")
        >>> len(problem.shown), len(problem.tested)
        (10, 100)

    Raises:
        ConfigError: If there is no such problem.
    """
    known = find_lab_problems()
    if name not in known:
        hint = did_you_mean(name, known)
        raise ConfigError(f"The laboratory has {', '.join(known)}. Got {name!r}.{hint}")
    problem: LabProblem = resolve(known[name])(name)
    return problem
