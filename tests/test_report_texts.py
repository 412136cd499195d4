"""Texts in a document: they come back as they were, and nothing else comes of them."""

from __future__ import annotations

import json
import math
from typing import Any, get_args

import msgspec
import pytest

from grader.language import (
    LANGUAGES,
    NOTHING,
    Text,
    below,
    clause,
    foreign,
    in_a_row,
    in_clauses,
    join,
    say,
)
from grader.report import (
    Cell,
    CellOutput,
    CellProblem,
    MistakeKind,
    Report,
    decode_report,
    encode_report,
)
from tests import sample_reports

MISSING = say("notebook-defines-no-function-called", entry="create")
TEXTS = {
    "nothing": NOTHING,
    "a sentence": say("points"),
    "a sentence with values": MISSING,
    "numbers": say("values-nan-or-infinite", share=0.25),
    "a number that JSON has not": say("{x:.2f} s", x=math.inf),
    "a text in a text": say("not-seen", steps=in_a_row([say("split"), "fused"])),
    "foreign words": foreign("KeyError: {x} 'y'"),
    "a title": foreign("A model", {"ko": "모델", "zh": "模型"}),
    "sentences": join(MISSING, foreign("Why.")),
    "lines": below(MISSING, foreign("Why.")),
    "clauses": in_clauses([say("split"), say("fused")]),
    "a clause": say("trace-could-not-replayed-message", message=clause(MISSING)),
}


def holding(text: Text, language: str = "en") -> Report:
    return msgspec.structs.replace(sample_reports.typical(), notes=(text,), language=language)


def with_note(note: object) -> bytes:
    document = json.loads(encode_report(sample_reports.typical()))
    return json.dumps({**document, "notes": [note]}).encode()


class TestForms:
    """What a document has of a text."""

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_one_comes_back_as_it_was_and_its_words_are_in_the_language_of_the_document(
        self, language: str, subtests: pytest.Subtests
    ) -> None:
        for name, text in TEXTS.items():
            report = holding(text, language)
            document = encode_report(report)
            with subtests.test(name, of="the report"):
                assert report == decode_report(document)
            with subtests.test(name, of="the words"):
                (note,) = json.loads(document)["notes"]
                assert text.in_(language) == note["text"]

    def test_a_sentence_has_its_id_and_its_values(self) -> None:
        (note,) = json.loads(encode_report(holding(MISSING, "ko")))["notes"]
        assert "create" in note.pop("text")
        assert note == {
            "id": "notebook-defines-no-function-called",
            "values": {"entry": "create"},
        }

    def test_foreign_words_are_words_alone(self) -> None:
        (note,) = json.loads(encode_report(holding(foreign("x"))))["notes"]
        assert {"text": "x"} == note

    def test_what_was_written_in_one_language_is_said_in_another(self) -> None:
        back = decode_report(encode_report(holding(MISSING, "zh")))
        assert MISSING.in_("ko") == back.notes[0].in_("ko") != MISSING.in_("zh")

    def test_a_report_is_rendered_in_the_language_that_is_asked_for(self) -> None:
        report = holding(MISSING, "zh")
        assert MISSING.in_("zh") in report.render("markdown")
        assert MISSING.in_("ko") in report.render("markdown", language="ko")

    def test_a_language_that_there_is_not_is_refused(self) -> None:
        with pytest.raises(ValueError, match="'xx', but en, zh, ko"):
            holding(MISSING).render("markdown", language="xx")


X = {"text": "x"}
DEEP: dict[str, Any] = X
for _ in range(40):
    DEEP = {"text": "x", "sentences": [DEEP]}
WIDE: dict[str, Any] = {"text": "x", "id": "y" * 1000}
for _ in range(12):
    WIDE = {"text": "x", "id": "{a}{a}{a}{a}", "values": {"a": WIDE}}
BAD: dict[str, object] = {
    "a plain string": "A note.",
    "no words": {"id": "Points"},
    "another field": {**X, "other": 1},
    "values without a sentence": {**X, "values": {"a": 1}},
    "two ways": {**X, "id": "Points", "row": [X]},
    "a value that is missing": {**X, "id": "{a} {b}", "values": {"a": 1}},
    "a value too many": {**X, "id": "{a}", "values": {"a": 1, "b": 2}},
    "no value at all": {**X, "id": "{a}"},
    "an attribute": {**X, "id": "{a.__class__}", "values": {"a": 1}},
    "an item": {**X, "id": "{a[0]}", "values": {"a": "text"}},
    "a wide format": {**X, "id": "{a:999999999}", "values": {"a": 1}},
    "a long format": {**X, "id": "{a:.999f}", "values": {"a": 1.0}},
    "a format within a format": {**X, "id": "{a:{b}}", "values": {"a": 1, "b": 2}},
    "a format of another kind": {**X, "id": "{a:.2f}", "values": {"a": "text"}},
    "a conversion": {**X, "id": "{a!a}", "values": {"a": "text"}},
    "an open brace": {**X, "id": "{a", "values": {"a": 1}},
    "a value of another kind": {**X, "id": "{a}", "values": {"a": [1]}},
    "too deep": DEEP,
    "too large": WIDE,
}


class TestBadForms:
    """Documents may be anybody's."""

    @pytest.mark.parametrize("note", BAD.values(), ids=BAD)
    def test_what_none_of_ours_is_refused(self, note: object) -> None:
        with pytest.raises(msgspec.DecodeError):
            decode_report(with_note(note))

    def test_braces_of_foreign_words_are_words(self) -> None:
        report = decode_report(with_note({"text": "{a.__class__:999999999}"}))
        assert "{a.__class__:999999999}" == report.notes[0].in_("zh")

    def test_an_english_sentence_is_read_as_the_id_that_it_was(self) -> None:
        sentence = "The notebook defines no function called {entry}."
        old = {"text": "?", "id": sentence, "values": {"entry": "create"}}
        assert MISSING == decode_report(with_note(old)).notes[0]

    def test_an_id_that_no_file_has_is_said_as_it_is(self) -> None:
        report = decode_report(with_note({"text": "?", "id": "So {a}.", "values": {"a": 1}}))
        assert "So 1." == report.notes[0].in_("ko")

    def test_an_id_that_is_gone_leaves_the_words_of_the_document(self) -> None:
        """Sentences get other ids, and reports are kept for years."""
        gone = {"text": "So it was.", "id": "so-that-was", "values": {"a": 1}}
        assert "So it was." == decode_report(with_note(gone)).notes[0].in_("ko")

    def test_a_sentence_that_names_other_values_today_leaves_the_words_of_the_document(
        self,
    ) -> None:
        edited = {"text": "Cannot read a.", "id": "cannot-read", "values": {"name": "a"}}
        assert "Cannot read a." == decode_report(with_note(edited)).notes[0].in_("ko")


def earlier(version: int) -> dict[str, Any]:
    """Return a document as versions before 4 had it."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict) and "text" in value and "kind" not in value:
            return value["text"]
        if isinstance(value, dict):
            gone = ("code", "tells_diagnosis", "left_out", "given")
            return {name: plain(each) for name, each in value.items() if name not in gone}
        return [plain(each) for each in value] if isinstance(value, list) else value

    report = msgspec.structs.replace(
        sample_reports.typical(), notes=(MISSING,), problems=(CellProblem(1, "E", "m", 2, MISSING),)
    )
    document: dict[str, Any] = plain(json.loads(encode_report(report)))
    document["schema_version"] = version
    if version == 2:
        for name in ("basis", "graded"):
            del document[name]
        for part in document["parts"]:
            for check in part["checks"]:
                del check["again"]
    return document


def with_mistake(document: dict[str, Any], name: object) -> dict[str, Any]:
    """Return a document of today or earlier with a diagnosis in its second part."""
    words = {"text": ""} if document["schema_version"] > 3 else ""
    diagnosis = dict.fromkeys(("message", "advice", "link", "layer"), words)
    place = {"steps": [], "wrong": 0, "wanted": None, "mistake": name}
    document["parts"][1]["diagnosis"] = {**diagnosis, **place}
    return document


class TestMistakes:
    """Their names are a closed set."""

    def test_each_name_is_read(self, subtests: pytest.Subtests) -> None:
        for name in ["", *get_args(MistakeKind)]:
            with subtests.test(name):
                document = with_mistake(json.loads(encode_report(sample_reports.typical())), name)
                report = decode_report(json.dumps(document).encode())
                assert name == report.parts[1].diagnosis.mistake

    def test_any_other_is_refused(self) -> None:
        document = with_mistake(json.loads(encode_report(sample_reports.typical())), "unheard_of")
        with pytest.raises(msgspec.DecodeError, match="mistake"):
            decode_report(json.dumps(document).encode())


class TestVersion4:
    """It has texts, and less of cells."""

    def document(self) -> dict[str, Any]:
        cells = (Cell("code", "x", 1, 2, (CellOutput("result", "1"),)),)
        report = msgspec.structs.replace(sample_reports.typical(), notes=(MISSING,), cells=cells)
        document: dict[str, Any] = json.loads(encode_report(report))
        del document["cells"][0]["given"]
        return document | {"schema_version": 4}

    def test_one_is_read_as_it_was(self) -> None:
        report = decode_report(json.dumps(self.document()).encode())
        cells = (Cell("code", "x", 1, 2, (CellOutput("result", "1"),)),)
        typical = sample_reports.typical()
        assert msgspec.structs.replace(typical, notes=(MISSING,), cells=cells) == report
        assert 5 == report.schema_version

    @pytest.mark.parametrize(
        "change", [{"extra": 1}, {"score": None}, {"score": "7"}, {"notes": ["x"]}, {"parts": {}}]
    )
    def test_another_document_is_refused(self, change: dict[str, object]) -> None:
        with pytest.raises(msgspec.DecodeError):
            decode_report(json.dumps(self.document() | change).encode())


class TestEarlierDocuments:
    """Versions 2 and 3, whose sentences are strings."""

    @pytest.mark.parametrize("version", [2, 3])
    def test_one_is_read_and_its_sentences_are_words(self, version: int) -> None:
        report = decode_report(json.dumps(earlier(version)).encode())
        assert foreign(MISSING.english) == report.notes[0] == report.problems[0].hint
        assert 5 == report.schema_version
        assert MISSING.english in report.render("text", language="ko")

    def test_a_reason_that_tells_the_diagnosis_is_known_by_its_words(self) -> None:
        document = earlier(3)
        part = document["parts"][1]
        diagnosis = {"message": "It departs.", "advice": "Mend it.", "link": "", "layer": ""}
        part["diagnosis"] = {**diagnosis, "steps": [], "wrong": 0, "wanted": None, "mistake": ""}
        part["checks"][2]["reason"] = "All differ. It departs."
        checks = decode_report(json.dumps(document).encode()).parts[1].checks
        assert [False, False, True] == [check.tells_diagnosis for check in checks]

    @pytest.mark.parametrize(
        ("version", "name", "known"),
        [(2, "padding", "padding"), (3, "schedule_step", "schedule_step"), (3, "unheard_of", "")],
    )
    def test_a_mistake_that_has_no_name_today_is_none(
        self, version: int, name: str, known: str
    ) -> None:
        report = decode_report(json.dumps(with_mistake(earlier(version), name)).encode())
        assert known == report.parts[1].diagnosis.mistake

    def test_a_mistake_that_is_no_name_is_refused(self) -> None:
        with pytest.raises(msgspec.DecodeError):
            decode_report(json.dumps(with_mistake(earlier(3), 3)).encode())

    @pytest.mark.parametrize("version", [1, 6])
    def test_another_version_is_refused(self, version: int) -> None:
        with pytest.raises(msgspec.DecodeError):
            decode_report(json.dumps(earlier(3) | {"schema_version": version}).encode())

    def test_a_text_in_one_is_refused(self) -> None:
        with pytest.raises(msgspec.DecodeError):
            decode_report(json.dumps(earlier(3) | {"notes": [{"text": "x"}]}).encode())
