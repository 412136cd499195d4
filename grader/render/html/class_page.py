"""The page of a class for its instructor: what went wrong, how often, and of whom.

By the rules of a student's page: one file, no script, no request, bounded. Every number has the
students behind it folded below it, and each name leads to the student's line and page.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import escape

from grader.insights.figures import (
    CheckRow,
    CodeRow,
    Insights,
    ObjectionState,
    PartRow,
    SpeedGroup,
    StudentRow,
)
from grader.insights.observation import ConcernKind
from grader.language import Text, say
from grader.render import wording
from grader.render.findings import told_stage
from grader.render.html.charts import (
    WIDTHS,
    SpeedStrip,
    histogram,
    names_on_page,
    strip,
)
from grader.render.html.page import SIZE, written
from grader.render.html.sections import share
from grader.render.speech import speaking, tell
from grader.render.wording import MISTAKE_NAMES

_FRAME: Final = 300_000
"""Bytes for what has no names: style, charts, headings, sentences."""

_STUDENTS: Final = 1_200_000
"""Bytes of the table of students; the rest is for the lists of names."""

_LINK: Final = 51
"""Bytes of a link to a student beside the name."""

_ROW: Final = 431
"""Bytes of a student's line beside what is said in it."""

_NAME: Final = 60
_EXAMPLE: Final = 300
_ROWS: Final = 200
"""Most lines of a table that is not of students: nobody reads the rest."""

CONCERNS: dict[ConcernKind, Text] = {
    "ungraded": say("not-graded"),
    "again": say("graded-again"),
    "held": say("held-for-you"),
    "contested": say("two-solutions"),
    "unmarked": say("not-marked-yet"),
    "several": say("several-reports"),
    "interval": say("wide-interval"),
    "near": say("near-line"),
    "fell": say("less-than-before"),
    "regraded": say("graded-differently"),
}

_STUDENT, _STUDENTS_ARE = say("student-grouped"), say("students-grouped")


_STATES: Final[dict[ObjectionState, Text]] = {
    "open": say("open"),
    "answered": say("answered"),
    "moved": say("moved"),
}


class NameLink(NamedTuple):
    """A student's name, and the place of the student's line; empty where there is none."""

    anchor: str
    name: str


class NamedStudents(NamedTuple):
    """Students: how many, in words and in percent, who, and how many more there are."""

    number: int
    told: str
    percent: str
    share: float
    links: tuple[NameLink, ...]
    more: str


class _Check(NamedTuple):
    title: str
    passed: NamedStudents
    mean: str
    rows: tuple[tuple[str, str, NamedStudents], ...]


class _Part(NamedTuple):
    title: str
    points: str
    share: float
    checks: tuple[_Check, ...]


class _Speed(NamedTuple):
    title: str
    strips: tuple[SpeedStrip, ...]
    rows: tuple[tuple[NameLink, str, str], ...]


class _Line(NamedTuple):
    anchor: str
    name: str
    page: str
    section: str
    points: str
    share: float
    mistakes: str
    speedup: str
    attempts: str


def render_insights(insights: Insights, language: str, made: str) -> bytes:
    """Return the page, in a language, of at most SIZE bytes; `made` says when and of what."""
    with speaking(language):
        return _Page(insights, made).render()


class _Page:
    def __init__(self, insights: Insights, made: str) -> None:
        self._all = insights
        self._made = made
        people = (*insights.missing, *(each.person for each in insights.students))
        self._names_of = names_on_page({each.id: each.name for each in people})
        self._lines = self._student_lines()
        ids = (each.person.id for each in insights.students)
        self._anchors = {id: line.anchor for id, line in zip(ids, self._lines, strict=False)}
        self._left = SIZE - _FRAME - _STUDENTS

    def render(self) -> bytes:
        """Return the document. What is most needed takes its room first."""
        found = self._all
        numbers = found.numbers
        return written(
            "insights.html.j2",
            slug=wording.one_line(found.assignment)[:_NAME],
            title=wording.one_line(found.title)[:_EXAMPLE] or found.assignment[:_NAME],
            made=self._made,
            median="–" if numbers.median is None else wording.points(numbers.median),
            possible=wording.points(found.possible),
            graded=self._graded(),
            concerns=self._concerns(),
            mistakes=self._mistakes(),
            failures=self._failures(),
            parts=tuple(map(self._part, found.parts[:_ROWS])),
            figures=_figures(found),
            histograms=tuple(histogram(found, width) for width in WIDTHS) if found.bins else (),
            bins=tuple(
                (_range(each.low, each.high), self._names(each.students)) for each in found.bins
            ),
            objections=self._objections(),
            speeds=tuple(map(self._speed, found.speeds[:8])),
            attempts=tuple(
                (each.number, self._names(each.students), _points(each.median))
                for each in found.attempts[:_ROWS]
            ),
            days=tuple(
                (each.day, each.attempts, self._names(each.students))
                for each in found.days[-_ROWS:]
            ),
            stages=tuple(
                (
                    wording.one_line(told_stage(each.stage))[:_NAME],
                    wording.seconds(each.median),
                    wording.seconds(each.longest),
                    self._link(each.student),
                )
                for each in found.stages[:_ROWS]
            ),
            students=self._lines,
            unlisted=len(found.students) - len(self._lines),
            unlisted_told=_told(len(found.students) - len(self._lines)),
            missing=self._missing(),
        )

    def _graded(self) -> str:
        found = self._all
        told = _told(found.graded)
        if found.missing:
            return tell(
                "graded-without-gradable-submission", students=told, missing=len(found.missing)
            )
        return tell("students-graded", students=told)

    def _student_lines(self) -> tuple[_Line, ...]:
        left, lines = _STUDENTS, []
        for number, each in enumerate(self._all.students, start=1):
            line = _line(f"s{number}", self._names_of[each.person.id], each)
            left -= _ROW + sum(len(escape(str(item)).encode()) for item in line)
            if left < 0:
                break
            lines.append(line)
        return tuple(lines)

    def _link(self, id: str) -> NameLink:
        return NameLink(self._anchors.get(id, ""), self._names_of[id])

    def _names(self, ids: Sequence[str]) -> NamedStudents:
        links = []
        for id in ids:
            link = self._link(id)
            self._left -= _LINK + len(escape(link.name).encode())
            if self._left < 0:
                break
            links.append(link)
        rest = len(ids) - len(links)
        percent = share(len(ids), self._all.graded)
        return NamedStudents(
            len(ids),
            _told(len(ids)),
            f"{percent:.0f}%",
            percent,
            tuple(links),
            tell("and-count-more", count=rest) if rest else "",
        )

    def _concerns(self) -> tuple[tuple[NamedStudents, tuple[tuple[str, str], ...]], ...]:
        """Return who is to be looked at; those of the same reasons stand together."""
        groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for each in self._all.concerns:
            told = ((tell(CONCERNS[one.kind]), _short(one.why)) for one in each.reasons[:8])
            groups.setdefault(tuple(told), []).append(each.student)
        rows = []
        for reasons, who in groups.items():
            self._left -= _ROW + sum(len(escape(why).encode()) + _LINK for _, why in reasons)
            if self._left < 0:
                break
            rows.append((self._names(who), reasons))
        return tuple(rows)

    def _mistakes(self) -> tuple[tuple[str, str, str, NamedStudents, str], ...]:
        return tuple(
            (
                tell(MISTAKE_NAMES[each.mistake]),
                each.mistake,
                tell("semicolon").join(self._title(part) for part in each.parts[:8]),
                self._names(each.students),
                _short(each.example),
            )
            for each in self._all.mistakes
        )

    def _failures(self) -> tuple[tuple[str, str, str, str, NamedStudents, NamedStudents], ...]:
        return tuple(
            (
                wording.one_line(each.place)[:120],
                wording.one_line(each.error)[:80],
                _short(each.example),
                _cells(each.cells),
                self._names(each.students),
                self._names(each.first),
            )
            for each in self._all.failures[:_ROWS]
        )

    def _objections(self) -> tuple[tuple[str, str, int, NamedStudents], ...]:
        return tuple(
            (
                self._title(each.part) if each.part else "–",
                tell(_STATES[each.state]),
                each.count,
                self._names(each.students),
            )
            for each in self._all.objections[:_ROWS]
        )

    def _title(self, part: str) -> str:
        return wording.one_line(self._all.titles.get(part, part))[:120]

    def _part(self, part: PartRow) -> _Part:
        return _Part(
            title=wording.one_line(part.title)[:_EXAMPLE] or part.id,
            points=wording.points_of(part.mean, part.max_score),
            share=share(part.mean, part.max_score),
            checks=tuple(map(self._check, part.checks[:_ROWS])),
        )

    def _check(self, check: CheckRow) -> _Check:
        return _Check(
            title=wording.one_line(check.title)[:_EXAMPLE] or check.id,
            passed=self._names(check.verdicts.get("passed", ())),
            mean=wording.points_of(check.mean, check.max_score) if check.max_score else "",
            rows=tuple(map(self._code, check.codes)),
        )

    def _code(self, row: CodeRow) -> tuple[str, str, NamedStudents]:
        return row.code, _short(row.example), self._names(row.students)

    def _speed(self, group: SpeedGroup) -> _Speed:
        rows = []
        for each in group.rows:
            link = self._link(each.student)
            self._left -= 150 + len(escape(link.name).encode())
            if self._left < 0:
                break
            interval = tell("to", low=wording.factor(each.low), high=wording.factor(each.high))
            rows.append((link, wording.factor(each.speedup), interval))
        strips = tuple(strip(group, width) for width in WIDTHS)
        title = wording.one_line(f"{group.function}: {group.machine}")[:200]
        return _Speed(title, strips, tuple(rows))

    def _missing(self) -> NamedStudents:
        names = [NameLink("", self._names_of[each.id]) for each in self._all.missing]
        shown = names[:_ROWS]
        rest = len(names) - len(shown)
        more = tell("and-count-more", count=rest) if rest else ""
        return NamedStudents(len(names), _told(len(names)), "", 0, tuple(shown), more)


def _told(count: int) -> str:
    return wording.counted(count, _STUDENT, _STUDENTS_ARE)


def _short(text: str | Text) -> str:
    told = wording.one_line(text)
    return told if len(told) <= _EXAMPLE else f"{told[: _EXAMPLE - 2]} …"


def _points(points: float | None) -> str:
    return "–" if points is None else wording.points(points)


def _range(low: float, high: float) -> str:
    return tell("to", low=wording.points(low), high=wording.points(high))


def _cells(cells: Sequence[int]) -> str:
    told = ", ".join(map(str, cells[:6]))
    return f"{told}, …" if len(cells) > 6 else told


def _line(anchor: str, name: str, each: StudentRow) -> _Line:
    person = each.person
    page = person.page if person.page and ":" not in person.page.split("/")[0] else ""
    named = (tell(MISTAKE_NAMES[kind]) for kind in each.mistakes if kind in MISTAKE_NAMES)
    has_points = each.points is not None
    return _Line(
        anchor=anchor,
        name=name,
        page=page,
        section=wording.one_line(person.section)[:_NAME],
        points=wording.points_of(each.points or 0.0, each.possible) if has_points else "–",
        share=share(each.points or 0.0, each.possible),
        mistakes=tell("semicolon").join(named),
        speedup="" if each.speedup is None else f"{wording.factor(each.speedup)}×",
        attempts=str(each.attempts),
    )


def _figures(found: Insights) -> tuple[tuple[str, str], ...]:
    numbers = found.numbers
    return (
        (tell("low"), _points(numbers.lowest)),
        ("25%", _points(numbers.quarter)),
        (tell("median"), _points(numbers.median)),
        ("75%", _points(numbers.three_quarters)),
        (tell("high"), _points(numbers.highest)),
        (tell("mean"), _points(numbers.mean)),
    )
