"""Sentences as values: what is said, apart from the language in which it is read.

Code that judges makes a `Text`, by `say`: the id of a sentence in `words/`, and its values by name.
Code that shows it knows the language: `text.in_("zh")`. Untranslated sentences appear in English.
The files are JSON, because every process reads the English one when it starts: 2,800 sentences take
5 ms, and took 0.5 to 1.3 s as .po files.
"""

from __future__ import annotations

import functools
import json
import math
import string
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NoReturn

ENGLISH: Final = "en"
LANGUAGES: Final = (ENGLISH, "zh", "ko")
"""What grader can say everything in: English, Chinese and Korean."""

WORDS = Path(__file__).parent / "words"
"""The sentences of each language by their ids: en.json, zh.json, ko.json."""


def word_files(language: str) -> tuple[Path, ...]:
    """Return the files with a language's sentences; a kind of evidence has one of its own."""
    name = f"{language}.json"
    return WORDS / name, *sorted(WORDS.parent.glob(f"evidence/*/words/{name}"))


_UNSPACED = frozenset({"zh"})
"""Languages whose sentences follow one another without a space."""


class Text:
    """What is said, in no language yet: `in_` says it. It is false where it says nothing.

    It is no `str`, and does not become one by itself: in an f-string it is a TypeError.
    """

    __slots__ = ()

    def in_(self, language: str) -> str:
        """Return it in a language, in English where that is none of ours."""
        raise NotImplementedError

    @property
    def english(self) -> str:
        """It in English, for those who are spoken to in no other language: instructors, tests."""
        return self.in_(ENGLISH)

    def __str__(self) -> NoReturn:
        raise TypeError(f"{self!r} is in no language yet: say it by in_(language)")

    def __format__(self, form: str) -> NoReturn:
        raise TypeError(f"{self!r} is in no language yet: say it by in_(language)")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} of a Text cannot be set")

    def __bool__(self) -> bool:
        return True

    def holds(self, other: Text) -> bool:
        """Say whether it is another text, or that is a part of it."""
        return self == other or any(each.holds(other) for each in self._within())

    def _within(self) -> Iterable[Text]:
        """Return the texts that it is put together of."""
        return ()

    def _key(self) -> tuple[object, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and self._key() == other._key() and type(self) is type(other)

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._key()!r}"

    def __reduce__(self) -> tuple[type[Text], tuple[object, ...]]:
        return type(self), self._key()


Value = str | int | float | Text
"""What stands in a sentence: names and numbers as they are, or another text."""


class Sentence(Text):
    """A sentence of the message files: its `id`, and `values` for the names in it."""

    __slots__ = ("id", "values")

    id: str
    values: Mapping[str, Value]

    def __init__(self, id: str, values: Mapping[str, Value]) -> None:
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "values", dict(values))

    def in_(self, language: str) -> str:
        """Return it in a language. Raises KeyError where a value is missing."""
        translated = template(self.id, language)
        told = {name: _value_in(language, value) for name, value in self.values.items()}
        words = translated.format(**told) if told or self.lacks else translated
        return _unspaced(words) if language in _UNSPACED else words

    @property
    def lacks(self) -> frozenset[str]:
        """The names in it without values, as of a constant that is given them where it is used."""
        names = filter(str.isidentifier, _formats_in(template(self.id)))
        return frozenset(names) - self.values.keys()

    def _within(self) -> Iterable[Text]:
        return (value for value in self.values.values() if isinstance(value, Text))

    def _key(self) -> tuple[object, ...]:
        return self.id, self.values

    def __hash__(self) -> int:
        return hash((self.id, frozenset(self.values.items())))


def _unspaced(words: str) -> str:
    """Return words without spaces behind a bracket that is as wide as a character: a sentence has
    one behind a name, which `main` needs and `main（第 2 个单元格）` does not."""
    return words.replace("） ", "）")


class _WrittenOut(float):
    """A number that is written out up to a thousand million: 260 where Python writes 2.6e+02."""

    def __format__(self, form: str) -> str:
        words = super().__format__(form)
        return f"{float(words):,.0f}" if "e+0" in words else words


def _value_in(language: str, value: Value) -> str | int | float:
    if isinstance(value, float):
        return _WrittenOut(value)
    return value.in_(language) if isinstance(value, Text) else value


class Foreign(Text):
    """Words of no message file: a name, an error's message, a course's title.

    `translations` are what their author says in other languages, by code.
    """

    __slots__ = ("translations", "words")

    words: str
    translations: Mapping[str, str]

    def __init__(self, words: str, translations: Mapping[str, str] | None = None) -> None:
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "translations", dict(translations or {}))

    def in_(self, language: str) -> str:
        """Return them in a language, as they are where they are not translated."""
        return self.translations.get(language, self.words)

    def _key(self) -> tuple[object, ...]:
        return self.words, self.translations

    def __bool__(self) -> bool:
        return bool(self.words)

    def __hash__(self) -> int:
        return hash(self.words)


class Joined(Text):
    """Texts one after the other."""

    __slots__ = ("parts",)

    parts: tuple[Text, ...]

    def __init__(self, parts: Iterable[Text]) -> None:
        object.__setattr__(self, "parts", tuple(parts))

    def in_(self, language: str) -> str:
        """Return them in a language, with what it has between them."""
        return self._between(language).join(part.in_(language) for part in self.parts)

    def _within(self) -> Iterable[Text]:
        return self.parts

    def _key(self) -> tuple[object, ...]:
        return (self.parts,)

    def _between(self, language: str) -> str:
        raise NotImplementedError

    def __bool__(self) -> bool:
        return bool(self.parts)


class Sentences(Joined):
    """Sentences one after the other. Chinese has its spaces in its full stops."""

    __slots__ = ()

    def holds(self, other: Text) -> bool:
        """Say whether it is another text, or that is a part of it, or some sentences in a row."""
        if not isinstance(other, Sentences):
            return super().holds(other)
        length = len(other.parts)
        starts = range(len(self.parts) - length + 1)
        return any(self.parts[start : start + length] == other.parts for start in starts)

    def _between(self, language: str) -> str:
        return "" if language in _UNSPACED else " "


class Lines(Joined):
    """Texts below one another, as where one ends in the message of an error."""

    __slots__ = ()

    def _between(self, language: str) -> str:
        del language
        return "\n"


class Enumeration(Joined):
    """Words or clauses with commas between them."""

    __slots__ = ()

    def _between(self, language: str) -> str:
        return say("comma").in_(language)


class Clauses(Joined):
    """Clauses with semicolons between them, as they may have commas."""

    __slots__ = ()

    def _between(self, language: str) -> str:
        return say("semicolon").in_(language)


class Clause(Text):
    """A sentence as the end of another one: its first letter is small, and it has no full stop.

    Words that are foreign keep their first letter.
    """

    __slots__ = ("whole",)

    whole: Text

    def __init__(self, whole: Text) -> None:
        object.__setattr__(self, "whole", whole)

    def in_(self, language: str) -> str:
        """Return it in a language."""
        words = self.whole.in_(language).rstrip(".。")
        return words if isinstance(self.whole, Foreign) else words[:1].lower() + words[1:]

    def __bool__(self) -> bool:
        return bool(self.whole)

    def _within(self) -> Iterable[Text]:
        return (self.whole,)

    def _key(self) -> tuple[object, ...]:
        return (self.whole,)


NOTHING: Final[Text] = Foreign("")
"""What says nothing."""


def one_of_ours(language: str | None) -> str:
    """Return a language's code; English where it is None or not one of ours."""
    return language if language in LANGUAGES and language is not None else ENGLISH


def say(sentence: str | Text, /, **values: Value) -> Text:
    """Return the sentence that has an id in the message files, with its values.

    A constant may be said without the values that it names, and is given them where it is used.
    Values that it does not name are left out. Raises KeyError where some are given and one is
    missing, TypeError for what is no value.
    """
    if not isinstance(sentence, str):
        if not isinstance(sentence, Sentence):
            raise TypeError(f"{sentence!r} has no values")
        return say(sentence.id, **{**sentence.values, **values})
    if not sentence:
        return NOTHING
    formats = _formats_in(template(sentence)) if values else {}
    told = {name: _told(name, value, formats) for name, value in values.items() if name in formats}
    said = Sentence(sentence, told)
    if values and said.lacks:
        raise KeyError(*said.lacks)
    return said


def _told(name: str, value: Value, formats: Mapping[str, frozenset[str]]) -> Value:
    """Return a value as far as its sentence tells it: a report has no more digits than its words.

    Of a hidden input, or of an answer, what is told is how far something is off, in a few digits.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Text):
        raise TypeError(f"{name} is {value!r}, which is no word, no number and no text")
    if not isinstance(value, float) or not math.isfinite(value) or len(formats[name]) != 1:
        return value
    (form,) = formats[name]
    digits = format(value, form).replace(",", "")
    return float(digits[:-1]) / 100 if form.endswith("%") else float(digits)


def foreign(words: str, translations: Mapping[str, str] | None = None) -> Text:
    """Return words of no message file as a text, with their author's own translations."""
    return Foreign(words, translations)


_ENDS = (".", "!", "?", "…", "。", "！", "？")


def ended(words: str) -> str:
    """Return what somebody else says as a sentence, which others may follow; nothing of nothing."""
    words = words.strip()
    return f"{words}." if words and not words.endswith(_ENDS) else words


def as_text(words: str | Text) -> Text:
    """Return a text as it is, and words as foreign ones: what a course says is in its language."""
    return Foreign(words) if isinstance(words, str) else words


def join(*sentences: Text) -> Text:
    """Return sentences one after the other; those that say nothing are left out."""
    parts: list[Text] = []
    for each in filter(None, sentences):
        parts.extend(each.parts if type(each) is Sentences else (each,))
    return parts[0] if len(parts) == 1 else Sentences(parts) if parts else NOTHING


def below(*texts: Text) -> Text:
    """Return texts on lines of their own; those that say nothing are left out."""
    parts = [each for each in texts if each]
    return parts[0] if len(parts) == 1 else Lines(parts)


def in_a_row(items: Iterable[str | Text]) -> Text:
    """Return words or clauses in a row, between them what the language has there."""
    return Enumeration(map(as_text, items))


def in_clauses(items: Iterable[Text]) -> Text:
    """Return clauses with semicolons between them."""
    return Clauses(items)


def counted(number: int, one: Text, many: Text) -> Text:
    """Return the one sentence of a count of one, the other one of any other; both have `count`."""
    return say(one if number == 1 else many, count=number)


def clause(sentence: Text) -> Text:
    """Return a sentence as the end of another one: beginning small, without its full stop."""
    return Clause(sentence)


@functools.cache
def _formats_in(sentence: str) -> Mapping[str, frozenset[str]]:
    """Return the names in a sentence, each with the formats that it has there."""
    try:
        found = list(string.Formatter().parse(sentence))
    except ValueError:  # a brace that stands for itself
        return {}
    named = [(name, form or "") for _, name, form, _ in found if name is not None]
    return {name: frozenset(form for each, form in named if each == name) for name, _ in named}


def template(id: str, language: str = ENGLISH) -> str:
    """Return a sentence with the names of its values in braces; an unknown id is its own sentence.

    Reports that were written when the English sentence was its own id are read so.
    """
    return _words(language).get(id) or _words(ENGLISH).get(id, id)


def id_of(sentence: str) -> str:
    """Return the id of an English sentence, the sentence where none has it."""
    return _ids().get(sentence, sentence)


@functools.cache
def _words(language: str) -> Mapping[str, str]:
    if language not in LANGUAGES:
        return {}
    found: dict[str, str] = {}
    for path in word_files(language):
        found |= json.loads(path.read_text(encoding="utf-8"))
    return found


@functools.cache
def _ids() -> Mapping[str, str]:
    return {sentence: id for id, sentence in _words(ENGLISH).items()}


_words(ENGLISH)  # a process that is shut in cannot open it later
