"""The last lines of a stream that nobody else reads."""

from __future__ import annotations

import os
import threading
from typing import IO

_BYTES = 8192
_PATIENCE_SECONDS = 2.0


class Tail:
    """Drains a stream in a thread, so that its writers never wait, and keeps the end of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept = b""
        self._thread = threading.Thread(target=self._drain, name="sandbox-stderr", daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return the last kilobytes so far."""
        return self._kept.decode(errors="replace")

    def finish(self) -> None:
        """Wait until the stream has ended, but not for a writer that has outlived its warden."""
        self._thread.join(_PATIENCE_SECONDS)

    def _drain(self) -> None:
        with self._stream as stream:
            while chunk := os.read(stream.fileno(), 65536):
                self._kept = (self._kept + chunk)[-_BYTES:]
