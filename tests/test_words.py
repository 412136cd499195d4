"""The message files have everything that is said, and everything is said through them."""

from __future__ import annotations

import ast
import json
import re
import runpy
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from grader.language import ENGLISH, LANGUAGES, template, word_files

ROOT = Path(__file__).parents[1]
GRADER = ROOT / "grader"
TRANSLATED = tuple(each for each in LANGUAGES if each != ENGLISH)
SCRIPTS = {"zh": re.compile("[\u4e00-\u9fff]"), "ko": re.compile("[\uac00-\ud7a3]")}

STUDENT_FACING = (
    *sorted((GRADER / "execute").glob("*.py")),
    *sorted((GRADER / "ir").glob("*.py")),
    *sorted((GRADER / "selfcheck").glob("*.py")),
    *(
        path
        for room in ("checks", "diagnosis", "evidence", "grading", "measurement")
        for path in sorted((GRADER / room).rglob("*.py"))
    ),
    *sorted((GRADER / "render").rglob("*.py")),
    GRADER / "grading" / "pipeline.py",
    GRADER / "reading" / "submission.py",
)
"""Modules that say something to students."""

TELLING = {
    "Problem",
    "IRError",
    "NotPlainError",
    "SubmissionError",
    "TensorError",
    "Unsteady",
    "_UnprovenError",
    "_damaged",
    "failed",
    "not_graded",
    "partial",
    "passed",
    "show_message",
}
"""What is called with sentences for students."""


def saying(path: Path) -> Iterator[ast.Call]:
    """Return what makes texts in a module, and tells them where it shows things."""
    room = path.relative_to(GRADER).parts[0]
    more = {"selfcheck": {"tell"}, "render": {"tell"}, "ir": {"doubt", "refuse"}}
    return calls(path, {"say"} | more.get(room, set()))


def is_unfinished(node: ast.expr) -> bool:
    """Say whether an argument is a sentence that lacks the values that it names."""
    if not isinstance(node, ast.Call) or node.keywords or not isinstance(node.func, ast.Name):
        return False
    text = node.args[0] if node.func.id in ("say", "tell") and node.args else None
    return isinstance(text, ast.Constant) and bool(placeholders(template(text.value)))


class Message(NamedTuple):
    """A sentence in English, and in another language."""

    id: str
    english: str
    string: str


def messages(language: str) -> list[Message]:
    """Return what a message file holds, beside the English one."""
    english, other = (
        [json.loads(path.read_text(encoding="utf-8")) for path in word_files(each)]
        for each in (ENGLISH, language)
    )
    pairs = zip(english, other, strict=True)
    return [Message(id, own[id], string) for own, found in pairs for id, string in found.items()]


def placeholders(text: str) -> Counter[tuple[str, str | None, str | None]]:
    """Return the names in braces, with their formats and conversions."""
    return Counter(
        (name, form, conversion)
        for _, name, form, conversion in string.Formatter().parse(text)
        if name is not None
    )


def code(text: str) -> Counter[str]:
    """Return what stands in backticks."""
    return Counter(re.findall("`[^`]*`", text))


def calls(path: Path, names: set[str]) -> Iterator[ast.Call]:
    """Return the calls of functions with these names in a module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            if name in names:
                yield node


def unsaid(node: ast.expr) -> bool:
    """Say whether an argument is a sentence in English alone, or a choice that may be one."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and " " in node.value
    if isinstance(node, ast.IfExp):
        return unsaid(node.body) or unsaid(node.orelse)
    if isinstance(node, ast.BoolOp):
        return any(map(unsaid, node.values))
    if isinstance(node, ast.BinOp):
        return unsaid(node.left) or unsaid(node.right)
    return isinstance(node, ast.JoinedStr)


class TestFiles:
    """What is in them."""

    def test_they_hold_what_is_said_now_and_nothing_else(self) -> None:
        command = [sys.executable, "tools/make_words.py", "--check"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (0, "") == (done.returncode, done.stdout + done.stderr)

    def test_one_message_has_one_id(self) -> None:
        """Whatever its values are called: Cannot read {path}: {reason}. had three."""
        doubles = runpy.run_path(str(ROOT / "tools" / "make_words.py"))["doubles"]
        words = {
            "a": "Cannot read {path}: {reason}.",
            "b": "Cannot read {name}: {strerror}.",
            "c": "Cannot read {name:>3}: {strerror}.",
            "d": "{path}: {reason}",
            "e": "{name}: {strerror}",
        }
        assert [("a", "b")] == doubles(words)

    def test_no_saying_hides_from_them(self) -> None:
        """Within an f-string, for example, the tool would not see it."""
        said = {
            argument.value
            for path in GRADER.rglob("*.py")
            for call in saying(path)
            for argument in call.args[:1]
            if isinstance(argument, ast.Constant) and argument.value
        }
        assert set() == said - {message.id for message in messages("zh")}

    def test_the_code_says_ids_and_no_sentences(self) -> None:
        is_id = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*").fullmatch
        assert [] == [id for id, _, _ in messages("zh") if not is_id(id)]

    def test_a_sentence_has_one_id(self) -> None:
        """Two would be translated twice."""
        count = Counter(message.english for message in messages("zh"))
        assert {} == {text: found for text, found in count.items() if found > 1}

    def test_everything_has_its_english_sentence(self) -> None:
        assert [] == [message.id for message in messages("zh") if not message.english]

    @pytest.mark.parametrize("language", TRANSLATED)
    def test_everything_is_translated(self, language: str) -> None:
        assert [] == [message.id for message in messages(language) if not message.string]

    @pytest.mark.parametrize("language", TRANSLATED)
    def test_a_translation_has_the_values_of_its_sentence_in_the_same_formats(
        self, language: str
    ) -> None:
        wrong = [
            (message.english, message.string)
            for message in messages(language)
            if placeholders(message.english) != placeholders(message.string)
        ]
        assert [] == wrong

    @pytest.mark.parametrize("language", TRANSLATED)
    def test_code_is_not_translated(self, language: str) -> None:
        wrong = [
            (message.english, message.string)
            for message in messages(language)
            if code(message.english) != code(message.string)
        ]
        assert [] == wrong

    @pytest.mark.parametrize("language", TRANSLATED)
    def test_a_translation_of_a_sentence_is_in_its_language(self, language: str) -> None:
        wrong = [
            (message.id, message.string)
            for message in messages(language)
            if message.english.count(" ") > 3 and not SCRIPTS[language].search(message.string)
        ]
        assert [] == wrong

    @pytest.mark.parametrize("language", TRANSLATED)
    def test_a_translation_is_laid_out_as_its_sentence(self, language: str) -> None:
        """Labels keep the space after them, and sentences get none."""
        wrong = [
            (message.id, message.string)
            for message in messages(language)
            if message.string != message.string.strip()
            and message.english == message.english.strip()
        ]
        assert [] == wrong


class TestNumbers:
    """How cells and percentages are written, in every language alike."""

    ALL_CELLS = frozenset(
        {
            *("cell", "compare-with-original-cell", "template-has-no-stub-for-cell-master"),
            *("cell-master-notebook", "cell-master-notebook-has", "line-cell-master-notebook"),
            *(
                "cell-master-notebook-has-metadata-that-cannot",
                "cell-does-not-parse-without-solution",
            ),
            *("cell-notebook-damaged-source-not-text", "cell-notebook-has-tag-skip-execution"),
            "text-cell-defines",
        }
    )
    """Numbers of a master's cells and of damaged files; others count the code cells that run."""

    def test_a_number_of_code_cells_says_so(self) -> None:
        """Text cells are not counted: a reader would look for cell 3 too far up."""
        plain = re.compile(r"(?<!code )\bcells? \{(?!problem)", re.IGNORECASE)
        found = {each.id for each in messages("zh") if plain.search(each.english)}
        assert self.ALL_CELLS == found

    @pytest.mark.parametrize(("language", "words"), [("zh", "代码单元格"), ("ko", "코드 셀")])
    def test_a_translation_says_so_where_english_does(self, language: str, words: str) -> None:
        wrong = [
            each.id
            for each in messages(language)
            if ("code cell" in each.english.lower()) != (words in each.string)
        ]
        assert [] == wrong

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_no_space_is_before_a_percent_sign(self, language: str) -> None:
        wrong = [each.id for each in messages(language) if re.search(r"[\d}] %", each.string)]
        assert [] == wrong


class TestKorean:
    """Particles after a value, whose last sound is not known: 을 behind a consonant, else 를."""

    KNOWN = re.compile(r"%\}(?:가|를)|\{(?:threads|told|share|version)\}(?:가|로)")
    """After per cent, a count of things (개), and TVM's version, which ends in 0."""

    def test_both_particles_stand_behind_a_value(self) -> None:
        single = re.compile(r"\{[^{}]*\}[`\"”]?(?:이|가|을|를|은|는|와|과|로|으로)(?=[ ,.:]|$)")
        wrong = [
            (message.id, found[0])
            for message in messages("ko")
            for found in single.finditer(message.string)
            if not self.KNOWN.search(found[0])
        ]
        assert [] == wrong

    def test_a_thing_is_named_without_both(self) -> None:
        """이름이 {name}인 함수, where {name}(이)라는 함수 stops a reader."""
        assert [] == [each.id for each in messages("ko") if "(이)라" in each.string]


class TestCode:
    """How the modules speak."""

    def test_every_saying_is_given_the_values_that_its_sentence_names(self) -> None:
        wrong = []
        for path in GRADER.rglob("*.py"):
            for call in saying(path):
                names = {each.arg for each in call.keywords}
                text = call.args[0]
                if not names or None in names or not isinstance(text, ast.Constant):
                    continue
                if {name for name, _, _ in placeholders(template(text.value))} != names:
                    wrong.append((path.name, text.value))
        assert [] == wrong

    def test_no_sentence_is_returned_or_told_without_its_values(self) -> None:
        """A constant may lack them, until it is used."""
        wrong = [
            (path.name, ast.unparse(each))
            for path in GRADER.rglob("*.py")
            for each in (
                *(argument for call in calls(path, TELLING | {"join"}) for argument in call.args),
                *(call for call in calls(path, {"tell"})),
                *(
                    node.value
                    for node in ast.walk(ast.parse(path.read_text("utf-8")))
                    if isinstance(node, ast.Return) and node.value is not None
                ),
            )
            if is_unfinished(each)
        ]
        assert [] == wrong

    def test_what_is_said_is_never_put_together_first(self) -> None:
        """A sentence that is formatted before it is looked up is in no message file."""
        wrong = [
            (path.name, ast.unparse(call))
            for path in GRADER.rglob("*.py")
            for call in saying(path)
            if isinstance(call.args[0], ast.JoinedStr | ast.BinOp)
        ]
        assert [] == wrong

    def test_no_student_is_told_a_sentence_in_english_alone(self) -> None:
        wrong = [
            (path.relative_to(GRADER).as_posix(), ast.unparse(argument))
            for path in STUDENT_FACING
            for call in calls(path, TELLING)
            for argument in (*call.args, *(each.value for each in call.keywords))
            if unsaid(argument)
        ]
        assert [] == wrong

    @pytest.mark.parametrize(
        ("argument", "is_unsaid"),
        [
            ('"It is wrong."', True),
            ('f"{it} is wrong."', True),
            ('"It is " + reason', True),
            ('why or "It is wrong."', True),
            ('"Not this." if wrong else ""', True),
            ('say("it-is-wrong")', False),
            ("REASON", False),
            ("found / len(wanted)", False),
            ('""', False),
        ],
    )
    def test_such_a_sentence_is_found(self, argument: str, is_unsaid: bool) -> None:
        assert is_unsaid == unsaid(ast.parse(argument, mode="eval").body)
