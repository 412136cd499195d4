"""The language in which a rendering speaks."""

from __future__ import annotations

import contextvars
from concurrent.futures import ThreadPoolExecutor

import pytest

from grader.language import LANGUAGES, say
from grader.render.speech import speaking, spoken, tell


def test_a_text_is_told_in_the_language_that_is_spoken() -> None:
    text = say("points")
    with speaking("zh"):
        assert text.in_("zh") == tell(text) == tell("points") != text.english
    assert "Points" == tell(text)


def test_a_sentence_is_told_with_its_values() -> None:
    assert "Code cell 3" == tell("code-cell", cell=3)
    assert "Code cell 3" == tell(say("code-cell"), cell=3)


@pytest.mark.parametrize("code", [None, "xx", "../../etc", ""])
def test_a_language_that_is_none_of_ours_is_english(code: str | None) -> None:
    with speaking(code):
        assert "en" == spoken()


def test_a_thread_speaks_what_its_context_does() -> None:
    with speaking("zh"), ThreadPoolExecutor(1) as executor:
        assert "zh" == executor.submit(contextvars.copy_context().run, spoken).result()
    assert LANGUAGES[0] == spoken()
