"""Guarded builds: every load and store of a TIR function is checked before it happens.

The check is put in behind all passes of TVM, on the very program that is translated to machine
code: buffers have one axis there, blocks are gone, vectors are made. So what is checked is what the
unguarded build does too, whatever a pass has made of it. TVM's own `instrument_bound_checkers` is
not used: a wild store passes it.

Checked are: indices; sums, differences, products and quotients of integers, which LLVM takes to
never overflow or divide by zero, so that a check behind an overflow might be dropped; numbers that
become integers; and the sizes of buffers. What intervals show to be right needs no check at run
time (`grader.inside.common.checks`), which is most of what there is in any honest program.

What goes wrong first is written down where the runner finds it, and the function ends.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import tvm
from tvm import tirx
from tvm.tirx import compilation_pipeline

from grader.inside.common.allocations import (
    SIZE_LIMIT,
    Pipeline,
    constant_size,
    item_bits,
    pipeline,
    stack_bytes,
)
from grader.inside.common.checks import GuardCheck, Site, Unguarded, decides_by_contents
from grader.inside.common.expressions import Reader
from grader.inside.common.failure import TaskError
from grader.inside.common.modules import changed_loop
from grader.messages.runner import OUT_OF_BOUNDS, Violation

PIPELINE = "grader.guarded"

STACK_LIMIT = 2**18
"""Most bytes of the stack that a function's buffers may take: a thread has some megabytes, and a
single page of guard below them, which a larger frame would step over."""

NAME_LIMIT = 100

DEEPEST = 50_000
"""Most calls of Python within one another: a sum of a thousand terms is an expression as deep."""

Statement = Any

Fill = Callable[[Any], Statement]


class Guards:
    """Builds guarded functions, and knows what they write down: one thing between two looks.

    `for_all_inputs` refuses a check whose outcome depends on what is in a buffer: without one, a
    call that ends well shows that all calls on arrays of these shapes do. `fill` makes the
    statement that fills a buffer of a function's own, behind its allocation.
    """

    def __init__(self, *, for_all_inputs: bool = False, fill: Fill | None = None) -> None:
        self._for_all_inputs = for_all_inputs
        self._fill = fill
        self._refused: TaskError | None = None
        self._sites: list[Site] = []
        self._memory = np.zeros(2, np.int64)
        self._report = tirx.decl_buffer((2,), "int64", name="grader_report")

    @contextmanager
    def building(self) -> Iterator[str]:
        """Build with guards, by the pipeline of the name that is entered.

        Raises TaskError where a function has something that cannot be checked.
        """
        compilation_pipeline.register_tir_pipeline(PIPELINE, self._pipeline)
        try:
            yield PIPELINE
        except Exception:
            if self._refused is None:
                raise
            raise self._refused from None  # TVM has made an error of its own of it
        finally:
            del compilation_pipeline.PIPELINE_MAP[PIPELINE]

    @property
    def checks(self) -> int:
        """Return how many checks the functions have that were built so far."""
        return len(self._sites)

    def demand_none(self) -> None:
        """Raise TaskError if something went wrong since the last look."""
        number, value = (int(each) for each in self._memory)
        self._memory[:] = 0
        if number:
            raise violated(self._sites[number - 1].violation(value))

    def _pipeline(self) -> Pipeline:
        guard = tvm.transform.module_pass(lambda module, _: self.guard(module), opt_level=0)
        return pipeline(guard)

    def guard(self, module: tvm.IRModule) -> tvm.IRModule:
        """Return a lowered module with guards in all of its functions. Raises Unguarded."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, DEEPEST))
        try:
            return self._guarded(module)
        finally:
            sys.setrecursionlimit(limit)

    def _guarded(self, module: tvm.IRModule) -> tvm.IRModule:
        guarded = {
            variable: function.with_body(self._function(str(variable.name_hint), function.body))
            for variable, function in module.functions.items()
        }
        return tvm.IRModule(guarded, attrs=module.attrs)

    def _function(self, name: str, body: Statement) -> Statement:
        address = int(self._memory.ctypes.data)
        writer = _Writer(name, self._sites, self._report, address, self._for_all_inputs, self._fill)
        try:
            return writer.outside(body)
        except Unguarded as error:
            violation = Violation("unguarded", name[:NAME_LIMIT], str(error))
            self._refused = violated(violation)
            raise


def violated(violation: Violation) -> TaskError:
    """Return the error of a function that leaves its buffers, or would."""
    message = f"{violation.function}: {violation.kind} of {violation.subject}"
    return TaskError("run", OUT_OF_BOUNDS, message, violation)


class _Allocation(NamedTuple):
    """Where a buffer's items lie: `size` of them, as an expression that holds in its scope."""

    name: str
    size: Any
    bits: int


class _Writer:
    """Rewrites the statements of one function.

    `outside` is the header that TVM has put around it, which takes the arrays out of the arguments
    and compares their shapes with those declared: its buffers are as large as they say.
    """

    def __init__(
        self,
        name: str,
        sites: list[Site],
        report: Any,
        address: int,
        for_all_inputs: bool,
        fill: Fill | None,
    ) -> None:
        self._name = name
        self._sites = sites
        self._report = report
        self._address = address
        self._sizes: dict[int, _Allocation] = {}
        self._for_all_inputs = for_all_inputs
        self._fill = fill
        self._reader = Reader(self._size_of)
        self._stack = 0
        self._found = False
        self._statements: dict[str, Callable[[Statement], Statement]] = {
            "AllocBuffer": self._allocate,
            "AssertStmt": self._assert,
            "AttrStmt": self._attribute,
            "Bind": self._bind,
            "BufferStore": self._store,
            "DeclBuffer": self._declare,
            "Evaluate": self._evaluate,
            "For": self._loop,
            "IfThenElse": self._branch,
            "Return": self._evaluate,
            "SeqStmt": lambda each: _sequence(self._inside(part) for part in each.seq),
            "While": self._repeat,
        }

    # --- the header -------------------------------------------------------------------------------

    def outside(self, body: Statement) -> Statement:
        self._reader = Reader(
            self._size_of,
            for_all_inputs=self._for_all_inputs,
            decides=decides_by_contents(body),
        )
        rewritten = self._header(body)
        if not self._found:
            raise Unguarded("a function that cannot be called from outside")
        return rewritten

    def _header(self, statement: Statement) -> Statement:
        kind = type(statement).__name__
        if kind == "SeqStmt":
            return tirx.SeqStmt([self._header(each) for each in statement.seq])
        if kind == "AttrStmt" and statement.attr_key == "compute_scope":
            self._found = True
            return _with_body(statement, self._scope(statement.body))
        if kind == "AttrStmt":
            return _with_body(statement, self._header(statement.body))
        if kind == "DeclBuffer":
            self._remember(statement.buffer)
        return statement

    def _scope(self, body: Statement) -> Statement:
        """Return the function's own program, with the memory declared that it reports to."""
        address = tirx.const(self._address, "int64")
        pointer = tvm.ir.Call("tirx.reinterpret", [address], ret_ty=self._report.data.ty)
        declared = tirx.DeclBuffer(self._report, data=pointer)
        return _sequence([declared, self._inside(body)])

    # --- buffers ----------------------------------------------------------------------------------

    def _remember(self, buffer: Any) -> None:
        size: Any = constant_size(buffer)
        if size is None:
            size = tirx.const(1, "int64")
            for extent in buffer.shape:
                size = size * tirx.Cast("int64", extent)
        self._sizes[hash(buffer)] = _Allocation(str(buffer.name), size, _item_bits(buffer))

    def _size_of(self, buffer: Any) -> tuple[str, Any]:
        known = self._sizes.get(hash(buffer))
        if known is None:
            raise Unguarded(f"the buffer {buffer.name}")
        return known.name, known.size

    def _declare(self, statement: Statement) -> Statement:
        """Take a second name for a buffer's memory: it has the first one's size, in its items."""
        source = statement.data
        is_name = type(source).__name__ == "Call" and source.op.name == "tirx.buffer_data"
        known = self._sizes.get(hash(source.args[0])) if is_name else None
        if known is None:
            raise Unguarded(f"the buffer {statement.buffer.name}")
        bits = _item_bits(statement.buffer)
        if bits != known.bits and bits & (bits - 1):
            raise Unguarded(f"the buffer {statement.buffer.name} of items of {bits} bits")
        size = known.size
        if bits != known.bits:  # nothing lowers a division any more
            size = size * known.bits >> bits.bit_length() - 1
        self._sizes[hash(statement.buffer)] = _Allocation(str(statement.buffer.name), size, bits)
        return statement

    def _allocate(self, statement: Statement) -> Statement:
        """Check a buffer's size, and what lies on the stack with it."""
        buffer = statement.buffer
        self._reader.begin()
        for extent in buffer.shape:
            self._reader.read(extent)
        self._reader.demand_size(buffer, _item_bits(buffer) // 8, SIZE_LIMIT)
        self._stack += stack_bytes(buffer) or 0
        if self._stack > STACK_LIMIT:
            raise Unguarded(f"{self._stack} bytes of small buffers")
        self._remember(buffer)
        allocated = self._behind_checks(statement)
        return allocated if self._fill is None else _sequence([allocated, self._fill(buffer)])

    # --- statements -------------------------------------------------------------------------------

    def _inside(self, statement: Statement) -> Statement:
        rewrite = self._statements.get(type(statement).__name__)
        if rewrite is None:
            raise Unguarded(f"a statement {type(statement).__name__}")
        return rewrite(statement)

    def _store(self, statement: Statement) -> Statement:
        self._reader.begin()
        self._reader.read_stored(statement.value)
        self._reader.access(statement.buffer, statement.indices)
        return self._behind_checks(statement)

    def _evaluate(self, statement: Statement) -> Statement:
        self._reader.begin()
        self._reader.read(statement.value)
        return self._behind_checks(statement)

    def _assert(self, statement: Statement) -> Statement:
        self._reader.begin()
        self._reader.read(statement.condition)
        return self._behind_checks(statement)

    def _bind(self, statement: Statement) -> Statement:
        self._reader.begin()
        self._reader.bind(statement.var, self._reader.read(statement.value), statement.value)
        return self._behind_checks(statement)

    def _attribute(self, statement: Statement) -> Statement:
        return _with_body(statement, self._inside(statement.body))

    def _branch(self, statement: Statement) -> Statement:
        self._reader.begin()
        self._reader.read(statement.condition)
        checks, otherwise = self._reader.demands.checks, statement.else_case
        with self._reader.demands.depending_on(statement.condition):
            branch = tirx.IfThenElse(
                statement.condition,
                self._inside(statement.then_case),
                None if otherwise is None else self._inside(otherwise),
            )
        return self._behind(checks, branch)

    def _loop(self, statement: Statement) -> Statement:
        self._reader.begin()
        self._reader.bind_loop(statement.loop_var, statement.min, statement.extent, statement.step)
        checks = self._reader.demands.checks
        with self._reader.demands.depending_on(statement.min, statement.extent):
            body = self._inside(statement.body)
        return self._behind(checks, changed_loop(statement, body=body))

    def _repeat(self, statement: Statement) -> Statement:
        """Check the condition of a `while` before each look at it."""
        self._reader.begin()
        self._reader.read(statement.condition)
        checks = [self._checked(each) for each in self._reader.demands.checks]
        with self._reader.demands.depending_on(statement.condition):
            body = _sequence([self._inside(statement.body), *checks])
        return _sequence([*checks, tirx.While(statement.condition, body)])

    # --- checks -----------------------------------------------------------------------------------

    def _behind_checks(self, statement: Statement) -> Statement:
        return self._behind(self._reader.demands.checks, statement)

    def _behind(self, checks: list[GuardCheck], statement: Statement) -> Statement:
        """Return a statement behind its checks."""
        if not checks:
            return statement
        return _sequence([*(self._checked(each) for each in checks), statement])

    def _checked(self, check: GuardCheck) -> Statement:
        self._sites.append(check.site._replace(function=self._name[:NAME_LIMIT]))
        number, zero, one = len(self._sites), tirx.const(0, "int32"), tirx.const(1, "int32")
        report = [
            tirx.BufferStore(self._report, check.value, [one]),
            tirx.BufferStore(self._report, tirx.const(number, "int64"), [zero]),
            # TVM's constructor names its first two parameters the wrong way round
            tirx.AssertStmt(
                tirx.const(False), tvm.ir.StringImm("RuntimeError"), [tvm.ir.StringImm("guard")]
            ),
        ]
        return tirx.IfThenElse(tirx.Not(check.holds), tirx.SeqStmt(report), None)


def _sequence(statements: Iterable[Statement]) -> Statement:
    """Return statements in a row, on one level: a buffer ends with the row that allocates it."""
    row: list[Statement] = []
    for each in statements:
        row.extend(each.seq if isinstance(each, tirx.SeqStmt) else [each])
    return row[0] if len(row) == 1 else tirx.SeqStmt(row)


def _with_body(statement: Statement, body: Statement) -> Statement:
    return tirx.AttrStmt(statement.node, statement.attr_key, statement.value, body)


def _item_bits(buffer: Any) -> int:
    """Return the size of a buffer's items, which vectors may be: for those there is room.

    A number of 24 bits has none: from one to the next LLVM goes on by 32. On the stack it allocates
    them itself; elsewhere TVM does.
    """
    number = max(8, int(buffer.dtype.bits))
    if number & (number - 1) and stack_bytes(buffer) is None:
        raise Unguarded(f"the buffer {buffer.name} of items of {number} bits")
    return item_bits(buffer)
