"""The layers that an equivalence check gives points for, beside what PyTorch does.

A check whose weights do not fit cannot be decided where a student has something wrong: it is met in
a grading, and by then it is the students who wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grader.assignment import CheckTable, PartTable
from grader.assignment_files import find_line
from grader.checks.kinds.measured import EquivalenceOptions, shares
from grader.course import CourseAssignment
from grader.diagnosis.walk import parts_of
from grader.errors import CourseError, Mistake
from grader.evidence.registry import find_check
from grader.language import say

if TYPE_CHECKING:
    from grader.evidence.answers import Answers


def mistakes_in_shares(chosen: CourseAssignment, answers: Answers) -> Iterator[Mistake]:
    """Yield the checks whose `weights` are not one for each layer, or that find no layers."""
    for part in chosen.assignment.part:
        for table in part.check:
            if table.kind == "equivalence" and not table.withheld:
                options = find_check(table).parse(table)
                assert isinstance(options, EquivalenceOptions)
                if options.shares_points:
                    yield from _in_check(chosen, part, table, options, answers)


def _in_check(
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
