"""Why a module could not be built: the cell, its error, and the cause that it mostly has.

A cause that shapes can show is tried on the oracle's layers: a padding is named only where PyTorch
with that padding gets the numbers of the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from grader.diagnosis.layers import Change, Program, change, same
from grader.diagnosis.mistakes_layers import convolution_mistakes, pooling_mistakes
from grader.diagnosis.words import name_layer, tell_change
from grader.evidence.operations import Layer
from grader.execute.known_errors import ErrorKind, KnownError
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

_USAGE: Mapping[ErrorKind, Text] = {
    "bias_of_two_axes": say(
        "The bias of topi.nn.dense has one axis, the columns: give it the shape (n,), not (1, n)."
    ),
    "pool_padding": say(
        "The padding of topi.nn.pool2d has four numbers: top, left, bottom, right."
    ),
    "topi_matmul_bias": say(
        "topi.matmul takes no bias: what follows the factors says whether they are transposed."
        " Use topi.nn.dense, or add the bias by topi.add."
    ),
    "relax_matmul_bias": say(
        "relax.op.matmul takes no bias: use relax.op.linear, or add the bias by relax.op.add."
    ),
    "called_in_emit_te": say(
        "Give emit_te the function and its arguments separately: bb.emit_te(topi.nn.relu, x),"
        " not bb.emit_te(topi.nn.relu(x))."
    ),
    "tensor_in_emit": say(
        "bb.emit takes an expression, bb.emit_te a function and what it takes:"
        " bb.emit(relax.op.nn.relu(x)), bb.emit_te(topi.nn.relu, x)."
    ),
    "operator_in_emit_te": say(
        "emit_te takes functions of TOPI, or of your own with te.compute. Operators of Relax go"
        " into bb.emit: bb.emit(relax.op.nn.relu(x))."
    ),
    "python_function_in_emit_te": say(
        "emit_te does not accept a Python function here: write its name in quotes."
    ),
    "reshape_size": say(
        "The new shape must hold as many numbers as the old one: the products of their axes "
        "must be equal."
    ),
    "nested_tag": say(
        "TVM is still inside a function that raised earlier: fix the first error, then run "
        "the cells again."
    ),
    "convolution_order": say("A convolution takes the images first, then the weight."),
    "no_axis": say("There is no such axis: they are counted from 0, and -1 is the last one."),
}
"""Errors that have one usual cause, and what to do."""

Layers = Callable[[], Sequence[Layer]]
"""What PyTorch does for a part, recorded when it is asked for."""


def usual_cause(known: KnownError, layers: Layers = tuple) -> Text:
    """Return what mostly lies behind an error of TVM's constructors and what to do, or nothing.

    `layers` returns PyTorch's for the part that was to be built.
    """
    if known.kind == "no_attribute":
        return _name_cause(*known.names)
    if known.kind == "missing_arguments":
        operator, arguments = known.names
        return say(_GIVE, operator=operator, arguments=arguments)
    if known.kind == "lengths":
        return _length_cause(known.numbers, layers())
    if known.kind in ("broadcast", "dense_order"):
        return _broadcast_cause(known.numbers, layers(), is_turned=known.kind == "dense_order")
    return _USAGE.get(known.kind, NOTHING)


def _name_cause(module: str, name: str) -> Text:
    asked = f"{module.removeprefix('tvm.')}.{name}"
    if asked not in NAMES:
        return NOTHING
    return say("TVM has no {asked}; use {name}.", asked=asked, name=NAMES[asked])


_GIVE = say("Give {operator} all of its arguments: {arguments} have no default values.")


def _length_cause(lengths: tuple[int, ...], recorded: Sequence[Layer]) -> Text:
    """Explain two lengths that do not fit together."""
    found, wanted = lengths
    weights = [
        each.operation.operands[1].value.shape
        for each in recorded
        if each.operation.kind == "linear"
    ]
    for rows, columns in weights:
        if (found, wanted) == (columns, rows):
            turned = say(
                "The weight has the shape ({rows}, {columns}), one row for each output: a dense"
                " layer takes it as it is, a product of matrices takes it transposed.",
                rows=rows,
                columns=columns,
            )
            return join(turned, _other_weight(rows, weights))
    return _tried(found, wanted, recorded)


def _other_weight(length: int, weights: Sequence[tuple[int, ...]]) -> Text:
    """Say that it may be another layer's weight, where one takes so many numbers."""
    if all(columns != length for _, columns in weights):
        return NOTHING
    return say("Or it is the weight of another layer: check the name of the parameter.")


def _broadcast_cause(
    lengths: tuple[int, ...], recorded: Sequence[Layer], *, is_turned: bool
) -> Text:
    """Explain a bias that does not fit what it is added to.

    `is_turned` says that it is as long as what it is added to has rows.
    """
    there, given = lengths
    biases = [each for each in recorded if each.operation.kind == "bias"]
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
                "The bias has {given} numbers; PyTorch's has {channels} there, one for each "
                "channel. It belongs to another layer: check the parameter's name.",
                given=given,
                channels=shape[1],
            )
    if is_turned and given in sizes:
        return say("A dense layer takes the images first, then the weight, then the bias.")
    if {there, given} <= sizes:
        return say(
            "The bias has {given} numbers, and is added to {there} columns. It belongs to "
            "another layer: check the parameter's name.",
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
    return join(there, say("Likely causes: {listed}.", listed=listed))


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

_ONE = say("Cause: {what}.")


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
