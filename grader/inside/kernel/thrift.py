"""Cutting what a cell puts out, before it leaves the kernel.

What a notebook may send is bounded from outside, where the kernel is ended for more. This is for
those who print a whole array and mean no harm: the rest is left out, and the notebook goes on. Who
prints without end is let through, and ended outside as ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_SHARE = 7 / 8
"""Of the bytes that are allowed outside; what is left is for messages that tell of a cell's end."""

FLOOD = 6
"""Who puts out so many times what is allowed for a cell, in one cell, is not cut any more."""

_OVERHEAD = 1500
"""Bytes that a message has at least beside its content."""

_ERRORS = ("error", "execute_reply")
_CUT = ("stream", "display_data", "execute_result", "update_display_data", *_ERRORS)
_TEXT = ("stream", *_ERRORS)
_DEAR = 15_000
"""Bytes that a display counts more in a flood: it takes as long to make as so much text."""

_LEAST = 2000
"""Bytes that an error's message and its traceback may have each, whatever was put out before."""

_MARK = "\n…\n"


def install(session: Any, cell_bytes: int, total_bytes: int, tell: Callable[[], None]) -> Thrift:
    """Cut what a kernel's session sends. `tell` is called when something was cut."""
    thrift = Thrift(session.send, session.pack, cell_bytes, total_bytes, tell)
    session.send = thrift.send
    return thrift


class Thrift:
    """Sends messages, cut to what is left of a cell's bytes and of those of all cells."""

    def __init__(
        self,
        send: Callable[..., Any],
        pack: Callable[[Any], bytes],
        cell_bytes: int,
        total_bytes: int,
        tell: Callable[[], None],
    ) -> None:
        self._send = send
        self._pack = pack
        self._tell = tell
        self._cell_bytes = int(_SHARE * cell_bytes)
        self._total_left = int(_SHARE * total_bytes)
        self._cell_left = self._cell_bytes
        self._flood_left = FLOOD * cell_bytes

    def begin_cell(self, *_: object) -> None:
        """Let a new cell put out as much as one may."""
        self._cell_left = self._cell_bytes
        self._flood_left = FLOOD * self._cell_bytes

    def send(
        self, stream: Any, msg_or_type: Any, content: Any = None, *rest: Any, **more: Any
    ) -> Any:
        """Send a message as a session does, or what may be sent of it."""
        kind, body = _parts(msg_or_type, content)
        if kind in _CUT and isinstance(body, dict):
            shorter = self._cut(kind, body)
            if shorter is None:
                return None
            if shorter is not body and isinstance(msg_or_type, dict):
                msg_or_type = {**msg_or_type, "content": shorter}
            elif shorter is not body:
                content = shorter
        return self._send(stream, msg_or_type, content, *rest, **more)

    def _cut(self, kind: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return what may be sent of a message's content, None for nothing."""
        size = len(self._pack(body)) + _OVERHEAD
        self._flood_left -= size if kind in _TEXT else _DEAR + size
        left = min(self._cell_left, self._total_left)
        if self._flood_left <= 0:
            return body
        shorter: dict[str, Any] | None = body
        if size > left and (kind != "execute_reply" or "evalue" in body):
            self._tell()
            shorter = _shortened(kind, body, left - _OVERHEAD - len(_MARK.encode()))
        if shorter is not None:  # what is left out takes nothing from what follows
            self._cell_left -= min(size, left)
            self._total_left -= min(size, left)
        return shorter


def _parts(message: Any, content: Any) -> tuple[Any, Any]:
    if isinstance(message, dict):
        return message.get("msg_type"), message.get("content")
    return message, content


def _shortened(kind: str, content: dict[str, Any], size: int) -> dict[str, Any] | None:
    """Return what fits into so many bytes: the beginning of a text; nothing of a picture."""
    if kind == "stream" and size > 0:
        return {**content, "text": _begin(str(content.get("text")), size) + _MARK}
    if kind in _ERRORS and "evalue" in content:
        place = max(size // 3, _LEAST)
        lines = "\n".join(map(str, content.get("traceback", ())))
        evalue = _begin(str(content["evalue"]), place)
        return {**content, "evalue": evalue, "traceback": [_begin(lines, place)]}
    return None


def _begin(text: str, size: int) -> str:
    """Return the beginning of a text that takes at most so many bytes in JSON."""
    part = text[: max(size, 0)]
    while len(json.dumps(part, ensure_ascii=False).encode("utf-8", "replace")) > size + 2:
        part = part[: len(part) * 3 // 4]
    return part
