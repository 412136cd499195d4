"""Inputs that a course makes itself: `inputs(seed, case)` of `oracle.py`, beside drawn ones.

What `scale * randn` never has is where functions go wrong: numbers with a large mean, ties, masks,
permutations, denormals. `assignment.toml` names such cases, and reports tell each by its name.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.assignment import ArgumentTable, CaseTable, Computation
from grader.course_code import blaming, fault, line_of
from grader.language import Text, foreign, in_a_row, say
from grader.messages.frames import number_type

Values = npt.NDArray[np.generic]

_SEEDS = 2**32


_NONE = say("computation-has-no-inputs-cases")
_SOME = say("let-cases-at-least-1-or-add")


class NamedCase(NamedTuple):
    """What a report calls some of the samples, and which these are: from `start` up to `stop`."""

    title: Text
    start: int
    stop: int


class Made(NamedTuple):
    """Samples of named cases whose arguments have the same shapes.

    `extents` are those of the axes that vary, `arrays` the arguments, each with a leading axis over
    the samples; none where there are no samples. `cases` say which of them belong to which case.
    """

    extents: Mapping[str, int]
    arrays: tuple[Values, ...] = ()
    cases: tuple[NamedCase, ...] = ()


def title_of(table: Computation, number: int) -> Text:
    """Return what a report calls a case: a hidden one by its number alone, from 0."""
    case = table.case[number]
    return say("hidden-case", number=number + 1) if case.hidden else case.named


def tell_wrong(
    groups: Iterable[tuple[tuple[NamedCase, ...], npt.NDArray[np.bool_]]],
) -> tuple[Text, ...]:
    """Return a sentence for each case of which some samples are wrong.

    A group is samples of the same shapes: its cases, and which samples are wrong, bool (samples,).
    There are fewer samples where a part asks for fewer.
    """
    found: dict[Text, list[npt.NDArray[np.bool_]]] = {}
    for cases, wrong in groups:
        for each in cases:
            found.setdefault(each.title, []).append(wrong[each.start : each.stop])
    seen = ((title, np.concatenate(parts)) for title, parts in found.items())
    return tuple(
        say("wrong", case=title, wrong=int(of.sum()), count=len(of))
        for title, of in seen
        if of.any()
    )


def make_inputs(
    module: ModuleType, path: Path, table: Computation, generator: np.random.Generator
) -> tuple[Made, ...]:
    """Return the samples of all named cases, those of the same shapes together.

    The first are those of the shapes that are drawn, whether there are any or not. Each sample has
    its own seed, from `generator`. Raises MistakeError for what `inputs` does wrong.
    """
    drawn = Made(table.extents)
    if not table.case:
        if not table.cases:
            raise fault("inputs", path, None, say(_NONE, id=table.id), _SOME)
        return (drawn,)
    function = getattr(module, "inputs", None)
    if not callable(function):
        raise fault(
            "function_missing",
            path,
            None,
            say("oracle-py-has-no-function-called", name="inputs"),
            say("define-as-def-returns", **_form(table)),
        )
    groups: dict[tuple[int, ...], list[_Sample]] = {tuple(table.extents.values()): []}
    for number, case in enumerate(table.case):
        for _ in range(case.count):
            seed = int(generator.integers(_SEEDS))
            extents, arrays = _made(function, path, table, case, seed)
            key = tuple(extents[name] for name in table.extents)
            groups.setdefault(key, []).append(_Sample(number, arrays))
    if not table.cases and not groups[tuple(table.extents.values())]:
        raise fault(
            "inputs",
            path,
            line_of(function),
            say("cases-0-and-no-case-computation-has", id=table.id),
            say("let-case-have-shapes-that-assignment-toml"),
        )
    return tuple(
        _stacked(table, dict(zip(table.extents, key, strict=True)), samples)
        for key, samples in groups.items()
    )


class _Sample(NamedTuple):
    """One sample: the place of its case, and its arguments."""

    case: int
    arrays: list[Values]


def _stacked(table: Computation, extents: Mapping[str, int], samples: list[_Sample]) -> Made:
    """Return samples of the same shapes as one group: they are in the order of the cases."""
    if not samples:
        return Made(extents)
    cases, start = [], 0
    for number, count in Counter(each.case for each in samples).items():
        cases.append(NamedCase(title_of(table, number), start, start + count))
        start += count
    columns = zip(*(each.arrays for each in samples), strict=True)
    return Made(extents, tuple(np.stack(column) for column in columns), tuple(cases))


def _form(table: Computation) -> dict[str, Text]:
    names = in_a_row(repr(each.name) for each in table.arguments)
    result = say("dictionary-one-samples-arguments", names=names)
    return {"signature": foreign("inputs(seed, case)"), "result": result}


def _made(
    function: Callable[..., Any], path: Path, table: Computation, case: CaseTable, seed: int
) -> tuple[Mapping[str, int], list[Values]]:
    """Return the extents of one sample, and its arguments. Raises MistakeError."""
    given = (seed, case.name, table.id)[: _taken(function)]
    call = f"inputs({', '.join(map(repr, given))})"
    line = line_of(function)
    with blaming(path, say("called-as-make-same-call-see-why", call=call), line):
        result = function(*given)
    wanted = {each.name for each in table.arguments}
    if not isinstance(result, Mapping) or set(result) != wanted:
        had = in_a_row(map(repr, result)) if isinstance(result, Mapping) else type(result).__name__
        told = say("returns", call=call, found=had)
        raise fault("inputs", path, line, told, say("returns-sentence", **_form(table)))
    hint = say("return-numpy-arrays-or-values-that-numpy")
    with blaming(path, hint, line, code="inputs"):
        found = [np.asarray(result[each.name]) for each in table.arguments]
        extents: dict[str, int] = {}
        for each, array in zip(table.arguments, found, strict=True):
            # The first argument that has an axis says how long it is.
            named = each.extents(array.shape) if array.ndim == len(each.shape) else {}
            extents = named | extents
        arrays = [
            _array(each, array, extents, path, line, call)
            for each, array in zip(table.arguments, found, strict=True)
        ]
    return {name: extents.get(name, drawn) for name, drawn in table.extents.items()}, arrays


def _taken(function: Callable[..., Any]) -> int:
    """Return how many arguments a course's `inputs` takes: the computation's id may be a third."""
    try:
        inspect.signature(function).bind(0, "", "")
    except (TypeError, ValueError):
        return 2
    return 3


def _array(
    table: ArgumentTable,
    array: npt.NDArray[Any],
    extents: Mapping[str, int],
    path: Path,
    line: int | None,
    call: str,
) -> Values:
    """Return an argument in its dtype. Raises MistakeError for another shape or other numbers."""
    with np.errstate(invalid="ignore", over="ignore"):
        cast = array.astype(number_type(table.dtype)) if array.dtype.kind in "biufV" else None
    is_exact = cast is not None and (not table.is_integer or np.array_equal(cast, array))
    shape = table.shape_at(extents)
    if cast is not None and is_exact and array.shape == shape:
        return cast
    told = say(
        "returns-for-and-wanted",
        call=call,
        found=f"{array.dtype}{list(array.shape)}",
        name=table.name,
        wanted=f"{table.dtype}{table.spelled}",
    )
    hint = say("return-one-sample-without-axis-for-cases")
    raise fault("inputs", path, line, told, hint)
