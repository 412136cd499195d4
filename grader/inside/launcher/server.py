"""The launcher's process: it imports, then forks a warden for every request."""

import contextlib
import gc
import importlib
import os
import pkgutil
import signal
import site
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, cast

import msgspec

from grader.decoding import prepared
from grader.inside.launcher import linux, warden
from grader.inside.launcher.protocol import (
    DESCRIPTOR_LIMIT,
    IMPORTED,
    MESSAGE_LIMIT,
    Imports,
    Preload,
    Request,
)

_PACKAGES: dict[Preload, tuple[str, ...]] = {
    "student": ("kernel", "evaluator", "library"),
    "pure": ("runner", "mutants"),
    "bare": (),
}
"""The folders beside this one that a launcher's children run."""

_ASKED = cast("type[Request | Imports]", Request | Imports)


def main(arguments: Sequence[str]) -> None:
    """Serve requests until the grader closes its end.

    `arguments`: the descriptor's number, what to preload, and the folder that `grader` is in.
    """
    number, preload, source = arguments
    linux.close_own_proc()
    linux.name_process("grader-launcher")
    linux.begin_session_keyring()
    # The kernel buries wardens that have ended, and what a killed one leaves: not every machine has
    # a first process that buries orphans, and a box is not gone as long as one of its own is there.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    linux.adopt_orphans()
    prepare(cast(Preload, preload))
    forget_source(source)
    # From now on it ends with its connection, and has children to bury until then.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with socket.socket(fileno=int(number)) as requests:
        _say_imported(requests)
        serve(requests)
    # The grader waits for it: to take PyTorch and TVM apart first takes a tenth of a second.
    os._exit(0)


def forget_source(source: str) -> None:
    """Take the folder that `grader` was imported from off the path, unless packages lie there.

    A checkout that is installed as editable is on the path twice. Its other folders have solutions
    and tests, and the importer's cache has their names.
    """
    sys.path.remove(source)
    if source in map(os.path.realpath, site.getsitepackages()):
        return
    sys.path[:] = [each for each in sys.path if os.path.realpath(each) != source]
    sys.path_importer_cache.pop(source, None)


def prepare(preload: Preload) -> None:
    """Import all that children will need: in a sandbox, the package's own files are not there."""
    with _kept():
        if preload != "bare":
            importlib.import_module("grader.inside.common.preload").prepare(preload)
        for name in _PACKAGES[preload]:
            package = importlib.import_module(f"grader.inside.{name}")
            for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
                importlib.import_module(module.name)
        if preload == "student":
            importlib.import_module("grader.inside.kernel.preload").prepare()


@contextmanager
def _kept() -> Iterator[None]:
    """Keep what is imported meanwhile, for all children."""
    gc.disable()  # what is imported is no garbage: to look for some took a fifth of the time
    yield
    # Children then share these pages: the collector does not write to them. To look for garbage
    # first took 0.25 s, and found 8,000 objects among 440,000.
    gc.freeze()
    gc.enable()


def _say_imported(requests: socket.socket) -> None:
    """Tell the grader, if it is still there, that requests are heeded from now on."""
    with contextlib.suppress(ConnectionError):
        requests.send(IMPORTED)


def serve(requests: socket.socket) -> None:
    """Fork a warden for each request, up to the end of the connection. Import what is told."""
    while True:
        try:
            payload, descriptors, _, _ = socket.recv_fds(requests, MESSAGE_LIMIT, DESCRIPTOR_LIMIT)
        except ConnectionResetError:  # the grader is gone, and has not read all that it was told
            return
        if not payload:
            return
        request = msgspec.msgpack.decode(payload, type=prepared(_ASKED))
        if isinstance(request, Imports):
            _import_besides(request)
            _say_imported(requests)
            continue
        _refuse_threads()
        if os.fork() == 0:
            requests.close()
            warden.guard(request, descriptors, run)
        for descriptor in descriptors:
            os.close(descriptor)


def _import_besides(request: Imports) -> None:
    """Import what is told. Meanwhile this process can be ended, as while it imports at its start:
    it has no child yet, and who was interrupted waited for all of it."""
    signal.signal(signal.SIGTERM, _leave)
    with _kept():
        preload = importlib.import_module("grader.inside.kernel.preload")
        preload.import_besides(request.modules)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _leave(number: int, _frame: object) -> NoReturn:
    """End with what an import has begun: Matplotlib's has a temporary folder."""
    raise SystemExit(128 + number)


def _refuse_threads() -> None:
    """A forked child has one thread and all the locks of the others: it would hang."""
    if sum(1 for _ in Path("/proc/self/task").iterdir()) != 1:
        raise RuntimeError("an import has started a thread; no child can be forked safely")


def run(request: Request) -> None:
    """Run a request's program, in the child, once it has given everything up."""
    if request.program == "python":
        _execute(request)
    entry = importlib.import_module(f"grader.inside.{request.program}.entry")
    entry.main(list(request.arguments))


def _execute(request: Request) -> NoReturn:
    os.execve(  # noqa: S606 - a fixed program, without a shell
        sys.executable, [sys.executable, "-I", *request.arguments], request.environment
    )
