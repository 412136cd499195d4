"""What kinds of evidence are gathered in folders of their own, and how their messages travel.

A kind is a folder of `grader/evidence/` and a line here: both sides of a box read it.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from grader.messages.frames import Message, decode_payload

KINDS: Final[tuple[str, ...]] = ("gpu",)
"""The folders, in the order in which their evidence is gathered."""

Content = TypeVar("Content")


class Examine(Message, frozen=True):
    """Do the `task` of a kind of evidence, which is one of the `Task` in its `messages.py`.

    What comes of it depends on the task alone, unless it is `timed`.
    """

    kind: str
    task: bytes
    timed: bool = False

    @classmethod
    def of(cls, kind: str, task: Message, *, timed: bool = False) -> Examine:
        """Return the message that has a kind's task done."""
        return cls(kind, msgspec.msgpack.encode(task), timed)


class Examined(Message, frozen=True):
    """The answer, one of the `Answer` in the kind's `messages.py`."""

    kind: str
    answer: bytes

    @classmethod
    def of(cls, kind: str, answer: Message) -> Examined:
        """Return the message that carries a kind's answer."""
        return cls(kind, msgspec.msgpack.encode(answer))

    def read(self, expected: type[Content]) -> Content:
        """Return the answer, decoded strictly. Raises FrameError."""
        return decode_payload(self.answer, expected)
