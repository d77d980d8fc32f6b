"""MNIST addition: two handwritten digits, with their sum as the only label."""

from smtlayer_studies.tasks.registry import TaskEntry

TASK = TaskEntry(
    "mnist-addition",
    task=f"{__name__}.task:MnistAddition",
    experiment="mnist-addition-10",
    default=True,
    problem=f"{__name__}.lab:problem",
    lab={
        "mnist-addition-10": f"{__name__}.lab:equal_pairs",
        "mnist-addition-100": f"{__name__}.lab:all_pairs",
    },
)
