"""The check that a part is one TensorIR function, with the parameters that were asked for."""

from __future__ import annotations

from collections.abc import Iterable

from grader.assignment import Computation, TensorTable
from grader.checks.outcome import Outcome, failed, passed
from grader.checks.registry import NoOptions, check
from grader.evidence.case import Case
from grader.evidence.subject import find_function
from grader.ir.facts import BufferFacts
from grader.language import say


@check("one_function", options=NoOptions)
def one_function(case: Case, _options: NoOptions) -> Outcome:
    """It is one TensorIR function, with the parameters that are asked for.

    Inputs come first, then outputs. What else is computed on the way is no parameter.
    """
    facts, wanted, name = case.candidate.facts, case.comparison, case.candidate.capture.name
    if facts.has_main:
        return failed(
            say(
                "`{name}` is a module with a Relax function `main`, not a TensorIR function.",
                name=name,
            ),
            say("Hand in what te.create_prim_func([...]) returns."),
        )
    functions = list(facts.functions.values())
    if not functions or not isinstance(wanted, Computation):
        return failed(
            say("There is no TensorIR function in `{name}`.", name=name),
            say("Make one with te.create_prim_func([...])."),
        )
    fitting = find_function(facts, wanted)
    if fitting is None:
        return failed(
            say(
                "`{name}` has the parameters {found}; it should have {wanted}.",
                name=functions[0].name,
                found=_spell(functions[0].parameters),
                wanted=_spell_tables((*wanted.arguments, *wanted.outputs)),
            ),
            say(
                "te.create_prim_func takes the inputs first, then the outputs. A tensor that is not"
                " in its list is kept inside of the function."
            ),
        )
    parameters = _spell(fitting.parameters)
    return passed(say("`{name}` has the parameters {found}.", name=fitting.name, found=parameters))


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
