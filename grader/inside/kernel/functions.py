"""Parts whose answer is a Python function that computes with NumPy; it is not called here."""

from __future__ import annotations

import inspect
import linecache
import tokenize
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from grader.inside.kernel.dependencies import Fingerprint, fingerprint
from grader.inside.kernel.externs import ExternRegistry
from grader.inside.kernel.faults import Faults
from grader.inside.kernel.objects import Namespace, is_notebook_callable, is_notebook_scope, ranked
from grader.inside.kernel.sender import Sender
from grader.messages import SOURCE_LIMIT, EntrySpec


class PythonPart:
    """The functions whose names match a part's patterns, as they are at the end of a cell."""

    def __init__(
        self,
        spec: EntrySpec,
        shell: Any,
        sender: Sender,
        registry: ExternRegistry,
        faults: Faults,
    ) -> None:
        self._spec = spec
        self._shell = shell
        self._sender = sender
        self._registry = registry
        self._faults = faults
        self._seen: dict[str, Fingerprint] = {}

    def sweep(self, values: Namespace) -> None:
        """Take the functions that changed, or what they depend on, exact names first."""
        for name in ranked(values, self._spec.names):
            origin = self._registry.origin(values[name])
            function = values[name] if origin is None else origin
            if is_notebook_callable(function, self._shell.user_ns, self._sender.folders):
                with self._faults.shielded():
                    self._consider(name, function)

    def _consider(self, name: str, function: object) -> None:
        namespace: Namespace = self._shell.user_ns
        now = fingerprint(function, (), namespace, self._sender.folders)
        seen = self._seen.get(name)
        if seen is None or now.tokens != seen.tokens:
            self._seen[name] = now
            source = source_of(now.kept, namespace, self._sender.folders)
            self._sender.offer_function(self._spec.part, name, function, source)


def source_of(objects: Iterable[object], namespace: Namespace, folders: tuple[str, ...]) -> str:
    """Return the texts of those objects that are functions of the notebook, in their order.

    IPython keeps the text of every cell that it has run in Python's cache of lines. The result has
    at most SOURCE_LIMIT characters and can be encoded.
    """
    texts: dict[str, None] = {}
    for each in objects:
        if type(each) is FunctionType and is_notebook_scope(each.__globals__, namespace, folders):
            texts[_text_of(each)] = None
    joined = "\n".join(text for text in texts if text)[:SOURCE_LIMIT]
    return joined.encode("utf-8", "replace").decode()


def _text_of(function: FunctionType) -> str:
    """Return the lines of a definition with its decorators; "" where nobody keeps them."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    try:
        return "".join(inspect.getblock(lines))
    except (SyntaxError, tokenize.TokenError):
        return ""
