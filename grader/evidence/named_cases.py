"""Inputs that a course makes itself: `inputs(seed, case)` of `oracle.py`, beside drawn ones.

What `scale * randn` never has is where functions go wrong: numbers with a large mean, ties, masks,
permutations, denormals. `assignment.toml` names such cases, and reports tell each by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.assignment import ArgumentTable, CaseTable, Computation
from grader.course_code import blaming, fault, line_of
from grader.language import Text, foreign, in_a_row, say
from grader.messages import number_type

Values = npt.NDArray[np.generic]

_SEEDS = 2**32


class NamedCase(NamedTuple):
    """What a report calls some of the samples, and which these are: from `start` up to `stop`."""

    title: Text
    start: int
    stop: int


def named_cases(table: Computation) -> tuple[NamedCase, ...]:
    """Return the cases of a computation: they are its first samples, one after the other."""
    found, start = [], 0
    for number, each in enumerate(table.case, 1):
        title = say("hidden case {number}", number=number) if each.hidden else each.named
        found.append(NamedCase(title, start, start + each.count))
        start += each.count
    return tuple(found)


def tell_wrong(cases: tuple[NamedCase, ...], wrong: npt.NDArray[np.bool_]) -> tuple[Text, ...]:
    """Return a sentence for each case of which some samples are wrong; `wrong` is bool (samples,).

    There are fewer samples where a part asks for fewer.
    """
    seen = ((each.title, wrong[each.start : each.stop]) for each in cases)
    return tuple(
        say("{case}: {wrong} of {count} wrong.", case=title, wrong=int(of.sum()), count=len(of))
        for title, of in seen
        if of.any()
    )


def make_inputs(
    module: ModuleType, path: Path, table: Computation, generator: np.random.Generator
) -> tuple[Values, ...]:
    """Return the arguments of all named cases, each with a leading axis over the samples.

    There are none for a computation without such cases. Each sample has a seed of its own, from
    `generator`. Raises MistakeError for what `inputs` does wrong.
    """
    if not table.case:
        return ()
    function = getattr(module, "inputs", None)
    if not callable(function):
        raise fault(
            "function_missing",
            path,
            None,
            say("oracle.py has no function called {name}.", name="inputs"),
            say("Write it: def {signature}. It returns {result}.", **_form(table)),
        )
    made = [
        _made(function, path, table, case, int(generator.integers(_SEEDS)))
        for case in table.case
        for _ in range(case.count)
    ]
    return tuple(np.stack(column) for column in zip(*made, strict=True))


def _form(table: Computation) -> dict[str, Text]:
    names = in_a_row(repr(each.name) for each in table.arguments)
    result = say("a dictionary of one sample's arguments: {names}", names=names)
    return {"signature": foreign("inputs(seed, case)"), "result": result}


def _made(
    function: Callable[..., Any], path: Path, table: Computation, case: CaseTable, seed: int
) -> list[Values]:
    """Return the arguments of one sample. Raises MistakeError."""
    call = f"inputs({seed}, {case.name!r})"
    line = line_of(function)
    with blaming(path, say("It was called as {call}. Call it so to see why.", call=call), line):
        result = function(seed, case.name)
    wanted = {each.name for each in table.arguments}
    if not isinstance(result, Mapping) or set(result) != wanted:
        had = in_a_row(map(repr, result)) if isinstance(result, Mapping) else type(result).__name__
        told = say("{call} returns {found}.", call=call, found=had)
        raise fault("inputs", path, line, told, say("It returns {result}.", **_form(table)))
    hint = say("Return NumPy arrays, or what NumPy makes arrays of.")
    with blaming(path, hint, line, code="inputs"):
        return [_array(each, result[each.name], path, line, call) for each in table.arguments]


def _array(table: ArgumentTable, value: Any, path: Path, line: int | None, call: str) -> Values:
    """Return an argument in its dtype. Raises MistakeError for another shape or other numbers."""
    array = np.asarray(value)
    with np.errstate(invalid="ignore", over="ignore"):
        cast = array.astype(number_type(table.dtype)) if array.dtype.kind in "biufV" else None
    is_exact = cast is not None and (not table.is_integer or np.array_equal(cast, array))
    if cast is not None and is_exact and array.shape == table.shape:
        return cast
    told = say(
        "{call} returns {found} for {name!r}, and {wanted} is wanted.",
        call=call,
        found=f"{array.dtype}{list(array.shape)}",
        name=table.name,
        wanted=f"{table.dtype}{list(table.shape)}",
    )
    hint = say("Return one sample, without an axis for the cases, and numbers that the dtype has.")
    raise fault("inputs", path, line, told, hint)
