"""What an entry point is called with: values of the notebook, by the names of its parameters.

Where the notebook has nothing of that name, what the assignment declares takes its place.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import tvm

from grader.inside.kernel.modules import Snapshot
from grader.inside.kernel.objects import Namespace, rank_of
from grader.messages import ArgumentSpec

_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Supply(Protocol):
    """Where the arguments of an entry point come from."""

    def needed(self, signature: inspect.Signature) -> tuple[str, ...]:
        """Return the names of the notebook that a call takes values from."""
        ...

    def stand_in(self, name: str) -> object | None:
        """Return what is given for a name that the notebook lacks, or stands for it; else None.

        It is another object when what is given is no longer the same.
        """
        ...

    def bind(self, signature: inspect.Signature, namespace: Namespace) -> inspect.BoundArguments:
        """Return the arguments of one call; what is needed is in `namespace` or stood in for."""
        ...


class NotebookSupply:
    """Takes every parameter without a default from the notebook, or what is declared for its name.

    `modules` has the module that the notebook made last under a name that was asked for, by part:
    it changes while the notebook runs.
    """

    def __init__(
        self, declared: tuple[ArgumentSpec, ...] = (), modules: Mapping[str, Snapshot] | None = None
    ) -> None:
        self._declared = declared
        self._modules = {} if modules is None else modules

    def needed(self, signature: inspect.Signature) -> tuple[str, ...]:
        """Return the parameters without a default."""
        return required(signature)

    def stand_in(self, name: str) -> object | None:
        """Return the module that is given, or for other values what declares them."""
        found = self._find(name)
        if found is None or found.meaning != "module":
            return found
        snapshot = self._modules.get(found.part)
        return None if snapshot is None else snapshot.module

    def bind(self, signature: inspect.Signature, namespace: Namespace) -> inspect.BoundArguments:
        """Return the notebook's values, and where it has none a value that a call may spoil.

        Raises what reading the file of parameters raises.
        """
        values = {
            name: namespace[name] if name in namespace else self._value(name)
            for name in required(signature)
        }
        return bind(signature, values)

    def _find(self, name: str) -> ArgumentSpec | None:
        ranks = [(rank_of(name, each.names), each) for each in self._declared]
        found = [(rank, each) for rank, each in ranks if rank is not None]
        return min(found, key=lambda pair: pair[0])[1] if found else None

    def _value(self, name: str) -> object:
        spec = self._find(name)
        assert spec is not None  # whoever calls has seen that there is a stand-in
        if spec.meaning == "parameters":
            with Path(spec.file).open("rb") as file:  # the course's own, or what is left of it
                return pickle.load(file)  # noqa: S301 - in the student's process
        if spec.meaning == "image":
            return np.random.default_rng(0).random(spec.shape, dtype="float32")
        if spec.meaning == "module":
            return tvm.IRModule.clone(self._modules[spec.part].module)
        return spec.shape[0] if spec.meaning == "batch_size" else spec.shape


def signature_of(function: Any) -> inspect.Signature:
    """Return the signature of a callable, an empty one where it cannot be told."""
    try:
        return inspect.signature(function)
    except Exception:  # noqa: BLE001 - a student's object may lie about its signature
        return inspect.Signature()


def required(signature: inspect.Signature) -> tuple[str, ...]:
    """Return the parameters without a default, without those that collect what is left over."""
    return tuple(name for name in single(signature) if not _is_optional(signature, name))


def single(signature: inspect.Signature) -> tuple[str, ...]:
    """Return the parameters that take one value each."""
    return tuple(
        each.name for each in signature.parameters.values() if each.kind not in _COLLECTING
    )


def bind(signature: inspect.Signature, values: Namespace) -> inspect.BoundArguments:
    """Return a call's arguments from values by parameter. Raises TypeError where it cannot be."""
    left = dict(values)
    positional = [
        left.pop(each.name)
        for each in signature.parameters.values()
        if each.kind is inspect.Parameter.POSITIONAL_ONLY and each.name in left
    ]
    return signature.bind(*positional, **left)


def _is_optional(signature: inspect.Signature, name: str) -> bool:
    return signature.parameters[name].default is not inspect.Parameter.empty
