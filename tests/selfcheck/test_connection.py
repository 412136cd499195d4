"""The process beside the kernel: started, asked, ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.selfcheck.connection import CheckerClient, CheckError
from grader.selfcheck.messages import AssignmentCard, FindAssignment
from tests.selfcheck.kernels import COURSE, ROOT


def request(slug: str) -> FindAssignment:
    return FindAssignment(folder="/", names=(), course=str(COURSE), slug=slug)


def children() -> list[int]:
    """Processes that this one has started and not yet seen the end of."""
    task = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(number) for number in task.read_text().split()]


def test_it_answers_more_than_once() -> None:
    with CheckerClient() as checker:
        first = checker.ask(request("small"), AssignmentCard)
        second = checker.ask(request("trio"), AssignmentCard)
    assert ("small", "trio") == (first.slug, second.slug)
    assert ["model", "extern", "schedule"] == [part.id for part in second.parts]


def test_a_refusal_is_an_error_and_the_process_goes_on() -> None:
    with CheckerClient() as checker:
        with pytest.raises(CheckError, match="no assignment called 'huge'") as caught:
            checker.ask(request("huge"), AssignmentCard)
        before = children()
        assert "small" == checker.ask(request("small"), AssignmentCard).slug
        assert before == children()
    assert "small, tight, trio" in caught.value.hint.english


def test_one_that_ends_amid_an_answer_says_its_last_words_and_is_started_again() -> None:
    no_request = AssignmentCard("no question", "", "en", ())
    with CheckerClient() as checker:
        with pytest.raises(CheckError, match=r"ended early\. .*not a message"):
            checker.ask(no_request, AssignmentCard)  # type: ignore[arg-type]
        assert "small" == checker.ask(request("small"), AssignmentCard).slug


def test_nothing_is_left_of_it() -> None:
    before = children()
    checker = CheckerClient()
    checker.ask(request("small"), AssignmentCard)
    assert 1 == len(set(children()) - set(before))
    checker.close()
    assert before == children()
    checker.close()  # once more is harmless


def test_it_ends_with_the_process_that_asked() -> None:
    code = (
        "import os;"
        "from tests.selfcheck.test_connection import *;"
        "checker = CheckerClient(); checker.ask(request('small'), AssignmentCard);"
        "print(*children(), flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    status = Path(f"/proc/{int(done.stdout)}/status")
    deadline = time.monotonic() + 60
    while is_running(status) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(status)


def is_running(status: Path) -> bool:
    """Say whether a process is there, other than as an entry that nobody has collected."""
    try:
        return "State:\tZ" not in status.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_loading_the_extension_costs_nothing_of_the_grader() -> None:
    code = "import sys, grader; print([name for name in sys.modules if 'grader.' in name])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert "[]" == done.stdout.strip()


def test_the_magic_imports_neither_tvm_nor_pytorch() -> None:
    code = (
        "import sys, grader.selfcheck.magic;"
        "print(sorted({'tvm', 'torch', 'grader.grading.referee'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert "[]" == done.stdout.strip()
