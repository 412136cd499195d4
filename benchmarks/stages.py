"""Where the wall time of `grader run` goes, beside plain nbclient on the same notebook.

Each round runs both, one after the other, so that they meet the same machine. Plain nbclient is the
floor: it runs the cells without a sandbox and grades nothing.

With `--load` so many busy loops run beside both.

With `--deep` one more grading is looked at process by process: which there were, by the names that
`ps` shows, from when to when, and how much of a processor each used.

    python benchmarks/stages.py [--rounds 3] [--load 4] [--deep] [--json FILE] [NOTEBOOK]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from load import load
from nbclient import NotebookClient
from process_tree import Life, lives

from grader.assignment_files import load_assignment
from grader.data import resolve_data
from grader.progress import Silent
from grader.report import decode_report

ROOT = Path(__file__).resolve().parent.parent
GRADER = Path(sys.executable).with_name("grader")
EXAMPLE = ROOT / "examples" / "e2e-conv" / "reference.ipynb"
LEAST_SECONDS = 0.02
"""What used less of a processor is only in the sums."""

UNITS = {"ratio": "", "load average": ""}
"""Of what is not in seconds."""

PLAIN_KERNEL = """
import sys
import torch
sys.modules["grader"] = None
for name in ("nms", "qnms"):
    torch.library.define("torchvision::" + name, "(Tensor d, Tensor s, float t) -> Tensor")
from ipykernel.kernelapp import launch_new_instance
launch_new_instance()
"""


class PlainManager(AsyncKernelManager):  # type: ignore[misc]
    """A kernel without a sandbox, which can import torchvision where its own library is missing.

    It has no self-check, which a grading leaves out: three of those took longer than all else.
    """

    @property
    def kernel_spec(self) -> KernelSpec:
        """Return the kernel's command line."""
        words = [sys.executable, "-c", PLAIN_KERNEL, "-f", "{connection_file}"]
        return KernelSpec(argv=words, display_name="plain", language="python")


def run_plain(notebook: Path) -> float:
    """Run a notebook with nbclient alone, its data files beside it. Returns wall seconds.

    Which files these are its assignment says, after which its folder is named.
    """
    needs = load_assignment(assignment_of(notebook)).data
    data = resolve_data(needs, directory="builtin", environment={}, progress=Silent())
    with tempfile.TemporaryDirectory() as folder:
        for name, content in data.staged_files().items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        document = nbformat.read(notebook, as_version=4)
        start = time.perf_counter()
        NotebookClient(
            document,
            km=PlainManager(),
            allow_errors=True,
            resources={"metadata": {"path": folder}},
        ).execute()
        return time.perf_counter() - start


def run_grader(notebook: Path) -> dict[str, float]:
    """Grade a notebook. Returns wall seconds of the command and of its stages."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        start = time.perf_counter()
        subprocess.run(
            [GRADER, "run", notebook, "--data", "builtin", "--json", path],
            check=True,
            capture_output=True,
        )
        total = time.perf_counter() - start
        duration = decode_report(path.read_bytes()).duration
    return {"command": total, "grading": duration.total, **duration.stages}


def run_rounds(notebook: Path, count: int) -> list[dict[str, float]]:
    """Run both, in turn; a round has their seconds, their ratio, and the load average behind it.

    The ratio is that of two neighbours: the medians of both may be of other minutes.
    """
    rounds = []
    for number in range(count):
        found = {"plain nbclient": run_plain(notebook), **run_grader(notebook)}
        found["ratio"] = found["command"] / found["plain nbclient"]
        found["load average"] = os.getloadavg()[0]
        rounds.append(found)
        shown = (f"{each} {found[each]:.2f}" for each in ("plain nbclient", "command", *UNITS))
        print(f"round {number + 1} of {count}: {', '.join(shown)}", file=sys.stderr)
    return rounds


def look_deep(notebook: Path) -> list[Life]:
    """Grade a notebook once more. Returns its processes in the order in which they began."""
    command = subprocess.Popen(
        [GRADER, "run", notebook, "--data", "builtin"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return sorted(lives(command), key=lambda life: life.begin)


def print_lives(found: Sequence[Life]) -> None:
    """Print the processes, and the sums by their names."""
    print("\nprocess             begin     end   CPU s")
    for life in found:
        if life.cpu_s >= LEAST_SECONDS:
            print(f"{life.name:16} {life.begin:8.2f} {life.end:7.2f} {life.cpu_s:7.2f}")
    sums: defaultdict[str, float] = defaultdict(float)
    for life in found:
        sums[life.name] += life.cpu_s
    for name, seconds in sorted(sums.items(), key=lambda each: -each[1]):
        print(f"{name:16} {'all of them':>16} {seconds:7.2f}")
    print(f"{'together':16} {'':16} {sum(sums.values()):7.2f}")


def notebook_file(word: str) -> Path:
    """Return the notebook that is named. Raises ArgumentTypeError for anything else.

    Its folder is called as its assignment is: of a folder, `examples` was taken for one.
    """
    path = Path(word).absolute()
    if path.suffix != ".ipynb" or not path.is_file():
        what = "is a folder" if path.is_dir() else "is no notebook"
        raise argparse.ArgumentTypeError(
            f"{word} {what}: name a notebook file, such as {EXAMPLE.relative_to(ROOT)}"
        )
    if not assignment_of(path).is_file():
        raise argparse.ArgumentTypeError(
            f"{word} is of no assignment: name one in a folder that is called as its assignment,"
            f" such as {EXAMPLE.relative_to(ROOT)}"
        )
    return path


def assignment_of(notebook: Path) -> Path:
    """Return where the assignment of a notebook is described, after which its folder is called."""
    return ROOT / "assignments" / notebook.parent.name / "assignment.toml"


def main() -> None:
    """Print medians of all stages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "notebook",
        type=notebook_file,
        metavar="NOTEBOOK",
        nargs="?",
        default=EXAMPLE,
        help="a notebook file in a folder of examples/",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--load", type=int, default=0, metavar="N", help="busy loops beside both")
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with load(arguments.load):
        rounds = run_rounds(arguments.notebook, arguments.rounds)
    medians = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    for name, value in medians.items():
        spread = [each[name] for each in rounds]
        unit = UNITS.get(name, "s")
        print(f"{name:16} {value:7.2f} {unit:1}   [{min(spread):.2f}, {max(spread):.2f}]")
    found = look_deep(arguments.notebook) if arguments.deep else []
    if found:
        print_lives(found)
    if arguments.json is not None:
        document = {
            "load": arguments.load,
            "median_s": {name: each for name, each in medians.items() if name not in UNITS},
            "ratio": medians["ratio"],
            "rounds": rounds,
            "processes": [*map(asdict, found)],
        }
        arguments.json.write_text(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
