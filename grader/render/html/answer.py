"""What a self-check says, for a notebook that shows HTML: the page's own sections, its own style.

A host puts it into a page of its own. So the style is for what is inside alone, there is no script,
and no two answers have the same id. A host that does not trust a notebook takes the style and the
drawings away: what is left says the same.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from markupsafe import Markup

from grader.language import Text
from grader.render import wording
from grader.render.html.clean import cleaned_part
from grader.render.html.page import Budget, OverviewRow, macro, overview_row
from grader.render.html.parts import forms, part_view
from grader.render.html.text import words
from grader.render.speech import spoken
from grader.report import Part

SIZE: Final = 900_000
"""Most bytes of the parts of an answer: it is saved with the notebook, once for each check."""

Row = tuple[tuple[str, bool], ...]
"""Texts of a row of a table, and whether each is code."""


class Answer(NamedTuple):
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
    notes: Iterable[Text],
    total: str,
    remarks: Iterable[Text],
    *,
    identity: str,
) -> str:
    """Return the answer to a check, in the language that is spoken.

    `identity` tells this answer from the others in a notebook: letters and digits, an id's end.
    """
    shown = tuple(map(cleaned_part, parts))
    anchors = [f"grader-{identity}-{place}" for place in range(1, len(shown) + 1)]
    overview = zip(anchors, shown, strict=True) if len(shown) > 1 else ()
    answer = Answer(
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
    text = macro("answer", piece, {**words(), "language": spoken()})(*values)
    return text.encode("utf-8", "replace").decode()


def _pieces(parts: Iterable[tuple[str, Part]]) -> Iterator[Markup]:
    write, budget = macro("parts", "part", words()), Budget(SIZE)
    for anchor, part in parts:
        view = part_view(part, anchor)
        yield budget.fit(*(functools.partial(write, form) for form in forms(view)))
