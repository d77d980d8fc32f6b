"""Small problems over images of digits, whose only label is what a theory's outputs say."""

from smtlayer_studies.tasks.registry import TaskEntry

TASK = TaskEntry(
    "digit-problem",
    task=f"{__name__}.task:DigitProblem",
    experiment="mnist-half",
    problem=f"{__name__}.task:combinations_of",
    lab=dict.fromkeys(
        ("mnist-half", "rock-paper-scissors", "roster", "invoice"),
        f"{__name__}.problems:lab_problem",
    ),
)
