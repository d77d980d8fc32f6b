"""Long addition: two handwritten numbers of several digits, with their sum as the only label."""

from smtlayer_studies.tasks.registry import TaskEntry

TASK = TaskEntry(
    "long-addition", task=f"{__name__}.task:LongAddition", experiment="long-addition-2"
)
