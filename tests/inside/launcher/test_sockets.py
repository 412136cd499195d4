"""Memory that sockets hold is seen, whoever has filled them and whoever is gone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.inside.launcher.memory import can_count, held_by_sockets, inodes_of

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


def test_datagrams_of_the_internet_count_where_all_are_counted() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        before = held_by_sockets(None, None)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(bytes(50_000), receiver.getsockname())
        assert before + 50_000 <= held_by_sockets(None, None)


def test_where_nobody_has_much_in_tcp_it_is_not_looked_at(tmp_path: Path) -> None:
    def found(pages: int) -> int:
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
        assert found(pages=10) + 300_000 <= found(pages=10**6)


def test_the_sockets_of_a_process_are_those_it_has_open(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours = {os.fstat(end.fileno()).st_ino for end in pair}
    assert ours <= inodes_of([os.getpid()])
    pair[0].close()
    assert not ours <= inodes_of([os.getpid()])
