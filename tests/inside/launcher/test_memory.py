"""Who has to go when the machine has little memory left: the largest, and early enough."""

from __future__ import annotations

import os
import socket
import statistics
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from grader.inside.launcher.memory import (
    MachineMemory,
    can_count,
    held_by_sockets,
    inodes_of,
    memory_left,
)

MEGABYTE = 2**20
MEMINFO = "MemTotal: {total} kB\nMemFree: 1 kB\nMemAvailable: {left} kB\n"


def machine(folder: Path, total: int, left: int, *groups: Path) -> MachineMemory:
    """Return a machine with so many megabytes."""
    path = folder / "meminfo"
    path.write_text(MEMINFO.format(total=total * 1024, left=left * 1024))
    return MachineMemory(tuple(map(str, groups)), meminfo=str(path))


def group_of_version_2(folder: Path, limit: str, used: int, cached: int = 0) -> Path:
    group = folder / "group"
    group.mkdir()
    (group / "memory.max").write_text(f"{limit}\n")
    (group / "memory.current").write_text(f"{used * MEGABYTE}\n")
    (group / "memory.stat").write_text(f"anon 5\ninactive_file {cached * MEGABYTE}\n")
    return group


def group_of_version_1(folder: Path, limit: int, used: int, active: int) -> Path:
    group = folder / "group"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(f"{limit * MEGABYTE}\n")
    (group / "memory.usage_in_bytes").write_text(f"{used * MEGABYTE}\n")
    (group / "memory.stat").write_text(f"cache 5\ntotal_active_file {active * MEGABYTE}\n")
    return group


class TestLeft:
    def test_it_is_what_the_kernel_says(self, tmp_path: Path) -> None:
        assert 300 * MEGABYTE == machine(tmp_path, 8000, 300).available()

    def test_a_group_of_version_2_bounds_it(self, tmp_path: Path) -> None:
        group = group_of_version_2(tmp_path, f"{1000 * MEGABYTE}", 900, cached=50)
        found = machine(tmp_path, 8000, 4000, group)
        assert (150 * MEGABYTE, 1000 * MEGABYTE) == (found.available(), found.total)

    def test_a_group_without_a_bound_does_not(self, tmp_path: Path) -> None:
        found = machine(tmp_path, 8000, 4000, group_of_version_2(tmp_path, "max", 900))
        assert (4000 * MEGABYTE, 8000 * MEGABYTE) == (found.available(), found.total)

    def test_half_of_what_is_cached_and_in_use_counts_as_left(self, tmp_path: Path) -> None:
        found = machine(tmp_path, 8000, 4000, group_of_version_1(tmp_path, 1000, 900, active=80))
        assert 140 * MEGABYTE == found.available()

    def test_there_is_some_here(self) -> None:
        assert 0 < memory_left() <= MachineMemory().total


class TestTurn:
    @pytest.mark.parametrize(
        ("used", "left", "goes"),
        [(7000, 750, True), (7000, 900, False), (500, 130, False), (500, 120, True), (0, 0, False)],
    )
    def test_a_sandbox_goes_that_holds_four_times_what_is_left(
        self, tmp_path: Path, used: int, left: int, goes: bool
    ) -> None:
        assert goes is machine(tmp_path, 8000, left).is_short_for(used * MEGABYTE)

    def test_the_larger_one_goes_first(self, tmp_path: Path) -> None:
        for left in range(8000, 0, -50):
            found = machine(tmp_path, 8000, left)
            if found.is_short_for(2000 * MEGABYTE):
                assert not found.is_short_for(500 * MEGABYTE)
                return
        pytest.fail("nobody went")

    def test_nobody_goes_while_a_tenth_of_the_machine_is_left(self, tmp_path: Path) -> None:
        assert not machine(tmp_path, 1000, 101).is_short_for(890 * MEGABYTE)


# Memory that sockets hold is seen, whoever has filled them and whoever is gone.


KILOBYTE = 1024


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def held_by(*ends: socket.socket) -> int:
    return held_by_sockets(None, {os.fstat(end.fileno()).st_ino for end in ends})


def test_this_kernel_tells() -> None:
    assert can_count()


def test_an_empty_pair_holds_nothing(pair: tuple[socket.socket, socket.socket]) -> None:
    assert 0 == held_by(*pair)


def test_what_waits_to_be_read_is_held(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[0].send(bytes(100 * KILOBYTE))
    assert 100 * KILOBYTE <= held_by(*pair) <= 200 * KILOBYTE
    assert held_by(*pair) <= held_by_sockets(os.getuid(), None)


def test_what_was_read_is_not(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[0].send(bytes(KILOBYTE))
    pair[1].recv(KILOBYTE)
    assert 0 == held_by(*pair)


def test_what_a_closed_sender_left_is_reckoned_with_a_full_queue(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """The kernel has counted it for the sender, and forgets it with the sender."""
    pair[0].setblocking(False)
    sent = 0
    with pytest.raises(BlockingIOError):
        while True:
            sent += pair[0].send(bytes(KILOBYTE))
    pair[0].close()
    assert sent <= held_by(pair[1])


def risen(found: Callable[[], tuple[int, int, int]]) -> float:
    """Return how much more is held in the middle than at first and at last.

    Other programs have sockets, too: what they hold must not change between first and last, and
    not in the middle in most of nine times.
    """
    looks = (found() for _ in range(1000))
    still = (middle - first for first, middle, last in looks if first == last)
    return statistics.median(islice(still, 9))


def test_datagrams_of_the_internet_count_where_all_are_counted() -> None:
    def found() -> tuple[int, int, int]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind(("127.0.0.1", 0))
            before = held_by_sockets(None, None)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.sendto(bytes(50_000), receiver.getsockname())
            waiting = held_by_sockets(None, None)
            receiver.recv(50_000)
            return before, waiting, held_by_sockets(None, None)

    assert 50_000 <= risen(found) <= 150_000


def test_where_nobody_has_much_in_tcp_it_is_not_looked_at(tmp_path: Path) -> None:
    def counted(pages: int) -> int:
        path = tmp_path / "sockstat"
        path.write_text(
            f"sockets: used 9\nTCP: inuse 1 orphan 0 tw 0 alloc 5 mem {pages}\nUDP: mem 2\n"
        )
        number = os.open(path, os.O_RDONLY)
        held = held_by_sockets(None, None, number)
        os.close(number)
        return held

    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        client.send(bytes(300_000))
        assert 300_000 <= risen(
            lambda: (counted(pages=10), counted(pages=10**6), counted(pages=10))
        )


def test_the_sockets_of_a_process_are_those_it_has_open(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours = {os.fstat(end.fileno()).st_ino for end in pair}
    assert ours <= inodes_of([os.getpid()])
    pair[0].close()
    assert not ours <= inodes_of([os.getpid()])
