"""Importers: functions of the notebook that are given a traced PyTorch model and its shapes.

The model comes from the course's own code, which is run apart from the notebook.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable
from typing import Any

from grader.inside.kernel.arguments import bind, required, single
from grader.inside.kernel.entries import EntryPoints
from grader.inside.kernel.objects import Namespace
from grader.messages import ModelSpec

_SHAPE = "shape"


class ModelError(Exception):
    """Raised when the course's code gives no model that can be traced: that is our fault."""


class TracedModel:
    """The model of one part, made when it is first asked for.

    `quiet` is what keeps the notebook from noticing anything of it.
    """

    def __init__(
        self, spec: ModelSpec, quiet: Callable[[], contextlib.AbstractContextManager[None]]
    ) -> None:
        self.shapes = [tuple(shape) for shape in spec.shapes]
        self._spec = spec
        self._quiet = quiet
        self._module: Any = None
        self._failed = False

    def make(self) -> bool:
        """Make the model unless it is there. Raises ModelError once; then it returns False."""
        if self._module is None and not self._failed:
            try:
                with self._quiet():
                    self._module = _trace(self._spec)
            except Exception as error:
                self._failed = True
                raise ModelError(
                    f"the course's model {self._spec.name!r} cannot be made"
                ) from error
        return not self._failed

    def copy(self) -> Any:
        """Return a torch.fx.GraphModule of the caller's own."""
        return copy.deepcopy(self._module)


class ImporterPart:
    """A part whose answer is what an importer makes of one model."""

    def __init__(self, model: TracedModel, entries: EntryPoints) -> None:
        self._model = model
        self._entries = entries

    def sweep(self, values: Namespace) -> None:
        """Call the importers that are due. Raises ModelError the first time it has no model."""
        if self._entries.are_there(values) and self._model.make():
            self._entries.sweep(values)


class ImporterSupply:
    """Gives an importer the traced model and the list of its inputs' shapes.

    The model is the first parameter, the shapes are the one with "shape" in its name or else the
    second; what else has no default is taken from the notebook. A function with one parameter
    gets the model alone.
    """

    def __init__(self, model: TracedModel) -> None:
        self._model = model

    def needed(self, signature: inspect.Signature) -> tuple[str, ...]:
        """Return the names of the notebook that a call takes values from."""
        given = _given(signature)
        return tuple(name for name in required(signature) if name not in given)

    def stand_in(self, name: str) -> object | None:
        """Return None: what else an importer needs is the notebook's."""
        del name
        return None

    def bind(self, signature: inspect.Signature, namespace: Namespace) -> inspect.BoundArguments:
        """Return the arguments of one call, with a model and shapes that it may spoil."""
        supplied = [self._model.copy(), list(self._model.shapes)]
        given = _given(signature)
        if not given:
            return signature.bind(*supplied)
        values = dict(zip(given, supplied, strict=False))
        return bind(signature, values | {name: namespace[name] for name in self.needed(signature)})


def _given(signature: inspect.Signature) -> tuple[str, ...]:
    """Return the parameters for the model and, if there is one, for the shapes."""
    names, needed = single(signature), required(signature)
    if not names:
        return ()
    model = (needed or names)[0]
    others = [name for name in names if name != model]
    shaped = [name for name in others if _SHAPE in name.lower()]
    second = [name for name in (needed or others) if name != model]
    return (model, *(shaped or second)[:1])


def _trace(spec: ModelSpec) -> Any:
    """Run the course's code in a namespace of its own, and trace the model.

    What the notebook has set as PyTorch's defaults does not hold here.
    """
    import torch
    import torch.fx

    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.device("cpu"):
            namespace: Namespace = {"__name__": "models"}
            exec(compile(spec.code, "models.py", "exec", dont_inherit=True), namespace)  # noqa: S102
            model = namespace["MODELS"][spec.name](spec.seed).eval()
            return copy.deepcopy(torch.fx.symbolic_trace(model))
    finally:
        torch.set_default_dtype(default)
