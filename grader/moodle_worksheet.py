"""Which column of Moodle's grading worksheet is which, in any of Moodle's languages.

Moodle translates the headers and keeps the order: identifier, name, fields that identify, status,
grade, maximum, whether the grade can be changed, times, feedback. English headers are known; of
others the cells tell: identifiers end in digits, and the maximum is one number in all rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from grader.errors import UsageError
from grader.language import in_a_row, say
from grader.tables import ReadTable

_PARTICIPANT = re.compile(r"\D+([0-9]+)")
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
_YEAR = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
_NO: Final = frozenset(
    (
        *("no", "nein", "non", "nee", "nej", "nei", "ei", "nie", "ne", "não", "nem", "hayır", "nu"),
        *("нет", "не", "όχι", "tidak", "không", "لا", "לא", "नहीं", "ไม่", "否", "いいえ"),
        *("아니오", "아니요"),
    )
)
"""How "no" is written in the languages of Moodle: such a grade is locked."""


class Worksheet(NamedTuple):
    """The places of columns; `keys` are those that identify a student beside the number."""

    identifier: int
    grade: int
    maximum_at: int | None
    name: int | None = None
    locked: int | None = None
    comments: int | None = None
    keys: Mapping[Literal["email", "sid"], int] = {}

    def maximum(self, rows: Sequence[Sequence[str]]) -> str:
        """Return the points possible as Moodle writes them, empty where it says none."""
        if self.maximum_at is None:
            return ""
        return next((row[self.maximum_at] for row in rows if row[self.maximum_at].strip()), "")

    def is_locked(self, row: Sequence[str]) -> bool:
        """Say whether Moodle would refuse another grade."""
        return self.locked is not None and row[self.locked].strip().casefold() in _NO


def participant_of(identifier: str) -> str:
    """Return the number of "Participant 12", in whatever language; empty where there is none."""
    match = _PARTICIPANT.fullmatch(identifier.strip())
    return match[1] if match is not None else ""


def find_columns(table: ReadTable) -> Worksheet:
    """Return the columns. Raises UsageError where the table is no grading worksheet."""
    header = [each.strip() for each in table.header]
    missing = [each for each in ("Identifier", "Grade") if each not in header]
    if not missing:
        return _by_header(header)
    found = _by_cells(table.rows, len(header))
    if found is not None:
        return found
    raise UsageError(
        say("this-not-moodle-grading-worksheet-has", names=in_a_row(missing)),
        say("switch-moodle-english-download-grading-worksheet"),
    )


def english_header(table: ReadTable) -> list[str]:
    """Return the header with the columns that say who it is in English, as far as cells tell."""
    header = list(table.header)
    found = _by_cells(table.rows, len(header))
    if found is not None:
        names = {"Identifier": found.identifier, "Full name": found.name}
        names |= {"Email address": found.keys.get("email")}
        for name, at in names.items():
            if at is not None:
                header[at] = name
    return header


def _by_header(header: Sequence[str]) -> Worksheet:
    at = {name: place for place, name in enumerate(header)}
    named: Mapping[str, Literal["email", "sid"]] = {"Email address": "email", "ID number": "sid"}
    return Worksheet(
        identifier=at["Identifier"],
        grade=at["Grade"],
        maximum_at=at.get("Maximum Grade"),
        name=at.get("Full name"),
        locked=at.get("Grade can be changed"),
        comments=at.get("Feedback comments"),
        keys={key: at[name] for name, key in named.items() if name in at},
    )


def _by_cells(rows: Sequence[Sequence[str]], width: int) -> Worksheet | None:
    columns = [[row[at].strip() for row in rows] for at in range(width)]
    if not rows or not all(map(participant_of, columns[0])):
        return None
    maximum = next(
        (at for at in range(3, width) if _is_maximum(columns[at], columns[at - 1])), None
    )
    if maximum is None:
        return None
    between = range(1, maximum - 1)  # the status comes last, after the name and what identifies
    email = next((at for at in between if any("@" in cell for cell in columns[at])), None)
    last = columns[-1]
    has_times = "-" in last or sum(bool(_YEAR.search(cell)) for cell in last) > len(last) / 2
    return Worksheet(
        identifier=0,
        grade=maximum - 1,
        maximum_at=maximum,
        name=1 if len(between) > 1 else None,
        locked=next((at for at in range(maximum + 1, width) if _is_answer(columns[at])), None),
        comments=None if has_times or maximum + 2 >= width else width - 1,
        keys={} if email is None else {"email": email},
    )


def _is_maximum(cells: Sequence[str], before: Sequence[str]) -> bool:
    """Say whether a column is the maximum: one number for all, behind a column of grades."""
    are_grades = all(not cell or _NUMBER.fullmatch(cell) for cell in before)
    return are_grades and len({*cells}) == 1 and _NUMBER.fullmatch(cells[0]) is not None


def _is_answer(cells: Sequence[str]) -> bool:
    """Say whether "no" is among the cells, and at most one other word."""
    words = {cell.casefold() for cell in cells}
    return bool(words & _NO) and len(words) <= 2
