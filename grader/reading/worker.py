"""The reading process: it has imported the readers of files, and forks a child for every file.

It gives up its capabilities once it has imported them. A child has limits and no files before it
meets the first byte. Neither holds an answer or a secret, and nothing of a submission is executed
there; but parsers in native code have holes as others have.
"""

import contextlib
import gc
import hashlib
import io
import math
import os
import resource
import signal
import socket
import sys
import traceback
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, cast

import msgspec

from grader.decoding import prepared
from grader.dialects.migration import migrate_cells, respell_cells
from grader.errors import SubmissionError
from grader.inside.launcher import enter, linux
from grader.reading.cells import ENCODINGS, SIZE_LIMIT, read_content, sentence_of
from grader.reading.messages import (
    PID,
    REQUEST_LIMIT,
    STAYING_SECONDS,
    Broken,
    Content,
    Cost,
    FromReader,
    FromUnpacker,
    GoingOn,
    Overwhelmed,
    Read,
    ReaderBounds,
    ReadRequest,
    ToReader,
    Unpacked,
    UnpackLimits,
    UnpackRequest,
    Unreadable,
    framed,
)
from grader.reading.unpacking import unpack_archive

_REQUESTS = msgspec.msgpack.Decoder(prepared(cast("type[ToReader]", ToReader)))

_GRACE_SECONDS = 2
"""The kernel ends an unpacking so long after it should have ended by itself: it counts ticks, which
came to a tenth more than the process could read, and who is killed is read once more."""

_GONE = (BrokenPipeError, ConnectionResetError)


def main(arguments: Sequence[str]) -> None:
    """Serve requests until the grader closes its end.

    `arguments`: the descriptor's number, and the folder that `grader` is in.
    """
    number, source = arguments
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries children that have ended
    sys.path.remove(source)
    linux.name_process("grader-reader")
    _prepare()
    enter.close_all_but([int(number)])
    size = _size_of_addresses()
    _give_up()
    with socket.socket(fileno=int(number)) as requests:
        while True:
            payload, descriptors, _, _ = socket.recv_fds(requests, REQUEST_LIMIT, 2)
            if not payload:
                return
            request: ToReader = _REQUESTS.decode(payload)
            parent = os.getpid()
            if os.fork() == 0:
                requests.close()
                _serve(parent, size, request, *descriptors)
            for descriptor in descriptors:
                os.close(descriptor)


def _prepare() -> None:
    """Load what is loaded at its first use: a child reaches no files."""
    migrate_cells(["import tvm\nsch = tvm.tir.Schedule(mod)\nx = relax.const(1, tvm.nd.array(1))"])
    migrate_cells(["é = 1"])  # Python's parser loads `unicodedata` for a name that is not ASCII
    for encoding in (*ENCODINGS, "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        "x".encode(encoding)
    with contextlib.suppress(SubmissionError):
        read_content(b'{"cells": [NaN]}', ".ipynb")
    limits = UnpackLimits(file_size=1, size=1, files=1, index=2**20)
    for archive in (_small_zip(), b"", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0"):
        unpack_archive(io.BytesIO(archive), limits, 1.0, lambda _: None)
    gc.collect()
    gc.freeze()  # children then share these pages: the collector does not write to them


def _small_zip() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("é", "")  # the name brings the codec that old ones are in
    return archive.getvalue().replace(b"\0\x08\x08\0", b"\0\0\x08\0")


def _serve(parent: int, size: int, request: ToReader, file: int, answers: int) -> NoReturn:
    """Answer one request, in a child; `size` are the bytes of addresses that it begins with."""
    status = 1
    try:
        linux.die_with_parent(signal.SIGKILL, parent)
        with socket.socket(fileno=answers) as channel:
            # No descriptor is sent: programs of this user may have as many under way as it may.
            channel.sendall(PID.pack(os.getpid()))
            channel.recv(1)
            if isinstance(request, UnpackRequest):
                more = STAYING_SECONDS if request.stays else 0
                _confine(request.bounds, size, more + _GRACE_SECONDS)
                _unpack_all(file, request, channel)
            else:
                _confine(request.bounds, size)
                channel.sendall(msgspec.msgpack.encode(_answer(file, request)))
        status = 0
    except _GONE:
        status = 0  # the grader does not want to know any more
    finally:
        os._exit(status)


def _give_up() -> None:
    """Give up powers for this process and its children, of which each took a third of its time for
    that. Raises OSError."""
    enter.be_killed_first()
    if os.geteuid() == 0:
        linux.drop_bounding_capabilities()
        linux.drop_capabilities()
    linux.gain_nothing_by_exec()


def _confine(bounds: ReaderBounds, size: int, more_seconds: int = 0) -> None:
    """Set the limits of a child, and close files and its parent's other children to it.

    `more_seconds` are for what it is asked later. Raises OSError.
    """
    limits = {
        resource.RLIMIT_AS: size + bounds.memory,
        resource.RLIMIT_CPU: bounds.seconds + more_seconds,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NPROC: 0,
    }
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, limit))
    if linux.landlock_version() > 0:
        linux.close_files()


def _size_of_addresses() -> int:
    pages = Path("/proc/self/statm").read_text("ascii").split()[0]
    return int(pages) * resource.getpagesize()


def _most_memory() -> int:
    """Return the most bytes of memory that this process has had; a child's count from its fork."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _answer(file: int, request: ReadRequest) -> FromReader:
    idle = _most_memory()
    try:
        return _read(file, request.suffix, idle)
    except (MemoryError, RecursionError):
        return Overwhelmed()
    except Exception:  # noqa: BLE001  the grader raises it
        return Broken(traceback.format_exc())


def _read(file: int, suffix: str, idle: int) -> FromReader:
    with open(file, "rb", buffering=0) as stream:
        data = stream.read(SIZE_LIMIT + 1)
    digest = hashlib.sha256(data).hexdigest()
    try:
        content = read_content(data, suffix)
    except SubmissionError as error:
        problem, hint = sentence_of(error.message), sentence_of(error.hint)
        return Unreadable(digest, problem, hint, _cost(idle))
    del data
    return Read(digest, content, respell_cells(_sources(content)), _cost(idle))


def _unpack_all(file: int, request: UnpackRequest, channel: socket.socket) -> None:
    """Unpack an archive, and those that are asked for after it."""
    _unpack(file, request, channel)
    while request.stays:
        payload, descriptors, _, _ = socket.recv_fds(channel, REQUEST_LIMIT, 1)
        if not payload:
            return
        request = cast("UnpackRequest", _REQUESTS.decode(payload))
        _unpack(descriptors[0], request, channel)


def _unpack(file: int, request: UnpackRequest, channel: socket.socket) -> None:
    """Tell an archive's members as frames, and at last how it ended."""
    begun = _used()
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    until = min(math.ceil(begun) + request.bounds.seconds + _GRACE_SECONDS, most)
    resource.setrlimit(resource.RLIMIT_CPU, (until, most))
    with open(file, "rb") as stream, channel.makefile("wb", 2**18) as told:
        answers = cast("io.BufferedWriter", told)
        end = unpack_archive(
            stream,
            request.limits,
            min(request.bounds.seconds, request.limits.seconds),
            lambda message: _write(answers, message),
        )
        _write(answers, Unpacked(end, _used() - begun))


def _write(answers: io.BufferedWriter, message: FromUnpacker) -> None:
    answers.write(framed(message))
    if isinstance(message, GoingOn):
        answers.flush()


def _sources(content: Content) -> list[str]:
    return [cell.source for cell in content.cells if cell.is_run]


def _cost(idle: int) -> Cost:
    return Cost(_used(), max(_most_memory() - idle, 0))


def _used() -> float:
    """Return the seconds of a processor that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
