"""The channels between the referee and a kernel."""

from __future__ import annotations

import asyncio

import pytest
import zmq
import zmq.asyncio
from jupyter_client.session import Session

from grader.assignment import Limits
from grader.execute.kernel import KernelOrder, start_kernel
from grader.execute.session import ChannelLimitError, MeteredChannel, SandboxKernelClient
from grader.sandbox.interface import Sandbox

MESSAGES = 400


async def receive(limit: int) -> tuple[int, int]:
    """Send MESSAGES messages, then receive them with another task running.

    Returns how often that task came to its turn, and how many bytes were received.
    """
    session = Session(key=b"key")
    with zmq.asyncio.Context() as context:
        inner, outer = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
        with inner, outer:
            inner.bind("inproc://messages")
            outer.connect("inproc://messages")
            for _ in range(MESSAGES):
                session.send(inner, "status", {"execution_state": "busy"})
            channel = MeteredChannel(outer, Session(key=b"key"))
            channel.limit = limit
            turns = 0

            async def count_turns() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            other = asyncio.ensure_future(count_turns())
            try:
                for _ in range(MESSAGES):
                    await channel.get_msg(timeout=1)
            finally:
                other.cancel()
            return turns, channel.received


class TestMeteredChannel:
    def test_a_flood_leaves_turns_to_others(self) -> None:
        turns, received = asyncio.run(receive(limit=10**9))
        assert turns >= MESSAGES
        assert received > 100 * MESSAGES

    def test_it_receives_no_more_than_its_limit(self) -> None:
        with pytest.raises(ChannelLimitError):
            asyncio.run(receive(limit=50 * MESSAGES))


def test_the_client_refuses_long_messages_and_long_queues(sandbox: Sandbox) -> None:
    async def options() -> tuple[int, int]:
        order = KernelOrder(sandbox=sandbox, entries=(), files={}, limits=Limits())
        kernel = start_kernel(order, "key")
        try:
            client = SandboxKernelClient(kernel, "key", message_limit=12345)
            with client.context as context, context.socket(zmq.SUB) as channel:
                return channel.maxmsgsize, channel.rcvhwm
        finally:
            kernel.process.kill()
            kernel.captures.close()
            kernel.folder.remove()

    assert asyncio.run(options()) == (12345, 20)
