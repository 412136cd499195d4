"""Sentences on a part that every rendering for people says alike: as plain text."""

from __future__ import annotations

from grader.language import join, say
from grader.render import wording
from grader.render.speech import tell
from grader.report import Diagnosis, Origin, Part, Sample


def built(origin: Origin, starts: tuple[int, ...]) -> str:
    """Say what was graded, and where it was built: `starts` are the lines of a script's cells."""
    name, cell = wording.one_line(origin.name), origin.cell
    if not 0 < cell <= len(starts):
        return tell("Graded: {name}, built in code cell {cell}.", name=name, cell=cell)
    return tell(
        "Graded: {name}, built in code cell {cell}, which begins on line {line}.",
        name=name,
        cell=cell,
        line=starts[cell - 1],
    )


def taken_for(sample: Sample) -> str:
    """Say what an image shows, and what it is taken for."""
    label, predicted, pytorch = (
        class_name(sample, place) for place in (sample.label, sample.predicted, sample.pytorch)
    )
    shown = say("Test image {place} shows: {label}.", place=sample.place, label=label)
    if sample.predicted == sample.pytorch:
        both = say("Your model and PyTorch both say {name}, with other scores.", name=predicted)
        return tell(join(shown, both))
    told = say(
        "Your model says {predicted}, PyTorch {pytorch}.", predicted=predicted, pytorch=pytorch
    )
    return tell(join(shown, told))


def class_name(sample: Sample, place: int) -> str:
    """Return the name of a class, or its number where it has none."""
    known = 0 <= place < len(sample.classes)
    return wording.one_line(sample.classes[place]) if known else str(place)


def shape(extents: tuple[int, ...]) -> str:
    """Return a shape as Python writes it: (4, 10), (4,)."""
    return str(tuple(extents))


def layer_there(diagnosis: Diagnosis) -> str:
    """Return what PyTorch does at the first step that departs, with its shape where it is known."""
    wanted = "" if diagnosis.wanted is None else shape(diagnosis.wanted)
    return " ".join(filter(None, (wording.one_line(diagnosis.layer), wanted)))


def is_told(part: Part) -> bool:
    """Say whether a check's reason says already what the part's diagnosis does."""
    return any(check.tells_diagnosis for check in part.checks)
