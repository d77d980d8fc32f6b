"""Visual algebra: a handwritten equation in one unknown, with its solution as the only label."""

from smtlayer_studies.tasks.registry import TaskEntry

TASK = TaskEntry(
    "visual-algebra",
    task=f"{__name__}.task:VisualAlgebra",
    experiment="visual-algebra-1",
    problem=f"{__name__}.lab:problem",
    lab={
        "visual-algebra": f"{__name__}.lab:in_range",
        "visual-algebra-as-printed": f"{__name__}.lab:as_printed",
    },
)
