"""What grading a class costs: wall time, processor time and memory of one `grader batch`.

The submissions are notebooks for a small assignment, right and wrong ones, no two of them the same.
Everything that the command starts is counted. Exit code 1: a submission got other points than it
deserves, or could not be graded.

    python benchmarks/warm_throughput.py [--submissions 20] [--jobs 4] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import msgspec
import nbformat
from process_tree import Usage, measure

from grader.batch.summary import Summary
from grader.environment import describe_environment

ROOT = Path(__file__).resolve().parent.parent
COURSE = ROOT / "tests" / "courses" / "small"
GRADER = Path(sys.executable).with_name("grader")

BARS = {"wall_s": 15.0, "cpu_s": 30.0, "peak_mb": 1200.0}
"""What 20 submissions may cost on four cores."""

PREPARATION = """
import numpy as np
import tvm
from tvm import relax, te, topi
from tvm.script import relax as R

rows, columns = np.arange(16)[:, None], np.arange(8)
weight = (((rows * 7 + columns * 3) % 11 - 5) / 8).astype("float32")
bias = ((np.arange(16) * 5 % 7 - 3) / 4).astype("float32")
"""

MODEL = """
def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            {body}
        builder.emit_func_output(output)
    return builder.get()
"""

LAYER = "builder.emit_te(topi.nn.dense, x, relax.const({weight}), relax.const({bias}))"
OUTPUT = "output = builder.emit_output(builder.emit_te({function}, {argument}))"

OWN_LAYER = """
def layer(data, weight, bias):
    k = te.reduce_axis((0, 8), name="k")
    product = te.compute((4, 16), lambda i, j: te.sum(data[i, k] * weight[j, k], axis=k))
    return te.compute((4, 16), lambda i, j: product[i, j] + bias[j])
"""


def model(weight: str = "weight", bias: str = "bias", function: str = "topi.nn.relu") -> str:
    """Return a cell with a model; by default it is right."""
    layer = LAYER.format(weight=weight, bias=bias)
    return MODEL.format(body=OUTPUT.format(function=function, argument=layer))


KINDS: list[tuple[float, list[str]]] = [
    (10, [model()]),
    (10, [OWN_LAYER, model().replace("topi.nn.dense", "layer")]),
    (10, ["assert weight.shape == (8, 16)", model()]),
    (4, [model(function="topi.tanh")]),
    (4, [model(bias="-bias")]),
    (4, [model(weight="weight[::-1].copy()")]),
    (0, ['def create_model():\n    raise NotImplementedError("to do")']),
    (0, ["def create_model()\n    return 1"]),
]
"""Points that a submission deserves, and its cells after the preparation."""


def write_submissions(folder: Path, count: int) -> dict[str, float]:
    """Write so many different notebooks. Returns the points that each deserves, by name."""
    deserved = {}
    for number in range(count):
        points, cells = KINDS[number % len(KINDS)]
        own = f"samples = np.arange({number + 10}) * {number + 1}\nprint(samples.sum())"
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in (PREPARATION, own, *cells)],
            metadata={"grader": {"assignment": "small", "version": 1}},
        )
        path = folder / f"student_{number + 1:03}" / "small.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
        deserved[f"student_{number + 1:03}/small"] = points
    return deserved


def grade_all(folder: Path, count: int, jobs: int) -> tuple[Usage, list[str]]:
    """Grade so many submissions. Returns what it took, and what is wrong with the result."""
    deserved = write_submissions(folder / "submissions", count)
    log, reports = folder / "log", folder / "reports"
    words = [folder / "submissions", "--output", reports, "--course", COURSE, "--jobs", jobs]
    usage = measure([str(GRADER), "batch", *map(str, words)], log)
    if usage.code != 0:
        return usage, [f"exit code {usage.code}", *log.read_text().splitlines()]
    summary = msgspec.json.decode((reports / "summary.json").read_bytes(), type=Summary)
    found = {row.name: row.score for row in summary.rows}
    wrong = [
        f"{name}: {found.get(name)} points, it deserves {points:g}"
        for name, points in deserved.items()
        if found.get(name) != points
    ]
    return usage, wrong


def main() -> int:
    """Print the costs beside the bars, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=min(4, len(os.sched_getaffinity(0))))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        usage, wrong = grade_all(Path(folder), arguments.submissions, arguments.jobs)
    values = {"wall_s": usage.wall_s, "cpu_s": usage.cpu_s, "peak_mb": usage.peak_mb}
    values = {name: round(value, 2) for name, value in values.items()}
    is_comparable = arguments.submissions == 20 and arguments.jobs == 4
    for name, value in values.items():
        print(f"{name:8} {value:8.1f}" + (f"   bar {BARS[name]:6.0f}" if is_comparable else ""))
    print(f"{usage.processes} processes; memory was looked at {usage.memory_samples} times")
    if usage.unreadable:
        print(f"{usage.unreadable} looks at a process's memory were not permitted")
    print(f"{arguments.submissions - len(wrong)} reports right" if usage.code == 0 else "failed")
    print("\n".join(wrong))
    document = {
        **values,
        "waited_cpu_s": round(usage.waited_s, 2),
        "lost_cpu_s": round(usage.lost_s, 2),
        "bars": BARS if is_comparable else {},
        "submissions": arguments.submissions,
        "jobs": arguments.jobs,
        "processes": usage.processes,
        "correct": not wrong,
        "environment": msgspec.to_builtins(describe_environment()),
    }
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
