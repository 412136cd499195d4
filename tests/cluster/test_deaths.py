"""What becomes of a class when a worker, the scheduler or the network fails: real processes die."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from distributed import Client

from grader.cluster.dispatch import Dispatch, Failed, Killed, Outcome, Returned, WorkerChoice
from grader.cluster.jobs import PATIENCE_SECONDS, ClusterOptions
from grader.cluster.opening import connected
from grader.errors import UsageError
from grader.language import NOTHING, Text, say
from tests.cluster.farm import Farm, Proxy, farm, wait_until
from tests.cluster.simulated import Anyone, simulate

ARCHIVE = b"course"
ANYONE = Anyone()

pytestmark = pytest.mark.filterwarnings(  # what Dask leaves to the collector when it is killed
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


class Class:
    """Jobs by name, sent to a cluster; `made` counts how often each was."""

    def __init__(
        self,
        client: Client,
        jobs: dict[str, bytes],
        patience: float = 60.0,
        choice: WorkerChoice = ANYONE,
        again: Callable[[], Client] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.made = dict.fromkeys(jobs, 0)
        self.told: list[tuple[str, str]] = []
        self.ended: dict[str, Outcome] = {}
        self._jobs = jobs
        self.dispatch = Dispatch(
            client, simulate, ARCHIVE, choice, self._tell, patience, again, clock
        )

    def run(self) -> Iterator[Outcome]:
        return self.dispatch.run(self._jobs, self._make)

    def outcomes(self) -> dict[str, Outcome]:
        return {each.name: each for each in self.run()}

    def _make(self, name: str) -> bytes:
        self.made[name] += 1
        return self._jobs[name]

    def _tell(self, name: str, what: str, worker: str) -> None:
        self.told.append((name, what))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Farm]:
    """Two workers that come back when they have died."""
    with farm(2, nanny=True) as made:
        yield made


@pytest.fixture
def client(cluster: Farm) -> Iterator[Client]:
    with cluster.client(timeout=30) as made:
        made.wait_for_workers(2, timeout=120)
        yield made


def workers_of(outcomes: dict[str, Outcome]) -> set[bytes]:
    documents = [each.document for each in outcomes.values() if isinstance(each, Returned)]
    return {bytes(each).split()[2] for each in documents}  # type: ignore[call-overload]


def test_all_are_graded_by_all_workers_and_each_has_the_course(client: Client) -> None:
    outcomes = Class(client, {f"s{n}": b"nap 0.05" for n in range(12)}).outcomes()
    assert 12 == len(outcomes)
    assert 2 == len(workers_of(outcomes))
    assert all(each.document.endswith(ARCHIVE) for each in outcomes.values())  # type: ignore


def test_an_error_of_a_worker_is_one_submission_s(client: Client) -> None:
    outcomes = Class(client, {"a": b"raise", "b": b"nap"}).outcomes()
    assert Failed("a", "ArithmeticError") == outcomes["a"]
    assert isinstance(outcomes["b"], Returned)


def test_what_a_worker_had_in_hand_when_it_died_is_graded_once_more(
    client: Client, tmp_path: Path
) -> None:
    once = b"once " + bytes(tmp_path / "marker")
    work = Class(client, {"bad": once, "a": b"nap", "b": b"nap"})
    assert {Returned} == set(map(type, work.outcomes().values()))
    assert 2 == work.made["bad"]


def test_one_of_which_three_workers_die_is_given_up_and_the_others_go_on(client: Client) -> None:
    work = Class(client, {"bad": b"die", **{f"s{n}": b"nap 0.05" for n in range(8)}})
    outcomes = work.outcomes()
    assert Killed("bad", 3) == outcomes.pop("bad")
    assert 3 == work.made["bad"]
    assert 8 == len(outcomes)
    assert {Returned} == set(map(type, outcomes.values()))


def quick(count: int) -> dict[str, bytes]:
    """Return jobs that are done at once: so many that rows of them travel."""
    return {f"quick {n}": b"nap" for n in range(count)}


def test_one_of_a_row_that_kills_workers_is_given_up_and_the_others_of_it_go_on(
    client: Client,
) -> None:
    work = Class(client, {**quick(150), "bad": b"die", **{f"more {n}": b"nap" for n in range(80)}})
    early, outcomes = set(), {}
    for each in work.run():
        outcomes[each.name] = each
        early |= {each.name} if max(work.made.values()) < 2 else set()
    assert Killed("bad", 3) == outcomes.pop("bad")
    assert {Returned} == set(map(type, outcomes.values()))
    assert 230 == len(outcomes)
    assert {1} == {work.made[name] for name in early}
    assert outcomes.keys() <= {name for name, what in work.told if what == "started"}


def test_of_a_row_that_nobody_waits_for_any_more_nothing_is_begun(client: Client) -> None:
    work = Class(client, {**quick(200), **{f"slow {n}": b"nap 0.3" for n in range(100)}})
    running = work.run()
    for _ in range(200):
        next(running)
    running.close()
    wait_until(lambda: not any(client.processing().values()))
    begun = {name for name, _ in work.told if name.startswith("slow")}
    assert len(begun) < 50


class Late(Anyone):
    """Lets the first worker grade alone until it is told that all may."""

    def __init__(self) -> None:
        self.first = ""
        self.may_all = False

    def lacks(self, worker: str, facts: object) -> Text:
        self.first = self.first or worker
        return NOTHING if self.may_all or worker == self.first else say("late")


def test_a_row_that_turns_out_to_be_slow_is_shared_with_the_others(client: Client) -> None:
    choice = Late()
    jobs = {**quick(100), **{f"slow {n}": b"nap 0.5" for n in range(16)}}
    work = Class(client, jobs, choice=choice)
    outcomes = {}
    for each in work.run():
        outcomes[each.name] = each
        choice.may_all = len(outcomes) > 100
    slow = {name: each for name, each in outcomes.items() if name.startswith("slow")}
    assert 16 == len(slow)
    assert 2 == len(workers_of(slow))


def test_a_network_that_stands_still_for_a_while_loses_nothing(
    cluster: Farm, client: Client
) -> None:
    proxy = Proxy(cluster.port)
    with cluster.client(proxy.port) as distant:
        work = Class(distant, {f"s{n}": b"nap 0.1" for n in range(8)})
        outcomes = {}
        for each in work.run():
            outcomes[each.name] = each
            if len(outcomes) == 2:
                proxy.stand_still()
                time.sleep(1.5)
                proxy.flow()
    proxy.close()
    assert {Returned} == set(map(type, outcomes.values()))
    assert {1} == set(work.made.values())


def break_amid(port: int, clock: Callable[[], float] = time.monotonic) -> Class:
    """Have ten submissions graded by way of a network that breaks once; returns what was done."""
    proxy = Proxy(port)
    options = ClusterOptions(f"tcp://127.0.0.1:{proxy.port}")
    with ExitStack() as clients:
        first = clients.enter_context(connected(options))
        first.wait_for_workers(2, timeout=120)
        jobs = {f"s{n}": b"nap 0.1" for n in range(10)}
        work = Class(
            first, jobs, again=lambda: clients.enter_context(connected(options)), clock=clock
        )
        for number, each in enumerate(work.run(), 1):
            work.ended[each.name] = each
            if number == 2:
                proxy.cut()
    proxy.close()
    return work


def test_a_connection_that_breaks_costs_what_was_on_its_way(cluster: Farm, client: Client) -> None:
    work = break_amid(cluster.port)
    assert 10 == len(work.ended)
    assert {Returned} == set(map(type, work.ended.values()))
    assert 2 == max(work.made.values())


def test_another_client_goes_on_where_dask_cannot_connect_one_again() -> None:
    chatty = {"DASK_DISTRIBUTED__SCHEDULER__PRELOAD": '["tests.cluster.chatty"]'}
    with farm(2, environment=chatty) as made:
        work = break_amid(made.port, clock=lambda: 20 * time.monotonic())
    assert 10 == len(work.ended)
    assert {Returned} == set(map(type, work.ended.values()))


def test_without_a_scheduler_it_ends_and_says_so() -> None:
    with farm(1) as made, made.client(timeout=5) as client:
        client.wait_for_workers(1, timeout=60)
        work = Class(client, {f"s{n}": b"nap 0.1" for n in range(200)}, patience=5)
        came = 0
        with pytest.raises(UsageError, match="scheduler cannot be reached"):
            for _ in work.run():
                came += 1
                if came == 2:
                    made.scheduler.kill()
        assert came >= 2


def test_without_a_worker_it_waits_no_longer_than_its_patience() -> None:
    with farm(0) as made, made.client(timeout=30) as client:
        work = Class(client, {"a": b"nap"}, patience=2)
        began = time.monotonic()
        with pytest.raises(UsageError, match="no worker is left"):
            list(work.run())
        assert time.monotonic() - began < PATIENCE_SECONDS


SILENT = """
import os, signal, socket, threading
from grader.cluster.jobs import PATIENCE_SECONDS, ClusterOptions
from grader.cluster.opening import connected

signal.signal(signal.SIGINT, signal.default_int_handler)
listener = socket.create_server(("127.0.0.1", 0))
kept = []

def interrupt():
    kept.append(listener.accept()[0])
    kept[0].recv(1)  # it waits for an answer now
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    with connected(ClusterOptions(f"tcp://127.0.0.1:{listener.getsockname()[1]}")):
        pass
except KeyboardInterrupt:
    print([each.name for each in threading.enumerate() if each.name == "IO loop"])
"""


def test_ctrl_c_while_a_scheduler_does_not_answer_ends_it_at_once() -> None:
    """A client that was still there made the end take half a minute more, with a traceback."""
    done = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True)
    assert ("[]\n", "", 0) == (done.stdout, done.stderr, done.returncode)
