"""Calls that do not fit their functions, in words: what is wrong, and the least that mends it."""

from collections.abc import Mapping, Sequence

from grader.errors import IRError
from grader.ir.facts import ModuleFacts, TensorFacts
from grader.ir.misfits import Misfit, find_misfits
from grader.ir.read import read_module
from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, foreign, join, say


def advice_on_refused(document: bytes) -> Text:
    """Return which calls of a module that TVM has refused do not fit, and what to do.

    Nothing where there is no module, or none that can be read.
    """
    if not document:
        return NOTHING
    try:
        facts = read_module(document, will_run=False)
    except IRError:
        return NOTHING
    found = find_misfits(facts)
    if found is None:
        return NOTHING
    told = [text for each in found for text in _told(each)]
    return join(*dict.fromkeys(told)) if told else say("all-calls-fit-their-functions")


def explain_misfits(facts: ModuleFacts) -> tuple[Text, Text]:
    """Return which calls do not fit their functions and what to do, nothing where all do."""
    told = [_told(each) for each in find_misfits(facts) or ()]
    return join(*(reason for reason, _ in told)), join(*dict.fromkeys(hint for _, hint in told))


def _told(misfit: Misfit) -> tuple[Text, Text]:
    values = {"callee": shown(misfit.callee), "binding": shown(misfit.binding)}
    match misfit.kind:
        case "missing" | "extra":
            return _counted(misfit, values)
        case "exchanged":
            return _argument(misfit, values), say(
                "swap-arguments-of-call", first=_given(misfit), second=shown(misfit.other), **values
            )
        case "order":
            return say("arguments-of-call-in-wrong-order", **values), say(
                "pass-arguments-in-this-order", names=shown(misfit.other), **values
            )
        case "callee":
            return say("call-fits-another-function", **values), say(
                "call-that-function", other=shown(misfit.other), **values
            )
        case "output":
            return _output(misfit, values)
    return _argument(misfit, values), _other_value(misfit, values)


def _argument(misfit: Misfit, values: Mapping[str, str]) -> Text:
    """Say what a parameter takes and what it is given."""
    return say("call-passes-for-parameter", **values, **_pair(misfit))


def _pair(misfit: Misfit) -> dict[str, Text | str]:
    assert misfit.parameter is not None and misfit.argument is not None
    given, wanted = misfit.argument.tensor, misfit.parameter.tensor
    assert given is not None, "what is not known fits"
    has_types = given.dtype != wanted.dtype
    return {
        "parameter": shown(misfit.parameter.name),
        "argument": _given(misfit),
        "found": _spelled(given, has_types=has_types),
        "wanted": _spelled(wanted, has_types=has_types),
    }


def _spelled(tensor: TensorFacts, *, has_types: bool) -> Text:
    """Return a shape, with the type of the items where that is what differs."""
    shape = "?" if tensor.shape is None else _tuple(tensor.shape)
    if not has_types:
        return foreign(shape)
    return foreign(f"{shape} {tensor.dtype}") if tensor.dtype else say("without-dtype", shape=shape)


def _tuple(extents: Sequence[object]) -> str:
    """Return extents, which may have names, as Python writes a tuple of them."""
    return f"({', '.join(map(str, extents))}{',' * (len(extents) == 1)})"


def _given(misfit: Misfit) -> Text | str:
    """Return an argument by its name, or by its place from 1 where it has none."""
    assert misfit.argument is not None
    if misfit.argument.name:
        return shown(misfit.argument.name)
    return say("argument", place=misfit.place + 1)


def _counted(misfit: Misfit, values: Mapping[str, str]) -> tuple[Text, Text]:
    reason = say("call-has-other-number", given=misfit.given, taken=misfit.taken, **values)
    if misfit.kind == "extra":
        if misfit.argument is None:
            return reason, say("compare-arguments-with-parameters", **values)
        return reason, say("leave-out-argument-of-call", argument=_given(misfit), **values)
    if misfit.parameter is None:
        return reason, say("compare-arguments-with-parameters", **values)
    wanted = _spelled(misfit.parameter.tensor, has_types=False)
    parameter = shown(misfit.parameter.name)
    if misfit.other:
        return reason, say(
            "pass-value-as-argument-for-parameter",
            other=shown(misfit.other),
            parameter=parameter,
            number=misfit.place + 1,
            **values,
        )
    return reason, say(
        "pass-argument-for-parameter",
        parameter=parameter,
        wanted=wanted,
        number=misfit.place + 1,
        **values,
    )


def _output(misfit: Misfit, values: Mapping[str, str]) -> tuple[Text, Text]:
    assert misfit.parameter is not None
    tensor = misfit.parameter.tensor
    declared = shown(f'R.Tensor({_tuple(tensor.shape or ())}, "{tensor.dtype}")')
    return say("call-declares-other-output", **values, **_pair(misfit)), say(
        "declare-output-of-call", declared=declared, **values
    )


def _other_value(misfit: Misfit, values: Mapping[str, str]) -> Text:
    if misfit.other:
        pair = _pair(misfit)
        return say("pass-other-value-for-parameter", other=shown(misfit.other), **values, **pair)
    assert misfit.parameter is not None and misfit.argument is not None
    given, wanted = misfit.argument.tensor, misfit.parameter.tensor
    is_array = misfit.argument.kind in ("input", "constant")
    if is_array and given is not None and given.shape == wanted.shape:
        parameter = shown(misfit.parameter.name)
        return say("cast-for-parameter", parameter=parameter, dtype=wanted.dtype, **values)
    return say("compare-arguments-with-parameters", **values)
