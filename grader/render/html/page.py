"""The page: its head, its words and its pieces, put together within its size."""

from __future__ import annotations

import base64
import functools
import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from grader.language import say
from grader.render import wording
from grader.render.asking import AskAddress
from grader.render.final_grade import (
    DecidedPart,
    Decision,
    DecisionItem,
    FinalGrade,
    ToldObjection,
    ToldReply,
    as_decided,
)
from grader.render.findings import (
    as_listed,
    cells_run,
    circumstances,
    failed_cells,
    first_causes,
    is_graded,
    missing_parts,
    place_of,
)
from grader.render.html.charts import speed_view
from grader.render.html.clean import PARTS, TEXT_LENGTH, cleaned, length_of
from grader.render.html.notebook import Notebook
from grader.render.html.sections import (
    CellAnchors,
    CheckGroup,
    CheckView,
    ObjectionView,
    PartView,
    ReplyView,
    first_view,
    forms,
    part_anchor,
    part_views,
    share,
    standing,
    standing_of,
)
from grader.render.speech import speaking, spoken, tell
from grader.report import Cell, Part, Report, Timing, Verdict

_MARKED, _MARKED_BY = say("this-part-marked-by-hand"), say("marked-by-hand")
_NO_ITEM = say("no-rubric-item-chosen")

_REASON, _COMMENT = 2_000, 4_000
"""Characters of an item, which may be a reason that somebody wrote, and of a comment."""

_SIGNS: Final[dict[Verdict, str]] = {
    "passed": "+",
    "failed": "−",
    "not_graded": "–",
}


def with_decisions(view: PartView, decided: DecidedPart | None) -> PartView:
    """Return a part with what a person decided of it, below what its checks say."""
    if decided is None:
        return view
    groups = tuple(map(_group, decided.decisions))
    origin = view.origin or (tell(_MARKED) if decided.is_marked else "")
    return view._replace(groups=(*view.groups, *groups), origin=origin)


def _group(decision: Decision) -> CheckGroup:
    items = decision.items or (DecisionItem(_NO_ITEM),)
    comment = wording.plain(decision.comment, _COMMENT)
    return CheckGroup(tuple(map(_row, items)), reason=comment, hint="")


def _row(item: DecisionItem) -> CheckView:
    verdict = _verdict(item)
    mark = _SIGNS[verdict] if item.factor is None else "×"
    title = wording.one_line(item.text, _REASON)
    return CheckView(verdict, mark, tell(_MARKED_BY), title, _points(item))


def _verdict(item: DecisionItem) -> Verdict:
    change = item.points or 0.0 if item.factor is None else item.factor - 1
    return "passed" if change > 0 else "failed" if change < 0 else "not_graded"


def _points(item: DecisionItem) -> str:
    if item.factor is not None:
        return f"× {item.factor:g}"
    return "" if item.points is None else wording.signed_points(item.points)


# What a student asked about a grade, and what was answered.

_REPLIES: Final = 3
"""So many replies to a question are shown: the newest."""

_ROOM: Final = 10_000
"""Characters of the questions that stand together. The newest is shown however long it is."""

_TEXT, _WHO = 4_000, 100
_BY, _BY_WITH_POINTS = say("who-time"), say("who-time-points")


class Questions:
    """The questions of a page. Those about no part of the report are `general`."""

    def __init__(self, report: Report, final: FinalGrade | None, ask: AskAddress | None) -> None:
        parts = {each.id for each in report.parts}
        self._ask, self._is_told = ask, final is not None and final.is_told
        self._asked: tuple[ToldObjection, ...] = () if final is None else final.objections
        self.address = "" if ask is None else ask.of()
        general = [each for each in self._asked if each.part not in parts]
        self.general = self._views(general)

    def beside(self, view: PartView, part: str) -> PartView:
        """Return a part with what was asked about it, and where to ask."""
        own = self._views(each for each in self._asked if each.part == part)
        return view._replace(objections=own, ask="" if self._ask is None else self._ask.of(part))

    def _views(self, asked: Iterable[ToldObjection]) -> tuple[ObjectionView, ...]:
        return tuple(map(self._view, _newest([*asked])))

    def _view(self, asked: ToldObjection) -> ObjectionView:
        replies = tuple(map(self._reply, asked.replies[-_REPLIES:]))
        return ObjectionView(asked.time, wording.plain(asked.text, _TEXT), replies)

    def _reply(self, reply: ToldReply) -> ReplyView:
        who = wording.one_line(reply.who, _WHO)
        by = tell(_BY, who=who, time=reply.time)
        if reply.points and self._is_told:
            points = wording.signed_points(reply.points)
            by = tell(_BY_WITH_POINTS, who=who, time=reply.time, points=points)
        return ReplyView(by, wording.plain(reply.text, _TEXT))


def _newest(asked: list[ToldObjection]) -> list[ToldObjection]:
    sizes = itertools.accumulate(map(_size_of, reversed(asked)))
    count = max(1, sum(size <= _ROOM for size in sizes))
    return asked[-count:]


def _size_of(asked: ToldObjection) -> int:
    texts = (asked.text, *(each.text for each in asked.replies[-_REPLIES:]))
    return sum(min(len(each.english), _TEXT) for each in texts)


_BEFORE = say("score-maximum-before-adjustments-and-lateness")


class Score(NamedTuple):
    """The score: its numbers, a sentence that says them, and its share in percent.

    `open` says how many points are not marked yet, `before` what the report comes to with what a
    person has marked, where the score is another one; each is empty where there is nothing to say.
    """

    number: str
    maximum: str
    sentence: str
    share: float
    verdict: str
    open: str
    before: str = ""


class OverviewRow(NamedTuple):
    """A part in the overview; `anchor` is its place on the page."""

    anchor: str
    title: str
    points: str
    share: float
    verdict: str


class ProblemRow(NamedTuple):
    """A cell that failed; `anchor` is its place on the page, empty where it is not shown."""

    place: str
    anchor: str
    error: str
    message: str
    hint: str


def score(report: Report, final: FinalGrade | None = None) -> Score:
    """Return the one score of a page: the grade, where somebody made one of the report's points."""
    if final is None:
        return _score(report.score, report.max_score, report.open)
    marked = as_decided(report, final.marked)
    own = _score(marked.score, marked.max_score, marked.open)
    if not final.is_told:
        return own._replace(before=tell("before-adjustments-and-lateness"))
    graded = _score(final.points, final.possible, final.open)
    if (graded.number, graded.maximum) == (own.number, own.maximum):
        return graded
    return graded._replace(before=tell(_BEFORE, score=own.number, maximum=own.maximum))


def _score(reached: float, most: float, open: float) -> Score:
    number, maximum = wording.points(reached), wording.points(most)
    return Score(
        number=number,
        maximum=maximum,
        sentence=wording.reached(reached, most),
        share=share(reached, most),
        verdict=standing(reached, most),
        open=wording.not_marked(open),
    )


def overview(report: Report) -> Iterator[OverviewRow]:
    """Yield a row for each part."""
    for place, part in enumerate(report.parts, start=1):
        yield overview_row(part, part_anchor(place))


def overview_row(part: Part, anchor: str) -> OverviewRow:
    """Return the row of a part."""
    return OverviewRow(
        anchor=anchor,
        title=tell(part.title),
        points=wording.points_of_part(part),
        share=share(part.score, part.max_score),
        verdict=standing_of(part),
    )


def problem_rows(report: Report, hints: Iterable[str]) -> Iterator[ProblemRow]:
    """Yield a row for each cell that ended in an error, with what is left of its hint."""
    anchors = CellAnchors(report)
    for problem, hint in zip(report.problems, hints, strict=False):
        yield ProblemRow(
            place=place_of(problem, report),
            anchor=anchors.of(problem.cell),
            error=problem.error,
            message=problem.message,
            hint=hint,
        )


_ROOT_SIZE = re.compile(r"(?<![\w.])(\d*\.?\d+)rem\b")


def template(name: str) -> Template:
    """Return the template of this file name."""
    return _environment().get_template(name)


def written(name: str, **values: object) -> bytes:
    """Return a page of the template of this file name, in the language that is spoken."""
    return template(name).render(**values).encode("utf-8", "replace")


def asset(name: str) -> bytes:
    """Return a style sheet or a script, which may be put together of others."""
    return template(name).render().encode()


def macro(name: str, piece: str) -> Callable[..., Markup]:
    """Return what makes a piece of a page: a macro of `name`.html.j2."""
    module: Any = template(f"{name}.html.j2").make_module()
    found: Callable[..., Markup] = getattr(module, piece)
    return found


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("grader.render.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"tell": tell, "spoken": spoken, "style_hash": style_hash}
    environment.filters["spans"] = wording.spans
    environment.filters["resized"] = _resized
    return environment


def _resized(style: str) -> Markup:
    """Measure our own style sheet by `--rem` in place of the root's letters, which are a host's."""
    return Markup(_ROOT_SIZE.sub(r"calc(\1 * var(--rem))", style))  # noqa: S704 - it is a file of ours


class PageBudget:
    """Counts the bytes that are left of a page, or of a part of it."""

    def __init__(self, size: int) -> None:
        self.left = size

    def fit(self, *forms: Callable[[], Markup]) -> Markup:
        """Return the first form that fits, else nothing. The forms become smaller and smaller."""
        for form in forms:
            piece = form()
            size = len(piece.encode("utf-8", "replace"))
            if size <= self.left:
                self.left -= size
                return piece
        return Markup()

    def part(self, most: int) -> PageBudget:
        """Take away what a part may use at most; what it leaves comes back by `give_back`."""
        size = min(most, self.left)
        self.left -= size
        return PageBudget(size)

    def give_back(self, part: PageBudget) -> None:
        """Take back what a part has not used."""
        self.left += part.left
        part.left = 0


SIZE: Final = 2_900_000
"""Largest page, in bytes."""

_FRAME: Final = 600_000
"""Bytes for everything but parts, speed and notebook: five lists, the style, what comes first."""

_PARTS: Final = 900_000
_SPEED: Final = 200_000
_LIST: Final = 100_000
"""Bytes of a list of notes, parts, errors or circumstances."""

_ROW: Final = 400
"""Bytes that a row of such a list takes beside its texts."""

_LINKS: Final = 40_000
_LINK: Final = 120
"""Bytes of the list of a notebook's own cells, and those of one of them beside its texts."""

_FOLD: Final = 120
"""Bytes that folding cells takes beside what is said of them."""

_GRADE_LINE: Final = 2_000
"""Characters of a step to a grade: a reason has what somebody wrote as a comment."""

_LEFT_OUT: Final = 1_000
"""Bytes that are kept for the sentence on what is left out of the notebook."""

Row = TypeVar("Row", bound=tuple[object, ...])


def render_html(
    report: Report,
    whose: str = "",
    attempt: int | None = None,
    final: FinalGrade | None = None,
    ask: AskAddress | None = None,
) -> bytes:
    """Return a report as one HTML page, in its own language, of at most SIZE bytes.

    `whose` stands in its title, the name or the folder of whoever handed it in, and which `attempt`
    of theirs it is, counted from 1, where somebody knows that. `final` is what a gradebook makes of
    it: that is the page's score then, and the report's own points are told as what was before.
    `ask` is where the student asks about it.

    It loads nothing and has no script. All text is escaped by the templates; what nobody can see is
    taken out of it, and images are PNGs. Where it would become too large, the notebook's images
    and then its cells are left out, and the page says so.
    """
    with speaking(report.language):
        return _Page(report, _heading(whose, attempt), final, ask).render()


def _steps(final: FinalGrade | None) -> Iterator[tuple[str]]:
    """Yield the lines of a grade, as far as the page's reader may know it."""
    if final is not None and final.is_told:
        for line in final.lines:
            yield (wording.one_line(line)[:_GRADE_LINE],)


def _heading(whose: str, attempt: int | None) -> str:
    """Return who handed it in, and for which time, as far as that is known."""
    times = "" if attempt is None else tell("attempt-2", attempt=attempt)
    return ", ".join(filter(None, (wording.one_line(whose)[:TEXT_LENGTH], times)))


class _Page:
    def __init__(
        self, report: Report, whose: str, final: FinalGrade | None, ask: AskAddress | None
    ) -> None:
        self._questions = Questions(report, final, ask)
        self._is_graded = is_graded(report) or final is not None
        self._score = score(report, final)
        self._decided: dict[str, DecidedPart] = {}
        if final is not None:
            self._decided = {each.id: each for each in final.told}
            report = as_decided(report, final.told)
        self._whose = whose
        self._final = final
        self._cell_count = len(report.cells)
        self._shown, self._is_full = 0, False
        self._budget = PageBudget(SIZE - _FRAME - _LEFT_OUT)
        # Of texts as they were said: a clean one is words alone.
        causes = [each for each in first_causes(report) if each.part < PARTS]
        self._hints = [wording.plain(each.hint) for each in failed_cells(report)]
        self._report = cleaned(as_listed(report, causes))
        self._notebook = Notebook(self._report)
        self._first = tuple(first_view(each, report) for each in causes)
        self._missing = missing_parts(report) - {each.part for each in causes[:1]}

    def render(self) -> bytes:
        """Return the document."""
        report, cells = self._report, tuple(self._cells())
        return written(
            "page.html.j2",
            report=report,
            title=tell(report.assignment.title),
            whose=self._whose,
            is_graded=self._is_graded,
            score=self._score,
            cells_run=cells_run(report.submission),
            overview=_some(overview(report)),
            grade=_some(_steps(self._final)),
            objections=self._questions.general,
            ask=self._questions.address,
            first=self._first,
            own_cells=_some(self._notebook.own_cells(report.cells[: self._shown]), _LINKS, _LINK),
            notes=_some((tell(note),) for note in report.notes),
            problems=_some(problem_rows(report, self._hints)),
            parts=tuple(self._parts()),
            speed=Markup() if report.timing is None else self._speed(report.timing),
            cells=cells,
            circumstances=_some(circumstances(report)),
        )

    def _parts(self) -> Iterator[Markup]:
        """Yield the parts, from the whole to what is left when nothing fits."""
        write = macro("parts", "part")
        budget = self._budget.part(_PARTS)
        views = part_views(self._report, self._missing)
        for part, view in zip(self._report.parts, views, strict=True):
            view = with_decisions(view, self._decided.get(part.id))
            view = self._questions.beside(view, part.id)
            piece = budget.fit(*(functools.partial(write, form) for form in forms(view)))
            if not piece:
                break
            yield piece
        self._budget.give_back(budget)

    def _speed(self, timing: Timing) -> Markup:
        write = macro("speed", "speed")
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
        write, notebook = macro("notebook", "handout"), self._notebook
        for is_folded, run in groupby(self._report.cells, notebook.is_folded):
            cells = tuple(run)
            outline = notebook.outline(cells) if is_folded else ""
            self._budget.left -= (_FOLD + len(escape(outline).encode())) * is_folded
            pieces = tuple(self._fitting(cells))
            yield from (write(outline, pieces),) if is_folded and pieces else pieces
        if self._shown < self._cell_count:
            count = tell("more-cells", count=self._cell_count - self._shown)
            yield macro("notebook", "left_out")(count)

    def _fitting(self, cells: Iterable[Cell]) -> Iterator[Markup]:
        """Yield cells until one does not fit; none is shown after it."""
        for cell in cells:
            if self._is_full:
                return
            piece = self._budget.fit(*self._forms_of(cell))
            self._is_full = not piece
            if piece:
                self._shown += 1
                yield piece

    def _forms_of(self, cell: Cell) -> Iterator[Callable[[], Markup]]:
        """Yield the forms of a cell that may fit: none is shorter than the text that is in it."""
        write, notebook = macro("notebook", "cell"), self._notebook
        if length_of(cell) <= self._budget.left:
            yield lambda: write(notebook.full(cell))
        if len(cell.source) <= self._budget.left:
            yield lambda: write(notebook.plain(cell))
        yield lambda: write(notebook.cut(cell))


def _some(rows: Iterable[Row], room: int = _LIST, each: int = _ROW) -> tuple[Row, ...]:
    left, kept = room, []
    for row in rows:
        left -= each + sum(len(escape(text).encode()) for text in row if isinstance(text, str))
        if left < 0:
            break
        kept.append(row)
    return tuple(kept)


@functools.cache
def style_hash(name: str) -> str:
    """Return what the content security policy calls a page's own style by: that of a template."""
    digest = hashlib.sha256(asset(name)).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
