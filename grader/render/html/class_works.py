"""Pages that put the works of a class beside one another: a leaderboard, and which are alike."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from markupsafe import escape

from grader.insights.exports import Leaderboard
from grader.language import Text, say
from grader.render import wording
from grader.render.html.charts import names_on_page
from grader.render.html.page import SIZE, written
from grader.render.speech import speaking, tell
from grader.similarity.fragments import Fragment, FragmentKind, Writing
from grader.similarity.pairs import Pair, Similarities, Support

_MOST = 2_000
_NAME: Final = 60

_ELSEWHERE = say("measured-on-another-kind-machine")
_ELSEWHERE_MANY = say("measured-on-other-kinds-machines")


def render_leaderboard(board: Leaderboard, title: Text, language: str, made: str) -> bytes:
    """Return the page, in a language."""
    with speaking(language):
        return written(
            "leaderboard.html.j2",
            slug=wording.one_line(board.assignment)[:_NAME],
            title=wording.one_line(title)[:300],
            machine=_machine(board),
            elsewhere=_elsewhere(board),
            rows=_rows(board),
            made=made,
        )


def leaderboard_markdown(board: Leaderboard, title: Text, language: str) -> bytes:
    """Return the ranks as a table in Markdown, in a language."""
    with speaking(language):
        heading = _plain(wording.one_line(title) or board.assignment)
        columns = (tell("rank"), tell("name"), tell("speed-up"), tell("95-interval"))
        lines = [
            f"# {tell('leaderboard')}: {heading}",
            "",
            _plain(_machine(board)),
            "",
            f"| {' | '.join(columns)} |",
            "|---:|---|---:|---:|",
            *(f"| {' | '.join(map(_plain, row))} |" for row in _rows(board)),
            "",
            tell("rank-one-plus-number-significantly-faster-schedules"),
            _elsewhere(board),
        ]
        return ("\n".join(lines).rstrip() + "\n").encode("utf-8", "replace")


def _machine(board: Leaderboard) -> str:
    told = tell(
        "measured-on-reference-times-as-fast",
        machine=board.machine,
        reference=wording.factor(board.reference),
    )
    return wording.one_line(told)[:400]


def _elsewhere(board: Leaderboard) -> str:
    if not board.elsewhere:
        return ""
    return wording.counted(board.elsewhere, _ELSEWHERE, _ELSEWHERE_MANY)


def _rows(board: Leaderboard) -> tuple[tuple[str, str, str, str], ...]:
    return tuple(
        (
            str(each.rank),
            wording.one_line(each.name)[:_NAME] or "?",
            f"{wording.factor(each.speedup)}×",
            tell("to", low=wording.factor(each.low), high=wording.factor(each.high)),
        )
        for each in board.rows[:_MOST]
    )


def _plain(text: str) -> str:
    """Return text of which nothing is Markdown or HTML: a student chooses a name."""
    special = r"\`*_{}[]()<>#+!|~&"
    return "".join(f"\\{each}" if each in special else each for each in text)


# The page of works that are alike: the evidence of two side by side, for an instructor.


_FRAME: Final = 200_000
_LINES: Final = 30
_LINE: Final = 240

KINDS: Mapping[FragmentKind, tuple[Text, Text]] = {
    "code": (say("fragment-code"), say("fragments-code")),
    "schedule": (say("step-schedule"), say("steps-schedules")),
    "ir": (say("function-as-graded"), say("functions-as-graded")),
}


class _Side(NamedTuple):
    """One of two: where it stands, and its lines; none for a function as graded."""

    place: str
    lines: str


class _Evidence(NamedTuple):
    rare: str
    one: _Side
    other: _Side


class _Pair(NamedTuple):
    anchor: str
    names: tuple[tuple[str, str], tuple[str, str]]
    percent: str
    share: float
    shared: str
    evidence: tuple[_Evidence, ...]


def render_similar(
    found: Similarities, writings: Mapping[str, Writing], language: str, made: str
) -> bytes:
    """Return the page, in a language, of at most SIZE bytes."""
    with speaking(language):
        names = _names(writings)
        pairs = tuple(_within(SIZE - _FRAME, _pairs(found, writings, names)))
        left_out = len(found.pairs) - len(pairs)
        return written(
            "similar.html.j2",
            slug=wording.one_line(found.assignment)[:_NAME],
            about=wording.counted(found.works, say("work-compared"), say("works-compared")),
            pairs=pairs,
            clusters=tuple(tuple(names[id] for id in each[:200]) for each in found.clusters),
            left_out=tell("more-pairs-in-json", count=left_out) if left_out else "",
            made=made,
        )


def _within(room: int, pairs: Iterator[_Pair]) -> Iterator[_Pair]:
    for each in pairs:
        sides = (side for shown in each.evidence for side in (shown.one, shown.other))
        room -= 1_500 + sum(len(escape(side.lines).encode()) + 300 for side in sides)
        if room < 0:
            return
        yield each


_Names = Mapping[str, tuple[str, str]]
"""What students are called, and the addresses of their pages, by their ids."""


def _pairs(found: Similarities, writings: Mapping[str, Writing], named: _Names) -> Iterator[_Pair]:
    for number, each in enumerate(found.pairs, start=1):
        names = named[each.one], named[each.other]
        percent = 100 * each.likeness
        evidence = tuple(_evidence(one, each, writings, found.works) for one in each.evidence)
        told = f"{percent:.0f}%"
        yield _Pair(f"pair-{number}", names, told, round(percent, 1), _shared(each), evidence)


def _names(writings: Mapping[str, Writing]) -> _Names:
    names = names_on_page({id: each.name for id, each in writings.items()})
    pages = {id: each.page for id, each in writings.items()}
    return {
        id: (name, pages[id] if ":" not in pages[id].split("/")[0] else "")
        for id, name in names.items()
    }


def _shared(pair: Pair) -> str:
    told = (wording.counted(pair.shared[k], *KINDS[k]) for k in KINDS if pair.shared.get(k))
    return ", ".join(told)


def _evidence(
    support: Support, pair: Pair, writings: Mapping[str, Writing], works: int
) -> _Evidence:
    rare = tell("have", count=support.students, all=works)
    sides = zip((pair.one, pair.other), (support.one, support.other), strict=True)
    one, other = (_side(writings[id], fragment) for id, fragment in sides)
    return _Evidence(rare, one, other)


def _side(writing: Writing, fragment: Fragment) -> _Side:
    if not 0 <= fragment.cell < len(writing.sources):
        return _Side(tell("function-after-schedule-as-tvm-prints"), "")
    lines = writing.sources[fragment.cell].split("\n")[fragment.first - 1 : fragment.last]
    own = textwrap.dedent("\n".join(lines[:_LINES])).split("\n")
    shown = [wording.plain(line)[:_LINE] for line in own]
    more = ["…"] if len(lines) > _LINES else []
    number = writing.numbers[fragment.cell]
    place = tell("code-cell-line-2", cell=number, line=fragment.first)
    return _Side(place, "\n".join([*shown, *more]))
