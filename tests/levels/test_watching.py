"""What a program does to be seen less, or to bring its own watch, or somebody else's, to an end.

The level is that of GRADER_TEST_LEVEL.
"""

from __future__ import annotations

import os
import platform
import resource

import pytest

from grader.sandbox.interface import Command, ResourceLimits
from grader.sandbox.start import SteppingSandbox, _bounds
from tests.conftest import require
from tests.sandbox.inside import report_from

MEGABYTE = 2**20

CLOSE = """
import ctypes, os, sys, time
SET_DUMPABLE = 4
assert ctypes.CDLL(None).prctl(SET_DUMPABLE, 0, 0, 0, 0) == 0
"""


def test_a_process_that_closes_itself_goes_on(sandbox: SteppingSandbox) -> None:
    """Where a user grades, nobody may look at its descriptors any more."""
    code = CLOSE + "time.sleep(1); print('done', file=sys.stderr)"
    process = sandbox.start(Command("python", ("-c", code)))
    assert process.wait(30) == 0, process.standard_error
    assert process.standard_error == "done\n"


def test_closed_processes_hide_no_memory(sandbox: SteppingSandbox) -> None:
    code = (
        CLOSE
        + """
for _ in range(4):
    if os.fork() == 0:
        break
kept = bytearray(b"x") * (60 * 2**20)
time.sleep(60)
"""
    )
    limits = ResourceLimits(memory=100 * MEGABYTE)
    process = sandbox.start(Command("python", ("-c", code), limits=limits))
    assert process.wait(30) == 137
    assert process.cause == "memory", process.standard_error


@pytest.mark.parametrize("who", ["itself", "its child"])
def test_who_has_rested_is_seen_when_it_goes_on(sandbox: SteppingSandbox, who: str) -> None:
    """Whoever does not run is not looked at closely, and the child's parent never runs again."""
    code = f"""
import os, time
if {who == "its child"} and os.fork():
    time.sleep(60)
time.sleep(1.5)
for _ in range(4):  # none of them has more than one may
    if os.fork() == 0:
        break
kept = bytearray(b"x") * (60 * 2**20)
time.sleep(60)
"""
    limits = ResourceLimits(memory=100 * MEGABYTE)
    process = sandbox.start(Command("python", ("-c", code), limits=limits))
    assert process.wait(30) == 137
    assert process.cause == "memory", process.standard_error


@pytest.mark.parametrize("name", [b"a kB", b"\rVmRSS: 0 kB"])
def test_a_process_may_have_any_name(sandbox: SteppingSandbox, name: bytes) -> None:
    code = f"""
import ctypes, time
SET_NAME = 15
assert ctypes.CDLL(None).prctl(SET_NAME, {name!r}, 0, 0, 0) == 0
time.sleep(1)
"""
    process = sandbox.start(Command("python", ("-c", code)))
    assert process.wait(30) == 0, process.standard_error


def test_a_folder_in_which_nothing_can_be_found_may_be_there(sandbox: SteppingSandbox) -> None:
    code = """
import os, time
os.mkdir("names")
open("names/one", "w").close()
os.chmod("names", 0o444)
time.sleep(1)
"""
    process = sandbox.start(Command("python", ("-c", code)))
    assert process.wait(30) == 0, process.standard_error


def test_descriptors_that_are_under_way_are_nobody_else_s_lack(sandbox: SteppingSandbox) -> None:
    """The kernel counts them by user: here the grader may be the same one."""
    code = """
import array, os, socket, time
one, other = socket.socketpair()
one.setblocking(False)  # to root the kernel may give as many as there is room for
try:
    while True:
        numbers = array.array("i", [0] * 250)
        one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])
except OSError:
    os.write(3, b".")
time.sleep(60)
"""
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, usual[1]), usual[1]))
    reader, writer = os.pipe()
    hoarder = sandbox.start(Command("python", ("-c", code), descriptors=(writer,)))
    os.close(writer)
    try:
        assert os.read(reader, 1) == b"."
        assert report_from(sandbox, "report(1)") == 1
    finally:
        hoarder.kill()
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)


def test_what_users_of_this_machine_may_do_with_processors_a_program_may_not(
    sandbox: SteppingSandbox,
) -> None:
    """An audio workstation lets its users keep one from everybody else, wardens among them."""
    box = sandbox._boxes.make(Command("python"))
    box.end()
    limits = _bounds(ResourceLimits(), box).limits
    assert (0, 0) == limits[resource.RLIMIT_RTPRIO] == limits[resource.RLIMIT_NICE]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the order of arguments is its own")
def test_who_lets_its_parent_wait_is_not_starved(sandbox: SteppingSandbox) -> None:
    """It would be graded again, with nobody beside it, as often as it likes to sleep."""
    code = """
import ctypes, os
library = ctypes.CDLL(None)
stack = ctypes.create_string_buffer(2**16)
top = (ctypes.addressof(stack) + 2**16 - 64) & ~15
sleep = ctypes.cast(library.sleep, ctypes.c_void_p)
os.write(3, b".")
library.clone(sleep, ctypes.c_void_p(top), 0x4100 | 17, ctypes.c_void_p(600))  # CLONE_VFORK
"""
    reader, writer = os.pipe()
    process = sandbox.start(Command("python", ("-c", code), descriptors=(writer,)))
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        assert stream.read(1) == b"."
        assert process.wait(3) is None
    process.kill()
    assert process.cause == ""


def test_sockets_that_nobody_accepts_are_counted(sandbox: SteppingSandbox) -> None:
    """A look at half a million of them takes seconds, and then nobody looks for a minute."""
    require(sandbox, "container")
    code = """
import socket, time
listeners = []
while True:
    listeners.append(socket.socket(socket.AF_UNIX))
    name = f"\\0{len(listeners)}"
    listeners[-1].bind(name)
    listeners[-1].listen(4096)
    try:
        while True:
            with socket.socket(socket.AF_UNIX) as one:
                one.setblocking(False)
                one.connect(name)
    except BlockingIOError:
        continue
"""
    process = sandbox.start(Command("python", ("-c", code)))
    assert process.wait(60) == 137
    assert process.cause == "descriptors"
    assert process.peak < 500 * MEGABYTE
