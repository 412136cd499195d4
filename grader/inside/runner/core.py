"""The loops of additions that show whether the core is free, as `grader.timing.core` wants them."""

import ctypes
import functools
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T  # noqa: N812 - TVM's own name for it

from grader.timing.core import LOOPS, units_of
from grader.timing.slices import BLOCKS_OF_A_SLICE

Nanoseconds = npt.NDArray[np.int64]

LENGTHS = (64, 260, 64)
"""Additions of one turn of each loop. Counting turns takes one more, a hundredth at the most."""

TURNS = (128, 128, 128)
"""2 or 3 microseconds each: 30 ns are of the clock, and a block takes 70 microseconds."""

TICKS = 100
"""Steps of the clock that each loop lasts at least. That of a Hyper-V guest may have steps of
100 ns, those of some ARM processors of 42: loops of 27 steps found no core free."""

MOST_LONGER = 16

CHAINS = 10
"""So many additions are independent of each other; no core has more units. Intel's Emerald Rapids
has five, and does 4.66 of 8 chains in a cycle, 4.91 of 10."""

MOST_LOOKS = BLOCKS_OF_A_SLICE + 1

_STAMPS = 2 * (LOOPS + 1)


class CoreLoops:
    """The loops, compiled for a target. Raises whatever TVM raises while compiling."""

    def __init__(self, target: Any) -> None:
        self._run = compile_loops(str(target))
        self._stamps = np.zeros((MOST_LOOKS, _STAMPS), np.int64)
        self._pointer = ctypes.c_void_p(self._stamps.ctypes.data)
        short, usual = self._tried((1,) * LOOPS), self._tried(TURNS)
        self._turns = [longer(short, usual) * turns for turns in TURNS]

    def _tried(self, turns: Sequence[int]) -> Nanoseconds:
        for number in range(MOST_LOOKS):
            self._run(self._pointer, number, *turns)
        return self._nanoseconds(MOST_LOOKS)

    def look(self, number: int) -> None:
        """Run all once, as the look of that number of a slice, below `MOST_LOOKS`."""
        if not 0 <= number < MOST_LOOKS:  # the loop would write behind the array
            raise ValueError(f"There is no look {number} of {MOST_LOOKS}.")
        self._run(self._pointer, number, *self._turns)

    def units(self, looks: int) -> npt.NDArray[np.float64]:
        """Return how many units were free at each of the first looks."""
        return units_of(self.seconds(looks))

    def seconds(self, looks: int) -> npt.NDArray[np.float64]:
        """Return the seconds of an addition of each loop in the first looks, (3, looks)."""
        additions = np.multiply(LENGTHS, self._turns)[:, np.newaxis]
        return np.asarray(np.maximum(1, self._nanoseconds(looks)).T * 1e-9 / additions)

    def _nanoseconds(self, looks: int) -> Nanoseconds:
        stamps = self._stamps[:looks].reshape(looks, LOOPS + 1, 2)
        return np.asarray(np.diff(stamps[:, :, 0] * 10**9 + stamps[:, :, 1], axis=1))


def longer(short: Nanoseconds, usual: Nanoseconds) -> int:
    """Return how many times as long loops are to be, by what a clock said of loops of one turn,
    and of those of the usual length.

    Only a clock whose steps are longer than a turn says that some took no time.
    """
    if short.min() > 0:
        return 1
    step = int(short[short > 0].min(initial=usual.max()))
    return max(1, min(math.ceil(TICKS * step / max(1, int(usual.min()))), MOST_LONGER))


@functools.cache
def compile_loops(target: str) -> Any:
    """Compile the loops, 0.06 s, and call nothing. Raises whatever TVM raises."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("look")
        pointer = T.arg("stamps", T.handle("int64"))
        number, *turns = (T.arg(name, T.int64()) for name in ("number", "before", "wide", "after"))
        stamps = T.decl_buffer((MOST_LOOKS, _STAMPS), "int64", data=pointer)
        with T.attr(tvm.tirx.const(0, "int32"), "pragma_import_llvm", _program()):
            _look(stamps, number, [T.int64(1)] * LOOPS)  # fetches code, clock and line
            _look(stamps, number, turns)
    return tvm.compile(tvm.IRModule({"look": builder.get()}), tvm.target.Target(target)).mod["look"]


def _look(stamps: Any, number: Any, turns: Sequence[Any]) -> None:
    for place, count in enumerate(turns):
        _read_clock(stamps, number, 2 * place)
        T.evaluate(T.call_extern("int64", f"grader_{place}", count, T.int64(3)))
    _read_clock(stamps, number, 2 * LOOPS)


def _read_clock(stamps: Any, number: Any, place: int) -> None:
    address = T.address_of(stamps[number, place])
    T.evaluate(T.call_extern("int32", "clock_gettime", T.int32(time.CLOCK_MONOTONIC), address))


def _program() -> str:
    return "".join(
        _loop(f"grader_{place}", chains, length // chains)
        for place, (chains, length) in enumerate(zip((1, CHAINS, 1), LENGTHS, strict=True))
    )


def _loop(name: str, chains: int, steps: int) -> str:
    """Return a function in LLVM's language that adds its second argument again and again, to so
    many sums in turn.

    Empty assembly follows each addition. It needs the sum in a register, so LLVM cannot merge
    additions or replace them by a product. The number comes out of empty assembly as well, so it is
    in a register: Intel's cores since Alder Lake add small constants while they rename registers,
    five a cycle, however long the chain is.
    """
    sums, lines = [f"%sum{chain}" for chain in range(chains)], []
    for step in range(steps):
        for chain in range(chains):
            new = f"%s{step}_{chain}"
            lines.append(f"{new}a = add i64 {sums[chain]}, %added")
            lines.append(f'{new} = call i64 asm sideeffect "", "=r,0"(i64 {new}a)')
            sums[chain] = new
    start = [
        f"%sum{chain} = phi i64 [ {chain}, %entry ], [ {last}, %loop ]"
        for chain, last in enumerate(sums)
    ]
    return "\n".join(
        [
            f"define i64 @{name}(i64 %turns, i64 %number) noinline {{",
            "entry:",
            '%added = call i64 asm sideeffect "", "=r,0"(i64 %number)',
            "br label %loop",
            "loop:",
            "%left = phi i64 [ %turns, %entry ], [ %fewer, %loop ]",
            *start,
            *lines,
            "%fewer = sub i64 %left, 1",
            "%more = icmp ne i64 %fewer, 0",
            "br i1 %more, label %loop, label %end",
            "end:",
            f"ret i64 {sums[0]}",
            "}",
            "",
        ]
    )
