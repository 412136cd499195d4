"""The few fields of a notebook's JSON that are looked at. All others are gone past, and not built.

Python's reader builds every value: 60 MB of `[],` in some metadata became 3.2 GB of lists.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from grader.decoding import prepared
from grader.errors import SubmissionError
from grader.language import say
from grader.reading.messages import CELL_LIMIT, CELL_NAMES, NAME_LENGTH

_NOTHING = msgspec.Raw()
_BETWEEN = re.compile(rb"[\[,\s]*")
_SOURCES = ("source", "input")
"""What the text of a cell is called, the first one counting; format 3 says `input`."""


class RawCell(msgspec.Struct, frozen=True):
    """What is looked at of a cell: values as JSON has them, and the line on which the text begins.

    `source` is None where the cell has none. `names` are its id and its tags, as far as they are
    short texts.
    """

    is_code: bool
    source: object
    line: int | None
    names: tuple[str, ...] = ()


class RawNotebook(msgspec.Struct, frozen=True):
    """What is looked at of a notebook. `declared` is what its metadata say to the grader."""

    cells: list[RawCell]
    declared: Mapping[str, object]


def read_fields(content: bytes) -> RawNotebook:
    """Read a notebook of format 3 or 4. Raises SubmissionError for what is none.

    What a strict reader of JSON refuses, and Jupyter or Python may have written, is read all the
    same.
    """
    try:
        return _read_strictly(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _read_patiently(content.decode("utf-8", errors="replace").encode())


def _no_cells() -> SubmissionError:
    return SubmissionError(
        say("file-not-notebook-has-no-cells"), say("hand-in-ipynb-file-itself-as-jupyter")
    )


def check_count(cells: int) -> None:
    """Raise SubmissionError where there are too many cells."""
    if cells > CELL_LIMIT:
        raise SubmissionError(
            say("notebook-has-more-than-cells", cell_limit=CELL_LIMIT), say("hand-in-shorter-one")
        )


# --- with msgspec, which goes past what it is not asked for ---------------------------------------


class _Document(msgspec.Struct):
    cells: msgspec.Raw = _NOTHING
    worksheets: msgspec.Raw = _NOTHING
    metadata: msgspec.Raw = _NOTHING


class _Metadata(msgspec.Struct):
    """Of a notebook, or of a cell."""

    grader: msgspec.Raw = _NOTHING
    tags: msgspec.Raw = _NOTHING


class _Declared(msgspec.Struct):
    assignment: msgspec.Raw = _NOTHING
    language: msgspec.Raw = _NOTHING


class _Cell(msgspec.Struct):
    cell_type: msgspec.Raw = _NOTHING
    source: msgspec.Raw = _NOTHING
    input: msgspec.Raw = _NOTHING
    id: msgspec.Raw = _NOTHING
    metadata: msgspec.Raw = _NOTHING


def _read_strictly(content: bytes) -> RawNotebook:
    if not content.lstrip(b" \t\r\n").startswith(b"{"):
        msgspec.json.decode(content, type=msgspec.Raw)  # which says whether it is JSON at all
        raise _no_cells()
    document = msgspec.json.decode(content, type=prepared(_Document))
    lists = [document.cells] if _begins(document.cells, b"[") else _of_sheets(document)
    if not lists:
        raise _no_cells()
    rows = [(each, msgspec.json.decode(each, type=prepared(list[msgspec.Raw]))) for each in lists]
    check_count(sum(len(cells) for _, cells in rows))
    lines = _Lines(content)
    found = [cell for whole, cells in rows for cell in lines.of_cells(whole, cells)]
    return RawNotebook(found, _declared(document))


def _begins(raw: msgspec.Raw, sign: bytes) -> bool:
    return memoryview(raw)[:1] == sign


def _is_one_of(raw: msgspec.Raw, *values: bytes) -> bool:
    view = memoryview(raw)
    return any(len(view) == len(value) and bytes(view) == value for value in values)


def _of_sheets(document: _Document) -> list[msgspec.Raw]:
    """Return the lists of cells of all worksheets of format 3; none where there are no worksheets.

    A document with cells that are no list has none, whatever else is in it.
    """
    if not _begins(document.worksheets, b"[") or not _is_one_of(document.cells, b"", b"null"):
        return []
    sheets = msgspec.json.decode(document.worksheets, type=prepared(list[msgspec.Raw]))
    kind = prepared(_Document)
    found = (msgspec.json.decode(each, type=kind) for each in sheets if _begins(each, b"{"))
    lists = [sheet.cells for sheet in found if _begins(sheet.cells, b"[")]
    return lists or [msgspec.Raw(b"[]")]


def _declared(document: _Document) -> dict[str, object]:
    if not _begins(document.metadata, b"{"):
        return {}
    metadata = msgspec.json.decode(document.metadata, type=prepared(_Metadata))
    if not _begins(metadata.grader, b"{"):
        return {}
    declared = msgspec.json.decode(metadata.grader, type=prepared(_Declared))
    names = {"assignment": declared.assignment, "language": declared.language}
    return {name: msgspec.json.decode(raw) for name, raw in names.items() if _begins(raw, b'"')}


class _Lines:
    """Reads cells, and finds the lines of the file on which their texts begin."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._counted = 0
        self._line = 1

    def of_cells(self, whole: msgspec.Raw, cells: list[msgspec.Raw]) -> Iterator[RawCell]:
        """Yield the cells of a list, which is `whole` as it stands in the file."""
        at = _place(self._content, b"cells", whole)
        for raw in cells:
            cell, place = _cell(bytes(raw))
            if at is not None:
                at = _after(_BETWEEN, self._content, at)
            line = None if at is None or place is None else self._line_of(at + place)
            yield msgspec.structs.replace(cell, line=line)
            at = None if at is None else at + len(memoryview(raw))

    def _line_of(self, place: int) -> int:
        if place < self._counted:  # of worksheets whose places are not in their order
            self._counted, self._line = 0, 1
        self._line += self._content.count(b"\n", self._counted, place)
        self._counted = place
        return self._line


def _cell(raw: bytes) -> tuple[RawCell, int | None]:
    """Return a cell, and where its text begins in it; None where that is not certain."""
    if not raw.startswith(b"{"):
        return RawCell(is_code=False, source="", line=None), 0
    fields = msgspec.json.decode(raw, type=prepared(_Cell))
    is_code, names = _is_one_of(fields.cell_type, b'"code"'), _names(fields)
    for name in _SOURCES:
        text: msgspec.Raw = getattr(fields, name)
        if not _is_one_of(text, b""):
            value = {} if _begins(text, b"{") else msgspec.json.decode(text)
            return RawCell(is_code, value, None, names), _begin(raw, name.encode(), text)
    return RawCell(is_code, "", None, names), 0


def _names(fields: _Cell) -> tuple[str, ...]:
    """Return the id and the tags of a cell; none of what is longer than such things are."""
    found: list[object] = []
    if _begins(fields.id, b'"') and _is_short(fields.id):
        found.append(msgspec.json.decode(fields.id))
    if _begins(fields.metadata, b"{"):
        tags = msgspec.json.decode(fields.metadata, type=prepared(_Metadata)).tags
        if _begins(tags, b"[") and _is_short(tags):
            found += msgspec.json.decode(tags)
    return _short_names(found)


def _is_short(raw: msgspec.Raw) -> bool:
    return len(memoryview(raw)) <= CELL_NAMES * NAME_LENGTH * 2


def _short_names(found: Iterable[object]) -> tuple[str, ...]:
    """Return what of an id and of tags is kept: texts of at most a few words, and few of them."""
    texts = (each for each in found if isinstance(each, str) and 0 < len(each) <= NAME_LENGTH)
    return tuple(itertools.islice(texts, CELL_NAMES))


def _begin(raw: bytes, name: bytes, text: msgspec.Raw) -> int | None:
    """Return where in a cell a text begins: of a list of lines, where the first one does."""
    place = _place(raw, name, text)
    if place is not None and _begins(text, b"["):
        return _after(_SPACE, raw, place + 1)
    return place


_SPACE = re.compile(rb"\s*")


def _after(pattern: re.Pattern[bytes], content: bytes, place: int) -> int:
    found = pattern.match(content, place)
    return found.end() if found else place


def _place(content: bytes, name: bytes, value: msgspec.Raw) -> int | None:
    """Return where the value of a member stands; None where it may be in two places.

    A decoder does not say where it has found a value. A name within a text has other quotes, so
    only another object within this one can have the same member.
    """
    member = re.compile(rb'"' + name + rb'"\s*:\s*')
    wanted = memoryview(value)
    places = (
        found.end()
        for found in member.finditer(content)
        if memoryview(content)[found.end() : found.end() + len(wanted)] == wanted
    )
    candidates = list(itertools.islice(places, 2))
    return candidates[0] if len(candidates) == 1 else None


# --- what Jupyter and Python write beside JSON ----------------------------------------------------

_ODD = re.compile(
    rb"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|\\u[dD][89a-fA-F]\w\w|NaN|Infinity|-Infinity"
)
_HALF = rb"\u003f"
"""A question mark, which is as long as half of a pair: no encoding leaves more of that."""


def _read_patiently(content: bytes) -> RawNotebook:
    """Read what Python's reader takes: NaN, infinities, and halves of surrogate pairs, too."""
    try:
        return _read_strictly(_as_json(content))
    except (msgspec.MsgspecError, RecursionError):
        raise _not_json(content.decode()) from None


def _as_json(content: bytes) -> bytes:
    """Return as many bytes, with `{}` for what is no number and "?" for half of a pair.

    It takes a few copies: an object for each escape of a long text was more than may be taken.
    """
    quoted = content.replace(rb"\\", b"__").replace(rb"\"", b"__")
    plain = bytearray(content)
    counted = quotes = 0  # an odd number is before what is within a text
    for found in _ODD.finditer(quoted):
        start, end = found.span()
        if quoted.startswith(b"\\", start):
            if end - start == len(_HALF):
                plain[start:end] = _HALF
            continue
        quotes += quoted.count(b'"', counted, start)
        counted = start
        if quotes % 2 == 0:
            plain[start:end] = b"{}".ljust(end - start)
    return bytes(plain)


def _not_json(text: str) -> SubmissionError:
    """Return what is said of a text that no reader takes."""
    refuse_conflict(text)
    said = say("file-not-notebook-not-json")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        if error.msg == "Extra data" and rest.startswith("{"):
            return SubmissionError(
                say("file-has-two-notebooks-one-after-other"),
                say("hand-in-one-notebook-copy-cells-other"),
            )
        if not rest or error.msg.startswith("Unterminated string"):
            said = say("file-cut-off")
    except (ValueError, RecursionError):  # a number of more digits than Python reads, for one
        pass
    return SubmissionError(said, say("hand-in-ipynb-file-itself-as-jupyter"))


_MARKS = re.compile(r"^[ \t]{0,40}(<{7} .{0,200}|={7}|>{7} .{0,200})$", re.MULTILINE)


def conflict_line(text: str) -> int | None:
    """Return the line, from 1, on which an unresolved conflict of Git begins; None without one."""
    begins: int | None = None
    is_divided = False
    for found in _MARKS.finditer(text):
        sign = found[1][0]
        if sign == "<":
            begins, is_divided = found.start(), False
        elif sign == "=":
            is_divided = True
        elif begins is not None and is_divided:
            return text.count("\n", 0, begins) + 1
    return None


def refuse_conflict(text: str) -> None:
    """Raise SubmissionError where Git has left two versions in a file."""
    line = conflict_line(text)
    if line is not None:
        raise SubmissionError(
            say("file-has-conflict-git-that-not-resolved", line=line),
            say("keep-one-two-versions-delete-marks-save"),
        )
