"""The report in a terminal: what was earned, what was lost and why, and what to do next.

Everything is laid out with lines and indents and not with colours, so that it reads the same in a
pipe. All text of the report is foreign text: it reaches rich only as `Text`, which is never read as
markup.
"""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.panel import Panel
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from grader.language import Text as Words
from grader.render import wording
from grader.render.diagnosis import diagnosis_section, sample_section
from grader.render.evidence import evidence_section
from grader.render.findings import (
    Cause,
    as_listed,
    cells_run,
    circumstances,
    failed_cells,
    first_causes,
    is_graded,
    is_lost,
    left_to_people,
    place_of,
    told_cause,
    told_together,
    worth,
)
from grader.render.graph_text import GraphDrawing
from grader.render.pieces import STYLES, ShareBar, mark, plain_table
from grader.render.speech import speaking, tell
from grader.render.timings import speed_section
from grader.report import Check, Part, Report, Timing, Verdict

WIDEST = 100
"""Columns that are used at most: longer lines are hard to read."""

BAR_WIDTH = 50


def render(report: Report, console: Console) -> None:
    """Print a report on `console`, in its own language, at most `WIDEST` columns wide."""
    with speaking(report.language):
        body = Group(*(Padding(section, (0, 0, 1, 0)) for section in _sections(report)))
        console.print(Page(body), width=min(console.width, WIDEST), end="")


def _sections(report: Report) -> Iterator[RenderableType]:
    starts = report.submission.starts
    yield _score(report)
    causes = first_causes(report)
    yield from _first(report, causes)
    yield from _notes(report)
    if report.parts:
        yield points_table(report.parts)
    for part in as_listed(report, causes).parts:
        yield part_section(part, starts, left_to_people(part, report))
    yield from _problems(report)
    yield from _speed(report.timing)
    yield _circumstances(report)


class Page:
    """Shows its content in what the console can write, without spaces at the ends of lines.

    A character that the console's encoding lacks becomes a question mark, the micro sign a u.
    """

    def __init__(self, content: RenderableType) -> None:
        self.content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in Segment.split_lines(console.render(self.content, options)):
            while line and not line[-1].text.strip():
                line.pop()
            for position, segment in enumerate(line, 1):
                text = _writable(segment.text, console.encoding)
                yield Segment(text.rstrip() if position == len(line) else text, segment.style)
            yield Segment.line()


def _writable(text: str, encoding: str) -> str:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.replace("µ", "u").encode(encoding, "replace").decode(encoding)
    return text


class _Mark:
    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(mark(self.verdict, options), style=f"bold {STYLES[self.verdict]}")


class _Heading:
    def __init__(self, title: str, beside: str = "") -> None:
        self.title = Text(title, style="bold")
        if beside:
            self.title.append(f"  {beside}", style="dim")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.title
        line = "-" if options.ascii_only else "─"
        yield Text(line * min(self.title.cell_len, options.max_width), style="dim")


# --- score and parts ------------------------------------------------------------------------------


def _score(report: Report) -> RenderableType:
    submission = report.submission
    title = wording.one_line(report.assignment.title)
    lines: list[RenderableType] = [
        *([Text(title, style="bold")] if title else []),
        Text(wording.one_line(submission.name)),
    ]
    if is_graded(report):
        reached = wording.reached(report.score, report.max_score), wording.not_marked(report.open)
        lines += [
            Text(cells_run(submission), style="dim"),
            Text(),
            Text(", ".join(filter(None, reached)), style="bold"),
            ShareBar(report.score / report.max_score if report.max_score else 0.0, BAR_WIDTH),
        ]
    else:
        lines.append(Text(tell("not-graded-title"), style="bold"))
    return Panel(Group(*lines), box=box.ROUNDED, padding=(1, 2), border_style="dim")


def _notes(report: Report) -> Iterator[RenderableType]:
    if report.notes:
        yield Group(*(Text(wording.plain(note), style="yellow") for note in report.notes))


def _first(report: Report, causes: Sequence[Cause]) -> Iterator[RenderableType]:
    """Yield what to mend first, a line each: three mistakes are seen at once."""
    if not causes:
        return
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    for number, cause in enumerate(causes, start=1):
        title = wording.one_line(report.parts[cause.part].title)
        brings = tell("in-brackets", words=worth(cause))
        line = Text.assemble((title, "bold"), tell("colon"), told_cause(cause, report), brings)
        grid.add_row(f"{number}.", line)
    yield Group(_Heading(tell("fix-this-first")), grid)


def points_table(parts: tuple[Part, ...]) -> RenderableType:
    """Return a table with the points of every part."""
    table = plain_table(expand=True)
    table.add_column(tell("part"), ratio=1, overflow="fold")
    table.add_column(tell("points"), justify="right", no_wrap=True)
    for part in parts:
        points = _points(part.score, part.max_score)
        if part.open:
            points = Text(wording.points_of_part(part), style="yellow")
        table.add_row(Text(wording.one_line(part.title)), points)
    return table


def _points(score: float, maximum: float) -> Text:
    if not maximum:
        return Text()
    style = "green" if score >= maximum else "yellow" if score > 0 else "red"
    return Text(wording.points_of(score, maximum), style=style)


def part_section(part: Part, starts: tuple[int, ...] = (), note: str = "") -> RenderableType:
    """Return a part: what was graded, its checks, and the reasons for points that were lost.

    `starts` are the lines on which the cells of a script or Markdown begin, `note` is what is said
    of a part that has no checks.
    """
    points = wording.points_of_part(part)
    rows: list[RenderableType] = [_Heading(wording.one_line(part.title), points)]
    if note:
        rows.append(Text(note))
    if part.origin is not None:
        rows.append(Text(wording.built(part.origin, starts), style="dim"))
    rows.append(_checks(part.checks))
    rows += _explained(part)
    rows += map(evidence_section, part.sections)
    if part.graph is not None and part.graph.nodes:
        rows += [Text(), Text(tell("graph-main-label"), style="dim"), GraphDrawing(part.graph)]
    return Group(*rows)


def _explained(part: Part) -> Iterator[RenderableType]:
    diagnosis = part.diagnosis
    if diagnosis is not None:
        yield Text()
        if not wording.is_told(part):
            yield Text(wording.plain(diagnosis.message))
            if diagnosis.advice:
                yield advice(diagnosis.advice)
        yield from diagnosis_section(diagnosis)
    if part.sample is not None:
        yield Text()
        yield from sample_section(part.sample)


def _checks(checks: tuple[Check, ...]) -> RenderableType:
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(width=1)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_column(justify="right", no_wrap=True)
    for same in told_together(checks):
        for check in same:
            title = Text(wording.one_line(check.title))
            grid.add_row(_Mark(check.verdict), title, _points(check.score, check.max_score))
        if same[0].reason and is_lost(same[0]):
            grid.add_row("", _explain(same[0]), "")
    return grid


def _explain(check: Check) -> RenderableType:
    rows: list[RenderableType] = [Text(wording.plain(check.reason))]
    if check.hint:
        rows.append(advice(check.hint))
    return Group(*rows)


def advice(hint: str | Words) -> Text:
    """Return what to do next, and that it is that."""
    return Text.assemble((tell("what-do"), "bold"), wording.plain(hint))


# --- cells and speed ------------------------------------------------------------------------------


def _problems(report: Report) -> Iterator[RenderableType]:
    if not report.problems:
        return
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    for problem in failed_cells(report):
        error = Text(wording.one_line(problem.error), style="red")
        if problem.message:
            message = wording.error_of(problem)
            error.append(f": {message}", style="default")
        grid.add_row(Text(place_of(problem, report)), error)
        if problem.hint:
            grid.add_row("", advice(problem.hint))
    yield Group(_Heading(tell("failed-cells")), grid)


def _speed(timing: Timing | None) -> Iterator[RenderableType]:
    if timing is not None:
        yield Group(_Heading(tell("speed-your-schedule")), *speed_section(timing))


# --- circumstances --------------------------------------------------------------------------------


def _circumstances(report: Report) -> RenderableType:
    grid = Table.grid(padding=(0, 2), expand=True)
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(ratio=1, overflow="fold")
    for name, value in circumstances(report):
        grid.add_row(name, Text(value))
    return Group(_Heading(tell("how-graded")), grid)
