"""The check that a part is one TensorIR function, with the parameters that were asked for."""

from __future__ import annotations

from collections.abc import Iterable

from grader.assignment import Computation, TensorTable
from grader.ir.facts import BufferFacts
from grader.referee.evidence import Case
from grader.referee.functions import find_function
from grader.referee.outcome import Outcome, failed, passed
from grader.referee.registry import NoOptions, check


@check("one_function", options=NoOptions)
def one_function(case: Case, _options: NoOptions) -> Outcome:
    """It is one TensorIR function, with the parameters that are asked for.

    Inputs come first, then outputs. What else is computed on the way is no parameter.
    """
    facts, wanted = case.candidate.facts, case.comparison
    if facts.has_main:
        return failed(
            "This is a module with a Relax function `main`, not a TensorIR function.",
            "Hand in what te.create_prim_func([...]) returns.",
        )
    functions = list(facts.functions.values())
    if not functions or not isinstance(wanted, Computation):
        return failed(
            "There is no TensorIR function in it.", "Make one with te.create_prim_func([...])."
        )
    fitting = find_function(facts, wanted)
    if fitting is None:
        tables = (*wanted.arguments, *wanted.outputs)
        return failed(
            f"`{functions[0].name}` has the parameters {_spell(functions[0].parameters)};"
            f" it should have {_spell_tables(tables)}.",
            "te.create_prim_func takes the inputs first, then the outputs. A tensor that is not in"
            " its list is kept inside of the function.",
        )
    return passed(f"`{fitting.name}` has the parameters {_spell(fitting.parameters)}.")


def _spell(buffers: Iterable[BufferFacts]) -> str:
    return _join((each.tensor.shape or (), each.tensor.dtype) for each in buffers)


def _spell_tables(tables: Iterable[TensorTable]) -> str:
    return _join((each.shape, each.dtype) for each in tables)


def _join(tensors: Iterable[tuple[tuple[int | str, ...], str]]) -> str:
    """Return, for example, `(128, 64), (64, 32)`, with the dtype where it is not float32."""
    return ", ".join(
        f"({', '.join(map(str, shape))})" + (f" {dtype}" if dtype != "float32" else "")
        for shape, dtype in tensors
    )
