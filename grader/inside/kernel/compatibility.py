"""Earlier versions of TVM: their names, what they did, and which loop variables they took.

Names are for what no rewrite of a text reaches: values passed around, `getattr`. The module is
loaded in the student kernel only, and adds names that are not there. A name that today's TVM has is
never replaced, so code in today's spelling runs as it does without this module.

What earlier versions did is asked only after today's TVM has refused: code that runs today runs as
it does.

TVM accepted a loop's variable in a block until 2023 and computes what it says. Today's parser
refuses it with the name of a variable. Notebooks in an earlier spelling are let pass, with what is
wrong on stderr.
"""

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from types import ModuleType
from typing import Any, NamedTuple

import msgspec
import tvm
import tvm_ffi
from tvm.script.parser.core import dispatch

from grader.decoding import prepared
from grader.messages.kernel import LoopVariable


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
    Supplied("tvm.ir.Var.name_hint", "tvm.ir.Var.name", "other objects still have a name_hint"),
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
    return sys.modules.setdefault(name, _OldModule(name, *modules))


def _ranked_type(kind: Any) -> Callable[[int, str | None], Any]:
    """Return what makes the type of tensors of some rank, with the arguments of 2022."""

    def dyn_tensor_type(ndim: int = -1, dtype: str | None = None) -> Any:
        return kind(ndim=ndim, dtype=dtype)

    return dyn_tensor_type


_PLAIN = (int, float, str, tuple)


def install_behaviour() -> None:
    """Make this process's TVM do what earlier ones did."""
    tvm.ir.Var.shape = property(_first_of(tvm.ir.Var.shape.fget, _shape_of))
    for name in ("checked_type", "struct_info"):
        if not hasattr(tvm.ir.Expr, name):
            setattr(tvm.ir.Expr, name, property(_type_of))
    for owner in (tvm.relax, tvm.relax.expr):
        if not hasattr(owner, "Constant"):
            owner.Constant = _Constant
    tvm.device = tvm.runtime.device = _also_of_targets(tvm.device)
    tvm.ir.assert_structural_equal = _equal_but_for_the_symbol(tvm.ir.assert_structural_equal)
    assign = dispatch.get("ir", "Assign")
    dispatch.register("ir", "Assign")(_with_constants(assign))


class _AnyConstant(type):
    """What `isinstance(value, relax.Constant)` asks."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, tvm.ir.GenericConst)


class _Constant(metaclass=_AnyConstant):
    """A constant of Relax by its old name, made of a tensor alone."""

    def __new__(cls, data: Any) -> Any:
        return tvm.relax.const(data.numpy() if hasattr(data, "numpy") else data)


def _also_of_targets(today: Callable[..., Any]) -> Callable[..., Any]:
    """Take `llvm` for the processor, as `tvm.device(target, 0)` did."""

    def device(device_type: Any, *index: Any, **named: Any) -> Any:
        try:
            return today(device_type, *index, **named)
        except ValueError:
            if str(device_type).split(" ")[0] != "llvm":
                raise
            return today("cpu", *index, **named)

    return device


def _type_of(value: Any) -> Any:
    return value.ty


def _shape_of(value: Any) -> Any:
    """Return the shape of a tensor of Relax, as `x.shape` of 2022."""
    shape = getattr(value.ty, "shape", None)
    if shape is None:
        raise AttributeError(f"{type(value).__name__!r} object has no attribute 'shape'")
    return shape


def _first_of(today: Callable[[Any], Any], earlier: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def get(value: Any) -> Any:
        try:
            return today(value)
        except AttributeError:
            return earlier(value)

    return get


def _equal_but_for_the_symbol(today: Callable[..., None]) -> Callable[..., None]:
    """Compare functions by themselves without their names: a lone one had none in 2022."""

    def assert_structural_equal(lhs: Any, rhs: Any, *options: Any, **named: Any) -> None:
        try:
            today(lhs, rhs, *options, **named)
        except ValueError:
            if not all(isinstance(each, tvm.tirx.PrimFunc) for each in (lhs, rhs)):
                raise
            named_alike = [each.with_attr("global_symbol", "main") for each in (lhs, rhs)]
            today(*named_alike, *options, **named)

    return assert_structural_equal


def _with_constants(today: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Let a class of a module have constants, such as `N, H, W = 1, 8, 8`, beside its functions."""

    def visit_assign(parser: Any, node: Any) -> None:
        value = parser.eval_expr(node.value) if len(node.targets) == 1 else None
        if not isinstance(value, _PLAIN):
            today(parser, node)
            return
        parser.eval_assign(
            target=node.targets[0],
            source=value,
            bind_value=lambda _parser, _node, _name, each: each,
            allow_shadowing=True,
        )

    return visit_assign


Tell = Callable[[LoopVariable | None], None]
"""Is told what is let pass; None where its names are longer than can be told."""

_REFUSED = re.compile(
    r"is defined (?:outside of any block|in block .{1,200}),"
    r" but is used inside the non-opaque current block"
)
"""What `verify_well_formed` of TVM 0.27 says of it, also of a block in a block. It has no code."""

_MARK = "grader_loop_variable"
"""Where an error that this module has raised says which variable it is about."""

LIMIT = 3
"""Most blocks that are reported."""


def explain_loop_variables(accept: Tell | None) -> None:
    """Explain what the parser refuses for a loop's variable in a block.

    With `accept` it is let pass, and `accept` is told the first sentence about it.
    """
    analysis = tvm.s_tir.analysis
    analysis.verify_well_formed = _explaining(analysis.verify_well_formed, accept)


def _explaining(today: Callable[..., Any], accept: Tell | None) -> Callable[..., Any]:
    def verify_well_formed(*given: Any, **named: Any) -> Any:
        try:
            return today(*given, **named)
        except Exception as error:  # whatever class TVM gives it
            if _REFUSED.search(str(error)) is None:
                raise
            found = list(islice(find_loop_variables(given[0]), LIMIT))
            told = "\n".join(map(_worded, found))
            first = _together(found)
            if accept is None:
                refusal = type(error)(f"Error message: {told}\n{error}")
                setattr(refusal, _MARK, first)
                raise refusal from None
            print(f"Today's TVM would refuse this:\n{told}", file=sys.stderr)
            accept(first)
            return True

    return verify_well_formed


def refused_variable(error: BaseException | None) -> LoopVariable | None:
    """Return the variable that an error of TVM's parser is about; None for any other error.

    The parser raises an error of its own while it handles the one that it was given.
    """
    if error is None or type(error).__module__ != tvm.error.__name__:
        return None
    within = (vars(each).get(_MARK) for each in (error, error.__context__) if each is not None)
    return next((each for each in within if isinstance(each, LoopVariable)), None)


def _together(found: list[LoopVariable]) -> LoopVariable | None:
    """Return the first of several with the others beside it; None where none can be reported."""
    first, *others = map(_bounded, found) if found else [None]
    if first is None:
        return None
    return msgspec.structs.replace(first, others=tuple(each for each in others if each))


def _bounded(found: LoopVariable) -> LoopVariable | None:
    """Return it where it can be reported: its names were chosen by a student."""
    try:
        return msgspec.convert(msgspec.to_builtins(found), prepared(LoopVariable))
    except msgspec.ValidationError:
        return None


def _worded(found: LoopVariable) -> str:
    """Say it as TVM says its errors: in English, to whoever reads the cell's output."""
    place = f'In block "{found.block}" of `{found.function}`, `{found.name}` is a loop\'s variable'
    if found.axis:
        return f"{place} and not the axis `{found.axis}`."
    declared = f"T.axis.{found.kind}({found.extent}, {found.name})"
    return f"{place} and has no axis, which is `{declared}`."


def find_loop_variables(module: Any) -> Iterator[LoopVariable]:
    """Yield each variable of a loop that a block uses in place of its own.

    The referee says what belongs there in the student's language
    (`grader/execute/advice.py`).
    """
    for variable, function in module.functions.items():
        if isinstance(function, tvm.tirx.PrimFunc):
            blocks: list[Any] = []
            loops: dict[Any, Any] = {}
            tvm_ffi.structural_walk(
                function.body,
                (
                    (tvm.s_tir.SBlockRealize, blocks.append),
                    (tvm.tirx.For, lambda loop, known=loops: _remember(loop, known)),
                ),
                order="pre",
            )
            for realize in blocks:
                yield from _of_block(realize, loops, variable.name_hint)


def _remember(loop: Any, known: dict[Any, Any]) -> None:
    known[loop.loop_var] = loop.extent


def _of_block(realize: Any, loops: dict[Any, Any], function: str) -> Iterator[LoopVariable]:
    block = realize.block
    axes = {
        value: axis.var.name
        for value, axis in zip(realize.iter_values, block.iter_vars, strict=True)
        if isinstance(value, tvm.tirx.Var)
    }
    if not axes and not len(block.iter_vars):
        return
    inside: set[Any] = set()
    used: dict[Any, None] = {}
    stored: set[Any] = set()
    tvm_ffi.structural_walk(
        block.body,
        (
            (tvm.tirx.For, lambda loop: inside.add(loop.loop_var)),
            (tvm.tirx.BufferStore, lambda store: stored.update(_variables(store.indices))),
            (tvm.tirx.Var, lambda each: used.setdefault(each) if each in loops else None),
        ),
        order="pre",
    )
    for variable in used:
        if variable in inside:
            continue
        # TVM's strings have their own class, which is not encoded
        place = (str(block.name_hint), str(function), str(variable.name))
        if variable in axes:
            yield LoopVariable(*place, axis=str(axes[variable]))
            continue
        extent = str(str(loops[variable]))
        yield LoopVariable(
            *place, kind="spatial" if variable in stored else "reduce", extent=extent
        )


def _variables(indices: Any) -> set[Any]:
    return {each for each in indices if isinstance(each, tvm.tirx.Var)}
