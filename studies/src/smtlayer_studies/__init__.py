"""The paper's experiments, and what goes beyond them: tasks, runs, reports."""
