"""Pictures of what a question costs against the size of the theory."""

from collections.abc import Sequence
from pathlib import Path

from smtlayer_benchmarks.scaling import QUESTIONS, Cost
from smtlayer_cli.pyplot import pyplot

_COLOURS = {"Table": "#15803d", "Circuit": "#9333ea", "Sat": "#2563eb", "Z3": "#f59e0b"}
_MARKS = {"Table": "s", "Circuit": "D", "Sat": "o", "Z3": "^"}


def draw_scaling(costs: Sequence[Cost], path: Path) -> Path:
    """Milliseconds per row, one panel for each family of theories and each question.

    Args:
        costs: What was measured; a cost that could not be had is left out.
        path: The picture to write.
    """
    plt = pyplot()
    families = list(dict.fromkeys(cost.family for cost in costs))
    figure, axes = plt.subplots(
        len(families), len(QUESTIONS), squeeze=False, sharey=True, sharex="row",
        figsize=(3.3 * len(QUESTIONS), 2.7 * len(families)),
    )  # fmt: skip
    for panels, family in zip(axes, families, strict=True):
        for axis, question in zip(panels, QUESTIONS, strict=True):
            part = [c for c in costs if (c.family, c.question) == (family, question)]
            sizes = dict.fromkeys((c.size, c.title) for c in part)
            for backend in dict.fromkeys(c.backend for c in part):
                line = [(c.size, c.ms) for c in part if c.backend == backend and c.ms is not None]
                axis.plot(
                    *zip(*line, strict=True), label=backend, marker=_MARKS.get(backend, "d"),
                    color=_COLOURS.get(backend, "#64748b"), markersize=5,
                )  # fmt: skip
            axis.set(xscale="log", yscale="log", title=f"{family}: {question}")
            axis.set_xticks([size for size, _ in sizes], [title for _, title in sizes], fontsize=7)
            axis.minorticks_off()
            axis.tick_params(axis="x", rotation=25)
            axis.grid(alpha=0.25)
        panels[0].set_ylabel("ms per row")
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
