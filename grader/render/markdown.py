"""The report in Markdown (CommonMark), in which foreign text stays text.

Escapes are those of CommonMark 0.31, section 2.4: a backslash before ASCII punctuation. What GitHub
makes of text beyond that (mentions, references to issues, emoji, addresses without brackets) has no
escape; a space without width breaks it up.

What stands between backquotes in a sentence is code, as on a page (`wording.spans`). Who wrote it
does not matter: a span is closed where it is written, and what a text with backquotes of its own
leaves outside of it is escaped like any other. In code nothing has a meaning, to GitHub either.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from grader.language import Text, counted, say
from grader.render import wording
from grader.render.evidence import code_of
from grader.render.findings import (
    Cause,
    as_listed,
    cells_run,
    circumstances,
    failed_cells,
    first_causes,
    is_address,
    is_graded,
    is_lost,
    left_to_people,
    place_of,
    reading,
    told_cause,
    told_together,
    worth,
)
from grader.render.speech import speaking, tell
from grader.render.timings import StepRow, speed_sentence, steps_view
from grader.render.wording import built, is_told, one_line, plain
from grader.report import (
    Bars,
    CellProblem,
    Check,
    Diagnosis,
    Grid,
    Paragraph,
    Part,
    Report,
    Section,
    StepSpeeds,
)

_MARKUP = re.compile(r"[\\`*_\[\]<>&|~$#]")
_AT_LINE_START = re.compile(r"^(?:[-+=]|:(?=-)|\d+(?=[.)](?:\s|$)))")
_REFERENCE = re.compile(r"(?:(?<=[@#])|(?<=GH-))(?=\w)|(?<=www)(?=\.)|(?<=:)(?=//)", re.IGNORECASE)
_EMOJI = re.compile(r"(?<=:)(?=[\w+-]+:)")
_BACKTICKS = re.compile(r"`+")

_BREAK = "\u200b"
_NOTHING = "–"


def text(foreign: str | Text) -> str:
    """Return foreign text as Markdown for the same text, on one line; it may begin a line."""
    return _escape(one_line(foreign)) or _NOTHING


def lines(foreign: str | Text) -> str:
    """Return foreign text as a paragraph with the lines that it has."""
    rows = (_escape(row.strip()) for row in plain(foreign).split("\n"))
    return "\\\n".join(row for row in rows if row) or _NOTHING


def _escape(row: str) -> str:
    written = ""
    for is_code, piece in wording.spans(row):
        # A backquote that is next to another one would make one fence of the two.
        apart = _BREAK if is_code and written.endswith("`") else ""
        written += apart + (f"`{piece}`" if is_code else _escape_words(piece))
    return _AT_LINE_START.sub(lambda found: _escape_start(found.group()), written)


def _escape_words(words: str) -> str:
    broken = _EMOJI.sub(_BREAK, _REFERENCE.sub(_BREAK, words))
    return _MARKUP.sub(r"\\\g<0>", broken)


def _escape_start(found: str) -> str:
    """Escape what would begin a list, a heading or a table: a sign, or what follows a number."""
    return found + "\\" if found.isdigit() else "\\" + found


def code(foreign: str) -> str:
    """Return foreign text as code within a line."""
    content = one_line(foreign)
    if not content:
        return _NOTHING
    fence = "`" * (_longest_run(content) + 1)
    return f"{fence} {content} {fence}" if "`" in content else f"{fence}{content}{fence}"


def block(content: str) -> str:
    """Return printable text as a block of code."""
    fence = "`" * max(3, _longest_run(content) + 1)
    return f"{fence}text\n{content}\n{fence}"


def indented(markdown: str) -> str:
    """Return Markdown as it stands in an item of a list."""
    return "\n".join("  " + row if row else row for row in markdown.split("\n"))


def _longest_run(content: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(content)), default=0)


def render_markdown(report: Report) -> bytes:
    """Return a report as Markdown, in UTF-8 and in its own language."""
    return "\n".join(sections(report)).encode()


def sections(report: Report) -> Iterator[str]:
    """Yield the report's sections in order, each ending in a newline."""
    with speaking(report.language):
        causes = first_causes(report)
        said = [
            _score(report),
            *_first(report, causes),
            *([_notes(report.notes)] if report.notes else []),
            *([_overview(report.parts)] if len(report.parts) > 1 else []),
            *(_part(part, report) for part in as_listed(report, causes).parts),
            *([_problems(report)] if report.problems else []),
            *([_speed(report)] if report.timing is not None else []),
            _how(report),
        ]
    yield from said


def _labelled(label: str, told: str) -> str:
    return label + tell("colon") + told


def _section(*blocks: str) -> str:
    return "\n\n".join(each.rstrip("\n") for each in blocks if each) + "\n"


def _score(report: Report) -> str:
    title = tell(report.assignment.title) or report.submission.name
    heading = "# " + _labelled(text(title), code(report.submission.name))
    if not is_graded(report):
        return _section(heading, f"**{tell('not-graded-title')}**")
    reached = wording.reached(report.score, report.max_score)
    return _section(
        heading,
        f"**{', '.join(filter(None, (reached, wording.not_marked(report.open))))}**",
        text(cells_run(report.submission)),
    )


def _first(report: Report, causes: Sequence[Cause]) -> Iterator[str]:
    rows = []
    for number, cause in enumerate(causes, start=1):
        title, said = report.parts[cause.part].title, told_cause(cause, report)
        brings = tell("in-brackets", words=worth(cause))
        rows.append(f"{number}. **{text(title)}**{tell('colon')}{text(said + brings)}")
    if rows:
        yield _section("## " + tell("fix-this-first"), "\n".join(rows))


def _notes(notes: tuple[Text, ...]) -> str:
    return _section(*(lines(note) for note in notes))


def _overview(parts: tuple[Part, ...]) -> str:
    rows = (f"- {text(part.title)}{tell('colon')}{wording.points_of_part(part)}" for part in parts)
    return _section("\n".join(rows))


def _part(part: Part, report: Report) -> str:
    points = wording.points_of_part(part)
    return _section(
        f"## {text(part.title)} ({points})",
        text(left_to_people(part, report)) if part.open else "",
        text(built(part.origin, report.submission.starts)) if part.origin else "",
        "\n".join(_checks(part.checks)),
        *_diagnosis(part),
        *(told for section in part.sections for told in _evidence(section)),
    )


def _checks(checks: tuple[Check, ...]) -> Iterator[str]:
    """Yield an item a check; neighbours that lost for the same reason share its text."""
    for same in told_together(checks):
        yield from map(_item, same)
        if is_lost(same[0]) and same[0].reason:
            yield f"\n{indented(lines(same[0].reason))}\n"
            if same[0].hint:
                yield f"{indented(_advice(same[0].hint))}\n"


def _item(check: Check) -> str:
    points = wording.points_of(check.score, check.max_score)
    return f"- {wording.MARKS[check.verdict]} {text(check.title)}" + (
        f" ({points})" if check.max_score else ""
    )


def _advice(hint: Text) -> str:
    return "**" + tell("what-do").strip() + f"** {lines(hint)}"


def _diagnosis(part: Part) -> Iterator[str]:
    """Yield where a part departs from PyTorch, unless a reason says it, and where to read again."""
    diagnosis = part.diagnosis
    if diagnosis is None:
        return
    if not is_told(part):
        yield lines(diagnosis.message)
        yield _advice(diagnosis.advice) if diagnosis.advice else ""
    yield text(tell("step-by-step-beside-pytorch"))  # and no item of the list above
    yield "\n".join(_steps(diagnosis))
    link = tell(diagnosis.link)
    if is_address(link):
        yield tell("read-again-title", link=f"<{link}>")
    elif link:
        yield text(reading(link))


def _steps(diagnosis: Diagnosis) -> Iterator[str]:
    first = max(0, diagnosis.wrong - wording.STEPS_BEFORE)
    last = diagnosis.wrong + wording.STEPS_AFTER
    if first:
        yield f"- {_more_steps(first)}"
    for step in diagnosis.steps[first : last + 1]:
        beside = f": PyTorch {text(step.layer)}" if step.layer else ""
        name = " = ".join(filter(None, (step.variable, step.callee)))
        yield f"- {wording.MARKS[step.status]} {code(name)} {tuple(step.shape)}{beside}"
    rest = len(diagnosis.steps) - last - 1
    if rest > 0:
        yield f"- {_more_steps(rest)}"


def _more_steps(count: int) -> str:
    one, many = say("more-step"), say("more-steps")
    return text(counted(count, one, many))


def _evidence(section: Section) -> Iterator[str]:
    yield f"### {text(section.title)}"
    for each in section.blocks:
        if isinstance(each, Paragraph):
            yield lines(each.text)
        elif isinstance(each, Bars):
            yield "\n".join(_bars(each))
        elif isinstance(each, Grid):
            yield "\n".join(_rows(each))
        else:
            yield block(code_of(each))


def _bars(bars: Bars) -> Iterator[str]:
    for each in bars.bars:
        yield "- " + _labelled(text(each.label), text(each.text))
    if bars.limit_text:
        yield f"- {text(bars.limit_text)}"


def _rows(grid: Grid) -> Iterator[str]:
    """Yield an item for each row: a cell may be anything, and tables are no CommonMark."""
    for row in grid.rows:
        pairs = zip(grid.head, row, strict=False)
        yield "- " + tell("semicolon").join(
            _labelled(text(title), text(cell)) for title, cell in pairs
        )


def _problems(report: Report) -> str:
    told = islice(failed_cells(report), wording.MOST_PROBLEMS)
    items = [_problem(problem, report) for problem in told]
    more = wording.more_problems(report)
    items += [f"- {more}"] if more else []
    return _section("## " + tell("failed-cells"), "\n".join(items))


def _problem(problem: CellProblem, report: Report) -> str:
    item = "- " + _labelled(text(place_of(problem, report)), code(problem.error))
    if problem.message:
        item += "\n\n" + indented(block(wording.error_of(problem))) + "\n"
    if problem.hint:
        item += "\n" + indented(_advice(problem.hint)) + "\n"
    return item


def _speed(report: Report) -> str:
    if report.timing is None:
        return ""
    notes = (lines(note) for note in report.timing.notes)
    return _section(
        "## " + tell("speed-your-schedule"),
        text(speed_sentence(report.timing)),
        *_brought(report.timing.steps),
        *notes,
    )


def _brought(speeds: StepSpeeds | None) -> Iterator[str]:
    """Yield what each step brought: a sentence, an item a step that changed the speed, notes."""
    if speeds is None:
        return
    view = steps_view(speeds)
    yield text(view.sentence) if view.sentence else ""
    yield "\n".join(map(_step, view.rows))
    yield from map(text, view.notes)


def _step(row: StepRow) -> str:
    said = [_labelled(code(row.name), f"{text(row.factor)} {text(f'({row.interval})')}")]
    said += [text(each) for each in (row.verdict, row.place) if each]
    told = tell("semicolon").join(said)
    return "- " + (_labelled(told, code(row.line)) if row.line else told)


def _how(report: Report) -> str:
    rows = ("- " + _labelled(text(name), text(value)) for name, value in circumstances(report))
    return _section("## " + tell("how-graded"), "\n".join(rows))
