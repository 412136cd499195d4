"""What notebooks do out of habit: questions, folders of Colab, output without end.

Nobody answers `input()`, no window opens, and a kernel that is started anew loses all that was
made: a right notebook that does such a thing is run on, and a note says what was done.

A file that is there is opened as it is. Only where a name leads to nothing, two other readings of
it are tried: the folder that stands in for Colab's and Kaggle's is the working folder, and the
course's files are known by their names (`../data/FashionMNIST/raw/t10k-images-idx3-ubyte`). So
nothing that works without these names works otherwise with them, and nothing can be reached that
was out of reach.

What a notebook may send is bounded from outside, where the kernel is ended for more. Outputs are
cut here for those who print a whole array and mean no harm: the rest is left out, and the notebook
goes on. Who prints without end is let through, and ended outside as ever.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import io
import json
import os
import posixpath
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from IPython.core import interactiveshell

from grader.inside.kernel.compatibility import refused_variable
from grader.inside.kernel.faults import uninterrupted
from grader.inside.kernel.refused import refused_module
from grader.messages.kernel import KernelNote, LoopVariable, NoteKind

Tell = Callable[[NoteKind], None]

ANSWERS = 20
"""Empty answers in a cell; a loop that asks until it gets one has an end."""

_BACKENDS = frozenset({
    *("widget", "ipympl", "notebook", "nbagg", "auto", "agg"),
    *("qt", "qt5", "qt6", "tk", "gtk3", "gtk4", "wx", "osx"),
})  # fmt: skip


def install(kernel: Any, tell: Tell) -> None:
    """Answer for the one who is not there, in this kernel; `tell` is told what was done."""
    answers = _Answers(tell)
    kernel.shell.events.register("pre_run_cell", answers.begin_cell)
    kernel.raw_input = answers.ask
    kernel.getpass = answers.ask
    sys.breakpointhook = _go_on
    _stay(kernel, tell)
    _draw_inline(kernel.shell, tell)


def _go_on(*_: object, **__: object) -> None:
    """Pass by a `breakpoint()`, as Jupyter does while nobody debugs."""


class Notes:
    """Sends notes, each kind once for a cell. `cell` tells which cell is run, from 1."""

    def __init__(self, emit: Callable[[KernelNote], None]) -> None:
        self.cell: Callable[[], int] = int
        self._emit = emit
        self._process = os.getpid()
        self._sent: set[tuple[NoteKind, int]] = set()

    def end_cell(self, result: Any) -> None:
        """Send a note where a cell ended in the refusal of such a block, or of a module.

        `result` is IPython's ExecutionResult, None if the cell was broken off.
        """
        error = getattr(result, "error_in_exec", None)
        found, module = refused_variable(error), refused_module(error)
        if found is not None:
            self.tell("refused_loop_variable", found)
        if module:
            self.tell("refused_module", module=module)

    def tell(
        self, kind: NoteKind, loop_variable: LoopVariable | None = None, module: bytes = b""
    ) -> None:
        """Send a note of the cell that is run; a forked child keeps it to itself."""
        key = (kind, self.cell())
        if key not in self._sent and os.getpid() == self._process:
            self._sent.add(key)
            with uninterrupted(), contextlib.suppress(OSError):
                self._emit(KernelNote(*key, loop_variable, module))


class _Answers:
    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._left = ANSWERS

    def begin_cell(self, *_: object) -> None:
        """Have answers for a new cell."""
        self._left = ANSWERS

    def ask(self, prompt: object = "", *_: object, **__: object) -> str:
        """Answer with an empty line, as whoever only presses the key."""
        if not self._left:
            raise EOFError("nobody answers while a notebook is graded")
        self._left -= 1
        self._tell("asked")
        print(prompt)
        return ""


def _stay(kernel: Any, tell: Tell) -> None:
    """Let the kernel stay when a cell wants it started anew."""
    shut_down = kernel.do_shutdown

    def do_shutdown(restart: bool) -> Any:
        if not restart:
            return shut_down(restart)
        tell("restarted")
        return {"status": "ok", "restart": restart}

    kernel.do_shutdown = do_shutdown


def _draw_inline(shell: Any, tell: Tell) -> None:
    """Draw into the notebook where a window or a widget was asked for that is not there."""
    original = shell.enable_matplotlib

    def enable_matplotlib(gui: str | None = None) -> Any:
        try:
            return original(gui)
        except Exception:
            if gui not in _BACKENDS:
                raise
        tell("drawn")
        return original("inline")

    shell.enable_matplotlib = enable_matplotlib


_AWAY = ("/content/drive/MyDrive", "/content/drive", "/content", "/kaggle/working", "/kaggle/temp")
"""What the working folder stands in for, the longest first."""

_READ_ONLY = ("/kaggle/input",)
_FILE_LIMIT = 1000


def find_files_by_other_names() -> None:
    """Have this process find the files that lie in its working folder by other names, too."""
    home = Path.cwd()
    given = [path for path in sorted(home.rglob("*"))[:_FILE_LIMIT] if path.is_file()]
    known = _Known(str(home), {path.name: str(path) for path in given})
    # io.open and builtins.open are one function, and must stay one: it is pickled as io.open.
    opened = _opening(io.open, known)
    builtins.open = io.open = opened
    interactiveshell.io_open = opened  # what notebooks have for `open` is IPython's
    for name in ("stat", "lstat", "listdir", "scandir"):
        _replace(name, known.readings)
    _replace("mkdir", known.writings)
    _replace("chdir", known.enterings)


class _Known:
    """Knows other readings of a path. `files` are the course's, by their names."""

    def __init__(self, home: str, files: dict[str, str]) -> None:
        self._home = home
        self._files = files

    def readings(self, path: object) -> list[str]:
        """Return where else something may lie that is to be read."""
        text = _text(path)
        return [*self._inside(text, (*_AWAY, *_READ_ONLY)), *self._named(text)]

    def writings(self, path: object) -> list[str]:
        """Return where else something may be made."""
        return self._inside(_text(path), _AWAY)

    def enterings(self, path: object) -> list[str]:
        """Return what other folder may be entered: that of a drive is the working folder."""
        inside = self.writings(path)
        return [*inside, self._home] if inside else []

    def _inside(self, path: str, folders: tuple[str, ...]) -> list[str]:
        for folder in folders:
            if path == folder or path.startswith(f"{folder}/"):
                return [posixpath.normpath(self._home + path[len(folder) :])]
        return []

    def _named(self, path: str) -> list[str]:
        """Return the course's file of that name, wherever it was looked for."""
        found = self._files.get(posixpath.basename(path))
        return [] if found is None else [found]


def _text(path: object) -> str:
    if type(path) is str:
        return path
    return str(path) if isinstance(path, Path) else ""


def _opening(original: Callable[..., Any], known: _Known) -> Callable[..., Any]:
    @functools.wraps(original)
    def open(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        writes = type(mode) is str and any(letter in mode for letter in "wax+")
        others = known.writings if writes else known.readings
        return _first(lambda path: original(path, mode, *arguments, **options), file, others)

    open.__module__ = "io"
    return open


def _replace(name: str, others: Callable[[object], list[str]]) -> None:
    original = getattr(os, name)

    @functools.wraps(original)
    def function(path: Any = ".", *arguments: Any, **options: Any) -> Any:
        return _first(lambda each: original(each, *arguments, **options), path, others)

    function.__module__ = "os"
    setattr(os, name, function)
    for names in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if original in names:
            names.add(function)


def _first(use: Callable[[Any], Any], path: Any, others: Callable[[object], list[str]]) -> Any:
    """Use a path, or what else it may mean where it leads to nothing."""
    try:
        return use(path)
    except OSError as error:
        for other in others(path):
            try:
                return use(other)
            except OSError:  # noqa: PERF203 - there are two at most
                continue
        raise error from None


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


_UNSENT = 2**20
"""Characters that may wait to be sent."""


def send_in_time(stream: Any) -> None:
    """Have a stream of the kernel sent, and waited for, before what was printed fills the memory.

    ipykernel sends every 0.2 s. An endless loop printed a gigabyte in that time, and on a machine
    that was quick enough it ended for want of memory, not for what it printed.
    """
    write = stream.write
    unsent = 0

    def write_and_send(text: str) -> Any:
        nonlocal unsent
        written = write(text)
        unsent += len(text)
        if unsent > _UNSENT:
            unsent = 0
            stream.flush()
        return written

    stream.write = write_and_send


def cut_outputs(
    session: Any, cell_bytes: int, total_bytes: int, tell: Callable[[], None]
) -> Thrift:
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
    part = text[: max(size, 0)]
    while len(json.dumps(part, ensure_ascii=False).encode("utf-8", "replace")) > size + 2:
        part = part[: len(part) * 3 // 4]
    return part
