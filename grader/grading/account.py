"""The report of a grading: what was found, on what, and the notebook with its outputs.

What a cell put out comes from a student's process and may be anything. Only plain text and PNGs are
taken, bounded in number and size, and no path of the grading machine stays in them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec
from nbformat import NotebookNode

from grader.assignment import Assignment
from grader.data import DataSet
from grader.environment import describe_environment
from grader.execute.consequences import told_problems
from grader.execute.problems import PathRedaction, own_folders
from grader.execute.result import Execution
from grader.grading.preparation import Preparation, as_given
from grader.grading.rescoring import describe_assignment, rubric_digest
from grader.language import Text, one_of_ours, say
from grader.reading.submission import (
    SubmissionFile,
    first_cell_with,
    line_in_file,
    names_of,
)
from grader.report import (
    Cell,
    CellOutput,
    CellProblem,
    Data,
    Duration,
    Part,
    Report,
    SandboxFacts,
    Submission,
    Timing,
    image_size,
)

# The text of code that a notebook showed coloured: what `mod.show()` and `sch.show()` display.
#
# TVM colours it by Pygments, and displays the HTML of that alone. It came from a student's process
# and may be any HTML. So it is read by a grammar with nothing in it but what Pygments writes: of
# anything else there is no text. No tag of it gets any further.


LONGEST_MARKUP: Final = 400_000
"""Longest HTML that is read, in characters: of 10,000 characters of code TVM makes 60,000."""

_STYLE = r'(?: style="[^"<>&]{0,200}")?'
_HEAD = re.compile(rf'\s{{0,9}}<div class="highlight"{_STYLE}><pre{_STYLE}>')
_END = re.compile(r"</pre></div>\s{0,9}\Z")
_TOKEN = re.compile(rf"(?P<open><span{_STYLE}>)|(?P<close></span>)|[^<&]+|&(?:amp|lt|gt|quot|#39);")


def listed_code(markup: object) -> str | None:
    """Return the code in HTML as Pygments writes it with styles of its own, None for other HTML."""
    if not isinstance(markup, str) or len(markup) > LONGEST_MARKUP:
        return None
    head, end = _HEAD.match(markup), _END.search(markup, max(0, len(markup) - 21))
    if head is None or end is None:
        return None
    return _text(markup, head.end(), end.start())


def _text(markup: str, place: int, end: int) -> str | None:
    """Return the text between two places, None where there is anything but it and its colours."""
    pieces, is_open = [], False
    while place < end:
        token = _TOKEN.match(markup, place, end)
        if token is None or (token["open"] and is_open) or (token["close"] and not is_open):
            return None  # Pygments never nests its colours
        if token.lastgroup is None:
            pieces.append(token[0])
        else:
            is_open = token.lastgroup == "open"
        place = token.end()
    return None if is_open else html.unescape("".join(pieces)).rstrip("\n")


SOURCE_LENGTH = 40_000
"""Longest source of a cell, in characters."""

OUTPUT_LENGTH = 10_000
"""Longest text that a cell put out, in characters."""

OUTPUTS = 40
"""Most outputs of a cell."""

SOURCES_SIZE = 300_000
TEXTS_SIZE = 200_000
IMAGES_SIZE = 1_000_000
"""Bytes of JSON that all sources, all texts, and all images together take at most."""

MARKUP_SIZE = 4_000_000
"""Characters of HTML that are looked through for listings, in all."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_OBJECT = re.compile(r"<[\w.]+( object)?( at 0x[0-9a-f]+)?>")
_ALONE = frozenset({"text/html", "image/svg+xml", "application/javascript", "text/latex"})
"""What a notebook may show that no report holds: markup and programs. Of listings their text is."""

_ELLIPSIS = "…"


def transcribe(
    submission: SubmissionFile,
    execution: Execution | None,
    places: PathRedaction,
    handout: frozenset[str] = frozenset(),
) -> tuple[Cell, ...]:
    """Return the cells of a submission with their outputs; () where nothing was run.

    `handout` are the cells that students were given, as `as_given` has them.
    Sources are as they were handed in. A cell that was brought to today's spelling keeps of its
    traceback the last line alone: the lines above are not the student's.
    """
    if execution is None or submission.notebook is None:
        return ()
    writer = _Writer(execution.problems, places, handout)
    pairs = zip(submission.notebook.cells, execution.notebook.cells, strict=True)
    return tuple(writer.cells(pairs))


class _Writer:
    """Writes cells down, as long as there is room for them."""

    def __init__(
        self, problems: tuple[CellProblem, ...], places: PathRedaction, handout: frozenset[str]
    ) -> None:
        self._handout = handout
        self._problems = {problem.cell: problem for problem in problems}
        self._places = places
        self._sources = _Room(SOURCES_SIZE)
        self._texts = _Room(TEXTS_SIZE)
        self._images = _Room(IMAGES_SIZE)
        self._markup = MARKUP_SIZE

    def cells(self, pairs: Iterable[tuple[NotebookNode, NotebookNode]]) -> Iterator[Cell]:
        """Yield a cell for each pair of one that was handed in and the same one when it had run."""
        number = 0
        for own, run in pairs:
            is_code = own.cell_type == "code"
            counts = is_code and bool(own.source.strip())
            number += counts
            yield Cell(
                kind="code" if is_code else "markdown",
                source=self._sources.take(_cut(own.source, SOURCE_LENGTH)),
                number=number if counts else None,
                line=line_in_file(own),
                outputs=tuple(self._outputs(own, run, number)) if counts else (),
                given=as_given(own.source) in self._handout,
            )

    def _outputs(self, own: NotebookNode, run: NotebookNode, number: int) -> Iterator[CellOutput]:
        problem = self._problems.get(number) if own.source != run.source else None
        for output in run.outputs[:OUTPUTS]:
            if self._texts.is_full and self._images.is_full:
                return
            made = self._image(output) or self._text(output, problem)
            if made is not None:
                yield made
        if len(run.outputs) > OUTPUTS:
            yield CellOutput("result", self._texts.take(_ELLIPSIS))

    def _image(self, output: NotebookNode) -> CellOutput | None:
        encoded = _bundle(output).get("image/png")
        if not isinstance(encoded, str) or len(encoded) > IMAGES_SIZE:
            return None
        encoded = "".join(encoded.split())  # a kernel may write it in lines
        if image_size(encoded) is None or not self._images.has(encoded):
            return None
        return CellOutput("image", self._images.take(encoded))

    def _text(self, output: NotebookNode, problem: CellProblem | None) -> CellOutput | None:
        if self._texts.is_full:  # a cell may put out more than it takes a second to look through
            return None
        kind, text, left_out = self._listing(output) or _plain_text(output, problem)
        clean = self._places.without(_overwritten(_ANSI.sub("", text[: 4 * OUTPUT_LENGTH])))
        kept = self._texts.take(_cut(clean, OUTPUT_LENGTH)) if clean else ""
        return CellOutput(kind, kept, left_out) if kept or left_out else None

    def _listing(self, output: NotebookNode) -> _PlainText | None:
        """Return the code that was shown coloured, None for any other output."""
        bundle = _bundle(output)
        markup = bundle.get("text/html")
        if not isinstance(markup, str) or len(markup) > self._markup or not _shown(bundle)[1]:
            return None
        self._markup -= len(markup)
        code = listed_code(_string(markup))
        return None if code is None else ("listing", code, ())


class _Room:
    """Counts the bytes of JSON that are left for some kind of text."""

    def __init__(self, size: int) -> None:
        self._left = size

    @property
    def is_full(self) -> bool:
        """Whether nothing more fits, however short it is."""
        return self._left <= 0

    def has(self, text: str) -> bool:
        return _size(text) <= self._left

    def take(self, text: str) -> str:
        """Return a text that fits, or an ellipsis instead, or nothing after the first of these."""
        if self.has(text):
            self._left -= _size(text)
            return text
        self._left, is_first = 0, self._left > 0
        return _ELLIPSIS if is_first else ""


def _size(text: str) -> int:
    return len(msgspec.json.encode(text))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + _ELLIPSIS


_TextKind = Literal["stdout", "stderr", "result", "error", "listing"]
_PlainText = tuple[_TextKind, str, tuple[str, ...]]


def _plain_text(output: NotebookNode, problem: CellProblem | None) -> _PlainText:
    """Return of an output what is plain text, and the types of what that does not tell of.

    `problem` stands for a traceback where it is given. A kernel may send anything as a field of a
    message.
    """
    kind = output.get("output_type")
    if kind == "stream":
        name: _TextKind = "stderr" if output.get("name") == "stderr" else "stdout"
        return name, _string(output.get("text")), ()
    if kind == "error":
        if problem is not None:
            return "error", f"{problem.error}: {problem.message}", ()
        frames = output.get("traceback")
        lines = [_string(frame) for frame in frames] if isinstance(frames, list) else []
        last = f"{_string(output.get('ename'))}: {_string(output.get('evalue'))}"
        return "error", "\n".join(lines) or last, ()
    return "result", *_shown(_bundle(output))


def _shown(bundle: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return the text of a display, and what it was shown as where the text tells nothing."""
    text = _string(bundle.get("text/plain"))
    left = tuple(sorted(_ALONE & bundle.keys()))
    tells_nothing = not text or _OBJECT.fullmatch(text) is not None
    return text, left if tells_nothing else ()


def _bundle(output: NotebookNode) -> Mapping[str, Any]:
    data = output.get("data")
    return data if isinstance(data, dict) else {}


def _string(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode()  # halves of surrogate pairs


def _overwritten(text: str) -> str:
    """Return what a terminal shows of lines that were written over, as progress bars do."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)


Results = tuple[tuple[Part, ...], "Timing | None"]
"""All parts in order, and the timing if one was made."""


def _notes_on(submission: SubmissionFile, assignment: Assignment) -> tuple[Text, ...]:
    """Return what is to be said of a submission's text, whatever it computes."""
    about = (*_divided(submission), *_watched(submission, assignment), *_withheld(assignment))
    return (*submission.notes, *about)


def _withheld(assignment: Assignment) -> tuple[Text, ...]:
    """Say which points a release of the course cannot give (docs/ci.md)."""
    if not assignment.withheld:
        return ()
    return (say("not-graded-here-hidden-parts-worth-points", points=assignment.withheld),)


def _divided(submission: SubmissionFile) -> tuple[Text, ...]:
    """Say of a script or Markdown what its cells are: who wrote it has never seen them."""
    cells = len(submission.starts)
    if not cells:
        return ()
    if cells == 1:
        return (say("file-run-as-one-code-cell"),)
    return (say("file-run-as-code-cells-one-after", cells=cells),)


def _watched(submission: SubmissionFile, assignment: Assignment) -> tuple[Text, ...]:
    """Say where the code has a word that the instructor watches for."""
    found = [(word, first_cell_with(word, submission.sources)) for word in assignment.watch]
    return tuple(
        say("code-cell-uses-this-costs-no-points", cell=cell, word=word)
        for word, cell in found
        if cell is not None
    )


def make_report(
    submission: SubmissionFile,
    prepared: Preparation,
    data: DataSet,
    results: Results,
    execution: Execution | None,
    notes: tuple[Text, ...],
    duration: Duration,
) -> Report:
    """Return all verdicts of a submission as one document."""
    assignment, settings = prepared.course_assignment.assignment, prepared.settings
    parts, timing = results
    cells = transcribe(submission, execution, _places(prepared), prepared.handout())
    if execution is not None:
        notes += (*_notes_on(submission, assignment), *execution.notes)
    return Report(
        score=round(sum(part.score for part in parts), 6),
        max_score=assignment.graded_points,
        assignment=describe_assignment(assignment),
        submission=_describe_submission(submission, execution),
        parts=(*parts, *_left_to_people(assignment, submission, cells)),
        problems=told_problems(execution) if execution is not None else (),
        notes=notes,
        timing=timing,
        data=Data(data.name, len(data.images), _hidden_inputs(assignment), data.detail),
        sandbox=SandboxFacts(settings.sandbox.level, settings.sandbox.detail),
        environment=describe_environment(),
        seed=settings.seed,
        duration=duration,
        language=one_of_ours(settings.language or submission.declared_language),
        dialect="current" if execution is None else execution.dialect,
        cells=cells,
        basis=prepared.basis(data),
        rubric=rubric_digest(assignment),
        graded=settings.now().replace(microsecond=0),
    )


def _left_to_people(
    assignment: Assignment, submission: SubmissionFile, cells: tuple[Cell, ...]
) -> Iterator[Part]:
    """Yield the parts that a person marks, and where their answers are among the report's cells."""
    own = submission.notebook.cells if cells and submission.notebook is not None else []
    named = [(names_of(cell), cell.source) for cell in own]
    for table in assignment.manual:
        answer = tuple(at for at, cell in enumerate(named) if table.is_answer(*cell))
        yield Part(table.id, table.named, 0.0, 0.0, (), open=table.points, answer=answer)


def _places(prepared: Preparation) -> PathRedaction:
    course = prepared.course_assignment.folder.resolve().parents[1]
    return PathRedaction((course, *own_folders()))


def _hidden_inputs(assignment: Assignment) -> int:
    model = 0 if assignment.oracle is None else assignment.oracle.hidden_inputs
    return model + sum(each.samples for each in assignment.computation)


def _describe_submission(submission: SubmissionFile, execution: Execution | None) -> Submission:
    cells = execution.cells if execution is not None else 0
    executed = execution.executed if execution is not None else 0
    name, digest, starts = submission.name, submission.sha256, submission.starts
    return Submission(name, digest, cells, executed, starts)
