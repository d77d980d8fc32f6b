from smtlayer import Sat, Status
from smtlayer_benchmarks.scaling import QUESTIONS, Cost, _addition, _sudoku, costs, problems
from smtlayer_benchmarks.scaling_plot import draw_scaling


def test_all_sizes_are_there():
    sizes = [make.args[0] for make in problems()]
    assert sizes == [1, 2, 4, 8, 15, 2, 3, 4]


def test_right_rows_have_models_and_wrong_ones_contradict_the_outputs():
    for problem in (_addition(1), _addition(15), _sudoku(2, 7), _sudoku(3, 36)):
        solver = Sat(remember=0).compile(problem.theory)
        assert (solver.solve(problem.right).status == Status.SAT).all()
        assert (problem.right != problem.wrong).any(-1).all()
        blamed = solver.core(problem.wrong, problem.weights, problem.outputs)
        assert (blamed.status == Status.UNSAT).float().mean() > 0.8, problem.title
        repaired = solver.maximize(problem.wrong, problem.weights, problem.outputs)
        assert (repaired.status == Status.SAT).all()
        unwanted = (repaired.outputs != problem.outputs) & (problem.outputs != 0)
        assert not unwanted.any()


def test_every_backend_is_timed_or_says_why_not():
    found = list(costs(_addition(4)))
    assert [(c.backend, c.question) for c in found] == [
        (backend, question)
        for backend in ("Table", "Circuit", "Sat", "Z3")
        for question in QUESTIONS
    ]
    assert all(c.columns == 52 for c in found)
    for cost in found:
        if cost.backend == "Table":
            assert cost.ms is None
            assert "more than max_models=20000 models" in cost.note
        else:
            assert cost.ms is not None
            assert cost.ms > 0
            assert cost.note == ""


def test_the_plot_is_a_picture(tmp_path):
    measured = [
        Cost(family, size, f"{size} digits", 8 * size, backend, question, ms, "")
        for family in ("addition", "Sudoku")
        for size in (1, 2, 4)
        for question in QUESTIONS
        for backend, ms in (("Table", None if size > 1 else 0.1), ("Sat", 0.2 * size))
    ]
    picture = draw_scaling(measured, tmp_path / "new" / "scaling.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
