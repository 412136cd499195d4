"""Sentences in the language that is spoken."""

from __future__ import annotations

import contextvars
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader import language
from grader.language import (
    LANGUAGES,
    in_a_row,
    join,
    later,
    mark,
    retell,
    say,
    speaking,
    spoken,
)

CATALOGUE = """\
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "{count} samples differ."
msgstr "{count} 个样本不同。"

msgid "Not translated."
msgstr ""
"""


@pytest.fixture(autouse=True)
def catalogues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zh.po").write_text(CATALOGUE, encoding="utf-8")
    monkeypatch.setattr(language, "CATALOGUES", tmp_path)
    language._catalogue.cache_clear()
    yield
    language._catalogue.cache_clear()


def test_a_sentence_is_said_in_the_language_that_is_spoken() -> None:
    with speaking("zh"):
        assert "3 个样本不同。" == say("{count} samples differ.", count=3)
    assert "3 samples differ." == say("{count} samples differ.", count=3)


def test_a_marked_sentence_is_no_text_before_it_is_said() -> None:
    """Where a text is wanted, it is an error of types: Chinese readers once got one in English."""
    marked = mark("{count} samples differ.")
    assert not isinstance(marked, str)
    kept = later(marked, count=3)
    with speaking("zh"):
        assert "3 个样本不同。" == say(marked, count=3) == retell(kept)


def test_what_is_not_translated_is_said_in_english() -> None:
    with speaking("zh"):
        assert "Not translated." == say("Not translated.")
        assert "Unknown {}." == say("Unknown {}.")
    with speaking("ko"):
        assert "3 samples differ." == say("{count} samples differ.", count=3)


@pytest.mark.parametrize("code", [None, "xx", "../../etc", ""])
def test_a_language_that_is_none_of_ours_is_english(code: str | None) -> None:
    with speaking(code):
        assert "en" == spoken()


def test_a_thread_speaks_what_its_context_does() -> None:
    with speaking("zh"), ThreadPoolExecutor(1) as executor:
        assert "zh" == executor.submit(contextvars.copy_context().run, spoken).result()
    assert LANGUAGES[0] == spoken()


class TestLater:
    """Sentences that are written down before it is known who will read them."""

    def test_such_a_sentence_is_english_until_it_is_retold(self) -> None:
        with speaking("zh"):
            sentence = later("{count} samples differ.", count=3)
            assert "3 samples differ." == sentence
            assert "3 个样本不同。" == retell(sentence)
        assert "3 samples differ." == retell(sentence)

    def test_its_values_are_retold_too(self) -> None:
        sentence = later("Not translated: {inner}", inner=later("{count} samples differ.", count=2))
        with speaking("zh"):
            assert "Not translated: 2 个样本不同。" == retell(sentence)

    def test_any_other_text_is_returned_as_it_is(self) -> None:
        with speaking("zh"):
            assert "{count} samples differ." == retell("{count} samples differ.")


def test_nothing_is_said_of_nothing() -> None:
    """The empty message is the header of a catalogue."""
    with speaking("zh"):
        assert "" == say("")


@pytest.mark.parametrize(("code", "text"), [("en", "A. B."), ("ko", "A. B."), ("zh", "A.B.")])
def test_sentences_are_joined_as_their_language_does(code: str, text: str) -> None:
    with speaking(code):
        assert text == join("A.", "", "B.")


def test_items_are_separated_as_the_catalogue_says() -> None:
    assert "a, b" == in_a_row(["a", "b"])
