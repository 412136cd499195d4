"""Why a module could not be built: the cell, its error, and the cause that it mostly has.

A cause that shapes can show is tried on the oracle's layers: a padding is named only where PyTorch
with that padding gets the numbers of the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from grader.diagnosis.layers import Change, Program, change, same
from grader.diagnosis.mistakes_windows import convolution_mistakes, pooling_mistakes
from grader.diagnosis.words import name_layer, tell_change
from grader.evidence.operations import Layer
from grader.language import NOTHING, Text, in_clauses, join, say

POOL = 'topi.nn.pool2d(x, kernel, stride, dilation, padding, "max")'
NAMES: Mapping[str, str] = {
    "topi.nn.max_pool2d": POOL,
    "topi.nn.maxpool2d": POOL,
    "topi.nn.max_pool": POOL,
    "topi.max_pool2d": POOL,
    "topi.pool2d": POOL,
    "topi.nn.linear": "topi.nn.dense",
    "topi.dense": "topi.nn.dense",
    "topi.linear": "topi.nn.dense",
    "topi.conv2d": "topi.nn.conv2d",
    "topi.relu": "topi.nn.relu",
    "topi.softmax": "topi.nn.softmax",
    "topi.flatten": "topi.nn.flatten",
    "topi.nn.reshape": "topi.reshape",
    "topi.nn.transpose": "topi.transpose",
    "relax.op.nn.flatten": "relax.op.nn.batch_flatten",
    "relax.op.flatten2d": "relax.op.nn.batch_flatten",
    "relax.op.batch_flatten": "relax.op.nn.batch_flatten",
    "relax.op.nn.linear": "relax.op.linear",
    "relax.op.nn.dense": "relax.op.linear",
    "relax.op.dense": "relax.op.linear",
    "relax.op.relu": "relax.op.nn.relu",
    "relax.op.softmax": "relax.op.nn.softmax",
    "relax.op.conv2d": "relax.op.nn.conv2d",
    "relax.op.max_pool2d": "relax.op.nn.max_pool2d",
    "relax.op.nn.pool2d": "relax.op.nn.max_pool2d",
    "relax.op.nn.maxpool2d": "relax.op.nn.max_pool2d",
    "relax.op.transpose": "relax.op.permute_dims",
    "relax.op.nn.matmul": "relax.op.matmul",
    "relax.op.nn.add": "relax.op.add",
}
"""Names that are asked of TVM and that it does not have, and what it calls the same."""

_NO_NAME = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_MISSING = re.compile(r"(conv2d|pool2d)\w*\(\) missing \d+ required positional arguments?: (.+)")
_LENGTHS = (
    re.compile(r"Reduction dimensions of \w+ do not match\. (\d{1,9}) vs (\d{1,9})"),
    re.compile(r"The reduction dimensions of (\d{1,9}) and (\d{1,9}) are not equal"),
)
_BROADCAST = (
    re.compile(r"Incompatible broadcast dims: (\d{1,9}) and (\d{1,9}) in"),
    re.compile(r"at dim \d+ is (\d{1,9}) and .{1,60} is (\d{1,9}), which are not broadcastable"),
)
_TURNED = re.compile(r"broadcast dims: \d+ and (\d{1,9}) in: \((\d{1,9}), \d{1,9}\) and \(\1,\)")

_USAGE: tuple[tuple[str, Text], ...] = (
    (
        r"^assert len\(bias\.shape\) == 1",
        say(
            "The bias of topi.nn.dense has one axis, the columns: give it the shape (n,), not"
            " (1, n)."
        ),
    ),
    (
        r"Pooling padding_size must has double elements of kernel",
        say("The padding of topi.nn.pool2d has four numbers: top, left, bottom, right."),
    ),
    (
        r"^Cannot convert from type `te\.Tensor` to `bool`",
        say(
            "topi.matmul takes no bias: what follows the factors says whether they are transposed."
            " Use topi.nn.dense, or add the bias by topi.add."
        ),
    ),
    (
        r"^Mismatched type on argument #2 when calling: `relax\.op\.matmul\(",
        say("relax.op.matmul takes no bias: use relax.op.linear, or add the bias by relax.op.add."),
    ),
    (
        r"^shape is only available on a Var with BufferType",
        say(
            "Give emit_te the function and what it takes, one after the other:"
            " bb.emit_te(topi.nn.relu, x), not bb.emit_te(topi.nn.relu(x))."
        ),
    ),
    (
        r"^Mismatched type on argument #2 when calling: `relax\.BlockBuilderEmit\(",
        say(
            "bb.emit takes an expression, bb.emit_te a function and what it takes:"
            " bb.emit(relax.op.nn.relu(x)), bb.emit_te(topi.nn.relu, x)."
        ),
    ),
    (
        r"^only support te\.tensor or tuple/list/Array of te\.tensor as function output",
        say(
            "emit_te takes functions of TOPI, or of your own with te.compute. Operators of Relax go"
            " into bb.emit: bb.emit(relax.op.nn.relu(x))."
        ),
    ),
    (
        r"^not supported type in emit_te: <class 'builtin_function",
        say("A function of Python is no argument for emit_te: write its name in quotes."),
    ),
    (
        r"^Reshape expects the new shape to be convertible from the old shape",
        say("The new shape must hold as many numbers as the old one: multiply all axes of each."),
    ),
    (
        r"^nested op_tag is not allowed",
        say("TVM is still within a function that raised before: mend the first error, then rerun."),
    ),
    (
        r"^Invalid conv parameters: lead to negative output shape",
        say("A convolution takes the images first, then the weight."),
    ),
    (
        r"^Index out of range\. size: \d+, got index \d+|the input axis -?\d+ is out of range",
        say("There is no such axis: they are counted from 0, and -1 is the last one."),
    ),
)
"""Errors that have one usual cause, by how TVM words them, and what to do."""

Layers = Callable[[], Sequence[Layer]]
"""What PyTorch does for a part, recorded when it is asked for."""


def usual_cause(error: str, message: str, layers: Layers = tuple) -> Text:
    """Return what mostly lies behind an error of TVM's constructors and what to do, or nothing.

    `layers` returns PyTorch's for the part that was to be built.
    """
    return (
        _name_cause(error, message)
        or _argument_cause(error, message)
        or next((told for form, told in _USAGE if re.search(form, message)), NOTHING)
        or _length_cause(message, layers)
        or _broadcast_cause(message, layers)
    )


def _name_cause(error: str, message: str) -> Text:
    found = _NO_NAME.search(message)
    if found is None or error != "AttributeError":
        return NOTHING
    asked = f"{found[1].removeprefix('tvm.')}.{found[2]}"
    if asked not in NAMES:
        return NOTHING
    return say("TVM has no {asked}; use {name}.", asked=asked, name=NAMES[asked])


_GIVE = say("Give {operator} all of its arguments: {arguments} have no default values.")


def _argument_cause(error: str, message: str) -> Text:
    found = _MISSING.search(message) if error == "TypeError" else None
    return NOTHING if found is None else say(_GIVE, operator=found[1], arguments=found[2])


def _two_numbers(message: str, forms: Sequence[re.Pattern[str]]) -> tuple[int, int] | None:
    match = next(filter(None, (each.search(message) for each in forms)), None)
    return None if match is None else (int(match[1]), int(match[2]))


def _length_cause(message: str, layers: Layers) -> Text:
    """Explain two lengths that do not fit together."""
    lengths = _two_numbers(message, _LENGTHS)
    if lengths is None:
        return NOTHING
    recorded = layers()
    weights = [
        each.operation.operands[1].value.shape
        for each in recorded
        if each.operation.kind == "linear"
    ]
    for rows, columns in weights:
        if lengths == (columns, rows):
            turned = say(
                "The weight has the shape ({rows}, {columns}), one row for each output: a dense"
                " layer takes it as it is, a product of matrices takes it transposed.",
                rows=rows,
                columns=columns,
            )
            return join(turned, _other_weight(rows, weights))
    return _tried(*lengths, recorded)


def _other_weight(length: int, weights: Sequence[tuple[int, ...]]) -> Text:
    """Say that it may be another layer's weight, where one takes so many numbers."""
    if all(columns != length for _, columns in weights):
        return NOTHING
    return say("Or it is the weight of another layer: check the name of the parameter.")


def _broadcast_cause(message: str, layers: Layers) -> Text:
    """Explain a bias that does not fit what it is added to."""
    lengths = _two_numbers(message, _BROADCAST)
    if lengths is None:
        return NOTHING
    there, given = lengths
    biases = [each for each in layers() if each.operation.kind == "bias"]
    sizes = {each.operation.operands[1].value.numel() for each in biases}
    for each in biases:
        shape = each.value.shape
        if len(shape) == 4 and (there, given) == (shape[-1], shape[1]):
            return say(
                "The bias is added along the channels: give it the shape (1, {channels}, 1, 1).",
                channels=given,
            )
        if len(shape) == 4 and there == shape[-1] and given in sizes:
            return say(
                "The bias has {given} numbers, PyTorch's has {channels} there, one for each"
                " channel: it is another layer's. Check the name of the parameter.",
                given=given,
                channels=shape[1],
            )
    turned = _TURNED.search(message)
    if turned is not None and turned[1] == turned[2] and given in sizes:
        return say("A dense layer takes the images first, then the weight, then the bias.")
    if {there, given} <= sizes:
        return say(
            "The bias has {given} numbers, and is added to {there} columns: it is another layer's."
            " Check the name of the parameter.",
            given=given,
            there=there,
        )
    return NOTHING


def _tried(found: int, wanted: int, layers: Sequence[Layer]) -> Text:
    """Return the changes of PyTorch's layers that give a length in place of another."""
    flattened = next((each for each in layers if each.operation.kind == "flatten"), None)
    if flattened is not None and wanted == flattened.value.shape[-1]:
        shape = flattened.operation.operands[0].value.shape
        if found == shape[-1]:
            return say(
                "PyTorch flattens ({shape}) of each image to {wanted} numbers there: do the same.",
                shape=", ".join(map(str, shape[1:])),
                wanted=wanted,
            )
    causes = _causes(found, wanted, layers)
    if not causes:
        return NOTHING
    place = causes[0][1]
    there = say(
        "PyTorch has {wanted} there, after {layer}, not {found}.",
        wanted=wanted,
        found=found,
        layer=name_layer(layers[place].name),
    )
    told = [tell_change(one.kind, one.facts) for one, _ in causes]
    if len(told) == 1:
        return join(there, say(_ONE, what=_named(causes[0][0], told[0][0], layers)), told[0][1])
    pairs = zip(causes, told, strict=True)
    listed = in_clauses(_named(one, what, layers) for (one, _), (what, _) in pairs)
    return join(there, say("That comes of one of these: {listed}.", listed=listed))


_SETTINGS = frozenset(
    {
        "padding",
        "convolution_stride",
        "dilation",
        "pooling_size",
        "pooling_stride",
        "pooling_padding",
        "layer_left_out",
    }
)
"""Mistakes that give a tensor other extents."""

_ONE = say("That comes of this: {what}.")


def _named(one: Change, what: Text, layers: Sequence[Layer]) -> Text:
    """Return a mistake with its layer, unless it says that itself."""
    if one.kind == "layer_left_out":
        return what
    return say("{layer}: {what}", layer=layers[one.place].name.partition(" ")[0], what=what)


def _causes(found: int, wanted: int, layers: Sequence[Layer]) -> list[tuple[Change, int]]:
    """Return the changes that give a length in place of another, one of each kind, with the place.

    Those of several settings at once count only where no single one does it.
    """
    program, causes = Program(layers), dict[tuple[int, str], tuple[Change, int]]()
    for one in _changes(layers):
        place = _place_of(wanted, found, one, program) if one.kind in _SETTINGS else None
        if place is not None:
            causes.setdefault((one.place, one.kind), (one, place))
    single = [each for each in causes.values() if len(each[0].facts.get("different", ())) < 2]
    return single or list(causes.values())


def _changes(layers: Sequence[Layer]) -> Iterator[Change]:
    for place, layer in enumerate(layers):
        if layer.operation.kind == "convolution":
            yield from convolution_mistakes(place, layer)
        if layer.operation.kind == "pool":
            yield from pooling_mistakes(place, layer)
            yield change("layer_left_out", place, same, missing=(layer.name,))


def _place_of(wanted: int, found: int, one: Change, program: Program) -> int | None:
    """Return the layer of rows of one length that have another length after a change."""
    for place, layer in enumerate(program.layers):
        shape = layer.value.shape
        if not layer.name or len(shape) != 2 or shape[-1] != wanted:
            continue
        size = shape[0] * found
        if any(at == place for at, _ in program.changed(one._replace(size=None), size)):
            return place
    return None
