"""Notebooks that misbehave: they end, they are explained, and nothing of them is left."""

from __future__ import annotations

import gc
import itertools
from pathlib import Path

import pytest

from grader.assignment import Limits
from grader.errors import SandboxError
from grader.execute.result import Execution
from grader.messages.kernel import Capture
from grader.sandbox.interface import Sandbox
from tests.execute.conftest import run_cells
from tests.execute.test_notebook import MODEL
from tests.sandbox.inside import command_lines, some_seconds

SLOW = Limits(cell_seconds=4)
LITTLE_OUTPUT = Limits(cell_seconds=30, output_mb=0.5)


def kept(execution: Execution) -> int:
    """Return about how many characters of output were kept."""
    return sum(len(str(cell.outputs)) for cell in execution.notebook.cells)


FIND_CAPTURES = """
import gc, socket
ends = [end for end in gc.get_objects() if isinstance(end, socket.socket)]
[captures] = [
    end for end in ends
    if end.family == socket.AF_UNIX and end.type == socket.SOCK_STREAM and end.fileno() >= 0
    and not end.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) and not end.getsockname()
    and end.getblocking()
]
"""


FOREVER = "while True: pass"


class TestTime:
    def test_a_slow_cell_is_stopped_and_the_others_are_run(self, sandbox: Sandbox) -> None:
        execution = run_cells(sandbox, "x = 1", FOREVER, MODEL, "print(x)", limits=SLOW)
        assert tuple(note.english for note in execution.notes) == (
            "Code cell 2 ran longer than 4 seconds and was stopped. "
            "Look for an endless loop, or let it work on less data.",
        )
        assert (execution.begun, execution.executed, execution.stopped) == (4, 3, (2,))
        assert [type(capture) for capture in execution.captures] == [Capture]
        assert execution.notebook.cells[3].outputs[0].text == "1\n"
        assert [(cell.cell, cell.fate) for cell in execution.lost] == [(2, "stopped")]

    def test_a_cell_that_takes_some_interrupts_is_interrupted_again(self, sandbox: Sandbox) -> None:
        eats = f"try:\n    {FOREVER}\nexcept BaseException:\n    pass\n{FOREVER}"
        execution = run_cells(sandbox, eats, "print('alive')", limits=SLOW)
        assert (execution.executed, execution.stopped) == (1, (1,))

    def test_slow_cells_have_the_notebook_s_time_together(self, sandbox: Sandbox) -> None:
        limits = Limits(cell_seconds=4, notebook_seconds=10)
        execution = run_cells(sandbox, *[FOREVER] * 9, limits=limits)
        assert len(execution.stopped) == execution.begun < 5
        assert "notebook ran longer than 10 seconds" in execution.notes[-1].english
        assert {cell.fate for cell in execution.lost} == {"stopped", "not_run"}
        assert len(execution.lost) == 9

    def test_an_endless_loop_that_no_interrupt_ends_costs_its_cell(
        self, sandbox: Sandbox, own_temporary_folder: Path
    ) -> None:
        marker = some_seconds()
        linger = f"import subprocess\n_ = subprocess.Popen(['setsid', 'sleep', '{marker}'])"
        # An interrupt of a loop is raised before its first line, which must be within the `try`.
        stays = f"x = 0\n        {FOREVER}"
        loop = f"while True:\n    try:\n        {stays}\n    except BaseException:\n        pass"
        execution = run_cells(sandbox, MODEL, linger, loop, "1", "2", limits=Limits(cell_seconds=4))
        assert tuple(note.english for note in execution.notes) == (
            "Code cell 3 ran longer than 4 seconds and was stopped. The notebook was run again "
            "without this cell. Look for an endless loop, or let it work on less data.",
        )
        assert (execution.cells, execution.executed) == (5, 4)
        assert [type(capture) for capture in execution.captures] == [Capture]
        assert not any(marker in line for line in command_lines())
        assert list(own_temporary_folder.iterdir()) == []

    def test_the_notebook_s_time_is_bounded_too(self, sandbox: Sandbox) -> None:
        seconds = itertools.count(step=30)
        execution = run_cells(
            sandbox,
            "import time; time.sleep(60)",
            "2",
            limits=Limits(cell_seconds=120, notebook_seconds=100),
            clock=lambda: float(next(seconds)),
        )
        assert tuple(note.english for note in execution.notes) == (
            "The notebook ran longer than 100 seconds and was stopped in code cell 1. Code cell "
            "2 was not run. Shorten or remove the slowest cells.",
        )


class TestDeath:
    @pytest.mark.parametrize(
        ("code", "sentence"),
        [
            ("import os; os._exit(3)", "ended the Python process (exit status 3)."),
            ("import os; os.kill(os.getpid(), 9)", "for using too much memory."),
            ("exit()", "ended the Python process (exit status 0)."),
        ],
    )
    def test_the_note_says_in_which_cell_and_how(
        self, sandbox: Sandbox, code: str, sentence: str
    ) -> None:
        execution = run_cells(sandbox, "1", code, "3")
        (note,) = execution.notes
        assert note.english.startswith("Code cell 2 ended the Python process")
        assert sentence in note.english
        assert "Code cell 3 was not run." in note.english
        assert execution.executed == 1

    def test_too_much_memory_is_an_error_of_the_cell(self, sandbox: Sandbox) -> None:
        execution = run_cells(
            sandbox, "_ = bytearray(3 * 2**30)", "print('alive')", limits=Limits(memory_mb=2048)
        )
        assert [problem.error for problem in execution.problems] == ["MemoryError"]
        assert tuple(note.english for note in execution.notes) == ()
        assert execution.notebook.cells[1].outputs[0].text == "alive\n"


class TestOutput:
    @pytest.mark.parametrize(
        "code",
        [
            "while True: print('x' * 1000)",
            "print('x' * 50_000_000)",
            "from IPython.display import HTML, display\nwhile True: display(HTML('x' * 10_000))",
            "raise ValueError('x' * 50_000_000)",
        ],
    )
    def test_a_flood_is_stopped(self, sandbox: Sandbox, code: str) -> None:
        execution = run_cells(sandbox, code, "2", limits=LITTLE_OUTPUT)
        assert tuple(note.english for note in execution.notes) == (
            "The notebook was stopped in code cell 1, because it printed too much: 0.5 MB are "
            "allowed for a cell, 2 MB for all cells together. Code cell 2 was not run. Print "
            "less, for example only the first few values.",
        )
        kept = sum(len(str(output)) for output in execution.notebook.cells[0].outputs)
        assert kept < 2**20

    def test_what_is_printed_does_not_wait_in_the_memory(self, sandbox: Sandbox) -> None:
        """It waited for 0.2 s, in which a loop prints a gigabyte: a MemoryError was told."""
        code = "while True: print('x' * 2**16)"
        assert run_cells(sandbox, code, limits=LITTLE_OUTPUT).peak < 400 * 2**20

    def test_all_cells_together_are_bounded(self, sandbox: Sandbox) -> None:
        execution = run_cells(sandbox, *["print('x' * 450_000)"] * 6, limits=LITTLE_OUTPUT)
        (note,) = execution.notes
        assert note.english.startswith(
            "Output was cut (code cells 5, 6): a cell keeps at most 0.5 MB, all cells together at "
        )
        assert execution.executed == 6
        assert kept(execution) < 2 * 2**20

    @pytest.mark.parametrize(
        "code",
        [
            "print('x' * 2_000_000)",
            "print('\\0' * 300_000)",
            "for _ in range(600): print('\u00e9' * 500, flush=True)",
            "'x' * 500_000",
            "raise ValueError('x' * 500_000)",
            "!yes x | head -c 1000000 | tr -d '\\n'",
        ],
    )
    def test_what_has_an_end_is_cut_and_the_notebook_goes_on(
        self, sandbox: Sandbox, code: str
    ) -> None:
        execution = run_cells(sandbox, code, "print('alive')", limits=LITTLE_OUTPUT)
        (note,) = execution.notes
        assert note.english.startswith("Output was cut (code cell 1)")
        assert execution.notebook.cells[1].outputs[0].text == "alive\n"
        assert kept(execution) < 2**20

    def test_who_takes_the_cut_away_is_bounded_outside(self, sandbox: Sandbox) -> None:
        code = """
session = get_ipython().kernel.session
session.send = session.send.__self__._send
print('x' * 5_000_000)
"""
        (note,) = run_cells(sandbox, code, "2", limits=LITTLE_OUTPUT).notes
        assert note.english.startswith(
            "The notebook was stopped in code cell 1, because it printed too much"
        )

    def test_one_long_line_is_kept_whole(self, sandbox: Sandbox) -> None:
        """A busy machine takes over a second for it."""
        limits = Limits(cell_seconds=30)
        execution = run_cells(sandbox, "print('x' * 4_000_000)", limits=limits)
        assert tuple(note.english for note in execution.notes) == ()
        assert len(execution.notebook.cells[0].outputs[0].text) == 4_000_001


class TestMessages:
    @pytest.mark.parametrize(
        "code",
        [
            "kernel.iopub_socket.send_multipart([b'no', b'message'])",
            "kernel.session.send(kernel.iopub_socket, 'stream', {'name': 3, 'text': {}}, "
            "parent=kernel.get_parent())",
            "kernel.session.send(kernel.iopub_socket, 'display_data', 'text', "
            "parent=kernel.get_parent())",
        ],
    )
    def test_what_is_no_message_is_explained(self, sandbox: Sandbox, code: str) -> None:
        prologue = "import time\nkernel = get_ipython().kernel\n"
        execution = run_cells(sandbox, f"{prologue}{code}\ntime.sleep(20)", "2")
        (note,) = execution.notes
        assert note.english.startswith("Code cell 1 sent something that is not a Jupyter message")

    def test_a_flood_of_foreign_messages_does_not_stop_the_clock(self, sandbox: Sandbox) -> None:
        code = """
kernel = get_ipython().kernel
while True:
    kernel.session.send(kernel.iopub_socket, "status", {"execution_state": "busy"}, parent={})
"""
        limits = Limits(cell_seconds=1, output_mb=2000)
        (note,) = run_cells(sandbox, code, limits=limits).notes
        assert note.english.startswith("Code cell 1 ran longer than 1 seconds")

    def test_a_lying_reply_is_no_success(self, sandbox: Sandbox) -> None:
        code = """
async def lie(*arguments, **options):
    return {"status": ["ok"], "payload": 3, "traceback": {}}
get_ipython().kernel.do_execute = lie
"""
        execution = run_cells(sandbox, code, "2")
        assert execution.executed == 1


class TestCaptureChannel:
    def test_garbage_is_noted_and_earlier_captures_are_kept(self, sandbox: Sandbox) -> None:
        write = f"{FIND_CAPTURES}\ncaptures.sendall(b'\\xff' * 100)"
        execution = run_cells(sandbox, MODEL, write, "captures.sendall(bytes(10**7))", "print(1)")
        assert tuple(note.english for note in execution.notes) == (
            "The notebook wrote its own data where the grader expects modules. Only modules "
            "before that are graded.",
        )
        assert [capture.cell for capture in execution.captures] == [1]
        assert execution.executed == 4

    def test_a_closed_channel_is_no_reason_to_stop(self, sandbox: Sandbox) -> None:
        execution = run_cells(sandbox, f"{FIND_CAPTURES}\ncaptures.close()", MODEL, "print(1)")
        assert execution.captures == ()
        assert execution.executed == 3


class TestStart:
    def test_a_kernel_that_cannot_start_is_not_the_student_s_fault(
        self, sandbox: Sandbox, own_temporary_folder: Path
    ) -> None:
        with pytest.raises(SandboxError, match="ended before it was ready"):
            run_cells(sandbox, "1", limits=Limits(memory_mb=40))
        assert list(own_temporary_folder.iterdir()) == []

    def test_no_descriptor_is_left_open(self, sandbox: Sandbox) -> None:
        run_cells(sandbox, "1")
        gc.collect()
        before = len(list(Path("/proc/self/fd").iterdir()))
        run_cells(sandbox, "import os; os._exit(0)")
        gc.collect()
        assert len(list(Path("/proc/self/fd").iterdir())) == before
