"""The ranks of a class for students, as a page and as Markdown: no name of anybody is in them."""

from __future__ import annotations

from collections.abc import Mapping

from grader.insights.documents import Leaderboard
from grader.language import Text, say
from grader.render import wording
from grader.render.html.page import style_hash, template
from grader.render.html.text import words as report_words
from grader.render.speech import speaking, spoken, tell

_MOST = 2_000
_NAME = 60

_WORDS: Mapping[str, Text] = {
    "leaderboard": say("Leaderboard"),
    "name": say("Name"),
    "rank": say("Rank"),
    "ties": say(
        "A rank is one more than there are who are surely faster: whose intervals overlap cannot be"
        " told apart, and they share it. Who is here wants to be, under a name of their own choice."
    ),
    "unranked": say("Nobody is here yet."),
}

_ELSEWHERE = say("{count} was measured on another kind of machine, and is not compared.")
_ELSEWHERE_MANY = say("{count} were measured on other kinds of machines, and are not compared.")


def render_leaderboard(board: Leaderboard, title: Text, language: str, made: str) -> bytes:
    """Return the page, in a language."""
    with speaking(language):
        page = template("leaderboard.html.j2").render(
            words=report_words() | {name: tell(text) for name, text in _WORDS.items()},
            language=spoken(),
            style_hash=style_hash("insights.css"),
            slug=wording.one_line(board.assignment)[:_NAME],
            title=wording.one_line(title)[:300],
            machine=_machine(board),
            elsewhere=_elsewhere(board),
            rows=_rows(board),
            made=made,
        )
        return page.encode("utf-8", "replace")


def leaderboard_markdown(board: Leaderboard, title: Text, language: str) -> bytes:
    """Return the ranks as a table in Markdown, in a language."""
    with speaking(language):
        words = {name: tell(text) for name, text in _WORDS.items()}
        heading = f"{words['leaderboard']}: {_plain(wording.one_line(title) or board.assignment)}"
        columns = (words["rank"], words["name"], tell("Speed-up"), tell("95 % interval"))
        lines = [
            f"# {heading}",
            "",
            _plain(_machine(board)),
            "",
            f"| {' | '.join(columns)} |",
            "|---:|---|---:|---:|",
            *(f"| {' | '.join(map(_plain, row))} |" for row in _rows(board)),
            "",
            words["ties"],
            _elsewhere(board),
        ]
        return ("\n".join(lines).rstrip() + "\n").encode("utf-8", "replace")


def _machine(board: Leaderboard) -> str:
    told = tell(
        "Measured on {machine}; the reference is {reference} times as fast as the unscheduled"
        " function.",
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
            tell("{low} to {high}", low=wording.factor(each.low), high=wording.factor(each.high)),
        )
        for each in board.rows[:_MOST]
    )


def _plain(text: str) -> str:
    """Return text of which nothing is Markdown or HTML: a student chooses a name."""
    special = r"\`*_{}[]()<>#+!|~&"
    return "".join(f"\\{each}" if each in special else each for each in text)
