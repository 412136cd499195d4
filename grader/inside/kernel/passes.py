"""Passes: what a notebook rewrites models with, applied to models that it has not seen.

A pass is a pass of TVM (`module_pass`, `function_pass`, `dataflowblock_pass`, `Sequential`), a
class of such, a rewriter of patterns, or a function from one IRModule to another. It is the
student's Python, so it runs here; what comes out is sent like any other module.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, NamedTuple

import tvm

from grader.inside.kernel.candidates import TracedModel
from grader.inside.kernel.entry_points import EntryPoints, Supply, required, signature_of, single
from grader.inside.kernel.objects import (
    Namespace,
    is_a,
    is_alive,
    is_exactly,
    is_notebook_callable,
)

Quiet = Callable[[], contextlib.AbstractContextManager[None]]
Apply = Callable[[Any], Any]

_MRO = type.__dict__["__mro__"]


class ImportedModel:
    """The model of one part as TVM's own importer gives it, made when it is first asked for.

    `quiet` is what keeps the notebook from noticing anything of it.
    """

    def __init__(self, model: TracedModel, quiet: Quiet) -> None:
        self._model = model
        self._quiet = quiet
        self._module: Any = None

    def make(self) -> bool:
        """Make the module unless it is there. Raises ModelError once; then it returns False."""
        if self._module is None and self._model.make():
            with self._quiet():
                self._module = _import(self._model)
        return self._module is not None

    def copy(self) -> Any:
        """Return an IRModule of the caller's own: parameters are constants of it."""
        return tvm.IRModule.clone(self._module)


def _import(model: TracedModel) -> Any:
    # It takes a tenth of a second to import, which notebooks without passes need not wait for.
    from tvm.relax.frontend.torch import from_fx

    with tvm.transform.PassContext(), tvm.target.Target("llvm"):
        return from_fx(model.copy(), [(shape, "float32") for shape in model.shapes])


class _Applied(NamedTuple):
    """A pass, the function that applies it, and what that may look up in the notebook."""

    value: object
    apply: Apply
    around: list[object]


class PassPart:
    """A part whose answer is what a pass makes of one model."""

    def __init__(self, model: ImportedModel, entries: EntryPoints) -> None:
        self._model = model
        self._entries = entries
        self._applied: dict[int, _Applied] = {}

    def sweep(self, values: Namespace) -> None:
        """Apply the passes that are due. Raises ModelError the first time it has no model."""
        found = self._entries.present(values)
        around = _looked_up(values) if found else []
        applied = {name: self._find(value, around) for name, value in found.items()}
        self._applied = {id(each.value): each for each in applied.values()}
        if applied and self._model.make():
            self._entries.call({name: each.apply for name, each in applied.items()})

    def _find(self, value: object, around: list[object]) -> _Applied:
        """Return what applies a pass, the same for the same pass.

        What a pass of TVM was made of cannot be seen. So it counts as changed as soon as any
        function, class or pattern of the notebook is.
        """
        known = self._applied.get(id(value))
        if known is None:
            held: list[object] = []
            known = _Applied(value, _applying(value, held), held)
        if _is_class(value) or _is_of_tvm(value):
            known.around[:] = around
        return known


class PassSupply(Supply):
    """Gives what applies a pass the imported model: an IRModule that it may spoil."""

    def __init__(self, model: ImportedModel) -> None:
        self._model = model

    def bind(self, signature: inspect.Signature, namespace: Namespace) -> inspect.BoundArguments:
        """Return the arguments of one application."""
        del namespace
        return signature.bind(self._model.copy())


def is_pass(value: object, namespace: Namespace, folders: tuple[str, ...]) -> bool:
    """Say whether a value is a pass of TVM, a class of one, or a function of the notebook."""
    return _is_class(value) or _is_of_tvm(value) or is_notebook_callable(value, namespace, folders)


def _is_of_tvm(value: object) -> bool:
    kinds = (tvm.ir.transform.Pass, tvm.relax.dpl.PatternMatchingRewriter)
    return any(is_alive(value, kind) for kind in kinds)


def _is_class(value: object) -> bool:
    return is_a(value, type) and tvm.ir.transform.Pass in _MRO.__get__(value)


def _looked_up(values: Mapping[str, object]) -> list[object]:
    """Return the notebook's values that the code of a pass may look up when it is run."""
    return [
        value
        for value in values.values()
        if is_exactly(value, FunctionType, dict, list, tuple, set, functools.partial)
        or is_a(value, type)
        or is_a(value, tvm.relax.dpl.DFPattern)
    ]


def _applying(value: Any, around: list[object]) -> Apply:
    def apply(module: Any) -> Any:
        _ = around  # it is in the closure, and so in the fingerprint
        return _run(value() if _is_class(value) else value, module)

    return apply


def _run(found: Any, module: Any) -> Any:
    """Apply a pass or a function of one; a function may return a pass that is applied then.

    A function may take the context, as what `module_pass` decorates does.
    """
    if _is_of_tvm(found):
        return found(module)
    signature = signature_of(found)
    count = len(required(signature)) or min(len(single(signature)), 1)
    given = (module, tvm.transform.PassContext.current())[:count]
    result = found(*given)
    return result(module) if _is_of_tvm(result) else result
