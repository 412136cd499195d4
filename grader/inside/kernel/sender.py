"""What leaves the kernel: each different candidate once, with the externs that it calls."""

import contextlib
import hashlib
from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from grader.inside.kernel.externs import (
    ExternRegistry,
    NotPortableError,
    called_names,
    pickle_function,
)
from grader.inside.kernel.faults import Cells, describe_error, error_name, tidy, uninterrupted
from grader.inside.kernel.modules import ModuleDocument, SeenSchedule, Snapshot, document_of
from grader.inside.kernel.objects import Namespace, fingerprint
from grader.messages.kernel import PYTHON_FUNCTION, Capture, CaptureFailure, FromKernel, StepLine

CAPTURE_LIMIT = 64
"""Captures and failures of one part that are sent at most."""

UNNAMED_LIMIT = 24
"""Of these, captures that were found by a hook and not by their name."""

MODULE_SIZE_LIMIT = 20 * 2**20
"""Largest module in bytes: with its base and its externs it fits into one frame."""

EXTERNS_SIZE_LIMIT = 20 * 2**20
"""Largest pickles of all externs of one module together, in bytes."""

_WATCHED_LIMIT = 16

Reason = Literal["cannot_be_saved", "extern_not_portable", "other_type"]


class SentModule(msgspec.Struct, frozen=True, eq=False):
    """A module that may be the answer to a part.

    `registered` are the externs that the entry point registered itself while it was called,
    `earlier` those that the notebook had registered by then.
    """

    part: str
    name: str
    by_name: bool
    module: Snapshot
    base: Snapshot | None = None
    trace: bytes | None = None
    lines: tuple[StepLine, ...] = ()
    registered: Mapping[str, object] = {}
    earlier: Mapping[str, object] = {}


class _Watched(msgspec.Struct):
    """A candidate that calls externs; `tokens` tell which functions it was last sent with."""

    candidate: SentModule
    names: frozenset[str]
    tokens: tuple[object, ...]
    kept: tuple[object, ...] = ()


class Sender:
    """Sends candidates and failures. `folders` are those whose files are the notebook's own.

    `asked` has the last module of each part that came under a name that was asked for.
    """

    def __init__(
        self,
        emit: Callable[[FromKernel], None],
        registry: ExternRegistry,
        shell: Any,
        cells: Cells,
        quiet: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> None:
        self.folders: tuple[str, ...] = ()
        self.asked: dict[str, Snapshot] = {}
        self._emit = emit
        self._registry = registry
        self._shell = shell
        self._cells = cells
        self._quiet = quiet
        self._sent: dict[tuple[object, ...], set[str]] = {}
        self._failed: set[CaptureFailure] = set()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._watched: deque[_Watched] = deque(maxlen=_WATCHED_LIMIT)

    def offer(self, candidate: SentModule) -> None:
        """Send a candidate unless it was sent before; if it calls externs, watch it from now on.

        The same module is sent again when it now has a trace, or the name that was asked for.
        """
        if candidate.by_name:
            self.asked[candidate.part] = candidate.module
        names = called_names(candidate.module.module)
        if names:
            self._watched.append(_Watched(candidate, names, *self._resolve(candidate, names)))
        self._send(candidate, names)

    def offer_function(self, part: str, name: str, function: object, source: str) -> None:
        """Send a Python function that is itself an answer, unless it was sent before."""
        try:
            with self._quiet():
                pickle = pickle_function(function, self._registry, self.folders)
        except NotPortableError as error:
            self.fail_here(part, name, "extern_not_portable", f"{error}")
            return
        key = (part, name, hashlib.sha256(pickle).digest())
        if key not in self._sent and self._count(part, "capture", CAPTURE_LIMIT):
            self._sent[key] = set()
            externs = {PYTHON_FUNCTION: pickle}
            number = self._cells.number
            self._transmit(Capture(part, name, number, True, b"", externs=externs, source=source))

    def refresh(self) -> None:
        """Send the watched candidates again whose externs are other functions by now."""
        for watched in self._watched:
            tokens, kept = self._resolve(watched.candidate, watched.names)
            if tokens != watched.tokens:
                watched.tokens, watched.kept = tokens, kept
                self._send(watched.candidate, watched.names)

    def lines(self, known: SeenSchedule) -> tuple[StepLine, ...]:
        """Return the lines in which a schedule's steps were written."""
        return known.lines(self._cells.line_at)

    def fail(self, failure: CaptureFailure) -> None:
        """Send a failure unless the same was sent before."""
        if failure not in self._failed and self._count(failure.part, "failure", CAPTURE_LIMIT):
            self._failed.add(failure)
            self._transmit(failure)

    def fail_here(self, part: str, name: str, reason: Reason, message: str) -> None:
        """Say why what is bound to a name after this cell cannot be sent."""
        self.fail(CaptureFailure(part, name, self._cells.number, reason, message=tidy(message)))

    def _send(self, candidate: SentModule, names: frozenset[str]) -> None:
        document = self._save(candidate)
        externs = None if document is None else self._pickle(candidate, names)
        if document is None or externs is None:
            return
        digests = sorted((name, hashlib.sha256(each).digest()) for name, each in externs.items())
        key = (candidate.part, document.digest, tuple(digests))
        has = {"trace"} if candidate.trace is not None else set()
        has |= {"name"} if candidate.by_name else set()
        sent = self._sent.get(key)
        if sent is not None and ("trace" in sent or has <= sent):
            return
        if self._may_send(candidate):
            self._sent[key] = has | (sent or set())
            self._transmit(self._capture(candidate, document, externs))

    def _capture(
        self, candidate: SentModule, document: ModuleDocument, externs: dict[str, bytes]
    ) -> Capture:
        return Capture(
            part=candidate.part,
            name=candidate.name,
            cell=self._cells.number,
            by_name=candidate.by_name,
            module=document.content,
            base=self._save_base(candidate),
            trace=candidate.trace,
            lines=candidate.lines,
            externs=externs,
        )

    def _save(self, candidate: SentModule) -> ModuleDocument | None:
        try:
            document = document_of(candidate.module)
        except Exception as error:  # noqa: BLE001 - TVM raises what it likes; it is reported
            message = f"{error_name(error)}: {describe_error(error)}"
            self.fail_here(candidate.part, candidate.name, "cannot_be_saved", message)
            return None
        if len(document.content) > MODULE_SIZE_LIMIT:
            message = f"it is larger than {MODULE_SIZE_LIMIT // 2**20} MB"
            self.fail_here(candidate.part, candidate.name, "cannot_be_saved", message)
            return None
        return document

    def _save_base(self, candidate: SentModule) -> bytes | None:
        """Return the base, or None: without it the schedule is still worth something."""
        if candidate.base is None:
            return None
        try:
            content = document_of(candidate.base).content
        except Exception:  # noqa: BLE001 - see above
            return None
        return content if len(content) <= MODULE_SIZE_LIMIT else None

    def _functions(self, candidate: SentModule, names: frozenset[str]) -> dict[str, object]:
        later = {
            name: function
            for name, function in self._registry.functions.items()
            if name not in candidate.registered or function is not candidate.earlier.get(name)
        }
        known = {**candidate.registered, **later}
        return {name: known[name] for name in sorted(names) if name in known}

    def _resolve(
        self, candidate: SentModule, names: frozenset[str]
    ) -> tuple[tuple[object, ...], tuple[object, ...]]:
        namespace: Namespace = self._shell.user_ns
        prints = [
            (name, fingerprint(function, (), namespace, self.folders))
            for name, function in self._functions(candidate, names).items()
        ]
        tokens = tuple((name, each.tokens) for name, each in prints)
        return tokens, tuple(each.kept for _, each in prints)

    def _pickle(self, candidate: SentModule, names: frozenset[str]) -> dict[str, bytes] | None:
        """Return the pickled externs, or None after saying that one of them cannot be pickled."""
        name = ""
        pickles: dict[str, bytes] = {}
        try:
            for name, function in self._functions(candidate, names).items():
                with self._quiet():
                    pickles[name] = pickle_function(function, self._registry, self.folders)
        except NotPortableError as error:
            self.fail_here(
                candidate.part, candidate.name, "extern_not_portable", f"{name}: {error}"
            )
            return None
        if sum(map(len, pickles.values())) > EXTERNS_SIZE_LIMIT:
            message = (
                f"with their data all externs are larger than {EXTERNS_SIZE_LIMIT // 2**20} MB"
            )
            self.fail_here(candidate.part, candidate.name, "extern_not_portable", message)
            return None
        return pickles

    def _may_send(self, candidate: SentModule) -> bool:
        if not candidate.by_name and not self._count(candidate.part, "unnamed", UNNAMED_LIMIT):
            return False
        return self._count(candidate.part, "capture", CAPTURE_LIMIT)

    def _transmit(self, message: FromKernel) -> None:
        with uninterrupted():  # half a frame would spoil all that come after it
            self._emit(message)

    def _count(self, part: str, kind: str, limit: int) -> bool:
        self._counts[part, kind] += 1
        return self._counts[part, kind] <= limit
