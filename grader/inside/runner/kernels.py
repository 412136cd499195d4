"""One compiled function, callable many times in a row without Python in between.

A function of 5 us cannot be timed from a Python loop. So each is called from a loop that is
compiled as well, a function `block(count, *arrays, output, *ledger, number, *plan)`: it calls the
function `warm` times, reads the plan's clock, calls it `calls` times, and reads that again. What it
read becomes the times of block `number`. Each call takes the next input of the ring, and all
write into the same output buffer: a call finds the answer to another input there, so one that skips
its work leaves a wrong output, which the referee sees. `grader.inside.runner.arena` records each
call.
"""

import functools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, Generic, TypeVar

import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T  # noqa: N812 - TVM's own name for it

from grader.inside.common.allocations import PIPELINE
from grader.inside.common.guards import Guards
from grader.inside.common.timed import as_timed
from grader.inside.runner.arena import TABLE, Arena
from grader.inside.runner.signature import (
    OUTPUT,
    Arrays,
    Form,
    Signature,
    parameter_forms,
    read_signature,
    wrong_parameters,
)

Made = TypeVar("Made")

MOST_PRINTED = 2**20
"""Longest program of LLVM's, in characters, whose machine code is printed. A convolution with all
of its pixels unrolled has 0.7 MB, and takes 0.6 s."""

_PREFIX = "grader.timed."
MAIN, BLOCK = "main", "block"
"""The function and its loop in what is compiled: together, as half of what it takes to compile
either is the same for any number of functions."""


class Kernel:
    """A function compiled for `target`, called on the arrays of an arena.

    `name` is unique among the kernels of this process. With `guards` every access of the function
    is checked. Raises whatever TVM raises while compiling.
    """

    def __init__(
        self,
        name: str,
        function: Any,
        signature: Signature,
        arena: Arena,
        target: Any,
        guards: Guards | None = None,
    ) -> None:
        functions = _functions(name, function, signature, arena)
        if guards is None:
            compiled = _take_compiled(functions, target)
            self._block = compiled[BLOCK]
        else:
            with guards.building() as pipeline:
                compiled = _compile({MAIN: functions[MAIN]}, target, pipeline)
            self._block = _compile({BLOCK: functions[BLOCK]}, target)[BLOCK]
        tvm.register_global_func(_PREFIX + name, compiled[MAIN], override=True)
        self._arena = arena
        self._compiled = compiled

    def assembly(self) -> str:
        """Return the machine code of the function and its loop, as LLVM prints it anew; nothing
        where there is so much that this takes seconds."""
        if len(self._compiled.inspect_source("ll")) > MOST_PRINTED:
            return ""
        return str(self._compiled.inspect_source("asm"))

    def bound(self) -> Callable[..., None]:
        """Return the loop on the arrays as they lie now; it takes `number` and what a plan has."""
        pointers = (self._arena.pointers[role] for role in self._arena.shapes)
        ledger = self._arena.ledger
        return functools.partial(self._block, ledger.count, *pointers, *ledger.pointers)


_compiled_ahead: dict[str, Any] = {}
"""What was compiled before it was asked for, by what it was compiled from. Each is taken once: the
control is the baseline compiled twice."""


def compile_ahead(
    name: str, function: Any, signature: Signature, arena: Arena, target: Any
) -> None:
    """Compile what a `Kernel` of these arguments will need, without guards; it is then there.

    Of the arena only the shapes matter. Raises whatever TVM raises.
    """
    functions = _functions(name, function, signature, arena)
    described = _described(functions, target)
    if described not in _compiled_ahead:
        compiled = _compiled_ahead[described] = _compile(functions, target)
        compiled[BLOCK]  # machine code is made when a function is first asked for


def _take_compiled(functions: dict[str, Any], target: Any) -> Any:
    found = None
    if _compiled_ahead:
        found = _compiled_ahead.pop(_described(functions, target), None)
    return _compile(functions, target) if found is None else found


def _described(functions: dict[str, Any], target: Any) -> str:
    return f"{target} {tvm.ir.save_json(tvm.IRModule(functions))}"


def _functions(name: str, function: Any, signature: Signature, arena: Arena) -> dict[str, Any]:
    return {
        MAIN: function.with_attr("global_symbol", MAIN),
        BLOCK: _block(_PREFIX + name, signature, arena),
    }


def _compile(functions: dict[str, Any], target: Any, pipeline: str = PIPELINE) -> Any:
    return tvm.compile(tvm.IRModule(functions), target, tir_pipeline=pipeline).mod


def _block(callee: str, signature: Signature, arena: Arena) -> Any:
    """Return the loop as a PrimFunc; `callee` is the registered name of the function to call.

    Of all arrays but one it takes pointers: what checks a whole tensor takes time to compile, and
    the arena is our own. The one tells for which device the arrays of the calls are made.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name(BLOCK)
        items = (math.prod(arena.shapes[OUTPUT]),)
        shapes = {**arena.shapes, arena.first: (arena.ring, arena.row), OUTPUT: items}
        count = T.arg("count", T.Buffer((1,), "int64"))
        dtypes, tables = arena.dtypes, arena.ledger.tables
        of_roles = [T.arg(role, T.handle(dtypes[role])) for role in shapes]
        of_ledger = [T.arg(name, T.handle(dtype)) for name, (_, dtype) in tables.items()]
        names = ("number", "warm", "calls", "clock")
        number, warm, calls, clock = (T.arg(name, T.int32()) for name in names)
        buffers = {
            role: T.decl_buffer(shape, dtypes[role], data=pointer)
            for (role, shape), pointer in zip(shapes.items(), of_roles, strict=True)
        }
        places, numbers, slots, stamps = (
            T.decl_buffer((length,), dtype, data=pointer)
            for (length, dtype), pointer in zip(tables.values(), of_ledger, strict=True)
        )
        output = buffers[OUTPUT]
        with T.serial(0, warm + calls) as index:
            with T.If(index == warm), T.Then():
                _read_clock(clock, stamps, 4 * number)
            entry = T.cast(count[0], "int32") % TABLE
            row = entry % arena.ring
            arguments = [
                _array(
                    T.address_of(buffers[role][row, 0])
                    if role == arena.first
                    else buffers[role].data,
                    arena.shapes[role],
                    dtypes[role],
                )
                for role in signature.roles
            ]
            T.buffer_store(output, numbers[entry], [places[entry]])
            T.evaluate(T.call_packed(callee, *arguments))
            T.buffer_store(slots, output[places[entry]], [entry])
            T.buffer_store(count, count[0] + T.int64(1), [0])
        _read_clock(clock, stamps, 4 * number + 2)
    return builder.get()


def _read_clock(clock: Any, stamps: Any, place: Any) -> None:
    """Write what a clock says, seconds and nanoseconds, to two items from a place on.

    For the wall clock the C library answers without the system's help, in 20 to 30 ns.
    """
    address = T.address_of(stamps[place])
    T.evaluate(T.call_extern("int32", "clock_gettime", clock, address))


def _array(address: Any, shape: tuple[int, ...], dtype: str) -> Any:
    extents = T.tvm_stack_make_shape(*shape, dtype="handle")
    no_strides, no_offset, item = 0, 0, tvm.tirx.const(0, dtype)
    return T.tvm_stack_make_array(
        address, extents, no_strides, len(shape), item, no_offset, dtype="handle"
    )


class CourseFunctions(Generic[Made]):
    """Compiles the course's functions for one shape: `make` is `Kernel`, or compiles ahead."""

    def __init__(
        self,
        number: int,
        arrays: Arrays,
        workload: ModuleType,
        target: Any,
        threads: int,
        make: Callable[[str, Any, Signature, Arena, Any], Made],
    ) -> None:
        self._make = make
        self._number = number
        self._arrays = arrays
        self._workload = workload
        self._target = target
        self._threads = threads

    def plain(self) -> Any:
        """Return the unscheduled function of the first variant."""
        first = next(iter(self._workload.VARIANTS))
        return _main(self._workload.baseline(first, self._arrays.shapes()))

    def output(self) -> Form:
        """Return the form of what it computes."""
        return parameter_forms(self.plain())[-1]

    def variants(self, signature: Signature) -> list[str]:
        """Return the variants that take the same arrays. Raises TaskError if there are none."""
        variants: dict[str, tuple[str, ...]] = self._workload.VARIANTS
        alike = [name for name, taken in variants.items() if {*taken} == signature.inputs]
        if not alike:
            raise wrong_parameters(signature.roles, (*next(iter(variants.values())), OUTPUT))
        return alike

    def baseline(self, variant: str, arena: Arena) -> Made:
        """Make the unscheduled function of a variant."""
        return self._compile(
            f"baseline_{variant}", self._workload.baseline(variant, _inputs(arena)), arena
        )

    def control(self, variant: str, arena: Arena) -> Made:
        """Make the baseline once more."""
        return self._compile("control", self._workload.baseline(variant, _inputs(arena)), arena)

    def reference(self, variant: str, arena: Arena) -> Made:
        """Make the course's schedule of a variant."""
        with self._target:  # which vectors it has, a schedule may ask
            module = self._workload.reference(variant, _inputs(arena), self._threads)
        return self._compile("reference", module, arena)

    def _compile(self, name: str, module: tvm.IRModule, arena: Arena) -> Made:
        function = as_timed(_main(module), self._threads)
        output = Form(arena.shapes[OUTPUT], arena.dtypes[OUTPUT])
        signature = read_signature(function, self._arrays, output)
        return self._make(f"{name}_{self._number}", function, signature, arena, self._target)


def _main(module: Any) -> Any:
    """Return the function of a module of the course. Raises TypeError, as for a PrimFunc."""
    names = {v.name_hint for v in module.functions} if isinstance(module, tvm.IRModule) else ()
    if "main" not in names:
        told = "workload.py: `baseline` and `reference` return an IRModule with a function `main`"
        raise TypeError(told)
    return module["main"]


def _inputs(arena: Arena) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays as the submission's function takes them."""
    return {name: shape for name, shape in arena.shapes.items() if name != OUTPUT}
