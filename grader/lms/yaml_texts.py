"""Reading the few texts of a YAML file that are needed, and passing over all else.

Gradescope writes what a class's programs have printed into the file that says whose a submission
is. To build all of 16 MB took 50 seconds and more memory than there is.
"""

from collections.abc import Iterator, Mapping

import yaml

EVERY = "*"
"""Stands for every key of a mapping."""

TEXT = "text"
"""Stands for a text: numbers and times are texts, too, so the number 0012 keeps its zeros."""

Wanted = str | list["Wanted"] | Mapping[str, "Wanted"]
"""The texts to read: one, those of a list whose items are alike, or of some keys of a mapping."""

MOST_EVENTS = 2_000_000
"""So many pieces may a file have; each takes some microseconds."""

_ANCHORS, _LONGEST_ANCHORED = 10_000, 1000
_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # where libyaml is, it is quick
_BEGINS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class TooManyTextsError(Exception):
    """Raised for a file of more pieces than are read."""


def read_texts(text: str, wanted: Wanted) -> object:
    """Return what is wanted of the first document, None where it is of another kind.

    Raises yaml.YAMLError for what is no YAML, and TooManyTextsError.
    """
    return _Texts(text).read(wanted)


class _Texts:
    def __init__(self, text: str) -> None:
        self._events = self._bounded(text)
        self._anchored: dict[str, object] = {}

    def _bounded(self, text: str) -> Iterator[yaml.Event]:
        for count, event in enumerate(yaml.parse(text, Loader=_Loader)):
            if count > MOST_EVENTS:
                raise TooManyTextsError
            yield event

    def read(self, wanted: Wanted) -> object:
        """Return what is wanted of the first document."""
        for event in self._events:
            if isinstance(event, (*_BEGINS, yaml.ScalarEvent)):
                return self._node(event, wanted)
        return None

    def _node(self, event: yaml.Event, wanted: Wanted | None) -> object:
        """Return what is wanted of the node that begins with an event, and read it to its end."""
        if isinstance(event, yaml.AliasEvent):
            return self._anchored.get(event.anchor)
        found: object = None
        if isinstance(event, yaml.ScalarEvent):
            found = event.value
        elif isinstance(event, yaml.MappingStartEvent) and isinstance(wanted, Mapping):
            found = dict(self._pairs(wanted))
        elif isinstance(event, yaml.SequenceStartEvent) and isinstance(wanted, list):
            found = [self._node(each, wanted[0]) for each in self._until(yaml.SequenceEndEvent)]
        else:
            self._pass_over()
        self._remember(event, found, is_wanted=wanted is not None)
        return found

    def _pairs(self, wanted: Mapping[str, Wanted]) -> Iterator[tuple[str, object]]:
        for event in self._until(yaml.MappingEndEvent):
            key = self._node(event, None)
            below = wanted.get(EVERY, wanted.get(key)) if isinstance(key, str) else None
            value = self._node(next(self._events), below)
            if isinstance(key, str) and below is not None:
                yield key, value

    def _until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

    def _pass_over(self) -> None:
        """Read to the end of a mapping or a list, however deep it is."""
        depth = 1
        while depth:
            event = next(self._events)
            depth += isinstance(event, _BEGINS) - isinstance(event, _ENDS)
            if isinstance(event, yaml.ScalarEvent):
                self._remember(event, event.value, is_wanted=False)

    def _remember(self, event: yaml.Event, found: object, *, is_wanted: bool) -> None:
        """Keep what an alias may stand for: Ruby writes a text that it has written as one."""
        anchor = getattr(event, "anchor", None)
        is_short = isinstance(found, str) and len(found) <= _LONGEST_ANCHORED
        if anchor and (is_wanted or is_short) and len(self._anchored) < _ANCHORS:
            self._anchored[anchor] = found
