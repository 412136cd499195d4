"""What grading a class costs: wall time, processor time and memory of one `grader batch`.

The submissions are notebooks for a small assignment, right and wrong ones, or with `--assignment`
the reference of one of the course's, timing included. No two of them are the same, and no two
models: what a batch knows from one of them is no answer for another (`--alike`: it is). Everything
that the command starts is counted. Exit code 1: a submission got other points than it deserves, or
could not be graded.

With `--load` each round grades the class a second time, beside so many busy loops, and the ratio of
both is printed: a machine that does other things gives less of its processors, and grading must not
use more of them for that.

    python benchmarks/warm_throughput.py [--submissions 20] [--jobs 4] [--rounds 1] [--load 4]
    python benchmarks/warm_throughput.py --assignment e2e-conv --submissions 8 --jobs 2
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import nbformat
from load import load
from process_tree import Usage, measure

from grader.batch.summary import decode_summary
from grader.course import load_course
from grader.environment import describe_environment

ROOT = Path(__file__).resolve().parent.parent
COURSE = ROOT / "tests" / "courses" / "small"
GRADER = Path(sys.executable).with_name("grader")

SMALL = "small"
ALLOWED = 0.5
"""Points that a reference may miss: those of speed are measured."""

BARS = {
    SMALL: {"wall_s_each": 0.75, "cpu_s_each": 0.45, "peak_mb": 1024.0},
    "e2e-conv": {"wall_s_each": 9.0, "cpu_s_each": 9.0, "peak_mb": 1024.0},
}
"""What a submission may cost with two jobs on two cores, and all of them at the peak."""

MOST_UNDER_LOAD = 1.3
"""How many times the processor seconds of a quiet machine grading may take under a load of 4."""

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


@dataclass(frozen=True)
class Class:
    """What a class hands in: notebooks by name, and the points that each deserves."""

    notebooks: dict[str, nbformat.NotebookNode]
    deserved: dict[str, float]
    allowed: float
    options: tuple[str | Path, ...] = ()


def small_class(count: int, alike: bool) -> Class:
    """Return so many different notebooks of the small assignment, right and wrong ones.

    `alike`: right ones hold the same module.
    """
    notebooks, deserved = {}, {}
    for number in range(count):
        points, cells = KINDS[number % len(KINDS)]
        name = f"student_{number + 1:03}/{SMALL}"
        deserved[name] = points
        notebooks[name] = nbformat.v4.new_notebook(
            cells=[
                nbformat.v4.new_code_cell(
                    cell.strip() if alike else own_model(cell.strip(), number)
                )
                for cell in (PREPARATION, own_cell(number), *cells)
            ],
            metadata={"grader": {"assignment": SMALL, "version": 1}},
        )
    return Class(notebooks, deserved, 0.0, ("--course", COURSE))


def reference_class(slug: str, count: int, alike: bool) -> Class:
    """Return an assignment's reference so many times, each time with a cell of its own."""
    points = load_course(ROOT).get(slug).assignment.points
    notebooks = {}
    for number in range(count):
        notebook = nbformat.read(ROOT / "examples" / slug / "reference.ipynb", as_version=4)
        own = nbformat.v4.new_code_cell("import numpy as np\n" + own_cell(number))
        for cell in notebook.cells:
            cell.source = cell.source if alike else own_model(cell.source, number)
        notebook.cells.insert(0, own)
        notebooks[f"student_{number + 1:03}/{slug}"] = notebook
    return Class(notebooks, dict.fromkeys(notebooks, points), ALLOWED)


def own_cell(number: int) -> str:
    """Return a cell that only this submission has."""
    return f"samples = np.arange({number + 10}) * {number + 1}\nprint(samples.sum())"


def own_model(cell: str, number: int) -> str:
    """Return a cell whose models have an argument that is called otherwise in each submission."""
    return cell.replace('relax.Var("x"', f'relax.Var("x_{number}"')


def grade_all(folder: Path, handed_in: Class, jobs: int) -> tuple[Usage, list[str]]:
    """Grade a class. Returns what it took, and what is wrong with the result."""
    for name, notebook in handed_in.notebooks.items():
        path = folder / "submissions" / f"{name}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    log, reports = folder / "log", folder / "reports"
    words = [folder / "submissions", "--output", reports, "--jobs", jobs, "--data", "builtin"]
    usage = measure([str(GRADER), "batch", *map(str, [*words, *handed_in.options])], log)
    if usage.code != 0:
        return usage, [f"exit code {usage.code}", *log.read_text().splitlines()]
    summary = decode_summary((reports / "summary.json").read_bytes())
    found = {row.name: row.score for row in summary.rows}
    wrong = [
        f"{name}: {found.get(name)} points, it deserves {points:g}"
        for name, points in handed_in.deserved.items()
        if abs((found.get(name) or 0.0) - points) > handed_in.allowed
    ]
    return usage, wrong


class Cost(msgspec.Struct, frozen=True):
    """What a class took beside so many busy loops, and the load average at its end."""

    load: int
    wall_s: float
    cpu_s: float
    peak_mb: float
    wall_s_each: float
    cpu_s_each: float
    load_average: float


def cost_of(usage: Usage, count: int, beside: int) -> Cost:
    """Return what so many submissions took, rounded."""
    seconds = (usage.wall_s, usage.cpu_s, usage.peak_mb, usage.wall_s / count, usage.cpu_s / count)
    return Cost(beside, *(round(each, 2) for each in (*seconds, os.getloadavg()[0])))


def ratios(costs: Sequence[Cost], name: str) -> list[float]:
    """Return, for each round, how many times the quiet one's the loaded one's cost is."""
    quiet, loaded = ([each for each in costs if bool(each.load) is kind] for kind in (False, True))
    return [
        round(getattr(after, name) / getattr(before, name), 3)
        for before, after in zip(quiet, loaded, strict=True)
    ]


def print_costs(costs: Sequence[Cost], bars: dict[str, float]) -> None:
    """Print the medians beside the bars, those under load without."""
    for beside in sorted({each.load for each in costs}):
        alike = [each for each in costs if each.load == beside]
        print(f"beside {beside} busy loops:" if beside else "with no busy loop:")
        for name in Cost.__struct_fields__[1:]:
            value = statistics.median(getattr(each, name) for each in alike)
            bar = f"   bar {bars[name]:8.2f}" if name in bars and not beside else ""
            print(f"{name:12} {value:8.2f}{bar}")


def print_ratios(found: dict[str, list[float]], bars: dict[str, float]) -> None:
    """Print how many times the cost of a quiet machine a loaded one's is, and the spread."""
    for name, each in found.items():
        bar = f"   bar {bars[name]:8.2f}" if name in bars else ""
        print(f"{name:12} {statistics.median(each):8.2f} times [{min(each)}, {max(each)}]{bar}")


def main() -> int:
    """Print the costs beside the bars, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--assignment", default=SMALL)
    parser.add_argument("--submissions", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=min(4, len(os.sched_getaffinity(0))))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--load", type=int, default=0, metavar="N", help="busy loops, as well")
    parser.add_argument("--alike", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    slug, count, alike = arguments.assignment, arguments.submissions, arguments.alike
    handed_in = small_class(count, alike) if slug == SMALL else reference_class(slug, count, alike)
    usages, costs, wrong = [], [], []
    for beside in [*dict.fromkeys((0, arguments.load))] * arguments.rounds:
        with load(beside), tempfile.TemporaryDirectory() as folder:
            usage, mistakes = grade_all(Path(folder), handed_in, arguments.jobs)
            costs.append(cost_of(usage, count, beside))
        usages.append(usage)
        wrong += mistakes
    bars = BARS.get(slug, {}) if arguments.jobs == 2 else {}
    print_costs(costs, bars)
    found = {name: ratios(costs, name) for name in ("wall_s", "cpu_s")} if arguments.load else {}
    print_ratios(found, {"cpu_s": MOST_UNDER_LOAD} if bars else {})
    usage = usages[0]
    print(f"{usage.processes} processes; memory was looked at {usage.memory_samples} times")
    if usage.unreadable:
        print(f"{usage.unreadable} looks at a process's memory were not permitted")
    if all(each.code == 0 for each in usages):
        print(f"{count * len(usages) - len(wrong)} reports right")
    else:
        print("failed")
    print("\n".join(wrong))
    document = {
        **{name: getattr(costs[0], name) for name in Cost.__struct_fields__[1:-1]},
        "waited_cpu_s": round(usage.waited_s, 2),
        "lost_cpu_s": round(usage.lost_s, 2),
        "bars": bars,
        "assignment": slug,
        "submissions": count,
        "jobs": arguments.jobs,
        "alike": alike,
        "processes": usage.processes,
        "correct": not wrong,
        "costs": msgspec.to_builtins(costs),
        "ratios": found,
        "environment": msgspec.to_builtins(describe_environment()),
    }
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
