"""Finding the TIR function that computes what is asked for: by what it takes, not by its name."""

from __future__ import annotations

from grader.assignment import Computation, TensorTable
from grader.ir.facts import BufferFacts, FunctionFacts, ModuleFacts


def find_function(facts: ModuleFacts, computation: Computation) -> FunctionFacts | None:
    """Return the PrimFunc that takes a computation's arguments and then its outputs.

    Where several do, the one called like the computation (with `_` for `-`), else the first.
    """
    wanted = (*computation.arguments, *computation.outputs)
    fitting = [each for each in facts.functions.values() if _takes(each, wanted)]
    name = computation.id.replace("-", "_")
    return next((each for each in fitting if each.name == name), next(iter(fitting), None))


def _takes(function: FunctionFacts, wanted: tuple[TensorTable, ...]) -> bool:
    return len(function.parameters) == len(wanted) and all(
        fits(parameter, table) for parameter, table in zip(function.parameters, wanted, strict=True)
    )


def fits(buffer: BufferFacts, table: TensorTable) -> bool:
    """Say whether a buffer has a table's shape and dtype."""
    return buffer.tensor.shape == table.shape and buffer.tensor.dtype == table.dtype
