"""Receiving captures: a thread reads what the kernel writes, and believes none of it."""

import socket
import threading
from collections.abc import Callable
from typing import cast

from grader.messages.frames import KERNEL_FRAME_LIMIT, FrameError, decode_payload, read_frame
from grader.messages.kernel import (
    Capture,
    CaptureFailure,
    KernelMessage,
    KernelNote,
    LoopVariable,
    NoteKind,
)

TOTAL_LIMIT = 512 * 2**20
"""Largest sum of all frames of one notebook, in bytes."""

COUNT_LIMIT = 1000
"""Largest number of captures of one notebook."""

NOTE_LIMIT = 1000
"""Largest number of different notes that are kept."""

REFUSED_LIMIT = 16
"""Largest number of modules that TVM has refused of which the place is looked for."""


Taken = Callable[[Capture | CaptureFailure], None]
"""Is called with each capture as it arrives, in the reader's thread."""


class CaptureReader:
    """Reads captures from its end of a socket pair until the other end is closed, in a thread.

    What comes after a frame that is damaged or over a limit is drained and thrown away: the kernel
    never waits for the referee. `damage` says what was wrong; it is empty when nothing was. `notes`
    has the kernel's notes in order, each once, with the first loop's variable of each; `refused`
    the module that TVM has refused in a cell.
    """

    def __init__(
        self,
        stream: socket.socket,
        total_limit: int = TOTAL_LIMIT,
        count_limit: int = COUNT_LIMIT,
        taken: Taken | None = None,
    ) -> None:
        self._stream = stream
        self._taken = taken
        self._total_left = total_limit
        self._count_limit = count_limit
        self._captures: list[Capture | CaptureFailure] = []
        self._ended = False
        self.damage = ""
        self.notes: dict[tuple[NoteKind, int], LoopVariable | None] = {}
        self.refused: dict[int, bytes] = {}
        self._thread = threading.Thread(target=self._run, name="captures", daemon=True)
        self._thread.start()

    @property
    def received(self) -> tuple[Capture | CaptureFailure, ...]:
        """The captures in order of arrival; complete after `close`."""
        return tuple(self._captures)

    def close(self) -> None:
        """Wait until the other end is closed, then close this one."""
        self._thread.join()
        self._stream.close()

    def recv(self, size: int, /) -> bytes:
        """Receive as of a socket, and remember when the stream has ended."""
        try:
            chunk = self._stream.recv(size)
        except ConnectionError:  # the kernel was killed with unread bytes of ours
            chunk = b""
        self._ended = not chunk
        return chunk

    def _run(self) -> None:
        try:
            self._read()
        except FrameError as error:
            if not self._ended:  # a frame cut off by the kernel's end is no damage
                self.damage = str(error)
        while not self._ended:
            self.recv(2**20)

    def _read(self) -> None:
        while (payload := read_frame(self, min(KERNEL_FRAME_LIMIT, self._total_left))) is not None:
            if len(self._captures) == self._count_limit:
                raise FrameError(f"more than {self._count_limit} captures")
            self._total_left -= len(payload)
            # mypy has no type for a union as a value
            expected = cast("type[Capture | CaptureFailure | KernelNote]", KernelMessage)
            message = decode_payload(payload, expected)
            if not isinstance(message, KernelNote):
                self._captures.append(message)
                if self._taken is not None:
                    self._taken(message)
            elif message.kind == "refused_module":
                if len(self.refused) < REFUSED_LIMIT:
                    self.refused.setdefault(message.cell, message.module)
            elif len(self.notes) < NOTE_LIMIT:
                self.notes.setdefault((message.kind, message.cell), message.loop_variable)
