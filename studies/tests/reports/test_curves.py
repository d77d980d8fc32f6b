import pytest

from reports.made import png_size, record, texts_of
from smtlayer_studies.reports import draw_curves
from smtlayer_studies.reports.curves import curves_figure


def test_curves_are_one_wide_picture(tmp_path):
    path = draw_curves({"best": record(pretrain=2)}, tmp_path / "new" / "curves.png")
    width, height = png_size(path)
    assert 1200 < width < 2400
    assert 400 < height < 700


def lines(axis):
    """What is drawn, by place, without entries of the legend and helping lines."""
    return [
        dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        for line in axis.lines
        if len(line.get_xdata()) and line.get_marker() == "o"
    ]


def test_training_begins_at_one_and_pretraining_ends_before():
    accuracy, loss, _ = curves_figure({"best": record(pretrain=2)}).axes
    assert lines(loss) == [{-2: 1.0, -1: 1.0}, {1: 0.5, 2: 0.5, 3: 0.5}]
    assert lines(accuracy) == [{-2: 10.0, -1: 10.0}, {1: 75.0, 2: 75.0, 3: 75.0}]


def test_pretraining_is_named_only_where_there_is_one():
    texts = texts_of(curves_figure({"best": record(pretrain=2)}))
    assert texts.count("pre-training") == 3
    assert "pre-training" not in texts_of(curves_figure({"best": record()}))


def test_pretraining_without_labels_has_no_accuracy():
    accuracy, loss, _ = curves_figure({"best": record(pretrain=2, kind="autoencoder")}).axes
    assert len(lines(accuracy)) == 1
    assert len(lines(loss)) == 2


def test_the_solvers_seconds_are_part_of_each_bar():
    *_, seconds = curves_figure({"best": record(pretrain=1, train=2)}).axes
    solver, rest = seconds.containers
    assert [bar.get_height() for bar in solver] == [0, 0.5, 0.5]
    assert [bar.get_height() + bar.get_y() for bar in rest] == pytest.approx([2, 2, 2])


def test_methods_share_the_axes_and_have_a_legend():
    records = {"conventional": record("conventional", solver=0), "best": record(pretrain=2)}
    figure = curves_figure(records)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "conventional: 62.5 % of test rows right",
        "best: 62.5 % of test rows right",
        "the score after training",
    ]
    colours = {line.get_color() for line in figure.axes[1].lines if line.get_marker() == "o"}
    assert len(colours) == 2
    places = [bar.get_x() for group in figure.axes[2].containers for bar in group]
    assert len(set(places)) == 3 + 5  # no bar hides another
