"""Work in a child process: what it has sent arrives, whatever becomes of it."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grader.inside.runner.trace import Send, work_apart
from grader.messages.frames import pack_array
from grader.messages.runner import RunResult, TaskFailure

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def named(name: str) -> TaskFailure:
    return TaskFailure("run", "Raised", "", error=name)


def sent(work: Callable[[Send], None], limit: int = 10) -> tuple[list[str], str]:
    """Return the names that the work sent, and that of the failure which it ended with."""
    messages: list[TaskFailure] = []
    failure = work_apart(work, TaskFailure, limit, messages.append)
    return [each.error_name for each in messages], "" if failure is None else failure.error_name


def two(send: Send) -> None:
    send(named("first"))
    send(named("second"))


def then(end: Callable[[], Any]) -> Callable[[Send], None]:
    """Work that sends one message and comes to an end."""

    def work(send: Send) -> None:
        send(named("first"))
        end()

    return work


def _use_up_all_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (1, 2))
    while True:
        pass


def _crash() -> None:
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)  # pytest's faulthandler prints 60 lines
    os.kill(os.getpid(), signal.SIGSEGV)


def _raise() -> None:
    raise ValueError


def test_what_it_sends_arrives_in_order() -> None:
    assert (["first", "second"], "") == sent(two)


def test_it_is_another_process() -> None:
    inside: list[int] = []
    sent(then(lambda: inside.append(os.getpid())))
    assert [] == inside


@pytest.mark.parametrize(
    ("end", "failure"),
    [
        (_crash, "Died"),
        (lambda: os._exit(3), "Died"),
        (_raise, "Died"),
        (_use_up_all_time, "TimeLimit"),
    ],
)
def test_what_it_sent_before_its_end_is_kept(end: Callable[[], Any], failure: str) -> None:
    assert (["first"], failure) == sent(then(end))


def test_no_more_messages_are_taken_than_were_asked_for() -> None:
    assert ["first"] == sent(two, limit=1)[0]


def test_another_message_than_expected_is_not_taken() -> None:
    def work(send: Send) -> None:
        send(named("first"))
        send(RunResult(pack_array(np.zeros(1, "float32"))))
        send(named("third"))

    assert ["first"] == sent(work)[0]
