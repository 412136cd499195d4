"""Where the wall time of `grader run` goes, beside plain nbclient on the same notebook.

Each round runs both, one after the other, so that they meet the same machine. Plain nbclient is the
floor: it runs the cells without a sandbox and grades nothing.

    python benchmarks/stages.py [--rounds 3] [--json FILE] [NOTEBOOK]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from grader.assignment_file import load_assignment
from grader.data import resolve_data
from grader.progress import Silent
from grader.report import decode_report

ROOT = Path(__file__).resolve().parent.parent
GRADER = Path(sys.executable).with_name("grader")

PLAIN_KERNEL = """
import torch
for name in ("nms", "qnms"):
    torch.library.define("torchvision::" + name, "(Tensor d, Tensor s, float t) -> Tensor")
from ipykernel.kernelapp import launch_new_instance
launch_new_instance()
"""


class PlainManager(AsyncKernelManager):  # type: ignore[misc]
    """A kernel without a sandbox, which can import torchvision where its own library is missing."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """Return the kernel's command line."""
        words = [sys.executable, "-c", PLAIN_KERNEL, "-f", "{connection_file}"]
        return KernelSpec(argv=words, display_name="plain", language="python")


def run_plain(notebook: Path) -> float:
    """Run a notebook with nbclient alone, its data files beside it. Returns wall seconds.

    Which files these are its assignment says, after which its folder is named.
    """
    needs = load_assignment(ROOT / "assignments" / notebook.parent.name / "assignment.toml").data
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


def main() -> None:
    """Print medians of all stages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "notebook",
        type=Path,
        nargs="?",
        default=ROOT / "examples" / "e2e-conv" / "reference.ipynb",
        help="one of examples/",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rounds = []
    for number in range(arguments.rounds):
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
        rounds.append(
            {"plain nbclient": run_plain(arguments.notebook), **run_grader(arguments.notebook)}
        )
    medians = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    for name, seconds in medians.items():
        spread = [each[name] for each in rounds]
        print(f"{name:16} {seconds:7.2f} s   [{min(spread):.2f}, {max(spread):.2f}]")
    print(f"{'ratio':16} {medians['command'] / medians['plain nbclient']:7.2f}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"median_s": medians, "rounds": rounds}, indent=2))


if __name__ == "__main__":
    main()
