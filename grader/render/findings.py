"""What of a report is a finding, for the renderings that list findings and not pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from grader.language import Text
from grader.render import wording
from grader.render.speech import tell
from grader.render.speed import speed_sentence
from grader.report import Cell, CellProblem, Check, Diagnosis, Part, Report, Timing

_COMPARING, _TIMING = "equivalence", "speed"
"""The kinds of checks that a diagnosis, and the timing, explain."""

_ADDRESS = re.compile(r"https?://[\w.-]+(?:/[\w./#%?&=~-]*)?", re.ASCII)


def is_graded(report: Report) -> bool:
    """Say whether there are verdicts, though none may be for the eyes of the report's audience."""
    return bool(report.parts or report.assignment.slug)


def is_lost(check: Check) -> bool:
    """Say whether a check asks for something to be done: it failed, or points are missing."""
    return check.verdict != "passed" or check.score < check.max_score


def lost_checks(part: Part) -> Iterator[list[Check]]:
    """Yield the checks that were lost; neighbours with the same reason and hint come together."""
    for _, group in groupby(part.checks, key=lambda check: (check.reason, check.hint)):
        lost = [check for check in group if is_lost(check)]
        if lost:
            yield lost


def diagnosis_of(part: Part, check: Check) -> Diagnosis | None:
    """Return the diagnosis that explains a check, None where there is none.

    Where several checks of a part compare outputs, it is not known which of them it explains: then
    it belongs to none that is shown otherwise than another.
    """
    comparing = [each for each in part.checks if _kind(each) == _COMPARING]
    if check not in comparing or not is_lost(check):
        return None
    alike = all(each.visibility == check.visibility for each in comparing)
    return part.diagnosis if alike else None


def timing_of(report: Report, check: Check) -> Timing | None:
    """Return the timing that explains a check, None where there is none."""
    return report.timing if _kind(check) == _TIMING else None


def _kind(check: Check) -> str:
    return check.kind or check.id  # what is not known is what the name says


def explanation(part: Part, check: Check, report: Report) -> list[str]:
    """Return what is to be said of a check, as plain text: why, what to do, and what explains it.

    Of a check that nothing was lost by that is its reason. What a reason says of the diagnosis is
    not said again.
    """
    said = [wording.plain(check.reason)]
    if is_lost(check):
        said.append(advice(check.hint))
    diagnosis = diagnosis_of(part, check)
    if diagnosis is not None:
        if not check.tells_diagnosis:
            said += [wording.plain(diagnosis.message), advice(diagnosis.advice)]
        said.append(reading(tell(diagnosis.link)))
    timing = timing_of(report, check)
    if timing is not None:
        said.append(wording.plain(speed_sentence(timing)))
    return [each for each in said if each]


def advice(hint: Text) -> str:
    """Say what to do next, and that it is that; nothing where there is no hint."""
    return tell("What to do: ") + wording.plain(hint) if hint else ""


def is_address(link: str) -> bool:
    """Say whether a link of a diagnosis leads to a page, and not to a heading of the notebook."""
    return _ADDRESS.fullmatch(link) is not None


def reading(link: str) -> str:
    """Say where the course explains it; nothing where there is no link."""
    if not link:
        return ""
    if is_address(link):
        return tell("To read again: {link}", link=link)
    return tell('To read again in the notebook: "{heading}"', heading=wording.one_line(link))


def place_of(problem: CellProblem, report: Report) -> str:
    """Say in which cell, or on which line of a script, something is."""
    if problem.line is None:
        return tell("Code cell {cell}", cell=problem.cell)
    if report.submission.starts:
        return tell("Line {line}", line=problem.line)
    return tell("Code cell {cell}, line {line}", cell=problem.cell, line=problem.line)


def line_in_file(report: Report, cell: int, line: int | None = None) -> int | None:
    """Return the line of the submitted file, from 1, where a line of a code cell is.

    `cell` counts code cells from 1, `line` lines in it, None for where the cell begins; of a script
    or Markdown it is the line of the file already. Jupyter writes a line of a cell on a line of the
    file; where a cell has no room for that before the next one begins, the result is the last line
    that can be right. None where the report does not know.
    """
    starts = report.submission.starts
    if starts:
        return line if line is not None else _at(starts, cell - 1)
    cells = report.cells
    place = next((at for at, each in enumerate(cells) if each.number == cell), None)
    if place is None:
        return None
    begin = cells[place].line
    if begin is None or line is None:
        return begin
    return max(begin, min(begin + line - 1, _last_line(cells, place, begin)))


def _last_line(cells: tuple[Cell, ...], place: int, begin: int) -> int:
    """Return the last line that a cell's text can have."""
    if begin == 1:  # not even the bracket before the cells has a line of its own
        return 1
    if place + 1 < len(cells):
        return (cells[place + 1].line or begin + 1) - 1
    return begin + cells[place].source.count("\n")


def _at(numbers: tuple[int, ...], index: int) -> int | None:
    return numbers[index] if 0 <= index < len(numbers) else None
