"""Threads, processors and targets."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from grader.inside.common.machine import (
    find_target,
    for_one_run,
    prepare_environment,
    use_threads,
)


def outcome(code: str) -> str:
    """What a process of its own prints: pinning would follow the tests for ever."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


class TestEnvironment:
    def test_what_is_set_stays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "environ", {"TVM_NUM_THREADS": "7"})
        prepare_environment()
        assert os.environ["TVM_NUM_THREADS"] == "7"
        assert os.environ["TVM_BIND_THREADS"] == "0"

    def test_threads_default_to_the_processors_that_may_be_used(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "environ", {})
        prepare_environment()
        assert os.environ["TVM_NUM_THREADS"] == str(len(os.sched_getaffinity(0)))
        assert os.environ["HOME"]


class TestThreads:
    def test_a_parallel_loop_gets_no_more_than_the_environment_allows(self) -> None:
        assert use_threads(1) == 1
        assert use_threads(64) == int(os.environ["TVM_NUM_THREADS"])

    def test_pinning_holds_for_threads_of_before_and_after(self) -> None:
        cpu = min(os.sched_getaffinity(0))
        code = f"""
import os, threading, time
from grader.inside.common.machine import pin
def wait(): time.sleep(0.5)
threading.Thread(target=wait).start()
pin(({cpu},))
threading.Thread(target=wait).start()
found = {{tuple(os.sched_getaffinity(int(task))) for task in os.listdir("/proc/self/task")}}
print(len(os.listdir("/proc/self/task")) >= 3, found)
"""
        assert outcome(code) == f"True {{({cpu},)}}"
        assert threading.active_count() >= 1

    def test_a_processor_that_is_not_there_is_an_error(self) -> None:
        code = """
from grader.inside.common.machine import pin
try:
    pin((1023,))
except OSError:
    print("refused")
"""
        assert outcome(code) == "refused"


class TestTarget:
    def test_a_kind_is_its_own_name(self) -> None:
        target, name = find_target("llvm")
        assert (str(target.kind), name) == ("llvm", "llvm")

    def test_the_host_is_named_by_its_processor(self) -> None:
        target, name = find_target("host")
        assert name.startswith("llvm -mcpu=")
        assert target.attrs["mcpu"] == name.removeprefix("llvm -mcpu=").split()[0]

    def test_what_is_run_once_is_optimised_less_for_the_same_processor(self) -> None:
        usual, _ = find_target("host")
        quick = for_one_run(usual)
        assert {**usual.attrs, "opt-level": 2} == dict(quick.attrs)
        assert usual.kind == quick.kind
