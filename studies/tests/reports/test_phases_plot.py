import matplotlib.pyplot as plt
import pytest

from made_records import record
from smtlayer_studies.reports import phases_plot


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draws records, and returns the axes before the figure is closed."""
    figures = []
    monkeypatch.setattr(plt, "close", figures.append)

    def draw(records):
        path = phases_plot.draw_phases(records, tmp_path / "phases.png")
        assert path.read_bytes().startswith(b"\x89PNG")
        return figures[-1].axes[0]

    yield draw
    monkeypatch.undo()
    plt.close("all")


def curves(count, accuracies):
    epochs = [{"accuracy": accuracy} for accuracy in accuracies]
    return [record(method="one-rule", seed=s) | {"epochs": epochs} for s in range(count)]


def test_each_experiment_has_a_curve_per_seed_and_their_mean(drawn):
    first, second = curves(1, [0.2, 0.6])[0], curves(1, [0.4, 1.0])[0]
    axis = drawn([first, second, record(method="best"), record(experiment="mine")])
    heights = [[round(y, 6) for y in line.get_ydata()] for line in axis.lines]
    assert heights == [[20, 60], [40, 100], [30, 80]]
    assert list(axis.lines[-1].get_xdata()) == [0.5, 1.0]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["MNIST+ 10 %, 2 seeds"]


def test_the_phases_are_those_of_the_rule(drawn):
    axis = drawn(curves(1, [0.5]))
    spans = [(round(p.get_x(), 6), round(p.get_x() + p.get_width(), 6)) for p in axis.patches]
    assert spans == [(0.0, 0.3), (0.3, 0.5), (0.5, 1.0)]
