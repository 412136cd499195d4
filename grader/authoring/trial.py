"""The oracle, run once on a few cases: does it give what a grading will ask it for?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from grader.assignment import CheckTable, Computation, PartTable
from grader.assignment_files import find_line
from grader.authoring.workload import variants_of
from grader.checks.kinds.measured import EquivalenceOptions, shares
from grader.course import CourseAssignment
from grader.course_code import line_of
from grader.data import DataSet, resolve_data
from grader.diagnosis.walk import parts_of
from grader.errors import CourseError, DataError, GraderError, Mistake, MistakeError
from grader.evidence.case import Problem
from grader.evidence.registry import find_check
from grader.language import Text, say
from grader.measurement.speed import TIMED_ATOL, TIMED_RTOL
from grader.progress import Silent

if TYPE_CHECKING:
    from grader.evidence.answers import Answers, CaseOracle
    from grader.evidence.oracle import Oracle

CASES = 6
"""Cases that an oracle is tried on: enough to mix them up."""

SEED = 1
SLIGHT = 1e-9
"""Share by which two calls may differ: sums of doubles in another order."""


def try_oracle(chosen: CourseAssignment) -> list[Mistake]:
    """Run an assignment's oracle on few cases, twice; return what is wrong with what it gives."""
    from grader.evidence.answers import load_answers  # with PyTorch, which takes seconds

    path = chosen.file("oracle.py")
    try:
        data = _few(chosen)
    except DataError as error:
        told = say("not-run-reason", reason=error.message)
        return [Mistake("not_run", path, None, told, error.hint, "warning")]
    few = replace(chosen, assignment=_on_few(chosen))
    try:
        one, other = (load_answers(few, data, np.random.SeedSequence(SEED)) for _ in range(2))
        return [
            *_in_answers(chosen, data, one, other),
            *mistakes_in_shares(chosen, one),
            *_in_workload(chosen, one, data),
        ]
    except MistakeError as error:
        return [error.mistake]
    except GraderError as error:
        return [Mistake("raises", path, None, error.message, error.hint)]


def _few(chosen: CourseAssignment) -> DataSet:
    """Return the assignment's data with few of its images. Nothing is downloaded for it."""
    folder = None if "GRADER_DATA" in os.environ else "builtin"
    data = resolve_data(
        chosen.assignment.data, directory=folder, environment=os.environ, progress=Silent()
    )
    return replace(data, images=data.images[:CASES], labels=data.labels[:CASES])


def _on_few(chosen: CourseAssignment) -> Any:
    assignment = chosen.assignment
    computation = tuple(
        replace(each, cases=CASES if each.cases else 0) for each in assignment.computation
    )
    oracle = assignment.oracle and replace(assignment.oracle, hidden_inputs=CASES)
    return replace(assignment, computation=computation, oracle=oracle)


class _Trial:
    """One function of an oracle: where it is written, and what messages call it."""

    def __init__(self, chosen: CourseAssignment, name: str, function: object) -> None:
        self.path: Path = chosen.file("oracle.py")
        self.name = name
        self.line = line_of(function) if callable(function) else None

    def mistake(self, code: Any, told: Text, hint: Text, severity: Any = "error") -> Mistake:
        return Mistake(code, self.path, self.line, told, hint, severity)


def _in_answers(
    chosen: CourseAssignment, data: DataSet, one: Answers, other: Answers
) -> Iterator[Mistake]:
    if one.model is not None and other.model is not None:
        trial = _Trial(chosen, "expected", one.module.expected)
        yield from _in_both(trial, one.model, other.model)
        model = one.model
        alone = one.module.expected(model.data.parameters, model.inputs[:1].copy())
        yield from _mixed(trial, model.desired, alone)
    for table in chosen.assignment.computation:
        if table.model:
            continue
        function = getattr(one.module, table.id.replace("-", "_"))
        trial = _Trial(chosen, function.__name__, function)
        oracle = one.computations[table.id]
        yield from _in_both(trial, oracle, other.computations[table.id])
        yield from _in_other_shapes(trial, oracle)
        yield from _mixed(trial, oracle.desired, _case_alone(chosen, table, data, oracle, function))
        yield from _unused(trial, oracle)


def _in_other_shapes(trial: _Trial, oracle: CaseOracle) -> Iterator[Mistake]:
    """Yield what is seen of outputs for cases of other shapes than those that are drawn."""
    for group in oracle.groups[1:]:
        if not np.isfinite(np.asarray(group.desired, np.float64)).all():
            told = say("gives-nan-or-infinite-numbers", name=trial.name, extents=group.extents)
            hint = say("leave-such-case-out-inputs-or-define")
            yield trial.mistake("not_finite", told, hint)


def _in_both(trial: _Trial, one: Oracle, other: Oracle) -> Iterator[Mistake]:
    """Yield what is seen of outputs, and by computing them again."""
    desired = one.desired
    if not np.isfinite(np.asarray(desired, np.float64)).all():
        told = say("gives-nan-or-infinite-numbers-for-inputs", name=trial.name)
        hint = say("they-cannot-compared-choose-another-scale")
        yield trial.mistake("not_finite", told, hint)
        return
    if not _alike(desired, other.desired):
        told = say("gives-other-numbers-when-called-again", name=trial.name)
        hint = say("draw-nothing-in-or-use-generator")
        yield trial.mistake("differs", told, hint)
    if desired.dtype in (np.float32, np.float16):
        told = say("computes-in", name=trial.name, dtype=str(desired.dtype))
        hint = say("compute-in-double-precision-all-tolerance")
        yield trial.mistake("precision", told, hint, "warning")
    if not any(each.name for each in one.layers([0])):
        told = say("calls-no-function-pytorch-so-cannot-told", name=trial.name)
        hint = say("write-with-torch-tensor-x-dtype-torch", name=trial.name)
        yield trial.mistake("not_diagnosed", told, hint, "warning")


def _mixed(trial: _Trial, together: Any, alone: Any) -> Iterator[Mistake]:
    """Yield that a case's output is another one where it is computed by itself."""
    if not _alike(together[:1], alone):
        told = say("result-for-case-depends-on-other-cases", name=trial.name)
        hint = say("first-axis-cases-exclude-from-sums")
        yield trial.mistake("cases_mixed", told, hint)


def _case_alone(
    chosen: CourseAssignment,
    table: Computation,
    data: DataSet,
    oracle: CaseOracle,
    function: Callable[..., Any],
) -> Any:
    """Return the outputs of the first case, computed without the others, as one row."""
    part = next(each for each in chosen.assignment.part if each.computation == table.id)
    arranged = oracle.arrange(part, None)
    assert not isinstance(arranged, Problem)  # only what a module takes can be a problem
    arrays = [each.array[:1].copy() for each in arranged.arguments]
    result = function(data.parameters, *arrays)
    if not isinstance(result, tuple):
        return result
    return np.concatenate([np.reshape(each, (1, -1)) for each in result], axis=1)


def _unused(trial: _Trial, oracle: CaseOracle) -> Iterator[Mistake]:
    for argument in oracle.unused_arguments():
        told = say("makes-no-difference-what-gives", argument=argument, name=trial.name)
        hint = say("submission-that-ignores-this-function-right-too")
        yield trial.mistake("argument_unused", told, hint, "warning")


def _alike(one: Any, other: Any) -> bool:
    first, second = (np.asarray(each, np.float64) for each in (one, other))
    return first.shape == second.shape and np.allclose(first, second, rtol=SLIGHT, atol=SLIGHT)


# --- what is timed --------------------------------------------------------------------------------


def _in_workload(chosen: CourseAssignment, answers: Answers, data: DataSet) -> Iterator[Mistake]:
    """Yield what is wrong with `expected_workload`, tried on each variant of the computation."""
    assignment = chosen.assignment
    for part in assignment.part:
        timed = [each for each in part.check if each.kind == "speed" and not each.withheld]
        if not timed:
            continue
        function = answers.module.expected_workload  # raises for one that is missing
        table = next((each for each in assignment.computation if each.id == part.computation), None)
        if table is None or timed[0].options.get("weight"):
            continue
        trial = _Trial(chosen, "expected_workload", function)
        yield from _in_variants(trial, chosen, table, answers, data)


def _agree(found: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> bool:
    """Say whether values are the same but for rounding.

    Of single precision, which short sums may have, a tenth of what timed outputs may differ by.
    """
    is_single = found.dtype == np.float32
    rtol, atol = (TIMED_RTOL / 10, TIMED_ATOL / 10) if is_single else (1e-6, 1e-6)
    return np.allclose(found, wanted, rtol=rtol, atol=atol)


def _in_variants(
    trial: _Trial, chosen: CourseAssignment, table: Computation, answers: Answers, data: DataSet
) -> Iterator[Mistake]:
    generator = np.random.default_rng(SEED)
    drawn = (generator.standard_normal((2, *each.shape)) for each in table.arguments)
    first, *others = (
        (np.abs(array) if each.positive else array).astype(np.float32)
        for each, array in zip(table.arguments, drawn, strict=True)
    )
    fixed = [each[0] for each in others]
    repeated = [np.broadcast_to(each, (2, *each.shape)).copy() for each in fixed]
    compute = getattr(answers.module, table.id.replace("-", "_"))
    wanted = compute(data.parameters, first.copy(), *repeated)
    for variant in variants_of(chosen.workload()):
        found = answers.workload(variant, first, *fixed)
        if np.shape(found) != np.shape(wanted) or not _agree(np.asarray(found), wanted):
            told = say(
                "gives-other-numbers-for-than-does",
                name=trial.name,
                variant=repr(variant),
                function=table.id.replace("-", "_"),
            )
            hint = say("only-first-array-has-axis-over-calls")
            yield trial.mistake("differs", told, hint)


# --- points for layers ----------------------------------------------------------------------------
# A check whose weights do not fit cannot be decided where a student has something wrong: that would
# come up in a grading, while the students wait.


def mistakes_in_shares(chosen: CourseAssignment, answers: Answers) -> Iterator[Mistake]:
    """Yield the checks whose `weights` are not one for each layer, or that find no layers."""
    for part in chosen.assignment.part:
        for table in part.check:
            if table.kind == "equivalence" and not table.withheld:
                options = find_check(table).parse(table)
                assert isinstance(options, EquivalenceOptions)
                if options.shares_points:
                    yield from _in_shares(chosen, part, table, options, answers)


def _in_shares(
    chosen: CourseAssignment,
    part: PartTable,
    table: CheckTable,
    options: EquivalenceOptions,
    answers: Answers,
) -> Iterator[Mistake]:
    path = chosen.file("assignment.toml")
    layers = answers.of(part).groups[0].layers([0])
    names = [layers[each.places[-1]].name for each in parts_of(layers)]
    line = line_of_check(path, part, table)
    if not names:
        told = say("partial-check-gives-no-points-for-layers", check=table.id)
        hint = say("what-pytorch-does-no-chain-layers-each")
        yield Mistake("check_options", path, line, told, hint, "warning")
        return
    try:
        shares(names, options.weights)
    except CourseError as error:
        yield Mistake("check_options", path, line, error.message, error.hint)


def line_of_check(path: Path, part: PartTable, table: CheckTable) -> int | None:
    """Return the line on which a check's table begins, None where a variant has none of it."""
    text = path.read_text(encoding="utf-8")
    tables: list[Mapping[str, object]] = msgspec.toml.decode(text).get("part", [])
    for i, each in enumerate(tables):
        checks = each.get("check", [])
        for j, check in enumerate(checks if isinstance(checks, list) else []):
            if (each.get("id"), check.get("id")) == (part.id, table.id):
                return find_line(text, f" - at `$.part[{i}].check[{j}]`")
    return None
