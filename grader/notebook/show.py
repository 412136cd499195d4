"""A self-check as a notebook shows it: the report's own sections, as plain text and as HTML.

Rich makes the HTML of the same text, inside of `<pre>`, and escapes everything in it.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from grader.language import say, speaking
from grader.notebook.messages import AssignmentCard, Checked
from grader.render import wording
from grader.render.terminal import Page, advice, part_section, points_table

WIDTH = 92
"""Columns of what is shown: the output of a cell is narrower than most terminals."""

Bundle = dict[str, str]
"""What is displayed, by MIME type."""

_PRE = (
    '<pre style="white-space:pre-wrap;line-height:1.35;'
    "font-family:Menlo,'DejaVu Sans Mono',Consolas,monospace\">{code}</pre>"
)

# Legible on a light and on a dark page: no colour is near white or near black.
_GREY = (128, 128, 128)
_THEME = TerminalTheme(
    _GREY,
    _GREY,
    [
        _GREY,
        (214, 69, 69),
        (46, 143, 78),
        (181, 126, 20),
        (64, 120, 192),
        (150, 90, 180),
        (40, 140, 150),
        _GREY,
    ],
)


def show_checked(checked: Checked, notes: tuple[str, ...] = ()) -> Bundle:
    """Return a self-check, with sentences that concern the notebook as a whole."""
    with speaking(checked.language):
        return _bundle(_checked(checked, notes))


def show_parts(card: AssignmentCard) -> Bundle:
    """Return the table of an assignment's parts."""
    with speaking(card.language):
        return _bundle(_parts(card))


def show_message(message: str, hint: str = "") -> Bundle:
    """Return a sentence, and what to do next."""
    lines: list[RenderableType] = [Text(wording.plain(message))]
    if hint:
        lines.append(advice(hint))
    return _bundle([Group(*lines)])


def _checked(checked: Checked, notes: tuple[str, ...]) -> Iterator[RenderableType]:
    if len(checked.parts) > 1:
        yield Text(wording.one_line(checked.title), style="bold")
        yield points_table(checked.parts)
    yield from map(part_section, checked.parts)
    if notes:
        yield Group(*(Text(wording.plain(note), style="yellow") for note in notes))
    yield Group(
        Text(_so_far(checked), style="bold"),
        *(Text(wording.plain(sentence)) for sentence in _not_checked(checked)),
        *(Text(wording.plain(sentence), style="dim") for sentence in checked.compared),
    )


def _so_far(checked: Checked) -> str:
    score = sum(part.score for part in checked.parts)
    maximum = sum(part.max_score for part in checked.parts)
    return say(
        "So far {score} of {maximum} points. Only the grading counts.",
        score=wording.points(score),
        maximum=wording.points(maximum),
    )


def _not_checked(checked: Checked) -> Iterator[str]:
    if checked.undecided:
        yield say(
            "Decided when you are graded: {points} points.",
            points=wording.points(checked.undecided),
        )
    yield from checked.left_out


def _parts(card: AssignmentCard) -> Iterator[RenderableType]:
    yield Text(f"{wording.one_line(card.title)} ({card.slug})", style="bold")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    for heading in (say("Part"), say("Graded by the name"), say("Title")):
        table.add_column(heading, overflow="fold")
    table.add_column(say("Points"), justify="right", no_wrap=True)
    for part in card.parts:
        names = ", ".join(part.entry.names)
        points = wording.points(part.points)
        table.add_row(Text(part.id), Text(names), Text(wording.one_line(part.title)), points)
    yield table


def _bundle(sections: Iterable[RenderableType]) -> Bundle:
    """Lay sections one below the other, an empty line between them."""
    body = Group(*(Padding(section, (0, 0, 1, 0)) for section in sections))
    console = Console(
        file=io.StringIO(),
        record=True,
        width=WIDTH,
        color_system="truecolor",
        force_terminal=True,
        force_jupyter=False,  # rich would display by itself
    )
    console.print(Page(body), end="")
    html = console.export_html(theme=_THEME, code_format=_PRE, inline_styles=True, clear=False)
    return {"text/plain": console.export_text().rstrip(), "text/html": html}
