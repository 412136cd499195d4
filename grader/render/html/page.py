"""The page: pieces that the templates make, put together within its size."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from markupsafe import Markup, escape

from grader.render import wording
from grader.render.circumstances import cells_run, circumstances
from grader.render.html.budget import Budget
from grader.render.html.clean import TEXT_LENGTH, cleaned
from grader.render.html.engine import macro, template
from grader.render.html.head import overview, problem_rows, score
from grader.render.html.notebook import Notebook
from grader.render.html.parts import forms, part_views
from grader.render.html.speed import speed_view
from grader.render.html.words import words
from grader.render.speech import speaking, spoken, tell
from grader.report import Cell, Report, Timing

SIZE: Final = 2_900_000
"""Largest page, in bytes."""

_FRAME: Final = 500_000
"""Bytes for everything but parts, speed and notebook: four lists, the style, and little more."""

_PARTS: Final = 900_000
_SPEED: Final = 200_000
_LIST: Final = 100_000
"""Bytes of a list of notes, parts, errors or circumstances."""

_ROW: Final = 400
"""Bytes that a row of such a list takes beside its texts."""

_LEFT_OUT: Final = 1_000
"""Bytes that are kept for the sentence on what is left out of the notebook."""

Row = TypeVar("Row", bound=tuple[object, ...])


def render_html(report: Report, whose: str = "") -> bytes:
    """Return a report as one HTML page, in its own language, of at most SIZE bytes.

    `whose` stands in its title: the folder of whoever handed it in, where somebody knows that.

    It loads nothing and has no script. All text is escaped by the templates; what nobody can see is
    taken out of it, and images are PNGs. Where it would become too large, the notebook's images
    and then its cells are left out, and the page says so.
    """
    with speaking(report.language):
        page = _Page(cleaned(report), len(report.cells), wording.one_line(whose)[:TEXT_LENGTH])
        return page.render().encode("utf-8", "replace")


class _Page:
    """A report's page, while it is made. `cells` counts those that it should have."""

    def __init__(self, report: Report, cells: int, whose: str) -> None:
        self._report = report
        self._whose = whose
        self._cell_count = cells
        self._budget = Budget(SIZE - _FRAME - _LEFT_OUT)
        self._words = words()

    def render(self) -> str:
        """Return the document."""
        report = self._report
        return template("page.html.j2").render(
            words=self._words,
            language=spoken(),
            style_hash=_style_hash(),
            report=report,
            title=tell(report.assignment.title),
            whose=self._whose,
            score=score(report),
            cells_run=cells_run(report.submission),
            overview=_some(overview(report)),
            notes=_some((tell(note),) for note in report.notes),
            problems=_some(problem_rows(report)),
            parts=tuple(self._parts()),
            speed=Markup() if report.timing is None else self._speed(report.timing),
            cells=tuple(self._cells()),
            circumstances=_some(circumstances(report)),
        )

    def _macro(self, name: str, piece: str) -> Callable[..., Markup]:
        return macro(name, piece, self._words)

    def _parts(self) -> Iterator[Markup]:
        """Yield the parts, from the whole to what is left when nothing fits."""
        write = self._macro("parts", "part")
        budget = self._budget.part(_PARTS)
        for view in part_views(self._report):
            piece = budget.fit(*(functools.partial(write, form) for form in forms(view)))
            if not piece:
                break
            yield piece
        self._budget.give_back(budget)

    def _speed(self, timing: Timing) -> Markup:
        write = self._macro("speed", "speed")
        view = speed_view(timing)
        budget = self._budget.part(_SPEED)
        piece = budget.fit(
            functools.partial(write, view),
            functools.partial(write, view._replace(distributions=(), rooflines=())),
        )
        self._budget.give_back(budget)
        return piece

    def _cells(self) -> Iterator[Markup]:
        """Yield the cells as long as there is room; then one sentence on the others."""
        write, notebook = self._macro("notebook", "cell"), Notebook(self._report)
        shown = 0
        for cell in self._report.cells:
            piece = self._budget.fit(*self._forms_of(cell, notebook, write))
            if not piece:
                break
            yield piece
            shown += 1
        if shown < self._cell_count:
            count = tell("{count:,} more cells", count=self._cell_count - shown)
            yield self._macro("notebook", "left_out")(count)

    def _forms_of(
        self, cell: Cell, notebook: Notebook, write: Callable[..., Markup]
    ) -> Iterator[Callable[[], Markup]]:
        """Yield the forms of a cell that may fit: none is shorter than the text that is in it."""
        if _length(cell) <= self._budget.left:
            yield lambda: write(notebook.full(cell))
        if len(cell.source) <= self._budget.left:
            yield lambda: write(notebook.plain(cell))
        yield lambda: write(notebook.cut(cell))


def _length(cell: Cell) -> int:
    return len(cell.source) + sum(len(output.text) for output in cell.outputs)


def _some(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return rows as long as there is room for them."""
    left, kept = _LIST, []
    for row in rows:
        left -= _ROW + sum(len(escape(text).encode()) for text in row if isinstance(text, str))
        if left < 0:
            break
        kept.append(row)
    return tuple(kept)


@functools.cache
def _style_hash() -> str:
    """Return what the content security policy calls the page's own style by."""
    style = template("style.css").render()
    digest = hashlib.sha256(style.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
