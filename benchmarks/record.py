"""Runs benchmarks again, and replaces their records and the tables and pictures made from them.

    python benchmarks/record.py              # all but learning and GPUs: about an hour
    python benchmarks/record.py cpu repairs  # timings: on a quiet machine
    python benchmarks/record.py lab readings # counts: the same on any machine
    python benchmarks/record.py h200         # on a machine with that GPU
    python benchmarks/record.py rivals [NAME ...]  # other libraries, where they are installed
    python benchmarks/record.py learning [METHOD ...]  # see below: about fourteen hours for all
    python benchmarks/record.py learning-gpu [METHOD ...]  # where SATNet is built for a GPU
    python benchmarks/record.py validation RUN RUN ...  # adds a line for each validation run

Each record names the commit, the date and the machine. A file is replaced when its benchmark is
complete. But `learning` adds each training of `rivals/learn.py` that has no record yet, after
dropping the methods named (`all`: every method that can run), as far as they were trained on the
same kind of device, and times all methods again.
`validation` takes folders of runs that were scored on validation examples (`smtlayer train ...
--set task.validation=0.1 --out RUN`).
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent / "rivals"))
from learning_table import made
from methods import METHODS
from smtlayer_cli.provenance import here
from smtlayer_studies.runs.records import RunRecord
from smtlayer_studies.runs.run_folder import RECORD

HERE = Path(__file__).parent
RECORDS = HERE / "results"
SMTLAYER = (sys.executable, "-m", "smtlayer")
TIMED = "mnist-addition-100,visual-algebra-1,liars-puzzle,visual-sudoku-10"
LEARNING = ("learning", "learning-gpu")
READINGS = ("--splits 10", "--splits 10 --as-printed --most 10000")


def output(*command: str | Path) -> str:
    print("$", *command, file=sys.stderr, flush=True)
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def cpu() -> str:
    return output(*SMTLAYER, "bench", "--json", "--device", "cpu")


def h200() -> str:
    return output(sys.executable, HERE / "gpu.py")


def repairs() -> str:
    return output(sys.executable, HERE / "repairs.py", "--boards", "100")


def rivals(*names: str) -> str:
    """The present record, with the lines of the rivals that ran here replaced."""
    found = output(sys.executable, HERE / "rivals" / "run.py", "--json", *names)
    return merged((RECORDS / "rivals.jsonl").read_text(encoding="utf-8"), found)


def merged(kept: str, found: str) -> str:
    """The lines of two records of rivals; those found now replace all of the same rival."""
    new = found.splitlines()
    ran = {json.loads(line)["rival"] for line in new}
    old = [line for line in kept.splitlines() if json.loads(line)["rival"] not in ran]
    return "".join(f"{line}\n" for line in (*old, *new))


def learning(*methods: str, device: str = "cpu") -> str:
    """The present record, with the trainings that it lacks, and new timings of this device.

    Trainings of the methods named are made again; `all` stands for those that can run here.
    """
    file = RECORDS / "learning.jsonl"
    learn = sys.executable, HERE / "rivals" / "learn.py", "--device", device
    drop(file, methods, device)
    only = ("--methods", ",".join(methods)) if methods and "all" not in methods else ()
    output(*learn, *only, "--into", file)
    timings = output(*learn, "--time", "--problems", TIMED)
    return untimed(file.read_text(encoding="utf-8"), device) + timings


def untimed(lines: str, device: str) -> str:
    """These lines without the timings of a device."""
    return "".join(line for line, record in parsed(lines) if not made(record, "seconds", device))


def parsed(lines: str) -> list[tuple[str, dict[str, Any]]]:
    """Each line, with its record."""
    return [(line, json.loads(line)) for line in lines.splitlines(keepends=True)]


def drop(file: Path, methods: Sequence[str], device: str = "cpu") -> None:
    """Drops trainings on a device, of these methods, from a file; `all`: those that can run."""
    able = {name for name, method in METHODS.items() if not method.missing(device)}
    if unable := sorted(set(methods) - able - {"all"}):
        raise SystemExit(
            f"record.py expects all or methods that can run here: {', '.join(sorted(able))}. "
            f"Got {', '.join(unable)}. What is missing: python benchmarks/rivals/learn.py --list"
        )
    again = able if "all" in methods else set(methods)
    kept = (
        line
        for line, record in parsed(file.read_text(encoding="utf-8"))
        if record["method"] not in again or not made(record, "accuracy", device)
    )
    file.write_text("".join(kept), encoding="utf-8")


def lab() -> str:
    """Every line of the present record, with its problem, rules and options."""
    lines = (RECORDS / "lab.jsonl").read_text().splitlines()
    return "".join(output(*SMTLAYER, *lab_words(json.loads(line))) for line in lines)


def lab_words(record: dict[str, Any]) -> Iterator[str]:
    """The command that makes a record of the laboratory."""
    yield from ("lab", record["problem"], "--json", "--seeds", str(record["seeds"]))
    for name in ("steps", "lr", "late_lr", "noise"):
        yield from (f"--{name.replace('_', '-')}", str(record["options"][name]))
    for run in record["runs"]:
        yield from ("--rules", run["rule"])


def readings() -> str:
    origin = here("cpu")
    parts = [f"commit {origin['commit']}, {origin['written']}, {origin['machine']['processor']}\n"]
    for words in READINGS:
        printed = output(sys.executable, HERE / "liars_readings.py", *words.split())
        parts.append(f"$ python benchmarks/liars_readings.py {words}\n{printed}")
    return "\n".join(parts)


FILES: dict[str, tuple[str, Callable[..., str]]] = {
    "cpu": ("cpu.jsonl", cpu),
    "repairs": ("repairs.jsonl", repairs),
    "lab": ("lab.jsonl", lab),
    "readings": ("liars_readings.txt", readings),
    "rivals": ("rivals.jsonl", rivals),
    "learning": ("learning.jsonl", learning),
    "learning-gpu": ("learning.jsonl", partial(learning, device="cuda")),
    "h200": ("h200.jsonl", h200),
}


def validation_line(record: RunRecord) -> dict[str, Any]:
    """The line for a validation run: its options, its scores, and where it ran."""
    if record.split != "validation":
        raise SystemExit(
            f"validation expects runs scored on validation examples (--set task.validation=0.1). "
            f"Got {record.experiment}, {record.method}, seed {record.seed}, scored on "
            f"{record.split} examples."
        )
    accuracy = [epoch["accuracy"] for epoch in record.epochs if epoch["phase"] == "train"]
    return {
        **{name: getattr(record, name) for name in ("experiment", "method", "seed", "split")},
        **{name: record.config[name] for name in ("task", "pretrain", "train", "layer")},
        "scores": record.scores,
        "training_accuracy": [round(share, 4) for share in accuracy],
        **{name: getattr(record, name) for name in ("versions", "machine", "commit", "written")},
    }


def add_validation(folders: Sequence[str], file: Path = RECORDS / "validation.jsonl") -> None:
    """Adds a line for each run."""
    records = [RunRecord.read(Path(folder, RECORD)) for folder in folders]
    lines = [json.dumps(validation_line(record)) for record in records]
    with file.open("a", encoding="utf-8") as kept:
        kept.writelines(f"{line}\n" for line in lines)


def main(words: Sequence[str]) -> None:
    if words[:1] == ["validation"]:
        return add_validation(words[1:])
    chosen = words[1:] if words and words[0] in ("rivals", *LEARNING) else ()
    words = words[: len(words) - len(chosen)]
    unknown = [word for word in words if word not in FILES]
    if unknown:
        raise SystemExit(
            f"record.py expects {', '.join(FILES)} or validation. Got {', '.join(unknown)}."
        )
    for name in words or [name for name in FILES if name not in ("h200", *LEARNING)]:
        file, make = FILES[name]
        text = make(*chosen)
        (RECORDS / file).write_text(text, encoding="utf-8")
    output(sys.executable, HERE / "tables.py", "--write")
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
