"""The liar's puzzle: three people accuse or defend each other, and one of them is guilty."""

from smtlayer_studies.tasks.registry import TaskEntry

TASK = TaskEntry(
    "liars-puzzle",
    task=f"{__name__}.task:LiarsPuzzle",
    problem=f"{__name__}.lab:problem",
    lab={
        "liars-puzzle": f"{__name__}.lab:complete",
        "liars-puzzle-as-printed": f"{__name__}.lab:as_printed",
    },
)
