"""Trains other learners and ours on the same problems: same examples, networks and machine.

    python benchmarks/rivals/learn.py --list
    python benchmarks/rivals/learn.py --problems liars-puzzle --methods ours,satnet --seeds 0,1,2
    python benchmarks/rivals/learn.py --into benchmarks/results/learning.jsonl
    python benchmarks/rivals/learn.py --time --into benchmarks/results/learning.jsonl

Prints one JSON object per training, or appends it to a file; those that the file has are left out,
so that a run can be continued. `--time` times training steps of all methods of a problem in turn,
in one process. Methods whose library is not installed are skipped, and those that need another
device; `requirements` has one file for each library. All trainings on the CPU take about
fourteen hours on one core.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from learners import InTurn, Learner, Progress
from methods import METHODS, Method
from problems import PROBLEMS, Problem
from smtlayer_cli.provenance import here
from smtlayer_studies.runs.metrics import TEST_SEED, evaluate
from smtlayer_studies.tasks.base import Batch

REPEATS = 5  # timings
FITTED = 0.99  # training accuracy at which `settled` ends a training


def batches(method: Method, problem: Problem, seed: int, device: str = "cpu") -> Iterator[Batch]:
    """All batches of a training."""
    for epoch in range(method.budget(problem).epochs):
        yield from batches_of(method, problem, seed, epoch, device)


def batches_of(
    method: Method, problem: Problem, seed: int, epoch: int, device: str = "cpu"
) -> Iterator[Batch]:
    """The batches of one epoch, in a random order."""
    budget, examples = method.budget(problem), method.examples(problem, seed)
    rows = examples.rows("train", budget.rows or problem.rows, seed, epoch).to(torch.device(device))
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed + epoch))
    order = order.to(device)
    for start in range(0, len(rows) - budget.batch_size + 1, budget.batch_size):
        yield rows.batch(order[start : start + budget.batch_size])


def steps_of(method: Method, problem: Problem, seed: int) -> int:
    """The number of batches of a training; of its longest, where `settled` may end it."""
    budget = method.budget(problem)
    rows = len(method.examples(problem, seed).rows("train", budget.rows or problem.rows, seed))
    return budget.epochs * (rows // budget.batch_size)


def settled(epochs: Sequence[Progress]) -> bool:
    """Whether more training is of little use: examples fit, or the loss has stopped falling.

    The loss has stopped if none of the last three epochs is 2 % below the best one before them.
    Training examples alone decide.
    """
    accuracy = epochs[-1].accuracy
    if accuracy is not None and accuracy >= FITTED:
        return True
    before, last = ([epoch.loss for epoch in part] for part in (epochs[:-3], epochs[-3:]))
    return bool(before) and min(last) > 0.98 * min(before)


def trained(method: Method, problem: Problem, seed: int, device: str = "cpu") -> dict[str, Any]:
    """The record of one training, with its test scores.

    Answers are the method's own; `model_accuracy` has those of the most probable model, as our
    layer gives them, where they differ.
    """
    budget, examples = method.budget(problem), method.examples(problem, seed)
    learner = method.start(problem, examples, seed, steps_of(method, problem, seed), device)
    learner.model.train()
    history: list[Progress] = []
    start, steps = time.perf_counter(), 0
    for epoch in range(budget.epochs):
        found = [learner.step(batch) for batch in batches_of(method, problem, seed, epoch, device)]
        history.append(mean(found))
        steps += len(found)
        if sys.stderr.isatty():
            print(f"{problem.title}, {method.name}, seed {seed}, epoch {epoch + 1} of "
                  f"{budget.epochs}: {_text(history[-1])}", file=sys.stderr)  # fmt: skip
        if budget.until_settled and len(history) >= problem.epochs and settled(history):
            break
    seconds = time.perf_counter() - start
    test = examples.rows("test", problem.test_rows, TEST_SEED)
    scores = evaluate(learner.model, test, examples.theory, device)
    answering = method.answering(learner.model, problem)
    if answering is not None:
        own = evaluate(answering.to(device), test, examples.theory, device)
        scores = scores | own | {"model_accuracy": scores["accuracy"]}
    return {
        "kind": "accuracy", "problem": problem.name, "method": method.name, "seed": seed,
        "examples": steps * budget.batch_size, "batch_size": budget.batch_size, "steps": steps,
        "training": [epoch._asdict() for epoch in history], "scores": scores, "seconds": seconds,
        "data": examples.data_source,
    }  # fmt: skip


def _text(epoch: Progress) -> str:
    right = "" if epoch.accuracy is None else f", training accuracy {epoch.accuracy:.1%}"
    return f"loss {epoch.loss:.4f}{right}"


def mean(found: Sequence[Progress]) -> Progress:
    """Loss and training accuracy of an epoch."""
    accuracies = [each.accuracy for each in found if each.accuracy is not None]
    return Progress(
        statistics.fmean(each.loss for each in found),
        statistics.fmean(accuracies) if accuracies else None,
    )


def timed(
    problem: Problem, methods: Sequence[Method], device: str = "cpu"
) -> Iterator[dict[str, Any]]:
    """Seconds per 1,000 examples of training, all methods in turn."""
    streams: dict[str, tuple[Learner, Iterator[Batch]]] = {}
    for method in methods:
        steps, examples = steps_of(method, problem, 0), method.examples(problem, 0)
        learner = method.start(problem, examples, 0, steps, device)
        if isinstance(learner, InTurn):
            learner = learner.second  # not its pre-training
        learner.model.train()
        streams[method.name] = learner, batches(method, problem, 0, device)
    times: dict[str, list[float]] = {method.name: [] for method in methods}
    count = problem.timed if device == "cpu" else 3 * problem.timed
    for _ in range(1 + REPEATS):  # the first is a warm-up
        for name, (learner, stream) in streams.items():
            some = [next(stream) for _ in range(count)]
            start = time.perf_counter()
            for batch in some:
                learner.step(batch)
            rows = sum(len(batch.targets) for batch in some)
            times[name].append((time.perf_counter() - start) / rows * 1000)
    for name, found in times.items():
        low, high = min(found[1:]), max(found[1:])
        yield {
            "kind": "seconds", "problem": problem.name, "method": name, "seed": 0,
            "per_1000": statistics.median(found[1:]), "range": [low, high], "beside": list(times),
        }  # fmt: skip


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", default=",".join(PROBLEMS), help=", ".join(PROBLEMS))
    parser.add_argument("--methods", default=",".join(METHODS), help=", ".join(METHODS))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--into", type=Path, help="a file to which the results are added")
    parser.add_argument("--time", action="store_true", help="time training steps instead")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--list", action="store_true", help="list what can run here")
    options = parser.parse_args(words)
    problems = _chosen(parser, "problems", options.problems, PROBLEMS)
    methods = _chosen(parser, "methods", options.methods, METHODS)
    if options.list:
        for method in methods:
            where = ", ".join(p.title for p in problems if p.name in method.problems)
            print(f"{method.name}: {method.missing(options.device) or 'can run here'}; {where}")
        return 0
    torch.set_num_threads(1)
    usable = [method for method in methods if not method.missing(options.device)]
    for method in methods:
        if method not in usable:
            print(f"skipped {method.name}: {method.missing(options.device)}", file=sys.stderr)
    _run(problems, usable, [int(seed) for seed in options.seeds.split(",")], options)
    return 0


def _run(
    problems: Sequence[Problem], methods: Sequence[Method], seeds: Sequence[int], options: Any
) -> None:
    done = _done(options.into)
    for problem in problems:
        able = [method for method in methods if problem.name in method.problems]
        if options.time:
            for record in timed(problem, able, options.device):
                _keep(record, options)
            continue
        for method in able:
            for seed in seeds:
                if (problem.name, method.name, seed) not in done:
                    _keep(trained(method, problem, seed, options.device), options)


def _keep(record: dict[str, Any], options: Any) -> None:
    line = json.dumps(record | here(options.device))
    if options.into is None:
        print(line, flush=True)
        return
    with options.into.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    print(f"{record['problem']}, {record['method']}, seed {record['seed']}", file=sys.stderr)


def _done(into: Path | None) -> set[tuple[str, str, int]]:
    """The trainings that a file has."""
    if into is None or not into.exists():
        return set()
    records = [json.loads(line) for line in into.read_text(encoding="utf-8").splitlines()]
    found = (r for r in records if r["kind"] == "accuracy")
    return {(r["problem"], r["method"], r["seed"]) for r in found}


def _chosen(parser: argparse.ArgumentParser, name: str, given: str, known: dict[str, Any]) -> list:
    wanted = given.split(",")
    unknown = [each for each in wanted if each not in known]
    if unknown:
        parser.error(f"--{name} expects names among {', '.join(known)}. Got {', '.join(unknown)}.")
    return [known[each] for each in wanted]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
