"""Pages for one browser on this machine: those of `grader mark`, and those of `grader preview`."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, NamedTuple

from markupsafe import Markup
from msgspec.structs import replace
from nbformat import NotebookNode

from grader.language import NOTHING, Text
from grader.render import wording
from grader.render.html.clean import cleaned
from grader.render.html.notebook import CellView, Notebook
from grader.render.html.page import PageBudget, macro, written
from grader.render.html.sections import share
from grader.render.speech import speaking, tell
from grader.report import Cell, Environment, Report, ungraded_report

SIZE: Final = 2_900_000
"""Bytes of the cells of a page."""

MARKING_STYLE, MARKING_SCRIPT = "/mark.css", "/mark.js"
"""Where the page finds its style sheet and its script."""

_DIGITS: Final = "1234567890"


class RubricRow(NamedTuple):
    """An item of the rubric; `points` has its sign. Of those of a `group` one may be chosen."""

    id: str
    text: Text
    points: str
    group: str
    is_chosen: bool


class MarkingView(NamedTuple):
    """What the page shows beside the answer.

    `whose` is the student, or a number in their place. `state` says who has marked it, and `seen`
    is the number of that entry, 0 for none. `comments` are what was said before. The addresses are
    empty where they lead nowhere. `question` is the course's own text of it, if there is one.
    """

    title: Text
    part: Text
    whose: Text
    about: Text
    points: str
    state: Text
    seen: int
    rows: tuple[RubricRow, ...]
    comment: str
    comments: tuple[str, ...]
    done: int
    all: int
    shows_all: bool
    shows_notebook: bool
    own: str
    previous: str
    next: str
    other_filter: str
    other_extent: str
    question: Text = NOTHING


class _ShownRow(NamedTuple):
    """A row as the template wants it; `key` chooses it, empty where no key is left."""

    id: str
    key: str
    text: str
    points: str
    is_chosen: bool


class _ShownGroup(NamedTuple):
    """Rows of which one may be chosen, or rows without a group: `name` is empty then."""

    name: str
    rows: tuple[_ShownRow, ...]


def render_marking(
    view: MarkingView,
    report: Report,
    answer: tuple[int, ...],
    lang: str,
    question: tuple[int, ...] = (),
) -> bytes:
    """Return the page, in a language; `answer` are the places of the cells that are shown.

    All cells are shown where there are none. `question` are the cells of the notebook that stand
    before the answer; the course's own question takes their place. It loads its style and its
    script alone.
    """
    with speaking(lang):
        is_own = bool(view.question.english)
        shown, places = _shown_cells(view, report, answer, question if not is_own else (), lang)
        cells = tuple(written_cells(shown, places))
        first = len(places) - len(answer or report.cells)
        return written(
            "marking.html.j2",
            style=MARKING_STYLE,
            script=MARKING_SCRIPT,
            title=wording.one_line(view.title),
            part=wording.one_line(view.part),
            whose=wording.one_line(view.whose),
            about=wording.one_line(view.about),
            state=wording.one_line(view.state),
            comment=wording.plain(view.comment),
            comments=tuple(map(wording.one_line, view.comments)),
            groups=tuple(_groups(view.rows)),
            progress=tell("marked", done=view.done, all=view.all),
            share=share(view.done, view.all),
            question=cells[:first],
            asked=tell("question") if is_own else tell("before-answer-in-notebook"),
            cells=cells[first:],
            is_found=bool(answer) or view.shows_notebook,
            view=view,
        )


def _shown_cells(
    view: MarkingView,
    report: Report,
    answer: tuple[int, ...],
    question: tuple[int, ...],
    lang: str,
) -> tuple[Report, tuple[int, ...]]:
    """Return a report and the places of its cells that are shown: first those of the question."""
    places = answer or tuple(range(len(report.cells)))
    own = view.question.in_(lang)
    if not own:
        return report, (*question, *places)
    cell = Cell(kind="markdown", source=own)
    return replace(report, cells=(*report.cells, cell)), (len(report.cells), *places)


def render_marked(title: Text, done: int, address: str, lang: str) -> bytes:
    """Return the page of when there is nothing left to mark; all are shown at the address."""
    with speaking(lang):
        return written(
            "marked.html.j2",
            style=MARKING_STYLE,
            script=MARKING_SCRIPT,
            title=wording.one_line(title),
            progress=tell("marked", done=done, all=done),
            address=address,
            is_empty=not done,
        )


def _groups(rows: tuple[RubricRow, ...]) -> Iterator[_ShownGroup]:
    """Yield the rows in order, those of a group together where its first one stands."""
    keys = dict(zip((each.id for each in rows), _DIGITS, strict=False))
    groups = [each.group for each in rows]
    names = [*dict.fromkeys(filter(None, groups))]
    places = [groups.index(group) if group else place for place, group in enumerate(groups)]
    ordered = sorted(zip(places, rows, strict=True), key=lambda pair: pair[0])
    for group, own in groupby((row for _, row in ordered), key=lambda row: row.group):
        name = f"group-{names.index(group)}" if group else ""
        yield _ShownGroup(name, tuple(_shown(each, keys) for each in own))


def _shown(row: RubricRow, keys: dict[str, str]) -> _ShownRow:
    text = wording.one_line(row.text)
    return _ShownRow(row.id, keys.get(row.id, ""), text, row.points, row.is_chosen)


def written_cells(report: Report, answer: tuple[int, ...]) -> Iterator[Markup]:
    """Yield the cells at these places, or all of them, as long as there is room."""
    chosen = [report.cells[at] for at in answer if at < len(report.cells)]
    few = replace(report, parts=(), notes=(NOTHING,), cells=tuple(chosen) or report.cells)
    shown = cleaned(few)
    write, notebook, budget = macro("notebook", "cell"), Notebook(shown), PageBudget(SIZE)
    views = (notebook.full, notebook.plain, notebook.cut)
    for cell in shown.cells:
        piece = budget.fit(*(functools.partial(_written, write, view, cell) for view in views))
        if not piece:
            return
        yield piece


def _written(
    write: Callable[[CellView], Markup], view: Callable[[Cell], CellView], cell: Cell
) -> Markup:
    return write(view(cell))


# The pages of a preview: three frames side by side, and what two of them show.
#
# They are shown by a server of this machine (`preview.py`), with a style sheet and a script of
# their own. The third frame is a report's page as it is.


PREVIEW_STYLE, PREVIEW_SCRIPT = "/preview.css", "/preview.js"
"""Where the pages find their style sheet and their script."""

_LANGUAGES: Final = {"en": "English", "zh": "中文", "ko": "한국어"}


def render_frames(
    languages: tuple[str, ...],
    mutants: tuple[tuple[str, str], ...],
    language: str,
    mutant: str,
    spoken_language: str,
) -> bytes:
    """Return the page with the frames: the template in `language`, and `mutant` graded.

    `mutants` are ids and what they are; without an id it is the solved notebook.
    """
    with speaking(spoken_language):
        reference = tell("the-solved-notebook")
        shown = [(each, f"{each}: {wording.plain(about)}") for each, about in mutants if each]
        return written(
            "preview.html.j2",
            style=PREVIEW_STYLE,
            script=PREVIEW_SCRIPT,
            languages=[(each, _LANGUAGES.get(each, each)) for each in languages],
            mutants=[("", reference), *shown],
            chosen_language=language,
            chosen_mutant=mutant,
        )


def render_notebook(notebook: NotebookNode, language: str) -> bytes:
    """Return a notebook as it would be read, without outputs."""
    return _render(_cells_of(notebook), language)


def render_files(files: Mapping[str, str], language: str) -> bytes:
    """Return files one below the other, each with its name."""
    return _render([each for pair in files.items() for each in _cells_of_file(*pair)], language)


def render_told(reason: Text, hint: Text, language: str) -> bytes:
    """Return a page with a sentence in place of what cannot be shown, and what to do next."""
    return _render((), language, reason, hint)


def _render(
    cells: Iterable[Cell], language: str, reason: Text = NOTHING, hint: Text = NOTHING
) -> bytes:
    nowhere = Environment(python="", cpu="", cores=0, packages={})
    report = replace(ungraded_report("", NOTHING, nowhere), cells=tuple(cells), notes=())
    with speaking(language):
        return written(
            "preview_pane.html.j2",
            style=PREVIEW_STYLE,
            cells=tuple(written_cells(report, ())) if report.cells else (),
            reason=wording.plain(reason),
            hint=wording.plain(hint),
        )


def _cells_of(notebook: NotebookNode) -> list[Cell]:
    number, found = 0, []
    for each in notebook.cells:
        counts = each.cell_type == "code" and bool(each.source.strip())
        number += counts
        count = number if counts else None
        found.append(Cell(kind=each.cell_type, source=each.source, number=count))
    return found


def _cells_of_file(name: str, text: str) -> list[Cell]:
    heading = Cell(kind="markdown", source=f"### `{name}`")
    if name.endswith(".py"):
        return [heading, Cell(kind="code", source=text)]
    return [heading, Cell(kind="markdown", source=f"~~~~~~toml\n{text}\n~~~~~~")]
