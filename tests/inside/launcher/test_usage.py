"""What processes use is seen from outside, in their memory and in the kernel's."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader.inside.launcher import usage

MEGABYTE = 2**20


@contextmanager
def program(code: str) -> Iterator[int]:
    """Run a program until the body is left; it has said that it is ready before."""
    words = [sys.executable, "-c", f"{code}\nprint(flush=True)\ninput()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe) as started:
        assert started.stdout is not None
        started.stdout.readline()
        yield started.pid
        started.kill()


def test_the_tables_that_map_memory_are_part_of_it() -> None:
    """A page in each two megabytes of a large mapping: as many pages of tables, and nothing else"""
    code = """
import mmap
kept = mmap.mmap(-1, 2**31, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
if {touched}:
    for place in range(0, 2**31, 2**21):
        kept[place]
"""
    with program(code.format(touched=0)) as without, program(code.format(touched=1)) as many:
        tables = usage.resident_memory_of([many]) - usage.resident_memory_of([without])
        assert tables >= 3 * MEGABYTE
        assert usage.memory_of([many], 2**40) - usage.memory_of([without], 2**40) >= 3 * MEGABYTE


def test_shared_memory_counts_once_where_it_is_looked_closer() -> None:
    code = """
import os, time
kept = bytearray(b"x") * 2**26
for _ in range(3):
    if os.fork() == 0:
        time.sleep(60)
"""
    with program(code) as first:
        processes = [first, *usage.descendants(first)]
        try:
            assert 4 == len(processes)
            assert usage.resident_memory_of(processes) > 4 * 2**26
            assert usage.memory_of(processes, 2**40) < 2 * 2**26
        finally:
            for number in processes[1:]:
                os.kill(number, 9)


def test_descriptors_of_each_process_are_counted() -> None:
    with program("import os; kept = [os.pipe() for _ in range(50)]") as many:
        (count,) = usage.descriptors_of([many])
    assert 103 <= count <= 110


def test_a_process_that_is_gone_uses_nothing() -> None:
    gone = 2**22 + 1
    assert [0] == usage.descriptors_of([gone])
    assert 0 == usage.memory_of([gone], 0) == usage.resident_memory_of([gone])
    assert {} == usage.rest([gone], fetches=True)


def test_a_process_that_is_ending_hides_nothing() -> None:
    """It has given back its memory, and only root may look at what it still has."""
    with program("kept = bytearray(b'x') * 2**29") as ending:
        os.kill(ending, 9)
        deadline = time.monotonic() + 10
        while Path(f"/proc/{ending}/fd").exists() and "State:\tZ" not in status(ending):
            if not usage.resident_memory_of([ending]):
                assert not usage.is_closed(ending)
            assert time.monotonic() < deadline


def status(process: int) -> str:
    return Path(f"/proc/{process}/status").read_text()


HOPS = """
import _thread, ctypes, os
_thread.stack_size(2**16)
kept = bytearray(b"x") * 2**26
def hop():
    _thread.start_new_thread(hop, ())
child = os.fork()
if not child:
    _thread.start_new_thread(hop, ())
    ctypes.CDLL(None).pthread_exit(None)
"""


def test_threads_that_live_for_a_moment_do_not_hide_what_their_process_holds() -> None:
    """Whichever was chosen to tell of it has ended when it is asked."""
    with program(HOPS) as first:
        (hopper,) = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        try:
            while "State:\tZ" not in status(int(hopper)):
                time.sleep(0.001)
            seen = [usage.descendants(first) for _ in range(20)]
            time.sleep(0.01)
            assert [1] * 20 == [len(each) for each in seen]
            assert min(usage.resident_memory_of(each) for each in seen) > 2**26
        finally:
            os.kill(int(hopper), signal.SIGKILL)


def test_one_that_ends_while_its_folder_is_walked_through_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two of thirteen thousand looks at threads that live for a moment met it."""

    def gone(_folder: str) -> list[str]:
        raise ProcessLookupError

    with program(HOPS) as first:
        (hopper,) = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        try:
            while "State:\tZ" not in status(int(hopper)):
                time.sleep(0.001)
            monkeypatch.setattr(usage.os, "listdir", gone)
            assert int(hopper) in usage.all_processes()
            assert {} == usage.rest([int(hopper)], fetches=False)
        finally:
            monkeypatch.undo()
            os.kill(int(hopper), signal.SIGKILL)


def test_few_files_are_no_hoard_of_pipes() -> None:
    assert 0 == usage.held_by_pipes([20, 64, 3])
    assert 2 * 2 * mmap.PAGESIZE == usage.held_by_pipes([66, 1])


def at_rest(process: int) -> dict[str, bytes]:
    """Wait until it has come to the end of its last line."""
    deadline = time.monotonic() + 10
    while (known := usage.rest([process], fetches=True)) is None or usage.have_run(known):
        assert time.monotonic() < deadline
    return known


def test_who_computes_is_not_at_rest_and_who_waits_is() -> None:
    with program("") as waiting:
        known = at_rest(waiting)
        assert [f"/proc/{waiting}/task/{waiting}/schedstat"] == [*known]
    assert usage.rest([os.getpid()], fetches=False) is None


def test_who_ran_in_between_is_told_from_who_did_not() -> None:
    code = "import signal; signal.signal(signal.SIGUSR1, lambda *_: None)"
    with program(code) as woken, program("") as waiting:
        known, others = at_rest(woken), at_rest(waiting)
        os.kill(woken, signal.SIGUSR1)
        deadline = time.monotonic() + 10
        while not usage.have_run(known):
            assert time.monotonic() < deadline
        assert not usage.have_run(others)


def test_who_has_ended_has_run() -> None:
    with program("") as ended:
        known = at_rest(ended)
    assert usage.have_run(known)


def test_the_kernel_is_told_who_is_greedy() -> None:
    with program("") as one:
        usage.rate([one], 750)
        assert "750\n" == Path(f"/proc/{one}/oom_score_adj").read_text()
