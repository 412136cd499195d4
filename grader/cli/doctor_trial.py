"""`grader doctor`: a small notebook is run as a submission's is, and a runner started.

What a grading needs of a machine is tried by using it: to look whether a file exists tells nothing
of a compiler that is empty, or of a folder that is mounted read-only.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import msgspec
from nbformat.v4 import new_code_cell, new_notebook

from grader.assignment import Limits
from grader.cli.doctor import MachineFault, pip_install
from grader.errors import GraderError
from grader.evidence.runner_client import start_runner
from grader.execute.kernel import KernelOrder
from grader.execute.notebook import execute_notebook
from grader.grading.machine_faults import COMPILERS, find_in_sandbox
from grader.language import NOTHING, Text, foreign, join, say
from grader.machine.packages import how_to_install
from grader.progress import Progress
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Level, Sandbox

_SECONDS: Final = 120


class Trial(msgspec.Struct, frozen=True):
    """Something that notebooks do: in words, its cell, and what mends a machine where it fails.

    The level `denied_at` never allows it.
    """

    what: Text
    cell: str
    hint: Text
    denied_at: Level | None = None


TRIALS: Final = (
    Trial(
        say("write-file-in-working-folder"),
        """
import pathlib, tempfile
pathlib.Path("written.txt").write_text("1")
pathlib.Path.home().joinpath("at_home.txt").write_text("1")
tempfile.TemporaryFile().write(b"1")
""",
        say("free-space-in-folder-for-temporary-files"),
    ),
    Trial(
        say("use-shared-memory"),
        """
from multiprocessing.shared_memory import SharedMemory
shared = SharedMemory(create=True, size=4096)
shared.close(); shared.unlink()
""",
        say("mount", command="mount -t tmpfs tmpfs /dev/shm"),
        denied_at="basic",  # the machine's /dev/shm would lead from one submission to the next
    ),
    Trial(
        say("build-module-and-run"),
        """
import numpy as np, tvm
from tvm import relax
def run(emit):
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([4], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(emit(builder, x))
        builder.emit_func_output(y)
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), tvm.cpu())
    result = machine["main"](tvm.runtime.tensor(np.ones(4, "float32"))).numpy()
    assert (result == 2).all(), result
run(lambda builder, x: builder.emit_te(tvm.topi.add, x, x))
""",
        say("install-graders-packages-again-versions-tvm"),
    ),
    Trial(
        say("run-module-extern-calls-alone"),
        """
@tvm.register_global_func("env.doctor", override=True)
def doctor(x, out):
    out.copyfrom(2 * x.numpy())
run(lambda builder, x: builder.emit(relax.op.call_dps_packed("env.doctor", [x], x.ty)))
""",
        say("install-c-compiler", command=how_to_install("gcc")),
    ),
    Trial(
        say("draw-figure"),
        """
import matplotlib.pyplot as plt
figure = plt.figure()
plt.title("1")
figure.canvas.draw()
plt.close(figure)
""",
        pip_install("--force-reinstall matplotlib"),
    ),
    Trial(
        say("print-text-that-not-english"),
        """
open("text.txt", "w").write("\\u6570\\u636e")
print(open("text.txt").read())
""",
        say("set-variable", name="LC_ALL", command="export LC_ALL=C.UTF-8"),
    ),
)
"""What is tried, in the order of the cells: later ones use names of earlier ones."""


def try_grading(level: Level, progress: Progress) -> Iterator[MachineFault]:
    """Yield what of a grading fails on this machine, at a level of isolation that works."""
    try:
        with choose_sandbox(level, minimum="none", imports=("matplotlib",)) as sandbox:
            yield from try_cells(sandbox, progress)
            _start_runners(sandbox, progress)
    except GraderError as error:
        yield MachineFault(error.message, error.hint)


def try_cells(sandbox: Sandbox, progress: Progress) -> Iterator[MachineFault]:
    """Yield what a notebook cannot do. Raises SandboxError where none can be run."""
    trials = [trial for trial in TRIALS if trial.denied_at != sandbox.level]
    notebook = new_notebook(cells=[new_code_cell(trial.cell) for trial in trials])
    order = KernelOrder(sandbox, (), {}, Limits(cell_seconds=_SECONDS))
    execution = execute_notebook(notebook, order, progress)
    failed = {problem.cell: problem for problem in execution.problems}
    for number, trial in enumerate(trials, start=1):
        if number in failed:
            problem = failed[number]
            why = foreign(f"{problem.error}: {problem.message}")
        elif number in execution.stopped or number > execution.begun:
            why = join(*execution.notes)
        else:
            continue
        yield MachineFault(say("graded-notebook-cannot-here", what=trial.what, why=why), trial.hint)


def _start_runners(sandbox: Sandbox, progress: Progress) -> None:
    progress.stage(say("starting-runners"))
    limits = Limits().resources()
    with ExitStack() as running:
        for kind in ("pure", "extern", "library"):
            running.enter_context(start_runner(sandbox, kind, limits, {})).await_start()


def describe_compiler() -> tuple[Text, Text]:
    """Return what is known of a C compiler for notebooks, and what brings one where there is none.

    No reference solution needs it, so a machine without it can grade.
    """
    found = next(filter(None, map(find_in_sandbox, COMPILERS)), None)
    if found is not None:
        return say("for-notebooks-that-export-library", path=found), NOTHING
    return say("none-notebook-that-exports-library-and-would"), how_to_install("gcc")
