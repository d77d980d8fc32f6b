import pytest

from reports.made import png_size, record, texts_of
from reports.page_checks import Page
from smtlayer_studies.reports import draw_curves
from smtlayer_studies.reports.curves import Series, charts, curves_figure


def epochs(count, phase="train", seconds=2.0, **changes):
    one = {"phase": phase, "loss": 0.5, "accuracy": 0.25, "seconds": seconds,
           "solver": {"solver_seconds": 0.5}}  # fmt: skip
    return [one | changes for _ in range(count)]


def lines(axis):
    """Points of the curves, without the legend and reference lines."""
    return [
        dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        for line in axis.lines
        if len(line.get_xdata()) and line.get_marker() == "o"
    ]


@pytest.mark.parametrize("name", ["best", r"<a> $\frac$ & $x"])
def test_curves_are_one_wide_picture_whatever_the_name(tmp_path, name):
    path = draw_curves({name: record(pretrain=2)}, tmp_path / "new" / "curves.png")
    width, height = png_size(path)
    assert 1200 < width < 2400
    assert 400 < height < 700


def test_training_begins_at_one_and_pretraining_ends_before():
    series = Series("best", epochs(2, "pretrain", loss=1.0, accuracy=0.1) + epochs(3))
    accuracy, loss, _ = curves_figure([series]).axes
    assert lines(loss) == [{-2: 1.0, -1: 1.0}, {1: 0.5, 2: 0.5, 3: 0.5}]
    assert lines(accuracy) == [{-2: 10.0, -1: 10.0}, {1: 25.0, 2: 25.0, 3: 25.0}]


@pytest.mark.parametrize(("before", "after"), [(0, 1), (2, 3), (3, 5), (30, 60)])
def test_epochs_are_numbered_without_zero(before, after):
    figure = curves_figure([Series("a", epochs(before, "pretrain") + epochs(after))])
    ticks = [round(tick) for tick in figure.axes[0].get_xticks()]
    assert 1 in ticks
    assert 0 not in ticks
    assert len(ticks) <= 11


def test_pretraining_is_named_only_where_there_is_one():
    before = Series("best", epochs(2, "pretrain") + epochs(3))
    assert texts_of(curves_figure([before])).count("pre-training") == 3
    assert "pre-training" not in texts_of(curves_figure([Series("best", epochs(3))]))


def test_pretraining_without_labels_has_no_accuracy():
    before = epochs(2, "pretrain") + epochs(3)
    accuracy, loss, _ = curves_figure([Series("a", before, labelled=False)]).axes
    assert len(lines(accuracy)) == 1
    assert len(lines(loss)) == 2


def test_the_solvers_seconds_are_part_of_each_bar():
    *_, seconds = curves_figure([Series("a", epochs(1, "pretrain", solver={}) + epochs(2))]).axes
    solver, rest = seconds.containers
    assert [bar.get_height() for bar in solver] == [0, 0.5, 0.5]
    assert [bar.get_height() + bar.get_y() for bar in rest] == pytest.approx([2, 2, 2])


def test_methods_share_the_axes_and_have_a_legend():
    series = [
        Series("conventional", epochs(3, solver={}), 0.625),
        Series("best", epochs(2, "pretrain") + epochs(3), 0.75, "validation"),
    ]
    figure = curves_figure(series)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "conventional: test accuracy 62.5 %",
        "best: validation accuracy 75.0 %",
        "accuracy after training",
    ]
    colours = {line.get_color() for line in figure.axes[1].lines if line.get_marker() == "o"}
    assert len(colours) == 2
    places = [bar.get_x() for group in figure.axes[2].containers for bar in group]
    assert len(set(places)) == 3 + 5  # no bar hides another


def test_all_points_are_inside_the_axes():
    series = [
        Series("one", epochs(2, "pretrain", loss=3.7) + epochs(3, seconds=123.4), 1.0),
        Series("two", epochs(7, accuracy=1.0, loss=0.0), 0.0),
    ]
    accuracy, loss, seconds = curves_figure(series).axes
    for axis in (accuracy, loss):
        (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
        for x, y in (point for line in lines(axis) for point in line.items()):
            assert left < x < right
            assert low <= y < high
    assert seconds.get_ylim()[1] > 123.4


def test_charts_of_a_page_say_what_they_show_and_take_its_colours():
    found = charts([Series("<mine>", epochs(2, "pretrain") + epochs(3), 0.75)])
    page = Page("".join(chart.svg for chart in found))
    accuracy, loss, seconds = page.all("svg")
    assert "<mine>: from 25.0 % to 25.0 %" in accuracy["aria-label"]
    assert "from 0.5 to 0.5" in loss["aria-label"]
    assert "from 2 s to 2 s" in seconds["aria-label"]
    assert "pre-training" in page.text
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for chart in found:
        assert "var(--s0)" in chart.svg
        assert "stroke: #" not in chart.svg
        assert "fill: #" not in chart.svg


def test_the_same_epochs_give_the_same_charts():
    one, two = (charts([Series("a", epochs(5), 0.5)]) for _ in range(2))
    assert one == two
    assert "date" not in "".join(chart.svg for chart in one).lower()


def test_a_run_without_epochs_has_no_charts():
    assert charts([Series("a", [])]) == []


@pytest.mark.parametrize(
    "changes", [{"loss": float("nan")}, {"loss": 0.0}, {"seconds": 1e-5}, {"loss": float("inf")}]
)
def test_odd_numbers_are_drawn(changes):
    found = charts([Series("odd", epochs(2, **changes), None)])
    assert len(found) == 3
    drawn = Page("".join(chart.svg for chart in found))
    assert not any("nan" in str(path.get("d")) for path in drawn.all("path"))


def test_many_epochs_have_a_line_and_no_dots():
    few, many = (charts([Series("a", epochs(n), None)])[1].svg for n in (40, 41))
    assert (few.count("<use"), many.count("<use")) == (40, 0)
