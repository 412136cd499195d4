"""Examine: the task of a kind of evidence is done by the boxed code of its own folder.

All of it is imported here, in the launcher: in a sandbox the package's files are not there.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any, NamedTuple

from grader.inside.common.failure import TaskError, stage
from grader.messages.evidence import KINDS, Examine, Examined
from grader.messages.frames import decode_payload


class BoxedKind(NamedTuple):
    """A kind's `messages` and `inside/entry`."""

    messages: Any
    entry: Any

    @classmethod
    def load(cls, kind: str) -> BoxedKind:
        """Import what a kind has for boxes."""
        folder = f"grader.evidence.{kind}"
        inside = importlib.import_module(f"{folder}.inside")
        for each in pkgutil.walk_packages(inside.__path__, f"{inside.__name__}."):
            importlib.import_module(each.name)
        messages = importlib.import_module(f"{folder}.messages")
        return cls(messages, importlib.import_module(f"{folder}.inside.entry"))


_LOADED = {kind: BoxedKind.load(kind) for kind in KINDS}


def examine(task: Examine) -> Examined:
    """Do a kind's task. Raises TaskError."""
    if task.kind not in _LOADED:
        raise TaskError("decode", "NotHere", f"There is no kind of evidence called {task.kind}.")
    kind = _LOADED[task.kind]
    with stage("decode"):
        asked = decode_payload(task.task, kind.messages.Task)
    return Examined.of(task.kind, kind.entry.perform(asked))
