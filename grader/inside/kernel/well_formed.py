"""Saying which variable of a loop stands in a block, and what belongs there.

TVM accepted such blocks until 2023 and computes what they say. Today's parser refuses them with the
name of a variable. Notebooks in an earlier spelling are let pass, with what is wrong on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import tvm
import tvm_ffi

Tell = Callable[[str], None]
"""Is told what is let pass."""

_REFUSED = "is defined outside of any block, but is used inside the non-opaque current block"
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
            sentences = list(find_loop_variables(given[0]))[:LIMIT]
            found = "\n".join(sentences)
            if accept is None:
                raise type(error)(f"Error message: {found}\n{error}") from None
            print(f"Today's TVM would refuse this:\n{found}", file=sys.stderr)
            accept("".join(sentences[:1]))
            return True

    return verify_well_formed


def find_loop_variables(module: Any) -> Iterator[str]:
    """Yield a sentence for each variable of a loop that a block uses in place of its own.

    The referee reads them (`grader/loop_variables.py`) and says them in the student's language.
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


def _of_block(realize: Any, loops: dict[Any, Any], function: str) -> Iterator[str]:
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
        name, place = variable.name, f'In block "{block.name_hint}" of `{function}`'
        if variable in axes:
            yield f"{place}, `{name}` is a loop's variable and not the axis `{axes[variable]}`."
            continue
        kind = "spatial" if variable in stored else "reduce"
        yield (
            f"{place}, `{name}` is a loop's variable and has no axis, which is"
            f" `T.axis.{kind}({loops[variable]}, {name})`."
        )


def _variables(indices: Any) -> set[Any]:
    return {each for each in indices if isinstance(each, tvm.tirx.Var)}
