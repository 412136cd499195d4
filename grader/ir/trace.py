"""The trace of a schedule, read strictly and without TVM.

`Trace.as_json()` gives two lists: instructions, each as kind, inputs, attributes and outputs, and
decisions, each as the place of an instruction and what was drawn there. TVM parses a string that it
does not know as the graph of an object, so every string is checked here: inputs are names that an
earlier instruction gave, attributes are names, and what is passed on is written anew from what was
understood.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from grader.decoding import prepared
from grader.errors import IRError
from grader.ir.index_map import NUMBERS, rewrite_index_map
from grader.ir.vocabulary import STORAGE_SCOPES, is_function_name, is_name, shown
from grader.language import Text, say

SIZE_LIMIT = 2**18
"""Longest trace, in bytes; a schedule of a convolution has one or two thousand."""

INSTRUCTION_LIMIT = 2000
"""Most instructions; one tuned by MetaSchedule has about a hundred."""

LIST_LIMIT = 64
"""Most inputs, outputs or numbers of one instruction."""

ANNOTATIONS = frozenset(
    {
        "meta_schedule.parallel",
        "meta_schedule.tiling_structure",
        "meta_schedule.unroll_explicit",
        "meta_schedule.unroll_implicit",
        "meta_schedule.vectorize",
        "pragma_auto_unroll_max_step",
        "pragma_loop_partition_hint",
        "pragma_unroll_explicit",
    }
)
"""Keys that may be annotated, with a number. Others import code or belong to other hardware."""

_TILING = "meta_schedule.tiling_structure"
_TILES = re.compile(r'"[SR]{1,16}"', re.ASCII)
"""What is annotated with that key, which every tuning record has: the tiles, as a word."""

_LOOK_UP = "GetSBlock"
_NAME = re.compile(r"[blv](?:0|[1-9][0-9]{0,4})", re.ASCII)
_KIND = re.compile(r"[A-Z][A-Za-z]{1,40}", re.ASCII)
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{1,60}", re.ASCII)
_HINT = say("schedule-with-primitives-lecture-notes-split-fuse")


class Trace(NamedTuple):
    """A trace that was read.

    `document` is it as JSON, `steps` counts what changes the program, `functions` are those in
    which it looks for blocks, each once. `kinds` are those of the steps, in order, and `places`
    where they stand among the instructions, from 0. `coded` are those of the places whose steps
    change code, as an annotation for MetaSchedule does not. `draws` counts what is drawn.
    """

    document: bytes
    steps: int
    functions: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    draws: int = 0
    places: tuple[int, ...] = ()
    coded: tuple[int, ...] = ()


class _Form(NamedTuple):
    """What an instruction looks like: a letter for each input, attribute and output.

    Inputs: `b` block, `l` loop, `x` either, `f` a factor (a number, a drawn one, or None), `n` a
    number or a truth value, `N` a list of numbers, `B` a list of blocks, `i` an index map,
    `t` what is annotated: a number, a drawn one, or a tiling.
    Attributes: `n`, `N`, `i`, `s` a block's name, `g` a function's, `m` a memory scope, `k` an
    annotation's key. Outputs: `b`, `l`, `v`. With a plus sign at the end, there may be any number
    of the last letter.
    """

    inputs: str = ""
    attributes: str = ""
    outputs: str = ""
    is_step: bool = True


_FORMS = {
    "AddUnitLoop": _Form("x", "", "l"),
    "Annotate": _Form("xt", "k"),
    "Blockize": _Form("x", "n", "b"),
    "CacheRead": _Form("bB", "nm", "b"),
    "CacheWrite": _Form("bB", "nm", "b"),
    "ComputeAt": _Form("bl", "nn"),
    "ComputeInline": _Form("b"),
    "DecomposePadding": _Form("bl", "", "b"),
    "DecomposeReduction": _Form("bl", "", "b"),
    "EnterPostproc": _Form(is_step=False),
    "Fuse": _Form("l+", "n", "l"),
    "GetChildBlocks": _Form("x", "", "b+", is_step=False),
    "GetConsumers": _Form("b", "", "b+", is_step=False),
    "GetLoops": _Form("b", "", "l+", is_step=False),
    "GetOutputBlocks": _Form("b", "", "b+", is_step=False),
    "GetProducers": _Form("b", "", "b+", is_step=False),
    _LOOK_UP: _Form("", "sg", "b", is_step=False),
    "LoopPartition": _Form("lf+", "n", "l+"),
    "Merge": _Form("l+", "", "l"),
    "PadEinsum": _Form("b", "N"),
    "Parallel": _Form("l"),
    "RFactor": _Form("l", "n", "b"),
    "ReIndex": _Form("b", "nn", "b"),
    "ReindexCacheRead": _Form("bi", "nm", "b"),
    "ReindexCacheWrite": _Form("bi", "nm", "b"),
    "Reorder": _Form("l+"),
    "ReorderBlockIterVar": _Form("bN"),
    "ReverseComputeAt": _Form("bl", "nn"),
    "ReverseComputeInline": _Form("b"),
    "RollingBuffer": _Form("b", "n"),
    "SampleCategorical": _Form("", "NN", "v", is_step=False),
    "SampleComputeLocation": _Form("b", "", "l", is_step=False),
    "SamplePartitionedTile": _Form("l", "nnn", "v+", is_step=False),
    "SamplePerfectTile": _Form("l", "nn", "v+", is_step=False),
    "Split": _Form("lf+", "nn", "l+"),
    "StorageAlign": _Form("b", "nnnn"),
    "TransformBlockLayout": _Form("b", "i"),
    "Unannotate": _Form("x", "k"),
    "Unroll": _Form("l"),
    "Vectorize": _Form("l"),
}
"""Instructions that are replayed. Left out is what takes functions or names of intrinsics
(Tensorize, TransformLayout), what TVM does not check (Unsafe...), and other hardware (Bind)."""

_ON_DEVICES = _FORMS | {
    "Bind": _Form("l", "a"),
    "CacheRead": _Form("bB", "nd", "b"),
    "CacheWrite": _Form("bB", "nd", "b"),
    "SetScope": _Form("b", "nd"),
}
"""Instructions of schedules for devices: `a` is an axis of threads, `d` a scope of their memory."""

_AXIS = re.compile(r"(?:block|thread)Idx\.[xyz]|vthread(?:\.[xyz])?", re.ASCII)
_DEVICE_SCOPES = frozenset({*STORAGE_SCOPES, "shared.dyn", "warp"})

_Instruction = tuple[str, list[Any], list[Any], list[str]]
# Made now: msgspec crashes when two threads are the first to decode a type.
_DECODER = msgspec.json.Decoder(prepared(tuple[list[_Instruction], list[tuple[int, Any]]]))


def read_trace(document: bytes, *, for_device: bool = False) -> Trace:
    """Return a schedule's trace. Raises IRError, and nothing else, where it is not replayed.

    `for_device`: its loops may be bound to threads, and its buffers kept in their memory.
    """
    instructions, decisions = _parse(document)
    forms = _ON_DEVICES if for_device else _FORMS
    known: set[str] = set()
    for instruction in instructions:
        _check(instruction, known, forms)
    for place, decision in decisions:
        _check_decision(place, decision, instructions)
    return Trace(
        document=msgspec.json.encode([list(map(_written_anew, instructions)), decisions]),
        steps=sum(forms[kind].is_step for kind, *_ in instructions),
        functions=tuple(dict.fromkeys(each[2][1] for each in instructions if each[0] == _LOOK_UP)),
        kinds=tuple(kind for kind, *_ in instructions if forms[kind].is_step),
        draws=sum(kind.startswith("Sample") for kind, *_ in instructions),
        places=tuple(place for place, each in enumerate(instructions) if forms[each[0]].is_step),
        coded=tuple(place for place, each in enumerate(instructions) if _changes_code(each, forms)),
    )


def _changes_code(instruction: _Instruction, forms: Mapping[str, _Form]) -> bool:
    kind, _, attributes, _ = instruction
    is_for_tuning = "notate" in kind and str(attributes[0]).startswith("meta_schedule.")
    return forms[kind].is_step and not is_for_tuning


def primitive(kind: str) -> str:
    """Return what a kind of instruction is called in a notebook: `decompose_reduction`."""
    words = kind.replace("RFactor", "Rfactor").replace("ReIndex", "Reindex")
    return re.sub(r"(?<!^)([A-Z])", r"_\1", words).lower()


PRIMITIVES = frozenset(
    primitive(kind)
    for kind, form in {**_ON_DEVICES, "Tensorize": _Form(), "TransformLayout": _Form()}.items()
    if form.is_step
)
"""What steps are called in a notebook, replayed or not."""


def steps_not_replayed(document: bytes) -> tuple[tuple[str, str], ...]:
    """Return the kinds of a trace's steps that are not replayed, each once: TransformLayout.

    Behind it is the key of an annotation that is not: ("Annotate", "software_pipeline_stage").
    """
    try:
        instructions, _ = _parse(document)
    except IRError:
        return ()
    found = dict.fromkeys(map(_not_replayed, instructions))
    return tuple(each for each in found if each is not None)


def _not_replayed(instruction: _Instruction) -> tuple[str, str] | None:
    kind, _, attributes, _ = instruction
    if kind not in _FORMS:
        return (kind, "") if _KIND.fullmatch(kind) else None
    if kind != "Annotate" or len(attributes) != 1 or type(attributes[0]) is not str:
        return None
    (key,) = attributes
    return (kind, key) if key not in ANNOTATIONS and _KEY.fullmatch(key) else None


def _parse(document: bytes) -> tuple[list[_Instruction], list[tuple[int, Any]]]:
    if len(document) > SIZE_LIMIT:
        raise _too_long()
    try:
        instructions, decisions = _DECODER.decode(document)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ValueError):
        raise _damaged(say("not-json-that-tvm-writes")) from None
    if max(len(instructions), len(decisions)) > INSTRUCTION_LIMIT:
        raise _too_long()
    return instructions, decisions


def _written_anew(instruction: _Instruction) -> _Instruction:
    """Return an instruction that was checked, its index maps written anew."""
    kind, inputs, attributes, outputs = instruction

    def anew(value: Any) -> Any:
        is_map = type(value) is str and value.startswith("{")
        return rewrite_index_map(value) if is_map else value

    return kind, list(map(anew, inputs)), list(map(anew, attributes)), outputs


def _check(instruction: _Instruction, known: set[str], forms: Mapping[str, _Form]) -> None:
    """Check one instruction, and take down the names that it gives. Raises IRError."""
    kind, inputs, attributes, outputs = instruction
    form = forms.get(kind)
    if form is None:
        raise IRError(say("step-schedule-not-replayed-here", name=shown(kind)), _HINT)
    if not (
        _fits(inputs, form.inputs, lambda value, letter: _is_input(value, letter, known))
        and _fits(attributes, form.attributes, _is_attribute)
        and _fits(outputs, form.outputs, lambda name, letter: _is_new(name, letter, known))
    ):
        if kind == "Annotate" and len(attributes) == 1 and type(attributes[0]) is str:
            raise IRError(say("annotation-not-replayed-here", name=shown(attributes[0])), _HINT)
        raise _damaged(say("step-malformed", shown=shown(kind)))
    is_tiling = kind == "Annotate" and _TILES.fullmatch(str(inputs[1])) is not None
    if kind == "Annotate" and is_tiling != (attributes == [_TILING]):
        raise _damaged(say("step-malformed", shown=shown(kind)))
    known.update(outputs)


def _fits(values: list[Any], form: str, is_good: Callable[[Any, str], bool]) -> bool:
    """Say whether values are those that a form asks for."""
    letters = form.removesuffix("+")
    if letters != form:
        letters = letters[:-1] + letters[-1] * (min(len(values), LIST_LIMIT) - len(letters) + 1)
    return len(values) == len(letters) and all(map(is_good, values, letters))


def _is_input(value: Any, letter: str, known: set[str]) -> bool:
    if letter in "ni":
        return _is_attribute(value, letter)
    if letter == "f":
        return value == "None" or _is_number(value) or _is_known(value, "v", known)
    if letter == "t":
        is_tiling = type(value) is str and _TILES.fullmatch(value) is not None
        return is_tiling or _is_number(value) or _is_known(value, "v", known)
    if letter == "N":
        return _is_attribute(value, letter)
    if letter == "B":
        return type(value) is list and all(_is_known(each, "b", known) for each in value)
    return _is_known(value, "bl" if letter == "x" else letter, known)


def _is_attribute(value: Any, letter: str) -> bool:
    if letter == "n":
        return _is_number(value)
    if letter == "N":
        return type(value) is list and len(value) <= LIST_LIMIT and all(map(_is_listed, value))
    if type(value) is not str:
        return False
    if letter == "i":
        return rewrite_index_map(value) is not None
    if letter in "md":
        return value in (STORAGE_SCOPES if letter == "m" else _DEVICE_SCOPES)
    if letter == "a":
        return _AXIS.fullmatch(value) is not None
    if letter == "k":
        return value in ANNOTATIONS
    return is_function_name(value) if letter == "g" else is_name(value)


def _is_known(value: Any, letters: str, known: set[str]) -> bool:
    return type(value) is str and value in known and value[0] in letters


def _is_new(name: str, letter: str, known: set[str]) -> bool:
    return name[:1] == letter and name not in known and _NAME.fullmatch(name) is not None


def _is_listed(value: Any) -> bool:
    """Say whether a value may stand in a list: a number, or a probability of a drawn one."""
    return _is_number(value) or (type(value) is float and 0 <= value <= 1)


def _is_number(value: Any) -> bool:
    return type(value) is bool or (type(value) is int and value in NUMBERS)


def _check_decision(place: int, decision: Any, instructions: list[_Instruction]) -> None:
    numbers = decision if type(decision) is list else [decision]
    is_drawn = 0 <= place < len(instructions) and instructions[place][0].startswith("Sample")
    if not is_drawn or len(numbers) > LIST_LIMIT or not all(map(_is_number, numbers)):
        raise _damaged(say("something-decided-where-nothing-drawn"))


def _damaged(reason: Text) -> IRError:
    return IRError(say("trace-schedule-damaged", reason=reason), _HINT)


def _too_long() -> IRError:
    return IRError(say("trace-schedule-too-long-replayed"), _HINT)
