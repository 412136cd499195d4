"""A master notebook: the file that all others are made from, and nbgrader's marks in it.

It is `reference/<slug>.py` (jupytext's py:percent), `.ipynb` or `.md`. English stands in plain
cells, translations beside them (below), solutions between nbgrader's marks. Cells tagged
`instructor` are for instructors alone.

    ### BEGIN SOLUTION          ### BEGIN HIDDEN TESTS
    ### END SOLUTION            ### END HIDDEN TESTS

A mark is a separate line, with one or more `#`. What looks like a mark and is none is refused: it
would show a solution to the students.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import jupytext
import msgspec
import nbformat
from jupytext.config import JupytextConfigurationError, load_jupytext_config
from jupytext.formats import JupytextFormatError
from jupytext.paired_paths import InconsistentPath, paired_paths
from markdown_it import MarkdownIt
from markdown_it.token import Token
from nbformat import NotebookNode

from grader.errors import CourseError, Told, UsageError
from grader.language import NOTHING, Text, in_a_row, say

# Translations stand beside the text, alike in all but the words: a markdown cell with the metadata
# `lang="zh"` translates the cell before it; several languages follow one another. In code, lines
# `# zh: ...` translate the comment directly above them:
#
#     # Step 1. Find the block.
#     # zh: 第一步：找到 block。
#
# What has no translation is shown in English.


_PARSER = MarkdownIt("commonmark").enable("table")
_SCRIPTS = {
    "zh": re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"),
    "ko": re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]"),
}
"""Characters that tell a language, by the blocks of Unicode: CJK ideographs, Hangul."""

UNSPACED = frozenset({"zh", "ja"})
"""Languages that put no spaces between words."""

_NUMBER = re.compile(r"\b\d+(?:\.\d+)*\b(?!\s+(?:thousand|million|billion)\b)", re.ASCII)
"""A number, but for those that languages which count by ten thousands write otherwise."""

_WIDE = "[\u3001-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff60]"
"""Characters of full width, by the blocks of Unicode: punctuation, kana, ideographs, forms."""

_STARTS_WIDE = re.compile(rf"[ \t]*{_WIDE}")
_ENDS_WIDE = re.compile(rf"(?!#).*{_WIDE}\Z")
"""A line that ends so, unless it is a heading."""


class Outline(msgspec.Struct, frozen=True):
    """What a markdown text holds besides its words.

    `headings` are the levels from 1 to 6 in order; `fences` counts blocks of code, `rows` those of
    tables, `items` those of lists; `targets` are those of links and pictures. `words` is the text
    without code, as it is rendered, `numbers` are those in it.
    """

    headings: tuple[int, ...]
    spans: frozenset[str]
    fences: int
    targets: frozenset[str]
    rows: int
    items: int
    words: str

    @property
    def numbers(self) -> frozenset[str]:
        """The numbers in the text that are written with digits."""
        return frozenset(_NUMBER.findall(self.words))

    @property
    def has_words(self) -> bool:
        """Whether there is anything to translate."""
        return any(character.isalpha() for character in self.words)


def outline_of(text: str) -> Outline:
    """Read a markdown text as a notebook renders it."""
    tokens = list(_flat(_PARSER.parse(text)))
    targets = [token.attrs.get("href") or token.attrs.get("src") for token in tokens]
    return Outline(
        headings=tuple(int(token.tag[1]) for token in tokens if token.type == "heading_open"),
        spans=frozenset(token.content for token in tokens if token.type == "code_inline"),
        fences=sum(token.type in ("fence", "code_block") for token in tokens),
        targets=frozenset(str(target) for target in targets if target),
        rows=sum(token.type == "tr_open" for token in tokens),
        items=sum(token.type == "list_item_open" for token in tokens),
        words=" ".join(token.content for token in tokens if token.type == "text"),
    )


def join_lines(text: str) -> str:
    """Take out the line breaks of a paragraph that stand between characters of full width.

    Markdown shows them as spaces, which do not belong there. Blocks of code keep theirs.
    """
    lines: list[str] = []
    in_code = False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        is_text = lines and not in_code and not is_fence
        if is_text and _ENDS_WIDE.match(lines[-1]) and _STARTS_WIDE.match(line):
            lines[-1] += line.lstrip()
        else:
            lines.append(line)
        in_code ^= is_fence
    return "\n".join(lines)


def scripts_in(text: str) -> frozenset[str]:
    """Return the languages, of those with their own script, whose characters are in a text."""
    return frozenset(language for language, script in _SCRIPTS.items() if script.search(text))


def _flat(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _flat(token.children or [])


ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "zh": "Chinese", "ko": "Korean"}
"""The languages that comments are always searched for; a master may have cells in others too."""

_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z")
_COMMENT = re.compile(r"(?P<indentation>[ \t]*)# (?P<language>[A-Za-z0-9-]+):[ \t]*(?P<text>.*)\Z")
_BEGIN_OR_END = re.compile(r"#+[ \t]*(BEGIN|END) ")


class Passage(msgspec.Struct, frozen=True):
    """A cell of the master with its translations; `number` counts the master's cells from 1."""

    number: int
    cell: NotebookNode
    translations: dict[str, tuple[int, NotebookNode]]

    def text(self, language: str, languages: Iterable[str]) -> str:
        """Return the cell's source in one language, solutions and marks included."""
        if self.cell.cell_type == "code":
            return localize_comments(self.cell.source, language, languages)
        if language not in self.translations:
            return str(self.cell.source)
        _, cell = self.translations[language]
        return join_lines(cell.source) if language in UNSPACED else str(cell.source)


class Misplaced(msgspec.Struct, frozen=True):
    """A cell, or a line of it (from 0), that translates nothing; `problem` completes "it ..."."""

    number: int
    problem: Text
    line: int = 0


def master_languages(master: NotebookNode) -> tuple[str, ...]:
    """Return the languages of a master's cells: English, then the others as they first occur."""
    found = [language_of(cell) for cell in master.cells]
    return tuple(dict.fromkeys([ENGLISH, *(each for each in found if each is not None)]))


def comment_languages(master: NotebookNode) -> tuple[str, ...]:
    """Return the languages that comments may be translated into."""
    return tuple(dict.fromkeys([*LANGUAGES, *master_languages(master)]))


def language_of(cell: NotebookNode) -> str | None:
    """Return the language that a cell is a translation into; None for a cell of the master."""
    language = cell.metadata.get("lang")
    return language if isinstance(language, str) and _CODE.match(language) else None


def find_passages(master: NotebookNode) -> tuple[tuple[Passage, ...], tuple[Misplaced, ...]]:
    """Put translations to the cells that they translate, in order; and those that fit nowhere."""
    passages: list[Passage] = []
    misplaced: list[Misplaced] = []
    for number, cell in enumerate(master.cells, start=1):
        if "lang" not in cell.metadata:
            passages.append(Passage(number, cell, {}))
            continue
        problem = _misfit(cell, passages[-1] if passages else None)
        if problem:
            misplaced.append(Misplaced(number, problem))
        else:
            passages[-1].translations[cell.metadata["lang"]] = (number, cell)
    return tuple(passages), tuple(misplaced)


def _misfit(cell: NotebookNode, original: Passage | None) -> Text:
    """Say what keeps a cell from being a translation of `original`; nothing if nothing does."""
    language = language_of(cell)
    if language is None:
        return say("has-lang-which-not-code-language", code=repr(cell.metadata["lang"]))
    if language == ENGLISH:
        return say("marked-as-english-as-cells-without-lang")
    if cell.cell_type != "markdown":
        return say("code-in-one-language-translate-comments")
    if original is None or original.cell.cell_type != "markdown":
        return say("translates-nothing-there-no-text-cell-before")
    if language in original.translations:
        return say("second-translation-one-cell-into", language=language)
    return NOTHING


_OF_NO_COMMENT = say("translates-nothing-no-comment-above")


class Comment(msgspec.Struct):
    """Comment lines in a row, and what they are in other languages."""

    line: int
    indentation: str
    lines: list[str]
    translations: dict[str, list[str]] = msgspec.field(default_factory=dict)


def localize_comments(source: str, language: str, languages: Iterable[str]) -> str:
    """Put a comment's translation in its place, where there is one, and drop all the others."""
    lines: list[str] = []
    for item in cut_comments(source, languages):
        if isinstance(item, str):
            lines.append(item)
        elif isinstance(item, Comment):
            lines += item.translations.get(language, item.lines)
    return "\n".join(lines)


def cut_comments(source: str, languages: Iterable[str]) -> list[str | Comment | Misplaced]:
    """Cut code into lines, comments with their translations, and translations of nothing."""
    known = frozenset(languages)
    found: list[str | Comment | Misplaced] = []
    for number, line in enumerate(source.split("\n")):
        last = found[-1] if found else None
        match = _COMMENT.match(line)
        if match is not None and match["language"] in known:
            if isinstance(last, Comment) and last.indentation == match["indentation"]:
                text = f"{match['indentation']}# {match['text']}".rstrip()
                last.translations.setdefault(match["language"], []).append(text)
            else:
                found.append(Misplaced(0, _OF_NO_COMMENT, number))
        elif not line.lstrip().startswith("#") or _BEGIN_OR_END.match(line.lstrip()):
            found.append(line)
        else:
            _add_comment(found, line, number)
    return found


def _add_comment(found: list[str | Comment | Misplaced], line: str, number: int) -> None:
    indentation = line[: len(line) - len(line.lstrip())]
    last = found[-1] if found else None
    if isinstance(last, Comment) and (last.indentation, last.translations) == (indentation, {}):
        last.lines.append(line)
    else:
        found.append(Comment(number, indentation, [line]))


BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
STUB_COMMENT = "# YOUR CODE HERE"
TEXT_STUB = "YOUR ANSWER HERE"
"""What nbgrader puts into a text cell in place of a solution."""

Kind = Literal["plain", "solution", "hidden"]
_KINDS: dict[str, Kind] = {"SOLUTION": "solution", "HIDDEN TESTS": "hidden"}
_MARK = re.compile(r"#+[ \t]*(BEGIN|END) (SOLUTION|HIDDEN TESTS)\Z")
_LIKE_A_MARK = re.compile(
    r"#+[\W_]*(BEGIN|END)[\W_]*(SOLUTIONS?|HIDDEN[\W_]*TESTS?)\b", re.IGNORECASE
)


class MarkError(Told):
    """Raised when marks do not pair up. `line` counts the cell's lines from 0."""

    def __init__(self, reason: Text, line: int) -> None:
        super().__init__(reason)
        self.line = line


class Region(msgspec.Struct, frozen=True):
    """Lines of a cell between two marks, the marks left out.

    `indentation` is the white space before the region's first line that is not blank, or before
    its mark where all are blank.
    """

    kind: Kind
    lines: tuple[str, ...]
    indentation: str


def regions(source: str) -> tuple[Region, ...]:
    """Cut a cell at its marks, in order. Raises MarkError when they do not pair up."""
    found: list[Region] = []
    kind: Kind = "plain"
    lines: list[str] = []
    opening, opened_at = "", 0
    for number, line in enumerate(source.split("\n")):
        mark = _read_mark(line, number)
        if mark is None:
            lines.append(line)
            continue
        edge, marked = mark
        if kind != ("plain" if edge == "BEGIN" else marked):
            raise MarkError(say("where-cannot", mark=line.strip()), number)
        found.append(Region(kind, tuple(lines), _indentation([*lines, opening])))
        kind = marked if edge == "BEGIN" else "plain"
        lines, opening, opened_at = [], line, number
    if kind != "plain":
        raise MarkError(say("without-end", mark=opening.strip()), opened_at)
    return (*found, Region(kind, tuple(lines), _indentation([*lines, opening])))


def without_solutions(source: str, cell_type: str) -> str:
    """Put a stub in place of each solution and leave out hidden tests. Raises MarkError."""

    def stub(region: Region) -> list[str]:
        return [] if region.kind == "hidden" else stub_lines(region.indentation, cell_type)

    return _rewritten(source, stub)


def with_solutions(source: str) -> str:
    """Leave out the marks alone. Raises MarkError."""
    return _rewritten(source, lambda region: list(region.lines))


def stub_lines(indentation: str, cell_type: str = "code") -> list[str]:
    """Return what a student finds in place of a solution.

    Inside a block a stub raises, so that an unanswered function returns nothing gradable.
    """
    if cell_type != "code":
        return [TEXT_STUB]
    statement = "raise NotImplementedError()" if indentation else "..."
    return [indentation + STUB_COMMENT, indentation + statement]


def _rewritten(source: str, rewrite: Callable[[Region], list[str]]) -> str:
    lines: list[str] = []
    for region in regions(source):
        lines += region.lines if region.kind == "plain" else rewrite(region)
    return "\n".join(lines)


def _read_mark(line: str, number: int) -> tuple[str, Kind] | None:
    match = _MARK.match(line.strip())
    if match is not None:
        return match[1], _KINDS[match[2]]
    if _LIKE_A_MARK.match(line.strip()):
        raise MarkError(say("which-nearly-mark", mark=line.strip()), number)
    return None


def _indentation(lines: list[str]) -> str:
    """Return the white space before the first line that is not blank."""
    first = next((line for line in lines if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


INSTRUCTOR = "instructor"
FORMATS = {".py": "py:percent", ".ipynb": "ipynb", ".md": "md"}
"""How jupytext reads a master, by the end of its name."""

UNREADABLE = "incorrectly_encoded_metadata"
"""Where jupytext puts metadata of a cell that it cannot read, such as `lang=zh` without quotes."""


class Source(msgspec.Struct, frozen=True):
    """A cell of a generated notebook, before its solutions are taken out.

    `id` is made of what students read in English: it is the same in all languages, and outlives
    changes of solutions, translations and other cells.
    """

    id: str
    cell: NotebookNode
    text: str
    tags: tuple[str, ...]
    number: int

    @property
    def is_for_students(self) -> bool:
        """Whether the cell is in the template."""
        return INSTRUCTOR not in self.tags


def has_master(root: Path, slug: str) -> bool:
    """Say whether an assignment has a master notebook."""
    return any((root / "reference" / f"{slug}{end}").exists() for end in FORMATS)


def find_master(root: Path, slug: str) -> Path:
    """Return the path of an assignment's master. Raises CourseError when there is not just one.

    Of a text and a notebook that jupytext pairs it is the text: both say the same.
    """
    folder = root / "reference"
    found = [folder / f"{slug}{end}" for end in FORMATS if (folder / f"{slug}{end}").exists()]
    if not found:
        raise CourseError(
            say("there-no-master-notebook", slug=slug, folder=str(folder)),
            say("write-reference-py-docs-masters-md-says", slug=slug),
        )
    if len(found) == 2 and found[1].suffix == ".ipynb" and _are_paired(*found):
        _demand_the_same(*found)
        return found[0]
    if len(found) > 1:
        names = in_a_row(path.name for path in found)
        raise CourseError(
            say("has-several-master-notebooks", slug=slug, names=names),
            say("keep-one-them-or-pair-them-docs"),
        )
    return found[0]


def _are_paired(text: Path, notebook: Path) -> bool:
    """Say whether jupytext keeps two files in step: by the metadata of one, or its settings."""
    formats = (_formats_of(text), _formats_of(notebook), _settings_for(text))
    for each in filter(None, formats):
        try:
            pairs = paired_paths(str(text), FORMATS[text.suffix], each)
        except (InconsistentPath, JupytextFormatError):
            continue
        if str(notebook) in {path for path, _ in pairs}:
            return True
    return False


def _formats_of(path: Path) -> Any:
    return read_master(path).metadata.get("jupytext", {}).get("formats")


def _settings_for(path: Path) -> Any:
    """Return the formats that the settings beside a file, or above it, have for it."""
    try:
        settings = load_jupytext_config(str(path))
        return None if settings is None else settings.default_formats(str(path))
    except (JupytextConfigurationError, JupytextFormatError, OSError):
        return None


def _demand_the_same(text: Path, notebook: Path) -> None:
    """Raise CourseError where paired files do not say the same: one was changed by itself."""
    one, other = (
        [
            (each.cell_type, each.source.rstrip(), tags_of(each), each.metadata.get("lang"))
            for each in read_master(path).cells
        ]
        for path in (text, notebook)
    )
    if one != other:
        raise CourseError(
            say("and-paired-and-differ", text=text.name, notebook=notebook.name),
            say("run-jupytext-sync-file-that-saved-last", path=str(text)),
        )


def read_master(path: Path) -> NotebookNode:
    """Read a master notebook. Raises CourseError when the file cannot be read as one."""
    if path.suffix not in FORMATS:
        raise CourseError(
            say("not-master-notebook", name=path.name),
            say("name-must-end", names=in_a_row(FORMATS)),
        )
    try:
        if path.suffix == ".ipynb":
            return _read_notebook(path)
        return jupytext.read(path, fmt=FORMATS[path.suffix])
    except (OSError, ValueError, nbformat.ValidationError) as error:
        problem = str(error.message) if isinstance(error, nbformat.ValidationError) else str(error)
        raise CourseError(
            say("cannot-read-master-notebook", path=str(path), problem=problem),
            say("docs-masters-md-says-how-written"),
        ) from None


def _read_notebook(path: Path) -> NotebookNode:
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    fields = document if isinstance(document, dict) else {}
    if not isinstance(fields.get("cells", fields.get("worksheets")), list):
        raise ValueError("it is JSON, but no notebook")  # noqa: TRY004 - a damaged file
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    return notebook


def sources(master: NotebookNode, language: str = ENGLISH) -> list[Source]:
    """Return the cells of the notebook in one language, with ids.

    What has no translation is in English. Raises UsageError for a language that the master does
    not have, CourseError for marks that do not pair up and translations of nothing.
    """
    known = master_languages(master)
    if language not in known:
        raise UsageError(
            say("master-notebook-has-no-text", language=repr(language)),
            say("has-sentence", names=in_a_row(known)),
        )
    passages, misplaced = find_passages(master)
    if misplaced:
        raise CourseError(
            say("cell-master-notebook", number=misplaced[0].number, problem=misplaced[0].problem),
            say("grader-lint-lists-all-such-cells"),
        )
    languages = comment_languages(master)
    seen: Counter[str] = Counter()
    return [_source(passage, language, languages, seen) for passage in passages]


def marked_source(cell: NotebookNode, text: str) -> str:
    """Return a cell's text, with marks around all of it where nbgrader's metadata stand for them.

    In nbgrader, a cell with `"solution": true` and no marks is a solution as a whole. Raises
    MarkError.
    """
    is_solution = nbgrader_options(cell).get("solution") is True
    if is_solution and len(regions(text)) == 1:
        return f"{BEGIN}\n{text}\n{END}"
    return text


def has_solution(cell: NotebookNode) -> bool:
    """Say whether something of a cell is marked as a solution. Raises MarkError."""
    return any(each.kind == "solution" for each in regions(marked_source(cell, cell.source)))


def is_instructors_code(cell: NotebookNode) -> bool:
    """Say whether a cell is code that the tag for instructors keeps from students."""
    return cell.cell_type == "code" and INSTRUCTOR in tags_of(cell)


def nbgrader_options(cell: NotebookNode) -> dict[str, Any]:
    """Return what nbgrader notes in a cell's metadata."""
    options = cell.metadata.get("nbgrader")
    return options if isinstance(options, dict) else {}


def _source(
    passage: Passage, language: str, languages: tuple[str, ...], seen: Counter[str]
) -> Source:
    _check(passage, languages)
    cell = passage.cell
    try:
        english = marked_source(cell, passage.text(ENGLISH, languages))
        text = marked_source(cell, passage.text(language, languages))
        visible = f"{cell.cell_type}\n{without_solutions(english, cell.cell_type)}"
        without_solutions(text, cell.cell_type)
    except MarkError as error:
        raise CourseError(
            say("cell-master-notebook-has", number=passage.number, error=error.reason),
            say("pair-marks-each-solution-as-docs-masters"),
        ) from None
    return Source(cell_id(visible, seen), cell, text, tags_of(cell), passage.number)


def _check(passage: Passage, languages: tuple[str, ...]) -> None:
    """Raise CourseError for what would make a cell appear where it should not."""
    if UNREADABLE in passage.cell.metadata:
        raise CourseError(
            say(
                "cell-master-notebook-has-metadata-that-cannot",
                number=passage.number,
                metadata=str(passage.cell.metadata[UNREADABLE]),
            ),
            say("write-them-like-tags-instructor-or-lang"),
        )
    if passage.cell.cell_type == "code":
        for item in cut_comments(passage.cell.source, languages):
            if isinstance(item, Misplaced):
                raise CourseError(
                    say(
                        "line-cell-master-notebook",
                        line=item.line + 1,
                        number=passage.number,
                        problem=item.problem,
                    ),
                    say("put-directly-below-comment-with-same-indentation"),
                )


def tags_of(cell: NotebookNode) -> tuple[str, ...]:
    """Return the tags of a cell."""
    tags = cell.metadata.get("tags", ())
    return tuple(str(tag) for tag in tags) if isinstance(tags, (list, tuple)) else ()


def cell_id(text: str, seen: Counter[str]) -> str:
    """Return an id for a cell of this text; n distinguishes several equal ones."""
    seen[text] += 1
    return hashlib.sha256(f"{seen[text]}\n{text}".encode()).hexdigest()[:12]
