"""Limits of the shell: raised where that is allowed, and told by their names where it is not."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from grader.assignment import Limits
from tests.cli.test_batch import COURSE, GRADER

DEMANDING = """
import resource
from grader.errors import SandboxError
from grader.machine.limits import demand_limits

try:
    demand_limits({promised})
    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
except SandboxError as error:
    print(error, "|", error.hint.english)
"""


BOUNDING = """
import resource
from grader.machine.limits import bound_stack

bound_stack()
print(resource.getrlimit(resource.RLIMIT_STACK)[0])
"""


def limited(line: str, promised: str = "{}") -> str:
    """Return what is said of its limits by a process that a shell has started behind `line`."""
    command = f'{line} && exec "{sys.executable}" -c "$0"'
    done = subprocess.run(
        ["bash", "-c", command, DEMANDING.replace("{promised}", promised)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("line", "told", "command"),
    [
        ("ulimit -n 128", "only 128 files open", "ulimit -n 65536"),
        ("ulimit -u 100", "only 100 processes", "ulimit -u 4096"),
        ("ulimit -v 2000000", "only 1953 MB of memory", "ulimit -v unlimited"),
        ("ulimit -t 60", "only 60 seconds", "ulimit -t unlimited"),
        ("ulimit -f 8", "only 8 KB", "ulimit -f unlimited"),
        ("ulimit -d 500000", "only 488 MB of memory", "ulimit -d unlimited"),
        ("ulimit -s 1024", "a stack of only 1024 KB", "ulimit -s 8192"),
    ],
)
def test_a_limit_that_is_too_low_is_told_with_what_raises_it(
    line: str, told: str, command: str
) -> None:
    said = limited(line)
    assert told in said
    assert command in said


def test_open_files_that_a_process_may_allow_itself_are_allowed() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert f"{min(hard, 65536)}\n" == limited("ulimit -S -n 64")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ulimit -n 1000", "only 1000 files open"),
        ("ulimit -v 8000000", "only 7812 MB of memory"),
        ("ulimit -t 2399", "only 2399 seconds"),
        ("ulimit -t 2400", ""),
    ],
)
def test_a_limit_below_what_an_assignment_promises_is_told(line: str, told: str) -> None:
    """The notebook would come to it before its own, and be told that it had used too much."""
    said = limited(line, f"{Limits().of_kernel().promised()}")
    assert told in said
    assert bool(told) == ("|" in said)


@pytest.mark.parametrize(
    ("stack", "kept"), [("unlimited", 8192), ("1048576", 8192), ("8192", 8192), ("1024", 1024)]
)
def test_what_is_started_begins_with_no_more_than_the_usual_stack(stack: str, kept: int) -> None:
    """Threads that have a gigabyte of stack each were refused to a kernel after the seventh."""
    command = f'ulimit -s {stack} && exec "{sys.executable}" -c "$0"'
    done = subprocess.run(
        ["bash", "-c", command, BOUNDING], capture_output=True, text=True, check=True
    )
    assert f"{kept * 1024}\n" == done.stdout


@pytest.mark.parametrize("files", [12, 64])
def test_a_command_that_may_open_too_few_files_says_so_in_a_sentence(files: int) -> None:
    command = f'ulimit -n {files} && exec "$0" "$@"'
    words = [GRADER, "run", __file__, "--course", COURSE, "--assignment", "small"]
    done = subprocess.run(
        ["bash", "-c", command, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert 2 == done.returncode
    assert f"only {files} files open" in done.stderr.splitlines()[0]
    assert 2 == len(done.stderr.splitlines())


def test_what_fails_by_a_limit_is_told_by_it() -> None:
    """PyTorch's library cannot be mapped, which is an ImportError."""
    command = 'ulimit -v 400000 && exec "$0" lint --course "$1" small'
    done = subprocess.run(
        ["bash", "-c", command, GRADER, COURSE], capture_output=True, text=True, check=False
    )
    assert 2 == done.returncode
    assert "only 390 MB of memory" in done.stderr
