"""Mutations of a Relax `main`: other constants, other order, another result."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import tvm
from tvm import relax, te, tirx

from grader.inside.common.modules import functions_of, key_of, with_function
from grader.inside.mutants import tensorir

Module = Any
Make = Callable[[], Module]


class BindingMutation(NamedTuple):
    """A change of `main`: the variable whose value it changes, what is done, how to do it."""

    binding: str
    function: str
    about: str
    make: Make


def main_of(module: Module) -> Any | None:
    """Return the Relax function called main, if there is one."""
    main = functions_of(module).get("main")
    return main if isinstance(main, relax.Function) else None


def calls_of(main: Any) -> list[Any]:
    """Return the bindings of `main` that call something, in order."""
    return [
        binding
        for block in main.body.blocks
        for binding in block.bindings
        if isinstance(binding, relax.VarBinding) and isinstance(binding.value, tvm.ir.Call)
    ]


def callee_of(call: Any) -> str:
    """Return what a call calls: a function of the module, an external one, or an operator."""
    first = call.args[0] if len(call.args) else None
    if isinstance(first, tvm.ir.GlobalVar):
        return str(first.name_hint)
    if isinstance(first, relax.ExternFunc):
        return str(first.global_symbol)
    return str(call.op.name).removeprefix("relax.") if isinstance(call.op, tvm.ir.Op) else ""


def arguments_of(call: Any) -> list[Any]:
    """Return what a call is given, a tuple's fields one by one."""
    found: list[Any] = []
    for each in call.args:
        found += list(each.fields) if isinstance(each, tvm.ir.Tuple) else [each]
    return found


def drop_bias(module: Module) -> Iterator[BindingMutation]:
    """Give zeros for a vector of parameters."""
    main = module["main"]
    parameters = {key_of(each) for each in main.params[1:]}
    for binding in calls_of(main):
        for each in arguments_of(binding.value):
            if not _is_vector(each) or not (_is_constant(each) or key_of(each) in parameters):
                continue
            shape, dtype = _form(each) or ((), "")
            replaced = relax.const(np.zeros(shape, dtype), dtype)
            callee = callee_of(binding.value)
            about = f"the vector of shape {list(shape)} that {callee} is given becomes zeros"
            yield _with_argument(module, binding, each, replaced, about)


def flip_kernel(module: Module) -> Iterator[BindingMutation]:
    """Turn the last two axes of a constant of four axes round."""
    for binding in calls_of(module["main"]):
        for each in arguments_of(binding.value):
            form = _form(each)
            if form is None or not _is_constant(each) or len(form[0]) != 4 or max(form[0][2:]) < 2:
                continue
            values = np.ascontiguousarray(each.value.numpy()[:, :, ::-1, ::-1])
            about = f"the kernel of shape {list(form[0])} that {callee_of(binding.value)} is given"
            changed = relax.const(values, form[1])
            yield _with_argument(module, binding, each, changed, f"{about} is turned round")


def swap_layers(module: Module) -> Iterator[BindingMutation]:
    """Do two layers in the other order, where the second takes what the first takes."""
    main = module["main"]
    for first, second in pairwise(calls_of(main)):
        inner, outer = first.value, second.value
        names = (callee_of(inner), callee_of(outer))
        if not _takes(outer, first.var) or _takes_elsewhere(main, first.var, second):
            continue
        for each in arguments_of(inner):
            if isinstance(each, relax.Var) and _same_form(each, first.var, second.var):
                yield BindingMutation(
                    str(first.var.name),
                    names[0],
                    f"{names[1]} is done before {names[0]}",
                    lambda f=first, s=second, e=each: _swapped(module, f, s, e),  # type: ignore[misc]
                )
                break


def other_result(module: Module, kind: str) -> Iterator[BindingMutation]:
    """Return zeros ("zeros") or the input ("input") from `main`."""
    main = module["main"]
    binding = _result(main)
    form = None if binding is None else _form(binding.var)
    source = _form(main.params[0]) if main.params else None
    if binding is None or form is None or source is None:
        return
    about = "main returns zeros" if kind == "zeros" else "main returns its input"
    yield BindingMutation(
        str(binding.var.name),
        "",
        about,
        lambda: _with_result(module, main, binding, source, form, kind),
    )


def half_precision(module: Module) -> Module | None:
    """Round what operators of Relax give to float16; None where no operator gives float32."""
    main = module["main"]
    changed = []

    def rounded(block: Any) -> Any:
        bindings: list[Any] = []
        for binding in block.bindings:
            form = _form(binding.var)
            if form is None or not is_rounded(binding):
                bindings.append(binding)
                continue
            changed.append(binding)
            bindings += _rounding(binding, form)
        return type(block)(bindings)

    blocks = [rounded(block) for block in main.body.blocks]
    return with_function(module, "main", _with_blocks(main, blocks)) if changed else None


def is_rounded(binding: Any) -> bool:
    """Say whether `half_precision` rounds the value of a binding: an operator's, in float32."""
    value = getattr(binding, "value", None)
    if not isinstance(value, tvm.ir.Call) or not isinstance(value.op, tvm.ir.Op):
        return False
    form = _form(binding.var)
    return form is not None and form[1] == "float32" and not _is_destination(value)


def _with_blocks(main: Any, blocks: list[Any]) -> Any:
    builder = relax.BlockBuilder()
    body = builder.normalize(relax.SeqExpr(blocks, main.body.body))
    return relax.Function(main.params, body, main.ret_ty, main.is_pure, main.attrs)


def _rounding(binding: Any, form: tuple[tuple[int, ...], str]) -> list[Any]:
    shape, dtype = form
    exact = relax.DataflowVar("exact", relax.TensorType(shape, dtype))
    half = relax.DataflowVar("half", relax.TensorType(shape, "float16"))
    builder = relax.BlockBuilder()
    return [
        relax.VarBinding(exact, binding.value),
        relax.VarBinding(half, builder.normalize(relax.op.astype(exact, "float16"))),
        relax.VarBinding(binding.var, builder.normalize(relax.op.astype(half, dtype))),
    ]


def _is_destination(call: Any) -> bool:
    return str(call.op.name) in ("relax.call_tir", "relax.call_dps_packed")


def _with_argument(module: Module, binding: Any, old: Any, new: Any, about: str) -> BindingMutation:
    value = binding.value

    def make() -> Module:
        changed = _substituted(value, {key_of(old): new})
        return _with_values(module, {key_of(binding.var): changed})

    return BindingMutation(str(binding.var.name), callee_of(value), about, make)


def _swapped(module: Module, first: Any, second: Any, source: Any) -> Module:
    return _with_values(
        module,
        {
            key_of(first.var): _substituted(second.value, {key_of(first.var): source}),
            key_of(second.var): _substituted(first.value, {key_of(source): first.var}),
        },
    )


def _with_result(
    module: Module,
    main: Any,
    binding: Any,
    source: tuple[tuple[int, ...], str],
    form: tuple[tuple[int, ...], str],
    kind: str,
) -> Module:
    given = te.placeholder(source[0], source[1], name="given")
    if kind == "zeros":
        result = te.compute(form[0], lambda *_: tirx.const(0, form[1]), name="result")
    else:
        result = tensorir.copy_of_input([given], form[0], form[1], "result")
    function = te.create_prim_func([given, result]).with_attr("global_symbol", "mutant_result")
    builder = relax.BlockBuilder(module.clone())
    variable = builder.add_func(function, "mutant_result")
    added = builder.get()
    call = relax.op.call_tir(variable, [main.params[0]], relax.TensorType(form[0], form[1]))
    return _with_values(added, {key_of(binding.var): call})


def _with_values(module: Module, values: dict[int, Any]) -> Module:
    """Return a copy of a module in which some variables of `main` have other values."""

    def change(binding: Any) -> Any:
        value = values.get(key_of(binding.var))
        if value is None:
            return binding
        return relax.VarBinding(binding.var, builder.normalize(value))

    main = module["main"]
    builder = relax.BlockBuilder(module)
    blocks = [
        type(block)([change(binding) for binding in block.bindings]) for block in main.body.blocks
    ]
    return with_function(module, "main", _with_blocks(main, blocks))


def _substituted(value: Any, replaced: dict[int, Any]) -> Any:
    """Return a call with other arguments."""

    def change(node: Any) -> Any:
        if isinstance(node, tvm.ir.Tuple):
            return tvm.ir.Tuple([change(field) for field in node.fields])
        return replaced.get(key_of(node), node)

    arguments = [change(each) for each in value.args]
    return tvm.ir.Call(value.op, arguments, value.attrs, value.ty_args)


def _result(main: Any) -> Any | None:
    """Return the call whose value `main` returns, through variables that are only other names."""
    bindings = {
        key_of(binding.var): binding
        for block in main.body.blocks
        for binding in block.bindings
        if isinstance(binding, relax.VarBinding)
    }
    found = bindings.get(key_of(main.body.body))
    while found is not None and isinstance(found.value, relax.Var):
        found = bindings.get(key_of(found.value))
    return found if found is not None and isinstance(found.value, tvm.ir.Call) else None


def _takes(call: Any, variable: Any) -> bool:
    return any(each.same_as(variable) for each in arguments_of(call))


def _takes_elsewhere(main: Any, variable: Any, but: Any) -> bool:
    others = [each for each in calls_of(main) if not each.var.same_as(but.var)]
    return main.body.body.same_as(variable) or any(_takes(o.value, variable) for o in others)


def _same_form(*values: Any) -> bool:
    forms = [_form(value) for value in values]
    return forms[0] is not None and all(form == forms[0] for form in forms)


def _form(value: Any) -> tuple[tuple[int, ...], str] | None:
    kind = getattr(value, "ty", None)
    if not isinstance(kind, relax.TensorType) or not isinstance(kind.shape, relax.ShapeExpr):
        return None
    extents = list(kind.shape.values)
    if any(not isinstance(extent, tvm.ir.prim.IntImm) for extent in extents):
        return None
    return tuple(int(extent) for extent in extents), str(kind.dtype)


def _is_constant(value: Any) -> bool:
    return isinstance(value, tvm.ir.GenericConst)


def _is_vector(value: Any) -> bool:
    """Say whether a float tensor has more than one item, all along one axis."""
    form = _form(value)
    if form is None or not form[1].startswith("float"):
        return False
    return max(form[0], default=1) == math.prod(form[0]) > 1
