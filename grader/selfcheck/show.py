"""A self-check as a notebook shows it: the report's own sections, as plain text and as HTML.

The text is that of the terminal, the HTML that of the report's page. Who shows them takes one.
"""

import functools
import io
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from markupsafe import Markup
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from grader.language import NOTHING, say
from grader.language import Text as Words
from grader.render import wording
from grader.render.html.clean import cleaned_part
from grader.render.html.page import OverviewRow, PageBudget, macro, overview_row
from grader.render.html.sections import forms, part_view
from grader.render.pieces import plain_table
from grader.render.speech import speaking, tell
from grader.render.terminal import Page, advice, part_section, points_table
from grader.report import Part
from grader.selfcheck.messages import AssignmentCard, Checked, PartCard

# What a self-check says, for a notebook that shows HTML: the page's own sections, its own style.
#
# A host puts it into its own page. So the style is for what is inside alone, there is no
# script, and no two answers have the same id. A host that does not trust a notebook takes the style
# and the drawings away: what is left says the same.


SIZE: Final = 900_000
"""Most bytes of the parts of an answer: it is saved with the notebook, once for each check."""

Row = tuple[tuple[str, bool], ...]
"""Texts of a row of a table, and whether each is code."""


class ShownAnswer(NamedTuple):
    """What was found: parts, and sentences in the order in which they are said.

    `overview` is empty where there is one part alone, `total` what all parts come to.
    """

    title: str
    overview: tuple[OverviewRow, ...]
    notes: tuple[str, ...]
    total: str
    remarks: tuple[str, ...]


def render_checked(
    title: str,
    parts: Iterable[Part],
    notes: Iterable[Words],
    total: str,
    remarks: Iterable[Words],
    *,
    identity: str,
) -> str:
    """Return the answer to a check, in the language that is spoken.

    `identity` tells this answer from the others in a notebook: letters and digits, an id's end.
    """
    shown = tuple(map(cleaned_part, parts))
    anchors = [f"grader-{identity}-{place}" for place in range(1, len(shown) + 1)]
    overview = zip(anchors, shown, strict=True) if len(shown) > 1 else ()
    answer = ShownAnswer(
        title=wording.one_line(title),
        overview=tuple(overview_row(part, anchor) for anchor, part in overview),
        notes=tuple(map(wording.plain, notes)),
        total=wording.plain(total),
        remarks=tuple(map(wording.plain, remarks)),
    )
    return _render("checked", answer, tuple(_pieces(zip(anchors, shown, strict=True))))


def render_table(title: str, headings: tuple[str, ...], rows: Iterable[Row]) -> str:
    """Return a table; its last column has numbers."""
    cleaned = tuple(tuple((wording.one_line(text), code) for text, code in row) for row in rows)
    return _render("listed", wording.one_line(title), headings, cleaned)


def render_message(message: str, hint: str) -> str:
    """Return a sentence, and what to do next, which may be empty."""
    return _render("message", wording.plain(message), wording.plain(hint))


def _render(piece: str, *values: object) -> str:
    """Fill a macro in: the bytes of it are printable, so that any notebook can be saved."""
    text = macro("answer", piece)(*values)
    return text.encode("utf-8", "replace").decode()


def _pieces(parts: Iterable[tuple[str, Part]]) -> Iterator[Markup]:
    write, budget = macro("parts", "part"), PageBudget(SIZE)
    for anchor, part in parts:
        view = part_view(part, anchor)
        yield budget.fit(*(functools.partial(write, form) for form in forms(view)))


WIDTH = 92
"""Columns of what is shown: the output of a cell is narrower than most terminals."""

Bundle = dict[str, str]
"""What is displayed, by MIME type."""


def show_checked(checked: Checked, notes: tuple[Words, ...] = (), *, identity: str) -> Bundle:
    """Return a self-check, with sentences that concern the notebook as a whole.

    `identity` is for this answer alone: letters and digits, of which its HTML makes its ids.
    """
    with speaking(checked.language):
        remarks = (*_not_checked(checked), *checked.compared)
        html = render_checked(
            checked.title, checked.parts, notes, _so_far(checked), remarks, identity=identity
        )
        return {"text/plain": _text(_checked(checked, notes)), "text/html": html}


def show_parts(card: AssignmentCard) -> Bundle:
    """Return the table of an assignment's parts."""
    with speaking(card.language):
        title, rows = f"{wording.one_line(card.title)} ({card.slug})", list(map(_row, card.parts))
        html = render_table(
            title, _headings(), (tuple(zip(row, _IS_CODE, strict=True)) for row in rows)
        )
        return {"text/plain": _text(_parts(title, rows)), "text/html": html}


def show_message(message: Words, hint: Words = NOTHING) -> Bundle:
    """Return a sentence, and what to do next."""
    lines: list[RenderableType] = [Text(wording.plain(message))]
    if hint:
        lines.append(advice(hint))
    return {
        "text/plain": _text([Group(*lines)]),
        "text/html": render_message(tell(message), tell(hint)),
    }


def _checked(checked: Checked, notes: tuple[Words, ...]) -> Iterator[RenderableType]:
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
    return tell(
        "so-far-points-only-grading-counts",
        score=wording.points(score),
        maximum=wording.points(maximum),
    )


def _not_checked(checked: Checked) -> Iterator[Words]:
    if checked.undecided:
        yield say("decided-when-graded-points", points=wording.points(checked.undecided))
    yield from checked.left_out


_IS_CODE = (True, True, False, False)


def _headings() -> tuple[str, ...]:
    return tell("part"), tell("graded-by-name"), tell("title"), tell("points")


def _row(part: PartCard) -> tuple[str, ...]:
    names = ", ".join(part.entry.names)
    return part.id, names, wording.one_line(part.title), wording.points(part.points)


def _parts(title: str, rows: Iterable[tuple[str, ...]]) -> Iterator[RenderableType]:
    yield Text(title, style="bold")
    *headings, points = _headings()
    table = plain_table(*headings)
    table.add_column(points, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    yield table


def _text(sections: Iterable[RenderableType]) -> str:
    """Lay sections one below the other, an empty line between them."""
    body = Group(*(Padding(section, (0, 0, 1, 0)) for section in sections))
    console = Console(
        file=io.StringIO(),
        record=True,
        width=WIDTH,
        force_terminal=True,
        emoji=False,
        force_jupyter=False,  # rich would display by itself
    )
    console.print(Page(body), end="")
    return console.export_text().rstrip()
