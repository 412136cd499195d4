"""A diagnosis in words: one sentence on where a module departs from PyTorch, and one of advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from grader.diagnosis.mistake_messages import ALL_BUT_RIGHT, DECIDES, MISTAKE_MESSAGES, ROUNDING
from grader.diagnosis.mistake_messages_products import MistakeMessage
from grader.evidence.problems import NOT_FINITE
from grader.ir.vocabulary import shown
from grader.language import (
    NOTHING,
    Sentence,
    Text,
    Value,
    as_text,
    foreign,
    in_a_row,
    say,
)
from grader.report import MistakeKind

KINDS = tuple(dict.fromkeys(key.partition(":")[0] for key in MISTAKE_MESSAGES))
"""The mistakes that something is said of."""

Shape = tuple[int, ...]
Facts = Mapping[str, Any]

_NAMES = {
    "conv2d without its bias": say("conv2d-without-bias"),
    "linear without its bias": say("linear-without-bias"),
    "the largest item of a softmax": say("largest-item-softmax"),
    "the differences to the largest item of a softmax": say("differences-largest-item-softmax"),
    "the exponentials of a softmax": say("exponentials-softmax"),
    "the sum of a softmax": say("sum-softmax"),
}
"""Layers whose names are words, not functions of PyTorch. Before them is "its" or "PyTorch's"."""

_AXES = {
    "channels": say("channels"),
    "rows": say("rows"),
    "rows_and_columns": say("rows-and-columns"),
    "columns": say("columns"),
    "terms": say("terms"),
}

_MOSTLY = 0.5
"""Share of right elements from which on they say more than the layer does."""


class Departure(NamedTuple):
    """The first step that departs, as far as it may be told.

    `step` and `before`, the last step that is right, are spelled as code: `lv2 = max_pool2d`.
    `shape` is None where the step has no value. `layer` is what PyTorch does there, and `wanted`
    the shape that it has there; `within` is the layer's own shape where the step does more than
    that layer. `is_short`: the step is right, and what should follow is not done. `is_beyond`: what
    it is computed from is right, and PyTorch does nothing more. `is_added`: it changes numbers of
    what it takes and not the shape, as PyTorch's layer does. Where both shapes are the same,
    `difference` is the largest difference over the largest number of PyTorch's, `right` the share
    of elements that agree, and `nan` the share of those that are NaN or infinite.
    """

    step: str
    shape: Shape | None
    layer: str = ""
    wanted: Shape | None = None
    before: str = ""
    within: Shape | None = None
    is_short: bool = False
    is_beyond: bool = False
    is_added: bool = False
    difference: float | None = None
    right: float = 0.0
    nan: float = 0.0


def name_layer(name: str) -> Text:
    """Return a layer's name as a text: a function of PyTorch's as it is, words to be translated."""
    return _NAMES.get(name) or foreign(name)


def tell(departure: Departure, kind: MistakeKind | Literal[""], facts: Facts) -> tuple[Text, Text]:
    """Return the sentence and the advice for a mistake; `kind` is empty where none is known.

    `facts` are those of the mistake, and the departing step's `callee` and `layer`.
    """
    saying = MISTAKE_MESSAGES.get(_key(kind, facts))
    if saying is not None and _has_hole(saying, facts):
        saying = None
    if saying is None and departure.is_beyond:
        return _beyond(departure)
    if saying is None and departure.is_added:
        return _added(departure)
    if saying is None:
        return _where(departure, _difference(departure)), _compare(departure)
    values = _values(facts)
    what = say(saying.what, **values)
    if isinstance(facts.get("layers"), int):
        what = say("in-layers-alike", what=what, count=facts["layers"])
    return _where(departure, what), say(saying.advice, **values)


def _has_hole(saying: MistakeMessage, facts: Facts) -> bool:
    """Say whether a sentence names what has no name, as a tensor that PyTorch only lays out anew:
    "Add  here" tells nobody what to add.
    """
    values = _values(facts)
    texts = [each for each in saying if isinstance(each, Sentence)]
    named = [values.get(name) for each in texts for name in each.lacks]
    return any(not as_text(each).english for each in named if isinstance(each, str | Text))


_ARGUMENTS = ("argument", "taken_argument", "wanted_argument")


def with_parameters(facts: Facts, parameters: Sequence[tuple[int, str]]) -> Facts:
    """Return facts in which arguments go by their places and names in the submission's function.

    `parameters` has these for each argument of the oracle's: where shapes tell arguments apart,
    students may take them in another order.
    """
    found = dict(facts)
    for each in _ARGUMENTS:
        if isinstance(facts.get(each), int) and facts[each] <= len(parameters):
            place, name = parameters[facts[each] - 1]
            found[each] = f"{place} ({shown(name)})" if name else place
    return found


def tell_change(kind: MistakeKind, facts: Facts) -> tuple[Text, Text]:
    """Return what a mistake is, as a clause, and what to do about it."""
    saying, values = MISTAKE_MESSAGES[_key(kind, facts)], _values(facts)
    return say(saying.what, **values), say(saying.advice, **values)


def _where(departure: Departure, what: Text) -> Text:
    """Say where it departs, and after a colon what is wrong, if that is known."""
    values: dict[str, Value] = {
        "step": departure.step,
        "before": departure.before,
        "layer": _layer(departure),
        "shape": str(departure.shape),
        "wanted": str(departure.wanted),
        "what": what,
    }
    if departure.shape is None and not what:
        return _unreached(departure, values)
    if departure.is_short:
        return say("up-everything-as-in-pytorch", **values)
    if None not in (departure.shape, departure.wanted) and departure.shape != departure.wanted:
        return _other_shape(what, values)
    if not departure.layer:
        return say("departs-from-pytorch", **values)
    if departure.before:
        return say("up-everything-as-in-pytorch-departs", **values)
    return say("departs-from-pytorchs", **values)


def _layer(departure: Departure) -> Text:
    """Return the layer, with its own shape where the step does more than it."""
    layer = name_layer(departure.layer)
    if departure.within is None:
        return layer
    return say("layer-shape", layer=layer, shape=str(departure.within))


def _beyond(departure: Departure) -> tuple[Text, Text]:
    """Say of a step behind the last layer that it is one too many."""
    values = {"before": departure.before, "step": departure.step}
    return (
        say("already-pytorchs-output-and-changes", **values),
        say("leave-out", **values),
    )


def _added(departure: Departure) -> tuple[Text, Text]:
    """Say of a step that PyTorch's next layer is done on what it takes."""
    values: dict[str, Value] = {"step": departure.step, "layer": name_layer(departure.layer)}
    return (
        say("changes-input-and-pytorchs-next-step-there", **values),
        say("check-whether-belongs-there-pytorch-applies-directly", **values),
    )


def _other_shape(what: Text, values: Mapping[str, Value]) -> Text:
    if what:
        return say("after-shape-pytorch-has-after-sentence", **values)
    return say("after-shape-pytorch-has-after", **values)


def _unreached(departure: Departure, values: Mapping[str, Value]) -> Text:
    if departure.before:
        return say("up-everything-as-in-pytorch-run-ends", **values)
    return say("run-ends-in", **values)


def _difference(departure: Departure) -> Text:
    """Say how far the values are off, in a clause; nothing where there are none, or other ones."""
    if departure.shape is None or departure.wanted not in (None, departure.shape):
        return NOTHING
    if departure.nan:
        return say("values-nan-or-infinite", share=_percent(departure.nan))
    if departure.difference is None:
        return say("values-different")
    if departure.difference >= 1:
        return say("values-off-by-more-than-largest-one")
    return say("values-off-by-up-largest-one", share=_percent(departure.difference))


def _percent(share: float) -> str:
    if share < 0.001:
        return f"{100 * share:.1g}%"  # "off by 0.0%" is not off
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


def _compare(departure: Departure) -> Text:
    """Say what to do about a step that no known mistake explains."""
    if departure.nan:
        return NOT_FINITE
    # What is off by as little is rounded: no loop ends too early.
    is_rounded = departure.difference is not None and departure.difference < ROUNDING
    if _MOSTLY <= departure.right <= ALL_BUT_RIGHT and not is_rounded:
        return say("elements-right-find-what-others-have", share=departure.right)
    if departure.shape is None:
        return say("run-in-your-notebook-on-result-steps", step=departure.step)
    if not departure.layer:
        return say("compare-with-pytorch-model-what-takes", step=departure.step)
    return say(
        "compare-with-pytorchs-on-same-input-what",
        step=departure.step,
        layer=name_layer(departure.layer),
    )


def _key(kind: str, facts: Facts) -> str:
    """Return the key of a mistake's saying: that of its variant, where there is one."""
    variant = facts.get(DECIDES.get(kind, ""))
    if kind == "layer_left_out" and len(facts.get("missing", ())) > 1:
        variant = "several"
    if kind == "low_precision" and "buffer" in facts:
        variant = "buffer"
    if kind == "axis_binding" and facts.get("wanted"):
        variant = "letters"
    if kind == "softmax_missing" and "along" in facts:
        variant = "along"
    if kind == "partly_right" and "start" in facts:
        variant = variant or "along"
    variant = _taken(kind, facts) or variant
    key = f"{kind}:{variant}"
    return key if key in MISTAKE_MESSAGES else kind


_TAKEN = {
    "repeats": "repeated",
    "parameter": "parameter",
    "wanted_step": "steps",
    "wanted_argument": "arguments",
    "result": "argument",
}
"""The variant that says what is taken, by the fact that there is, what says most first."""


def _taken(kind: str, facts: Facts) -> str:
    variant = next((found for fact, found in _TAKEN.items() if fact in facts), "")
    names = {facts.get("taken", ""), facts.get("wanted", "")}
    is_of_layers = kind == "other_operand" and len(names - {""}) > 1
    return variant or ("layers" if is_of_layers else "")


def _values(facts: Facts) -> dict[str, Value]:
    """Return the facts of a mistake as values of its sentence: axes in words, shapes as text."""
    values = {name: _shown(value) for name, value in facts.items()}
    if "stop" in facts:
        values["end"] = facts["stop"] - 1
    if "axis" in facts:
        values["axis"] = _AXES.get(str(facts["axis"]), str(facts["axis"]))
    for name in ("layer", "taken", "wanted", "result", "parameter"):
        if isinstance(facts.get(name), str):
            values[name] = name_layer(facts[name])
    values["layers"] = in_a_row(map(name_layer, facts.get("missing", (facts.get("layer", ""),))))
    if isinstance(facts.get("layers"), tuple):
        values["first"], values["second"] = map(name_layer, facts["layers"])
    return values


def _shown(value: Any) -> Any:
    """Return one number for a pair of equal ones, words and numbers as they are, others spelled."""
    if isinstance(value, tuple) and value and all(each == value[0] for each in value):
        return _shown(value[0])
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | Text) else str(value)
