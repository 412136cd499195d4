"""Commands under bad conditions keep their exit codes: full disks, closed pipes, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from grader.report import decode_report
from tests.cli.test_batch import COURSE, ENDLESS, FAILING, GRADER, files, rows, wait_until, write
from tests.endtoend.command import heed_interrupts
from tests.missing import no_mount
from tests.users import as_user

SECONDS = 120
OPTIONS = ["--course", str(COURSE), "--assignment", "small"]
SLOW = ("print(1)", "import time\ntime.sleep(8)")

SWALLOWING = """
import contextlib, os, signal, time
from grader.cli.ending import prepare_process

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
interruption = prepare_process()
try:
    try:
        with contextlib.suppress(BaseException):
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(30)
    finally:
        interruption.end()
except KeyboardInterrupt:
    print("interrupted", end=", ")
print("then cleared up")
"""

KEEPING = """
import os, signal, time
from grader.cli.ending import Interruption

signal.signal(signal.SIGINT, signal.default_int_handler)
interruption = Interruption(heeded_within=0.3)
try:
    try:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(30)
        except BaseException as error:
            kept = error
        time.sleep(60)
    finally:
        interruption.end()
except KeyboardInterrupt as error:
    print("interrupted again" if error is not kept else "interrupted")
"""

IMPORTED = """
import os, signal, time

os.kill(os.getpid(), signal.SIGINT)
time.sleep(0.2)
print("imported", end=", ")
"""

IMPORTING = """
import signal, time
from grader.cli.ending import prepare_process

signal.signal(signal.SIGINT, signal.default_int_handler)
interruption = prepare_process()
try:
    try:
        import imported
        time.sleep(60)
    finally:
        interruption.end()
except KeyboardInterrupt:
    print("then interrupted")
"""

MAKING_A_LOOP = """
import asyncio, os, signal, sys, time
from grader.cli.ending import prepare_process

def interrupted(name):
    step = getattr(asyncio.SelectorEventLoop, name)
    def take(self, *values, **named):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        return step(self, *values, **named)
    return take

class Loop(asyncio.SelectorEventLoop):
    pass

setattr(Loop, sys.argv[1], interrupted(sys.argv[1]))

class Policy(asyncio.DefaultEventLoopPolicy):
    _loop_factory = Loop

async def work():
    await asyncio.sleep(60)

asyncio.set_event_loop_policy(Policy())
signal.signal(signal.SIGINT, signal.default_int_handler)
interruption = prepare_process()
try:
    try:
        asyncio.run(work())
    finally:
        interruption.end()
except KeyboardInterrupt:
    print("interrupted")
"""

LATE = """
import os, signal, time
from grader.cli.ending import prepare_process

signal.signal(signal.SIGINT, signal.default_int_handler)
interruption = prepare_process()
try:
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        pass  # it is gone, and comes again
finally:
    interruption.end()
signal.signal(signal.SIGALRM, signal.SIG_DFL)  # as Python does while it ends
time.sleep(0.2)
print("ended")
"""

AT_THE_END = """
import signal, sys, types

signal.signal(signal.SIGINT, signal.default_int_handler)
from grader.cli import app
from grader.cli.ending import Interruption

commands = types.ModuleType("grader.cli.commands")
commands.app = lambda: None
sys.modules["grader.cli.commands"] = commands

def interrupt(frame, event, argument):
    if event == "call" and frame.f_code is Interruption.end.__code__:
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)

sys.setprofile(interrupt)
app.main()
"""

UNREAD = """
import os, signal, sys, threading, types

signal.signal(signal.SIGINT, signal.default_int_handler)
from grader.cli import app
from grader.cli.ending import _Output

def write():
    print("x" * 4000, end="")
    if sys.argv[1] == "amid":
        sys.stdout.flush()

commands = types.ModuleType("grader.cli.commands")
commands.app = write
sys.modules["grader.cli.commands"] = commands

def interrupt(frame, event, argument):
    if event == "call" and frame.f_code is _Output.flush.__code__:
        sys.setprofile(None)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()

sys.setprofile(interrupt)
app.main()
"""

CRASHING = """
import ctypes
from grader.cli.ending import prepare_process

prepare_process()
ctypes.string_at(0)
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with tempfile.TemporaryDirectory(prefix="c-", dir="/tmp") as temporary:  # short: for sockets
        yield World(tmp_path, Path(temporary))


class World:
    """A folder with a damaged file, for which nothing is run, and one for temporary files."""

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.folder, self.temporary = folder, temporary
        (folder / "hw.ipynb").write_text("no notebook")
        self.environment = {**os.environ, "COLUMNS": "100", "TMPDIR": str(temporary)}

    def shell(self, line: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run a line of bash, in which `$grade` grades the damaged file."""
        place = "/" if prefix else self.folder  # whoever becomes a user may not come here
        grade = f"{GRADER} run hw.ipynb {' '.join(OPTIONS)}"
        return subprocess.run(
            [*prefix, "bash", "-o", "pipefail", "-c", line],
            capture_output=True,
            text=True,
            cwd=place,
            env={**self.environment, "grade": grade, "GRADER": str(GRADER)},
            timeout=SECONDS,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a command in a process group of its own, as a shell does."""
        return subprocess.Popen(
            [GRADER, *words, *OPTIONS],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environment,
            preexec_fn=heed_interrupts,
            start_new_session=True,
        )

    def temporaries(self) -> list[str]:
        return files(self.temporary)

    def has_locked_a_folder(self) -> bool:
        return any(self.temporary.glob("grader-*/.lock"))


@contextmanager
def full_pipe() -> Iterator[int]:
    """Yield the end to write to of a pipe that takes nothing more."""
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        with suppress(BlockingIOError):
            while True:
                os.write(writing, bytes(4096))
        os.set_blocking(writing, True)
        yield writing
    finally:
        os.close(writing)
        os.close(reading)


class TestOutput:
    """The report is kept first, then printed."""

    def test_a_reader_who_has_read_enough_changes_no_exit_code(self, world: World) -> None:
        for line, code in (
            ("$grade | head -1", 0),
            ("$grade --fail-under 1 | head -1", 1),
            ("$grade | true", 0),
            ("$GRADER --help | true", 0),
            ("$GRADER ci init --help | true", 0),
        ):
            done = world.shell(line)
            assert code == done.returncode, (line, done.stderr)
            assert "Traceback" not in done.stderr
            assert "Exception" not in done.stderr

    def test_a_full_output_costs_no_grade(self, world: World) -> None:
        done = world.shell("$grade --json report.json > /dev/full")
        assert 2 == done.returncode
        assert "standard output: No space left" in done.stderr
        assert 10 == decode_report((world.folder / "report.json").read_bytes()).max_score
        done = world.shell("$grade > /dev/full")
        (kept,) = world.temporary.iterdir()
        assert 2 == done.returncode
        assert f"The report was not lost. It is kept in {kept} instead" in done.stderr
        assert 10 == decode_report(kept.read_bytes()).max_score

    def test_a_report_that_cannot_be_written_is_kept_elsewhere(self, world: World) -> None:
        done = world.shell("$grade --json /dev/full")
        (kept,) = world.temporary.iterdir()
        assert 2 == done.returncode
        assert "/dev/full: No space left" in done.stderr
        assert 10 == decode_report(kept.read_bytes()).max_score
        assert "0 of 10 points" in done.stdout
        assert Path("/dev/full").is_char_device()

    def test_a_pipe_and_the_standard_output_are_written_to(self, world: World) -> None:
        done = world.shell("$grade --json /dev/stdout | cat")
        assert 0 == done.returncode, done.stderr
        document, end, _ = done.stdout.partition("\n}\n")
        assert 10 == decode_report((document + end).encode()).max_score
        done = world.shell("$grade --json /dev/stdout > out.txt && mkfifo pipe && (cat pipe > got &"
                           " $grade --json pipe; wait)")  # fmt: skip
        assert 0 == done.returncode, done.stderr
        assert (world.folder / "pipe").is_fifo()
        assert "0 of 10 points" in (world.folder / "out.txt").read_text()
        assert 10 == decode_report((world.folder / "got").read_bytes()).max_score

    def test_closed_streams_are_no_obstacle(self, world: World) -> None:
        done = world.shell("$grade --json a.json >&-; echo $?; $grade --json b.json <&- 2>&-")
        assert 0 == done.returncode
        assert done.stdout.startswith("0\n")
        for name in ("a.json", "b.json"):
            assert 10 == decode_report((world.folder / name).read_bytes()).max_score

    def test_a_place_without_room_is_refused_before_anything_is_graded(self, world: World) -> None:
        line = (
            "mkdir small && mount -t tmpfs -o size=1m tmpfs small || exit 77;"
            " $grade --json small/a.json; echo $?;"
            " $GRADER batch hw.ipynb --output small --assignment small; echo $?;"
            " ls -A small; umount small"
        )
        done = world.shell(line)
        if done.returncode == 77:
            pytest.skip(no_mount(done.stderr))
        assert "2\n2\n" == done.stdout
        assert 2 == done.stderr.count("No space left on device")
        assert "Free some space there" in done.stderr

    def test_a_disk_that_fills_up_meanwhile_ends_no_class(self, world: World) -> None:
        for name in ("ada", "ben"):
            write(world.folder / f"class/{name}.ipynb", *SLOW)
        line = (
            "mkdir reports && mount -t tmpfs -o size=8m tmpfs reports || exit 77;"
            f" $GRADER batch class --output reports {' '.join(OPTIONS)} & sleep 1;"
            " while ! ls $TMPDIR/grader-* > /dev/null 2>&1; do sleep 0.1; done;"
            " head -c 9000000 /dev/zero > reports/filling; wait $!; echo $?;"
            " ls -A reports; umount reports"
        )
        done = world.shell(line)
        if done.returncode == 77:
            pytest.skip(no_mount(done.stderr))
        assert done.stdout.endswith("2\nfilling\n")
        kept = [decode_report(each.read_bytes()) for each in world.temporary.iterdir()]
        assert {"ada.ipynb", "ben.ipynb"} == {report.submission.name for report in kept}
        assert "2 reports not in the folder of reports" in " ".join(done.stdout.split())


def test_what_cannot_be_read_is_told_without_the_seconds_that_pytorch_takes(world: World) -> None:
    (world.folder / "torch.py").write_text("raise SystemExit('imported')")
    done = world.shell(
        f"export PYTHONPATH=.; $grade && $GRADER batch hw.ipynb --output out {' '.join(OPTIONS)}"
    )
    assert 0 == done.returncode, done.stderr
    assert "0 of 10 points" in done.stdout


class TestSignals:
    """A command that is interrupted clears up, and ends with the signal's code."""

    @pytest.mark.parametrize("command", ["run", "batch"])
    def test_ctrl_c_twice_leaves_nothing(self, world: World, command: str) -> None:
        write(world.folder / "hw.ipynb", *ENDLESS)
        words = ["hw.ipynb", *(["--output", "reports"] if command == "batch" else [])]
        process = world.start(command, *words)
        wait_until(lambda: bool(world.temporaries()))
        time.sleep(6)
        for _ in range(3):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.1)
        _, messages = process.communicate(timeout=SECONDS)
        assert 130 == process.returncode
        assert "Traceback" not in messages
        assert "Exception" not in messages
        assert "grader: interrupted." in messages.splitlines()
        assert [] == world.temporaries()

    def test_none_is_heeded_while_the_process_is_taken_apart(self) -> None:
        """Python gives its handlers back before: the second of two ended a command by itself."""
        code = (
            "import atexit, os, signal, sys; from grader.cli.app import main;"
            " atexit.register(os.kill, os.getpid(), signal.SIGINT);"
            " sys.argv = ['grader', '--version']; main()"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (0, "") == (done.returncode, done.stderr)

    def test_one_that_somebody_swallows_comes_again(self, tmp_path: Path) -> None:
        """A callback of the collector does: its errors are only printed."""
        script = tmp_path / "swallow.py"
        script.write_text(SWALLOWING)
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
        assert ("interrupted, then cleared up\n", "", 0) == (
            done.stdout,
            done.stderr,
            done.returncode,
        )

    def test_after_one_that_somebody_keeps_another_comes(self, tmp_path: Path) -> None:
        """A task of asyncio's keeps what it has ended with, and who waits for it may go on."""
        script = tmp_path / "keep.py"
        script.write_text(KEEPING)
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=30)
        assert ("interrupted again\n", "", 0) == (done.stdout, done.stderr, done.returncode)

    def test_it_waits_for_the_end_of_an_import(self, tmp_path: Path) -> None:
        """PyTorch's library ended the process where its import was interrupted."""
        (tmp_path / "imported.py").write_text(IMPORTED)
        script = tmp_path / "importing.py"
        script.write_text(IMPORTING)
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
        assert ("imported, then interrupted\n", 0) == (done.stdout, done.returncode), done.stderr

    @pytest.mark.parametrize("step", ["_make_self_pipe", "create_task"])
    def test_it_waits_until_asyncio_runs_its_loop(self, tmp_path: Path, step: str) -> None:
        """Half a loop printed a traceback where it was taken apart, a coroutine that was no task
        yet a warning that it was never awaited."""
        script = tmp_path / "making.py"
        script.write_text(MAKING_A_LOOP)
        done = subprocess.run(
            [sys.executable, script, step], capture_output=True, text=True, timeout=60
        )
        assert ("interrupted\n", "", 0) == (done.stdout, done.stderr, done.returncode)

    def test_none_that_waits_to_come_again_ends_the_process(self, tmp_path: Path) -> None:
        script = tmp_path / "late.py"
        script.write_text(LATE)
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
        assert ("ended\n", 0) == (done.stdout, done.returncode), done.stderr

    def test_one_just_when_the_work_is_over_ends_it_with_its_code(self) -> None:
        for _ in range(3):  # it was a race between an alarm and the end of the process
            done = subprocess.run(
                [sys.executable, "-c", AT_THE_END], capture_output=True, text=True, timeout=60
            )
            assert (130, "grader: interrupted.\n") == (done.returncode, done.stderr)

    @pytest.mark.parametrize("place", ["amid", "after"])
    def test_one_while_nobody_reads_what_is_written_ends_it_with_its_code(self, place: str) -> None:
        """Just after the work it was a traceback; amid the work it was heeded when the reader had
        gone."""
        environment = {**os.environ}
        environment.pop("PYTHONUNBUFFERED", None)  # all would be written amid the work
        with full_pipe() as pipe:
            done = subprocess.run(
                [sys.executable, "-c", UNREAD, place],
                stdout=pipe,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
                timeout=60,
            )
        assert (143, "grader: interrupted.\n") == (done.returncode, done.stderr)

    def test_ctrl_c_while_it_starts_is_no_failure(self, world: World) -> None:
        write(world.folder / "hw.ipynb", *ENDLESS)  # what is damaged is told in a second
        for delay in (0.3, 0.8, 1.4, 2):
            process = world.start("run", "hw.ipynb")
            time.sleep(delay)
            os.killpg(process.pid, signal.SIGINT)
            _, messages = process.communicate(timeout=SECONDS)
            if process.returncode == -signal.SIGINT:
                continue  # Python itself was not ready
            assert 130 == process.returncode, messages
            assert "Traceback" not in messages

    def test_one_that_is_told_to_end_clears_up_as_well(self, world: World) -> None:
        write(world.folder / "hw.ipynb", *ENDLESS)
        process = world.start("run", "hw.ipynb")
        wait_until(lambda: bool(world.temporaries()))
        process.terminate()
        _, messages = process.communicate(timeout=SECONDS)
        assert 143 == process.returncode
        assert "Traceback" not in messages
        assert [] == world.temporaries()

    def test_what_a_killed_one_left_is_removed_by_the_next(self, world: World) -> None:
        write(world.folder / "hw.ipynb", *ENDLESS)
        process = world.start("run", "hw.ipynb")
        wait_until(world.has_locked_a_folder)  # without a lock it may be one that is being made
        process.kill()
        process.communicate(timeout=SECONDS)
        assert [] != world.temporaries()
        (world.folder / "hw.ipynb").write_text("no notebook")
        assert 0 == world.shell("$grade").returncode
        assert [] == world.temporaries()


def test_files_that_nobody_may_read_are_no_obstacle_to_whoever_makes_them(world: World) -> None:
    """As a user: nothing keeps root from reading them. Folders of pytest are closed to users."""
    with tempfile.TemporaryDirectory(prefix="u-", dir="/tmp") as opened:
        folder = Path(opened)
        write(folder / "failing.ipynb", *FAILING)
        for each in (folder, world.temporary):
            each.chmod(0o777)
        line = (
            f"cd {folder}; umask 777; export TMPDIR={world.temporary}; course={COURSE};"
            " $GRADER run failing.ipynb --json a.json --html a.html --course $course"
            " && $GRADER batch failing.ipynb --output reports --course $course"
        )
        done = world.shell(line, tuple(as_user([])))
        assert 0 == done.returncode, done.stderr
        assert ["failing"] == list(rows(folder))
        assert 10 == decode_report((folder / "a.json").read_bytes()).max_score


HOARDER = """
import os
import numpy as np
from grader.cli.ending import prepare_process

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20

prepare_process()
before, kept = resident(), []
for _ in range(4):
    large = []
    for _ in range(100):
        large.append(np.ones(2**20, "float32"))
        kept.append(np.ones(2**12, "float32"))
    large.clear()
print(resident() - before)
"""


def test_what_was_used_for_a_submission_is_given_back() -> None:
    """Small things that are kept lie between large ones that are freed, as in a class's batch:
    400 MB stayed."""
    done = subprocess.run([sys.executable, "-c", HOARDER], capture_output=True, check=True)
    assert int(done.stdout) < 30


def test_a_crash_of_a_library_says_where_it_was() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CRASHING], capture_output=True, text=True, timeout=SECONDS
    )
    assert -signal.SIGSEGV == done.returncode
    assert done.stderr.startswith("Fatal Python error: Segmentation fault\n")
    assert 'File "<string>", line 6 in <module>' in done.stderr
