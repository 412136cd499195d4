"""Old names of TVM for code that no rewrite of its text reaches: values passed around, `getattr`.

It is loaded in the student kernel only, and adds names that are not there. A name that today's TVM
has is never replaced, so code in today's spelling runs as it does without this module.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple


class Supplied(NamedTuple):
    """An old name, what it stands for today, and why a rewrite may not be enough."""

    name: str
    today: str
    why: str


SUPPLIED = (
    Supplied("tvm.nd", "tvm.runtime", "modules are found by getattr and importlib too"),
    Supplied("tvm.nd.array", "tvm.runtime.tensor", "the same"),
    Supplied("tvm.nd.NDArray", "tvm.runtime.Tensor", "the same"),
    Supplied("tvm.runtime.NDArray", "tvm.runtime.Tensor", "classes are passed around"),
    Supplied("tvm.register_func", "tvm.register_global_func", "decorators are passed around"),
    Supplied("tvm.tir", "tvm.tirx", "modules are found by getattr and importlib too"),
    Supplied("tvm.tir.Schedule", "tvm.s_tir.Schedule", "the same"),
    Supplied("tvm.s_tir.Schedule.get_block", "tvm.s_tir.Schedule.get_sblock", "found by getattr"),
    Supplied("tvm.relax.vm.build", "tvm.relax.build", "`from tvm.relax import vm` without relax"),
    Supplied("tvm.relax.TensorStructInfo", "tvm.relax.TensorType", "classes are passed around"),
    Supplied("tvm.relax.DynTensorType", "tvm.relax.TensorType", "made with arguments in a list"),
    Supplied("tvm.relax.op.relu", "tvm.relax.op.nn.relu", "operators stand in tables"),
    Supplied("tvm.relax.op.softmax", "tvm.relax.op.nn.softmax", "operators stand in tables"),
    Supplied("tvm.relax.op.dense", "tvm.relax.op.linear", "operators stand in tables"),
    Supplied(
        "tvm.ir.structural_equal",
        "tvm_ffi.structural_equal",
        "it is in another package, which the notebook would have to import",
    ),
)
"""Everything that `install` supplies, modules before what is in them."""


class _OldModule(ModuleType):
    """A module by its old name, with all that the new ones have: the first that has a name wins."""

    def __init__(self, name: str, *modules: ModuleType) -> None:
        super().__init__(name, modules[0].__doc__)
        self.__dict__["_modules"] = modules

    def __getattr__(self, name: str) -> Any:
        for module in self.__dict__["_modules"]:
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def install() -> tuple[str, ...]:
    """Add the old names to the TVM of this process. Returns those that were not there before."""
    tvm = importlib.import_module("tvm")
    added: list[str] = []
    for supplied in SUPPLIED:
        owner, name = _owner(supplied.name)
        if not _has(owner, name):
            setattr(owner, name, _make(supplied, tvm))
            added.append(supplied.name)
    return tuple(added)


def _has(owner: Any, name: str) -> bool:
    """Say whether it has the name itself. An old module has what is in its new ones."""
    return name in vars(owner) if isinstance(owner, _OldModule) else hasattr(owner, name)


def _owner(dotted: str) -> tuple[Any, str]:
    """Return the module or class that a name is in, and the name's last part."""
    path, _, name = dotted.rpartition(".")
    return _resolve(path), name


def _resolve(dotted: str) -> Any:
    first, *rest = dotted.split(".")
    value = importlib.import_module(first)
    path = first
    for part in rest:
        path = f"{path}.{part}"
        value = getattr(value, part) if hasattr(value, part) else importlib.import_module(path)
    return value


def _make(supplied: Supplied, tvm: Any) -> Any:
    special: dict[str, Callable[[], Any]] = {
        "tvm.nd": lambda: _module("tvm.nd", tvm.runtime),
        "tvm.tir": lambda: _module("tvm.tir", _resolve("tvm.tirx"), _resolve("tvm.s_tir")),
        "tvm.relax.DynTensorType": lambda: _ranked_type(_resolve("tvm.relax.TensorType")),
    }
    make = special.get(supplied.name)
    return _resolve(supplied.today) if make is None else make()


def _module(name: str, *modules: ModuleType) -> ModuleType:
    """Return an old module, which `import` finds too."""
    return sys.modules.setdefault(name, _OldModule(name, *modules))


def _ranked_type(kind: Any) -> Callable[[int, str | None], Any]:
    """Return what makes the type of tensors of some rank, with the arguments of 2022."""

    def dyn_tensor_type(ndim: int = -1, dtype: str | None = None) -> Any:
        return kind(ndim=ndim, dtype=dtype)

    return dyn_tensor_type
