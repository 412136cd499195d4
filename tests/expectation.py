"""What an example submission must get: `<name>.verdict.toml` beside `<name>.ipynb`.

    about = "The convolution's bias is forgotten."    # what the example shows, for people
    score = { min = 10, max = 70 }                    # the total: a number, or a range
    problems = [3]                                    # code cells that end in an error, from 1

    [part.emit_te]
    score = 10                                        # the part: a number, or a range
    reason_contains = ["differ"]                      # texts found in reasons of the part's checks
    advice_contains = ["Add the bias"]                # the same of what they say is to be done

    [part.emit_te.check]
    equivalence = "failed"                            # passed, partial, failed or not_graded

    [part.emit_te.diagnosis]
    step = "lv2"                                      # the variable of the step that departs
    mistake = "bias_missing"                          # what explains it (docs/diagnosis.md)

Everything but `about` may be left out: what is not said is not compared.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader.decoding import prepared
from grader.report import MistakeKind, Part, Report, Verdict

SUFFIX = ".verdict.toml"
TOLERANCE = 1e-6
"""Points closer than this are equal: scores are sums of decimal fractions."""


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the tables of a verdict file: a misspelt key is an error."""


class Range(Table, frozen=True):
    """Points from `min` to `max`, both included; either end may be open."""

    min: float | None = None
    max: float | None = None


Score = float | Range


class DiagnosisExpectation(Table, frozen=True):
    """Where a part departs from PyTorch: the step that is named, and the mistake if it is known.

    A step goes by its variable in `main` or its buffer in a TIR function; a Python function has one
    step, `output`.
    """

    step: str
    mistake: MistakeKind | None = None


class PartExpectation(Table, frozen=True):
    """What one part must get. `check` maps the id of a check to its verdict."""

    score: Score | None = None
    check: dict[str, Verdict] = {}
    reason_contains: tuple[str, ...] = ()
    advice_contains: tuple[str, ...] = ()
    diagnosis: DiagnosisExpectation | None = None


class Expectation(Table, frozen=True):
    """A whole verdict file. `part` maps the id of a part to what it must get."""

    about: str
    score: Score | None = None
    problems: tuple[int, ...] | None = None
    part: dict[str, PartExpectation] = {}


def load_expectation(path: Path) -> Expectation:
    """Read a verdict file. Raises ValueError, naming the file and the field."""
    try:
        return msgspec.toml.decode(path.read_bytes(), type=prepared(Expectation))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a valid verdict file: {error}") from None


def mismatches(expectation: Expectation, report: Report) -> tuple[str, ...]:
    """Say, one sentence each, where the report is not what was expected; empty when it is."""
    found = _score("the submission", expectation.score, report.score)
    if expectation.problems is not None:
        cells = tuple(problem.cell for problem in report.problems)
        if cells != expectation.problems:
            found += [f"cells {list(cells)} failed, expected {list(expectation.problems)}"]
    parts = {part.id: part for part in report.parts}
    for name, expected in expectation.part.items():
        part = parts.get(name)
        found += [f"there is no part {name}"] if part is None else _part(expected, part)
    return tuple(found)


def _part(expected: PartExpectation, part: Part) -> list[str]:
    found = _score(part.id, expected.score, part.score)
    checks = {check.id: check for check in part.checks}
    for name, verdict in expected.check.items():
        check = checks.get(name)
        if check is None:
            found.append(f"{part.id} has no check {name}")
        elif check.verdict != verdict:
            found.append(
                f"{part.id}/{name} is {check.verdict}, expected {verdict}: {check.reason.english!r}"
            )
    for text in expected.reason_contains:
        if not any(text in check.reason.english for check in part.checks):
            found.append(f"no reason of {part.id} contains {text!r}")
    for text in expected.advice_contains:
        if not any(text in check.hint.english for check in part.checks):
            found.append(f"no advice of {part.id} contains {text!r}")
    if expected.diagnosis is not None:
        found += _diagnosis(expected.diagnosis, part)
    return found


def _diagnosis(expected: DiagnosisExpectation, part: Part) -> list[str]:
    """Say where another step is named than the one with the mistake, or another mistake."""
    if part.diagnosis is None:
        return [f"{part.id} has no diagnosis, expected one of {expected.step}"]
    named = part.diagnosis.steps[part.diagnosis.wrong].variable
    found = []
    if named != expected.step:
        found.append(f"{named} of {part.id} is said to depart, expected {expected.step}")
    if expected.mistake not in (None, part.diagnosis.mistake):
        found.append(
            f"the mistake in {part.id} is said to be {part.diagnosis.mistake or 'unknown'},"
            f" expected {expected.mistake}"
        )
    return found


def _score(subject: str, expected: Score | None, actual: float) -> list[str]:
    limits = expected if isinstance(expected, Range) else Range(expected, expected)
    found = []
    if limits.min is not None and actual < limits.min - TOLERANCE:
        found.append(f"{subject} got {actual:g} points, expected at least {limits.min:g}")
    if limits.max is not None and actual > limits.max + TOLERANCE:
        found.append(f"{subject} got {actual:g} points, expected at most {limits.max:g}")
    return found
