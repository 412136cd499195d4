"""From the bytes of a file to its cells: bounded, validated, and never executed.

Scripts and Markdown are divided into cells, and not parsed: a script may not be Python at all. All
of that takes linear time.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from grader.errors import SubmissionError
from grader.language import Sentence, Text, say
from grader.reading.fields import RawCell, check_count, conflict_line, read_fields, refuse_conflict
from grader.reading.messages import NAME_LENGTH, CellText, Content, SentText

SCRIPT, MARKDOWN = (".py",), (".md", ".markdown")
"""How the names of such files end."""

PIECES = 2001
"""Most cells that are distinguished: a file with as many is not run."""

_MARK = re.compile(r"#\s?%%(?P<kind>.*)|# In\s?\[[\d ]{0,6}\]:\s*$")
"""What begins a cell: of an editor, of jupytext, and of a notebook that was saved as a script."""

_NO_CODE = re.compile(r"\[(?:markdown|md|raw)\]")
_FENCE = re.compile(r"(?P<indent>[ \t]{0,12})(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_PYTHON = re.compile(r"(?:^|[{.\s])(?:i?python3?|py|code-cell)\b", re.ASCII)
_CONTINUES = re.compile(r"(?:elif|else|except|finally)\b|[\s)\]}]|$")
"""What a paragraph of a script does not begin with: it belongs to the one before."""

_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""(?:\\.|[^\\])*?(?:"""|\Z)' + r"|'''(?:\\.|[^\\])*?(?:'''|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?' + r"|'(?:\\.|[^'\\\n])*'?"  # one without an end ends its line
    r"|^[!%][^\n]*"
    r"|\\\n|[\[({]|[\])}]|\n",
    re.DOTALL | re.MULTILINE,
)


class Piece(msgspec.Struct, frozen=True):
    """A cell of code, and the line of the file on which it begins, from 1."""

    source: str
    line: int


def divide(text: str, suffix: str) -> list[Piece]:
    """Return the cells of a file, which is Markdown or else a script; those of blanks are left out.

    There are at most PIECES.

    A script has the cells that it marks; without marks a paragraph of statements is one. In
    Markdown a fenced block is one that says that it is Python, or any where none says so.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    pieces = iter(_blocks(lines)) if suffix in MARKDOWN else _of_script(lines)
    code = (piece for piece in pieces if _has_code(piece.source))
    return list(itertools.islice(code, PIECES))


def _of_script(lines: list[str]) -> Iterator[Piece]:
    """Return what stands between marks, but for text; paragraphs where there are no marks."""
    marks = [index for index, line in enumerate(lines) if _MARK.match(line)]
    return _marked(lines, marks) if marks else _paragraphs(lines)


def _has_code(source: str) -> bool:
    lines = (line.strip() for line in source.split("\n"))
    return any(line and not line.startswith("#") for line in lines)


def _marked(lines: list[str], marks: list[int]) -> Iterator[Piece]:
    yield Piece("\n".join(lines[: marks[0]]), 1)
    for start, end in zip(marks, [*marks[1:], len(lines)], strict=True):
        if _NO_CODE.search(lines[start]) is None:
            yield Piece("\n".join(lines[start + 1 : end]), start + 2)


def _paragraphs(lines: list[str]) -> Iterator[Piece]:
    """Divide where an empty line ends a statement at the margin and another one begins.

    Comments before a statement are a part of its paragraph, and so is a decorator.
    """
    within = _inside(lines)
    starts = [0]
    has_code, last = False, ""  # of the paragraph so far: whether it has any, its last line
    for index, line in enumerate(lines):
        begins = index > 0 and not lines[index - 1].strip() and index not in within
        if begins and has_code and not last.startswith("@") and not _CONTINUES.match(line):
            starts.append(index)
            has_code = False
        has_code = has_code or _has_code(line)
        last = line if line.strip() else last
    bounds = zip(starts, [*starts[1:], len(lines)], strict=True)
    return (Piece("\n".join(lines[start:end]), start + 1) for start, end in bounds)


def _inside(lines: list[str]) -> set[int]:
    """Return the lines, from 0, that begin within brackets or a text of several lines."""
    found: set[int] = set()
    line = depth = 0
    for token in _TOKEN.finditer("\n".join(lines)):
        text = token.group()
        if text in "([{":
            depth += 1
        elif text in ")]}":
            depth = max(depth - 1, 0)
        breaks = text.count("\n")
        if breaks > 1 or (breaks and text != "\n"):
            found.update(range(line + 1, line + breaks + 1))
        line += breaks
        if depth and breaks:
            found.add(line)
    return found


def _blocks(lines: list[str]) -> list[Piece]:
    """Return the fenced blocks of Python; all of them where none says what it is."""
    blocks: list[tuple[str, Piece]] = []
    index = 0
    while index < len(lines):
        opening = _FENCE.match(lines[index])
        index += 1
        if opening is None:
            continue
        end = index
        while end < len(lines) and not _closes(lines[end], opening.group("fence")):
            end += 1
        indent = len(opening.group("indent"))
        bare = [line[min(indent, len(line) - len(line.lstrip())) :] for line in lines[index:end]]
        options = _options(bare)
        blocks.append(
            (opening.group("info"), Piece("\n".join(bare[options:]), index + options + 1))
        )
        index = end + 1
    python = [piece for info, piece in blocks if _PYTHON.search(info)]
    return python or [piece for info, piece in blocks if not info.strip()]


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def _options(lines: list[str]) -> int:
    """Return how many lines at the top of a block are options of MyST: `:tags: [...]`."""
    count = 0
    while count < len(lines) and re.match(r":[\w-]+:", lines[count]):
        count += 1
    return count


SIZE_LIMIT = 64 * 2**20
"""Largest notebook that is read, in bytes. Saved outputs of a long night stay well below."""

TEXT_LIMIT = 2**20
"""Largest script or Markdown file that is read, in bytes: it holds no outputs."""

CODE_LIMIT = 4 * 2**20
"""Most code in all cells, in bytes of UTF-8. A notebook of the course has 20 KB."""

MARKDOWN_LENGTH = 40_001
MARKDOWN_SIZE = 300_000
"""Characters that are kept of a text cell, and of all of them; a report shows fewer."""

LANGUAGE_LENGTH = 20
"""Longest name of a language, in characters."""


def read_content(content: bytes, suffix: str) -> Content:
    """Decode a script, Markdown or a notebook, as the end of its name says: `.py`, `.md`, others.

    Of a notebook only what is graded is kept: the cells' types, sources and lines, and the
    assignment and language that metadata name. Saved outputs prove nothing and may be damaged, so
    they are gone past. Raises SubmissionError.
    """
    suffix = suffix.lower()
    is_text = suffix in SCRIPT + MARKDOWN
    refuse_other_kinds(content, is_text=is_text)
    return _read_text(content, suffix) if is_text else _read_notebook(content)


def _read_text(content: bytes, suffix: str) -> Content:
    if len(content) > TEXT_LIMIT:
        raise SubmissionError(
            say("file-larger-than-mb", limit=TEXT_LIMIT // 2**20), say("hand-in-shorter-one")
        )
    text = text_of_script(content) if suffix in SCRIPT else None
    if text is None:
        text = _in_utf8(content).decode("utf-8", errors="replace")
    refuse_conflict(text)
    pieces = divide(text, suffix)
    if not pieces:
        raise SubmissionError(
            say("file-has-no-python-code"), say("hand-in-file-with-your-solution")
        )
    check_count(len(pieces))
    cells = tuple(CellText("code", piece.source, piece.line) for piece in pieces)
    return Content(cells, divided=True)


def _read_notebook(content: bytes) -> Content:
    if len(content) > SIZE_LIMIT:
        raise SubmissionError(
            say("file-larger-than-mb", limit=SIZE_LIMIT // 2**20),
            say("clear-outputs-all-cells-save-and-hand"),
        )
    content = _in_utf8(content)
    if not content.strip():
        raise SubmissionError(say("file-empty"), say("hand-in-ipynb-file-itself-as-jupyter"))
    notebook = read_fields(content)
    cells = tuple(_cells(notebook.cells))
    if not any(cell.is_run for cell in cells):
        raise SubmissionError(say("notebook-has-no-code"), say("open-template-solve-save-and-hand"))
    assignment, notes = _assignment(notebook.declared.get("assignment"))
    notes += tuple(map(sentence_of, _notes_on_cells(notebook.cells, cells)))
    language = notebook.declared.get("language")
    if not isinstance(language, str) or len(language) > LANGUAGE_LENGTH:
        language = None
    return Content(
        cells, assignment=assignment, language=language and _encodable(language), notes=notes
    )


def _in_utf8(content: bytes) -> bytes:
    """Return a text in UTF-8 without a mark of byte order. Windows writes UTF-16, with a mark."""
    encoding = json.detect_encoding(content)
    if encoding == "utf-8":
        return content
    if encoding == "utf-8-sig":
        return content[3:]
    return content.decode(encoding, errors="replace").encode("utf-8", errors="replace")


def _assignment(declared: object) -> tuple[str | None, tuple[SentText, ...]]:
    """Return the assignment that metadata name, and a note where that is too long to be a name."""
    if not isinstance(declared, str):
        return None, ()
    if len(declared) <= NAME_LENGTH:
        return _encodable(declared), ()
    note = say("notebooks-metadata-name-assignment-with-more", length=NAME_LENGTH)
    return None, (sentence_of(note),)


def sentence_of(text: Text) -> SentText:
    """Return a sentence as a message."""
    if not isinstance(text, Sentence):
        return SentText(text.english)
    values = {
        name: value if isinstance(value, int) else str(value)[:NAME_LENGTH]
        for name, value in text.values.items()
    }
    return SentText(text.id, values)


def _cells(found: Iterable[RawCell]) -> Iterator[CellText]:
    """Yield cells with their texts. Of text cells no more is kept than a report shows."""
    code, room = 0, MARKDOWN_SIZE
    for number, cell in enumerate(found, start=1):
        source = _source(cell.source, number)
        names = tuple(map(_encodable, cell.names))
        if cell.is_code and SKIP not in cell.names:
            code += len(source.encode())
            _check_code(code)
            yield CellText("code", source, cell.line, names)
        else:
            source = _left_out(source) if cell.is_code and source.strip() else source
            kept = source[:MARKDOWN_LENGTH] if room > 0 else ""
            room -= len(kept)
            yield CellText("markdown", kept, cell.line, names)


def _check_code(size: int) -> None:
    if size > CODE_LIMIT:
        raise SubmissionError(
            say("notebook-has-more-than-mb-code", limit=CODE_LIMIT // 2**20),
            say("hand-in-shorter-one-large-data-do"),
        )


def _source(value: object, number: int) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        value = "".join(line for line in value if isinstance(line, str))
    if not isinstance(value, str):
        raise SubmissionError(
            say("cell-notebook-damaged-source-not-text", number=number),
            say("open-in-jupyter-fix-cell-save"),
        )
    return _encodable(value)


SKIP = "skip-execution"
"""The tag of a cell that is not to be run, in nbclient and Jupyter Book, too."""


def _notes_on_cells(found: Sequence[RawCell], cells: Sequence[CellText]) -> Iterator[Text]:
    """Yield what is to be said of cells that were left out, or that Git has spoilt."""
    code = 0
    for number, (raw, cell) in enumerate(zip(found, cells, strict=True), start=1):
        code += cell.is_run
        if raw.is_code and SKIP in raw.names:
            yield say("cell-notebook-has-tag-skip-execution", number=number)
        elif raw.is_code and conflict_line(cell.source) is not None:
            yield say("cell-notebook-has-conflict-git", number=code)


def _left_out(source: str) -> str:
    """Return the text of a cell that is not run as a block of Markdown."""
    return f"````python\n{source}\n````"


def _encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON may hold and no message can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


_ARCHIVE = say("file-archive-not-notebook")
_UNPACK = say("unpack-and-hand-in-notebook")
_PICTURE = say("file-picture-not-notebook")
_ITSELF = say("hand-in-ipynb-file-itself-as-jupyter")

_KINDS: tuple[tuple[bytes, Text, Text], ...] = (
    (b"PK\x03\x04", say(_ARCHIVE, format="zip"), _UNPACK),
    (b"\x1f\x8b", say(_ARCHIVE, format="gzip"), _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", say(_ARCHIVE, format="7z"), _UNPACK),
    (b"Rar!\x1a\x07", say(_ARCHIVE, format="rar"), _UNPACK),
    (b"\xfd7zXZ\0", say(_ARCHIVE, format="xz"), _UNPACK),
    (b"%PDF-", say("file-pdf-not-notebook"), _ITSELF),
    (b"\x89PNG\r\n", _PICTURE, _ITSELF),
    (b"\xff\xd8\xff", _PICTURE, _ITSELF),
    (
        b"version https://git-lfs.github.com/spec/",
        say("file-pointer-git-lfs-notebook-itself"),
        say("run-git-lfs-pull-and-hand"),
    ),
)

_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,1000}<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_NOTEBOOK = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,1000}\{\s{0,1000}\"(?:cells|nbformat|metadata)\"")


def refuse_other_kinds(content: bytes, *, is_text: bool) -> None:
    """Raise SubmissionError for a file of another kind; `is_text` is by name no notebook."""
    for begin, problem, hint in _KINDS:
        if content.startswith(begin):
            raise SubmissionError(problem, hint)
    if _PAGE.match(content):
        raise SubmissionError(
            say("file-page-web-html-not-notebook"),
            say("download-notebook-itself-on-github-behind-download"),
        )
    if is_text and _NOTEBOOK.match(content):
        raise SubmissionError(
            say("file-notebook-with-name-script-or-text"), say("let-name-end-in-ipynb-and-hand")
        )


ENCODINGS = (
    *("ascii", "latin-1", "iso8859-2", "iso8859-15", "cp1250", "cp1251", "cp1252", "koi8-r"),
    *("gb2312", "gbk", "gb18030", "big5", "euc-kr", "cp949", "johab", "shift_jis", "cp932"),
    "euc_jp",
)
"""Encodings that a script may name, beside UTF-8; codecs with code of their own are not among
them: `idna` takes quadratic time."""

_SHORT = {re.sub(r"[-_]", "", name): name for name in ENCODINGS}
_SHORT |= {"iso88591": "latin-1", "windows1252": "cp1252", "windows1251": "cp1251"}
_COOKIE = re.compile(rb"[ \t\f]{0,100}#[^\n]{0,200}?coding[:=][ \t]{0,20}([-\w.]{1,40})")


def text_of_script(content: bytes) -> str | None:
    """Return a script in the encoding that its first two lines name; None where they name none.

    As for Python (PEP 263) a mark of byte order counts more.
    """
    for line in content[:1000].split(b"\n")[:2]:
        found = _COOKIE.match(line)
        if found is not None:
            short = re.sub(r"[-_]", "", found[1].decode("ascii", "replace").lower())
            encoding = _SHORT.get(short)
            return None if encoding is None else content.decode(encoding, errors="replace")
        if line.strip() and not line.lstrip().startswith(b"#"):
            return None
    return None
