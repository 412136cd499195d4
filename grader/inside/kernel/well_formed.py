"""Saying which variable of a loop stands in a block, and what belongs there.

TVM accepted such blocks until 2023 and computes what they say. Today's parser refuses them with the
name of a variable. Notebooks in an earlier spelling are let pass, with what is wrong on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec
import tvm
import tvm_ffi

from grader.messages import LoopVariable

Tell = Callable[[LoopVariable | None], None]
"""Is told what is let pass; None where its names are longer than can be told."""

_REFUSED = "is defined outside of any block, but is used inside the non-opaque current block"
"""What `verify_well_formed` of TVM 0.27 says of it: its error has no code."""

_MARK = "grader_loop_variable"
"""Where an error that this module has raised says which variable it is about."""

LIMIT = 3
"""Most blocks that are told of."""


def install(accept: Tell | None) -> None:
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
            if _REFUSED not in str(error):
                raise
            found = list(islice(find_loop_variables(given[0]), LIMIT))
            told = "\n".join(map(_worded, found))
            first = _bounded(found[0]) if found else None
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


def _bounded(found: LoopVariable) -> LoopVariable | None:
    """Return it where it can be told: its names were chosen by a student."""
    try:
        return msgspec.convert(msgspec.to_builtins(found), LoopVariable)
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

    The referee says what belongs there in the student's language (`grader/loop_variables.py`).
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
        # TVM's strings are a class of their own, which is not encoded
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
