"""Sentences as values: what they say in each language, and what they are not."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader import language
from grader.language import (
    NOTHING,
    Foreign,
    Text,
    as_text,
    below,
    clause,
    foreign,
    id_of,
    in_a_row,
    in_clauses,
    join,
    one_of_ours,
    say,
)

WORDS = {
    "en": {
        "samples-differ": "{count} samples differ.",
        "because": "Because of this: {reason}",
        "comma": ", ",
        "semicolon": "; ",
        "where-raised": "{where} raised it.",
        "new": "Not translated.",
    },
    "zh": {
        "samples-differ": "{count} 个样本不同。",
        "because": "原因:{reason}",
        "where-raised": "{where} 引发了它。",
        "comma": "、",
        "semicolon": "；",
        "new": "",
    },
    "ko": {},
}

DIFFER = say("samples-differ")


@pytest.fixture(autouse=True)
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for code, sentences in WORDS.items():
        (tmp_path / f"{code}.json").write_text(json.dumps(sentences), encoding="utf-8")
    monkeypatch.setattr(language, "WORDS", tmp_path)
    language._words.cache_clear()
    language._ids.cache_clear()
    yield
    language._words.cache_clear()
    language._ids.cache_clear()


class TestSentences:
    """Sentences of the message files."""

    def test_one_is_said_in_the_language_that_is_asked_for(self) -> None:
        text = say("samples-differ", count=3)
        assert ("3 个样本不同。", "3 samples differ.") == (text.in_("zh"), text.in_("en"))

    def test_what_is_not_translated_is_said_in_english(self) -> None:
        assert "Not translated." == say("new").in_("zh")
        assert "3 samples differ." == say("samples-differ", count=3).in_("ko")

    @pytest.mark.parametrize("code", ["xx", "../../etc", ""])
    def test_in_a_language_that_is_none_of_ours_it_is_english(self, code: str) -> None:
        assert "3 samples differ." == say(DIFFER, count=3).in_(code)

    def test_braces_that_name_nothing_stay(self) -> None:
        assert "Unknown {}." == say("Unknown {}.").in_("zh")

    def test_a_value_may_be_a_text_and_is_said_in_the_same_language(self) -> None:
        text = say("because", reason=say(DIFFER, count=2))
        assert "原因:2 个样本不同。" == text.in_("zh")
        assert "Because of this: 2 samples differ." == text.english

    def test_a_constant_is_given_its_values_where_it_is_used(self) -> None:
        assert "3 个样本不同。" == say(DIFFER, count=3).in_("zh")

    def test_a_constant_without_its_values_cannot_be_said(self) -> None:
        with pytest.raises(KeyError):
            DIFFER.in_("zh")

    def test_a_missing_value_is_an_error_where_the_sentence_is_made(self) -> None:
        with pytest.raises(KeyError, match="count"):
            say("samples-differ", counts=3)

    def test_a_value_that_is_neither_word_nor_number_is_an_error(self) -> None:
        with pytest.raises(TypeError, match="count"):
            say("samples-differ", count=(3, 4))  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("sentence", "value", "kept"),
        [
            ("{x:.2f} s", math.pi, 3.14),
            ("{x:.0%}", 0.28571, 0.29),
            ("{x:,.0f}", 12345.678, 12346.0),
            ("{x:.2g}", 0.0123456, 0.012),
            ("{x:.2f}", math.inf, math.inf),
            ("{x}", math.pi, math.pi),
        ],
    )
    def test_a_number_is_kept_as_far_as_it_is_told(
        self, sentence: str, value: float, kept: float
    ) -> None:
        """The digits beyond may be those of a hidden input, and the report has its values."""
        text = say(sentence, x=value)
        assert ({"x": kept}, sentence.format(x=value)) == (text.values, text.english)

    def test_values_that_it_does_not_name_are_left_out(self) -> None:
        assert say(DIFFER, count=3) == say(DIFFER, count=3, other=(1, 2))  # type: ignore[arg-type]

    def test_an_english_sentence_is_found_by_its_words(self) -> None:
        """Reports that were written when it was its own id are read so."""
        assert "samples-differ" == id_of("{count} samples differ.")
        assert "Unknown." == id_of("Unknown.")

    @pytest.mark.parametrize(
        ("number", "words"),
        [(256.7, "260"), (12345.6, "12,000"), (0.684, "0.68"), (12.34, "12")],
    )
    def test_a_large_number_is_written_out(self, number: float, words: str) -> None:
        """A student stumbles over 2.6e+02."""
        said = say("samples-differ-from-right-outputs-by-up", wrong=3, samples=64, worst=number)
        assert f"by up to about {words}." in said.english

    def test_nothing_is_said_of_nothing(self) -> None:
        assert "" == say("").in_("zh")


class TestValues:
    """What texts are to Python."""

    @pytest.mark.parametrize("text", [DIFFER, foreign("A."), join(DIFFER, foreign("A."))])
    def test_none_becomes_a_string_by_itself(self, text: Text) -> None:
        assert not isinstance(text, str)
        for spell in (str, "{}".format, lambda each: f"{each}"):
            with pytest.raises(TypeError, match="in no language"):
                spell(text)
        with pytest.raises(TypeError):
            text + "."  # type: ignore[operator]

    def test_none_can_be_changed(self) -> None:
        with pytest.raises(AttributeError):
            foreign("A.").words = "B."  # type: ignore[attr-defined]

    def test_those_that_say_the_same_are_equal(self) -> None:
        one, other = (join(say(DIFFER, count=3), foreign("A.")) for _ in range(2))
        assert (one, hash(one)) == (other, hash(other))
        assert say(DIFFER, count=4) != say(DIFFER, count=3) != foreign("3 samples differ.")
        assert foreign("3 samples differ.") != "3 samples differ."

    @pytest.mark.parametrize(
        "text", [say(DIFFER, count=math.pi), foreign("A", {"ko": "B"}), clause(foreign("A."))]
    )
    def test_copies_are_equal(self, text: Text) -> None:
        assert text == copy.deepcopy(text) == pickle.loads(pickle.dumps(text))

    def test_what_says_nothing_is_false(self) -> None:
        assert not any((NOTHING, join(), foreign(""), in_a_row([]), clause(NOTHING)))
        assert all((DIFFER, foreign("A."), in_a_row(["a"])))

    def test_one_holds_several_of_its_sentences_in_a_row(self) -> None:
        """A schedule that keeps a mistake says two sentences, and then how much is wrong."""
        one, two, three = (say(f"It is {word}.") for word in ("one", "two", "three"))
        assert join(one, two, three).holds(join(one, two))
        assert join(one, two, three).holds(join(two, three))
        assert not join(one, two, three).holds(join(one, three))

    def test_one_holds_what_it_is_put_together_of(self) -> None:
        inner = say(DIFFER, count=2)
        for whole in (
            inner,
            join(foreign("A."), inner),
            say("because", reason=inner),
        ):
            assert whole.holds(inner)
        assert not foreign(inner.english).holds(inner)

    def test_sentences_hold_sentences_in_a_row(self) -> None:
        one, two, three = (foreign(each) for each in ("A.", "B.", "C."))
        whole = join(one, two, three)
        assert whole.holds(join(one, two)) and whole.holds(join(two, three)) and whole.holds(whole)
        assert not whole.holds(join(one, three))
        assert not join(one, two).holds(whole)


class TestForeign:
    """Words of no message file."""

    def test_they_are_the_same_in_every_language(self) -> None:
        assert {"Not translated."} == {
            foreign("Not translated.").in_(code) for code in ("en", "zh")
        }

    def test_their_author_may_have_translated_them(self) -> None:
        title = foreign("A model", {"zh": "模型"})
        assert ("A model", "模型", "A model") == tuple(map(title.in_, ("en", "zh", "ko")))

    def test_a_string_becomes_one(self) -> None:
        assert as_text("A.") == Foreign("A.")
        assert as_text(DIFFER) is DIFFER


class TestSeveral:
    """Texts that are put together."""

    @pytest.mark.parametrize(("code", "words"), [("en", "A. B."), ("ko", "A. B."), ("zh", "A.B.")])
    def test_sentences_are_joined_as_their_language_does(self, code: str, words: str) -> None:
        assert words == join(foreign("A."), NOTHING, foreign("B.")).in_(code)

    def test_joined_once_or_twice_is_the_same(self) -> None:
        one, two, three = map(foreign, ("A.", "B.", "C."))
        assert join(one, two, three) == join(join(one, two), three)
        assert join(one, NOTHING) is one

    def test_what_ends_in_foreign_words_has_the_next_text_below_it(self) -> None:
        assert "A\nB." == below(foreign("A"), NOTHING, foreign("B.")).in_("zh")

    def test_items_are_separated_as_the_language_does(self) -> None:
        row = in_a_row(["a", foreign("b")])
        assert ("a, b", "a、b") == (row.english, row.in_("zh"))

    def test_clauses_are_separated_by_the_languages_semicolons(self) -> None:
        row = in_clauses(map(foreign, "ab"))
        assert ("a; b", "a；b") == (row.english, row.in_("zh"))

    def test_no_space_follows_a_bracket_that_is_as_wide_as_a_character(self) -> None:
        said = [say("where-raised", where=where).in_("zh") for where in ("f", "f（第 2 格）")]
        assert ["f 引发了它。", "f（第 2 格）引发了它。"] == said

    def test_a_sentence_within_another_one_has_no_full_stop_and_begins_small(self) -> None:
        text = clause(say("because", reason="it is."))
        assert ("because of this: it is", "原因:it is") == (text.english, text.in_("zh"))

    def test_foreign_words_within_a_sentence_keep_their_first_letter(self) -> None:
        assert "ValueError: no" == clause(foreign("ValueError: no.")).english


@pytest.mark.parametrize("code", [None, "xx", "../../etc", ""])
def test_a_language_that_is_none_of_ours_is_english(code: str | None) -> None:
    assert "en" == one_of_ours(code)
