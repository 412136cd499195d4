"""What an entry point is called with: values of the notebook, by the names of its parameters."""

from __future__ import annotations

import inspect
from typing import Any, Protocol

from grader.kernel.objects import Namespace

_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Supply(Protocol):
    """Where the arguments of an entry point come from."""

    def needed(self, signature: inspect.Signature) -> tuple[str, ...]:
        """Return the names of the notebook that a call takes values from."""
        ...

    def bind(self, signature: inspect.Signature, namespace: Namespace) -> inspect.BoundArguments:
        """Return the arguments of one call; what is needed is in `namespace`."""
        ...


class NotebookSupply:
    """Takes every parameter without a default from the notebook."""

    def needed(self, signature: inspect.Signature) -> tuple[str, ...]:
        """Return the parameters without a default."""
        return required(signature)

    def bind(self, signature: inspect.Signature, namespace: Namespace) -> inspect.BoundArguments:
        """Return the notebook's values of them."""
        return bind(signature, {name: namespace[name] for name in required(signature)})


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
