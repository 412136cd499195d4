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
    "bias_of_two_axes": say("bias-topi-nn-dense-has-one-axis"),
    "pool_padding": say("padding-topi-nn-pool2d-has-four-numbers"),
    "topi_matmul_bias": say("topi-matmul-takes-no-bias-what-follows"),
    "relax_matmul_bias": say("relax-op-matmul-takes-no-bias-use"),
    "called_in_emit_te": say("give-emit-te-function-and-arguments-separately"),
    "tensor_in_emit": say("bb-emit-takes-expression-bb-emit-te"),
    "operator_in_emit_te": say("emit-te-takes-functions-topi-or-your"),
    "python_function_in_emit_te": say("emit-te-does-not-accept-python-function"),
    "reshape_size": say("new-shape-must-hold-as-many-numbers"),
    "nested_tag": say("tvm-still-inside-function-that-raised-earlier"),
    "inner_reduction": say("give-te-sum-compute-of-its-own"),
    "convolution_order": say("convolution-takes-images-first-then-weight"),
    "no_axis": say("there-no-such-axis-they-counted"),
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
    return say("tvm-has-no-use", asked=asked, name=NAMES[asked])


_GIVE = say("give-all-arguments-have-no-default-values")


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
            turned = say("weight-has-shape-one-row-for-each", rows=rows, columns=columns)
            return join(turned, _other_weight(rows, weights))
    products = [each.operation.operands for each in recorded if each.operation.kind == "matmul"]
    if any((y.value.shape[-1], x.value.shape[-2:][0]) == lengths for x, y in products):
        return say("product-matrices-depends-on-order-first-argument")
    return _tried(found, wanted, recorded)


def _other_weight(length: int, weights: Sequence[tuple[int, ...]]) -> Text:
    """Say that it may be another layer's weight, where one takes so many numbers."""
    if all(columns != length for _, columns in weights):
        return NOTHING
    return say("or-weight-another-layer-check-name-parameter")


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
            return say("bias-added-along-channels-give-shape", channels=given)
        if len(shape) == 4 and there == shape[-1] and given in sizes:
            return say("bias-has-numbers-pytorchs-has-there-one", given=given, channels=shape[1])
    if is_turned and given in sizes:
        return say("dense-layer-takes-images-first-then-weight")
    # The two lengths of a layer: its bias, and the columns of what it takes.
    linear = [each for each in recorded if each.operation.kind == "linear"]
    weights = [tuple(each.operation.operands[1].value.shape) for each in linear]
    is_input = (given, there) in weights
    if {there, given} <= sizes:
        belongs = say("bias-has-numbers-and-added-columns-belongs", given=given, there=there)
        return join(belongs, say("or-it-is-added-to-what-its-layer-takes") if is_input else NOTHING)
    # What is as long as the result of a layer may be that, and the vector made by hand.
    is_input = is_input and all(rows != there for rows, _ in weights)
    return say("bias-is-added-to-what-its-layer-takes", there=there) if is_input else NOTHING


def _tried(found: int, wanted: int, layers: Sequence[Layer]) -> Text:
    """Return the changes of PyTorch's layers that give a length in place of another."""
    flattened = next((each for each in layers if each.operation.kind == "flatten"), None)
    if flattened is not None and wanted == flattened.value.shape[-1]:
        shape = flattened.operation.operands[0].value.shape
        if found == shape[-1]:
            return say(
                "pytorch-flattens-each-image-numbers-there-do",
                shape=", ".join(map(str, shape[1:])),
                wanted=wanted,
            )
    causes = _causes(found, wanted, layers)
    if not causes:
        return NOTHING
    place = causes[0][1]
    there = say(
        "pytorch-has-there-after", wanted=wanted, found=found, layer=name_layer(layers[place].name)
    )
    told = [tell_change(one.kind, one.facts) for one, _ in causes]
    if len(told) == 1:
        return join(there, say(_ONE, what=_named(causes[0][0], told[0][0], layers)), told[0][1])
    pairs = zip(causes, told, strict=True)
    listed = in_clauses(_named(one, what, layers) for (one, _), (what, _) in pairs)
    return join(there, say("likely-causes", listed=listed))


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

_ONE = say("cause")


def _named(one: Change, what: Text, layers: Sequence[Layer]) -> Text:
    """Return a mistake with its layer, unless it says that itself."""
    if one.kind == "layer_left_out":
        return what
    return say("layer-what", layer=layers[one.place].name.partition(" ")[0], what=what)


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
    program = Program(layers)
    for place, layer in enumerate(layers):
        if layer.operation.kind == "convolution":
            yield from convolution_mistakes(place, layer)
        if layer.operation.kind == "pool":
            yield from pooling_mistakes(place, layer)
            # Where it is missed, at the linear layer, it would raise: it may even stand behind.
            behind = program.next_of(place)
            facts = {} if behind is None else {"of": "before", "wanted": layers[behind].name}
            yield change("layer_left_out", place, same, missing=(layer.name,), **facts)


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
