"""How often a warden looks at its sandbox.

A sandbox is taken to rest only while nobody in it can have run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import pytest

from grader.inside.launcher import usage, warden
from grader.inside.launcher.warden import Stillness, usual_pause
from tests.conftest import ROOT
from tests.inside.launcher.test_usage import at_rest, program


@pytest.mark.parametrize(
    ("cost", "pause"),
    [(0.001, 0.1), (0.03, 0.3), (0.2, 0.5), (2, 2)],
    ids=["cheap", "a tenth of a processor", "never blind for long", "half a processor at most"],
)
def test_looks_that_cost_much_are_fewer_but_not_few(cost: float, pause: float) -> None:
    assert usual_pause(0.1, cost) == pytest.approx(pause)


WITH_A_THREAD = """
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
"""


def noted(
    living: Sequence[int],
    known: dict[str, bytes] | None,
    processes: Callable[[], Sequence[int]] | None = None,
    newest: Callable[[], bytes] | None = None,
) -> Stillness:
    still = Stillness(processes or (lambda: living), newest)
    still.begin(time.monotonic(), known)
    return still


def test_it_lasts_while_all_wait() -> None:
    with program(WITH_A_THREAD) as waiting:
        still = noted([waiting], at_rest(waiting))
        assert [True, True] == [still.lasts(), still.lasts()]


def test_who_runs_or_is_not_counted_does_not_rest() -> None:
    with program("") as waiting:
        assert not noted([waiting], None).lasts()
    assert not noted([], {}).lasts()


def test_it_ends_with_a_look_that_is_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    with program("") as waiting:
        still = noted([waiting], at_rest(waiting))
        monkeypatch.setattr(warden, "RESTED_AT_MOST", -1)
        assert not still.lasts()


def test_a_thread_that_was_made_while_they_were_noted_is_missed() -> None:
    """Its maker was noted after it had made it, and never runs again."""
    with program(WITH_A_THREAD) as waiting:
        known = at_rest(waiting)
        del known[max(known, key=lambda path: int(path.split("/")[4]))]
        assert not noted([waiting], known).lasts()


def test_a_process_that_was_made_while_they_were_noted_is_missed() -> None:
    with program("") as waiting, program("") as hidden:
        both = [waiting, hidden]
        assert not noted([waiting], at_rest(waiting), lambda: both).lasts()


def test_who_made_itself_unseen_cannot_make_others_that_are() -> None:
    """No list has it where processes are told by their parents: it is gone, and left another."""
    with program("") as waiting, program("") as later:
        there, newest = [waiting], [b"1"]
        still = noted([waiting], at_rest(waiting), lambda: list(there), lambda: newest[0])
        assert still.lasts()
        there.append(later)
        newest[0] = b"2"
        assert not still.lasts()


def test_processes_are_not_listed_again_before_one_is_made() -> None:
    listed = []
    with program("") as waiting:

        def processes() -> list[int]:
            listed.append(1)
            return [waiting]

        still = noted([waiting], at_rest(waiting), processes, lambda: b"1")
        assert [True, True, True] == [still.lasts(), still.lasts(), still.lasts()]
    assert listed == [1]


def test_a_new_process_is_told() -> None:
    before = usage.newest()
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert before != usage.newest()
    assert usage.newest().strip().isdigit()


FAILING = """
import os, socket, sys, time
from types import SimpleNamespace
from grader.inside.launcher import warden

child = os.fork()
if child == 0:
    time.sleep(60)
request = SimpleNamespace(
    bounds=SimpleNamespace(interval=0.01, memory=0, descriptors=1000),
    confinement=SimpleNamespace(user=-1),
)
near, far = socket.socketpair()
watch = warden._Watch(child, request, near, None, group=None, machine=None, statistics=-1)
try:
    watch.until_the_end()
except AttributeError:
    print("it could not look")
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("and nobody is left")
"""


def test_who_fails_to_look_buries_what_it_ends() -> None:
    """Else a box waited for its end as long as nobody buried a process in it."""
    words = [sys.executable, "-c", FAILING]
    told = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "it could not look\nand nobody is left\n" == told.stdout
