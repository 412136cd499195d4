"""What may be wrong with a master notebook: a list of rules, each a small function.

An error makes a template wrong or impossible; a warning is for a person to judge.
"""

import ast
import re
from collections.abc import Callable, Iterator

from grader.authoring.master import (
    ENGLISH,
    INSTRUCTOR,
    LANGUAGES,
    UNREADABLE,
    Comment,
    MarkError,
    Misplaced,
    Outline,
    Passage,
    cut_comments,
    has_solution,
    is_instructors_code,
    outline_of,
    regions,
    scripts_in,
    tags_of,
)
from grader.authoring.subject import LintedMaster, LintFinding, bound_names
from grader.authoring.template import UNMARKED, parse_cell, syntax_problem
from grader.language import Text, foreign, in_a_row, say

Rule = Callable[[LintedMaster], Iterator[LintFinding]]

_NAMES = {
    "fences": say("block-code"),
    "rows": say("row-table"),
    "items": say("item-list"),
}
_LANGUAGES = {ENGLISH: say("english"), "zh": say("chinese"), "ko": say("korean")}
assert _LANGUAGES.keys() == LANGUAGES.keys()
_WORD = re.compile(r"[^\W\d]\w*")


def lint(subject: LintedMaster) -> list[LintFinding]:
    """Return what all rules find, in the order of the file."""
    found = [finding for rule in RULES for finding in rule(subject)]
    return sorted(found, key=lambda finding: (finding.number, finding.line or 0))


def metadata_that_cannot_be_read(subject: LintedMaster) -> Iterator[LintFinding]:
    """Metadata without quotes are dropped, and with them what they say."""
    for number, cell in enumerate(subject.master.cells, start=1):
        if UNREADABLE in cell.metadata:
            yield subject.finding(
                "error",
                say("cells-metadata-cannot-read", metadata=str(cell.metadata[UNREADABLE])),
                say("write-them-like-tags-instructor-or-lang"),
                number,
            )


def tags_that_are_nearly_instructor(subject: LintedMaster) -> Iterator[LintFinding]:
    """A misspelt tag would show an instructor's cell to students."""
    for number, cell in enumerate(subject.master.cells, start=1):
        for tag in tags_of(cell):
            if tag != INSTRUCTOR and tag.casefold().startswith(INSTRUCTOR[:8]):
                yield subject.finding(
                    "error",
                    say("tag-does-not-hide-cell-from-students", tag=repr(tag)),
                    say("write-or-choose-tag-that-cannot-mistaken", tag=repr(INSTRUCTOR)),
                    number,
                )


def marks_that_do_not_pair(subject: LintedMaster) -> Iterator[LintFinding]:
    """Marks of solutions and hidden tests open and close in turn."""
    for number, cell in enumerate(subject.master.cells, start=1):
        error = _mark_error(cell.source)
        if error is not None:
            yield subject.finding(
                "error",
                say("there-problem", problem=error.reason),
                say("write-begin-solution-and-end-solution"),
                number,
                error.line,
            )


def _mark_error(source: str) -> MarkError | None:
    try:
        regions(source)
    except MarkError as error:
        return error
    return None


def solutions_that_students_read(subject: LintedMaster) -> Iterator[LintFinding]:
    """Something is marked as a solution: without marks the template is the solved notebook.

    Who hides a solution by the tag for instructors alone may know that, so then it is a warning.
    """
    if any(map(_has_marks, subject.for_students)):
        return
    tagged = any(is_instructors_code(each.cell) for each in subject.passages)
    yield subject.finding("warning" if tagged else "error", *UNMARKED)


def _has_marks(passage: Passage) -> bool:
    """Say whether a cell has a solution; also with unpaired marks, which are reported."""
    return _mark_error(passage.cell.source) is not None or has_solution(passage.cell)


def cells_that_do_not_parse(subject: LintedMaster) -> Iterator[LintFinding]:
    """A template's cells are Python even without the solutions."""
    for passage in subject.passages:
        if passage.cell.cell_type == "code":
            problem = syntax_problem(subject.visible(passage))
            if problem:
                yield subject.finding(
                    "error",
                    say("cell-does-not-parse-without-solution-sentence", problem=problem),
                    say("mark-whole-statements-as-solution"),
                    passage.number,
                )


def entries_that_are_missing(subject: LintedMaster) -> Iterator[LintFinding]:
    """Every part is found by a name, which the solved notebook binds and students can read."""
    codes = [each for each in subject.passages if each.cell.cell_type == "code"]
    bound = {name for each in codes for name in bound_names(subject.solved(each))}
    texts = [subject.visible(each) for each in subject.for_students]
    words = {word for text in texts for word in _WORD.findall(text)}
    for part in subject.assignment.part:
        if not any(map(part.asks_for, bound)):
            yield subject.finding(
                "error",
                say("part-found-by-name-which-no-cell", part=part.id, name=part.entry[0]),
                say("define-or-change-entry-in-assignment-toml"),
            )
        elif not any(map(part.asks_for, words)):
            yield subject.finding(
                "warning",
                say("students-never-see-name-by-which-part", name=part.entry[0], part=part.id),
                say("name-in-text-or-outside-solution"),
            )


def answers_that_are_missing(subject: LintedMaster) -> Iterator[LintFinding]:
    """Every part that a person marks has a cell for its answer, and a rubric."""
    cells = [(tags_of(each.cell), subject.visible(each)) for each in subject.for_students]
    for part in subject.assignment.manual:
        if not any(part.is_answer(tags, text) for tags, text in cells):
            yield subject.finding(
                "error",
                say("template-has-no-cell-for-answer-part", part=part.id),
                say("give-cell-tag-or-change-answer", tag=repr(part.names[0])),
            )
        if not part.item:
            yield subject.finding(
                "error",
                say("part-has-no-rubric-so-cannot-marked", part=part.id),
                say("add-manual-item-tables-in-assignment-toml"),
            )
        others = [each for each in subject.languages if each != ENGLISH]
        lacking = [each.id for each in part.item if any(code not in each.texts for code in others)]
        if lacking:
            yield subject.finding(
                "warning",
                say("items-part-not-translated", part=part.id, items=in_a_row(lacking)),
                say("add-texts-them-in-assignment-toml-until"),
            )


def imports_that_students_lack(subject: LintedMaster) -> Iterator[LintFinding]:
    """Students need not have installed the grader."""
    for passage in subject.for_students:
        code = subject.visible(passage)
        if passage.cell.cell_type == "code" and not syntax_problem(code):
            names = {name for node in parse_cell(code).body for name in _imported(node)}
            if "grader" in {name.partition(".")[0] for name in names}:
                yield subject.finding(
                    "error",
                    say("cell-imports-grader-which-students-may"),
                    say("remove-or-import-within-try-and-continue"),
                    passage.number,
                )


def _imported(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, ast.Import):
        return tuple(alias.name for alias in node.names)
    return (node.module or "",) if isinstance(node, ast.ImportFrom) else ()


def translations_of_nothing(subject: LintedMaster) -> Iterator[LintFinding]:
    """A translation stands directly after the cell, or below the comment, that it translates."""
    for each in subject.misplaced:
        yield subject.finding(
            "error",
            say("cell-sentence", problem=each.problem),
            say("put-directly-after-english-text-cell"),
            each.number,
        )
    for passage in subject.passages:
        for comment in _comments(subject, passage.cell.source, passage.cell.cell_type):
            if isinstance(comment, Misplaced):
                yield subject.finding(
                    "error",
                    say("line-sentence", problem=comment.problem),
                    say("put-directly-below-comment-with-same-indentation"),
                    passage.number,
                    comment.line,
                )


def translations_that_are_missing(subject: LintedMaster) -> Iterator[LintFinding]:
    """What is translated into one language should be in all of the master's."""
    others = [each for each in subject.languages if each != ENGLISH]
    for passage in subject.for_students:
        if passage.cell.cell_type == "markdown" and outline_of(passage.cell.source).has_words:
            missing = [each for each in others if each not in passage.translations]
            if missing:
                yield _missing(subject, missing, passage.number)
        for comment in _comments(subject, passage.cell.source, passage.cell.cell_type):
            if isinstance(comment, Comment) and comment.translations:
                lacking = [each for each in others if each not in comment.translations]
                if lacking:
                    yield _missing(subject, lacking, passage.number, comment.line)


def _missing(subject: LintedMaster, missing: list[str], number: int, line: int = 0) -> LintFinding:
    names = _name(missing[0])
    for each in missing[1:]:
        names = say("first-and-second", first=names, second=_name(each))
    problem = say("there-no-translation-into", language=names)
    hint = say("add-directly-after-original-until-then-english")
    return subject.finding("warning", problem, hint, number, line)


def translations_that_lost_something(subject: LintedMaster) -> Iterator[LintFinding]:
    """Headings, code, links, numbers and tables are the same in every language."""
    for passage in subject.passages:
        english = outline_of(passage.cell.source)
        for language, (number, cell) in passage.translations.items():
            lost = _lost(english, outline_of(cell.source))
            if lost:
                yield subject.finding(
                    "warning",
                    say("translation-into-lost", language=_name(language), lost=in_a_row(lost)),
                    say("compare-with-original-cell", cell=passage.number),
                    number,
                )


def _lost(english: Outline, here: Outline) -> list[Text]:
    spans = sorted(english.spans - here.spans)
    targets = sorted(english.targets - here.targets)
    numbers = sorted(english.numbers - here.numbers)
    lost = [say("code", code=f"`{each}`") for each in spans]
    lost += [say("link-target", target=each) for each in targets]
    lost += [say("the-number", number=each) for each in numbers]
    if here.headings != english.headings:
        levels = repr(list(english.headings))
        lost.append(say("headings-levels", levels=levels))
    for what in ("fences", "rows", "items"):
        if getattr(here, what) < getattr(english, what):
            lost.append(_NAMES[what])
    return lost


def emphasis_that_is_not_rendered(subject: LintedMaster) -> Iterator[LintFinding]:
    """Markdown takes `**` for stars where it stands between punctuation and a letter."""
    for number, cell in enumerate(subject.master.cells, start=1):
        if cell.cell_type == "markdown" and "**" in outline_of(cell.source).words:
            yield subject.finding(
                "warning",
                say("stars-bold-text-shown-as-stars"),
                say("put-punctuation-and-brackets-outside-stars"),
                number,
            )


def text_in_another_language(subject: LintedMaster) -> Iterator[LintFinding]:
    """Every template is in one language, as far as it has been translated."""
    for passage in subject.for_students:
        for language in sorted(scripts_in(subject.visible(passage))):
            yield subject.finding(
                "warning",
                say("english-template-shows-text", language=_name(language)),
                say("write-english-here-and-this-text", code=language),
                passage.number,
            )
        for language, (number, cell) in passage.translations.items():
            outline = outline_of(cell.source)
            known = language in LANGUAGES and language != ENGLISH
            if known and outline.has_words and language not in scripts_in(outline.words):
                yield subject.finding(
                    "warning",
                    say("translation-into-does-not-contain", language=_name(language)),
                    say("translate-text-or-correct-lang"),
                    number,
                )


def _name(language: str) -> Text:
    return _LANGUAGES.get(language, foreign(language))


def _comments(subject: LintedMaster, source: str, cell_type: str) -> Iterator[Comment | Misplaced]:
    if cell_type == "code":
        for item in cut_comments(source, subject.comment_languages):
            if not isinstance(item, str):
                yield item


RULES: tuple[Rule, ...] = (
    metadata_that_cannot_be_read,
    tags_that_are_nearly_instructor,
    marks_that_do_not_pair,
    solutions_that_students_read,
    cells_that_do_not_parse,
    entries_that_are_missing,
    answers_that_are_missing,
    imports_that_students_lack,
    translations_of_nothing,
    translations_that_are_missing,
    translations_that_lost_something,
    emphasis_that_is_not_rendered,
    text_in_another_language,
)
