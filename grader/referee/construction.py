"""Why a module could not be built: the cell, its error, and the cause that it mostly has.

A cause that shapes can show is tried on the oracle's layers: a padding is named only where PyTorch
with that padding gets the numbers of the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from grader.language import join, mark, say
from grader.referee.diagnosis.mistakes_convolution import convolution_mistakes
from grader.referee.diagnosis.mistakes_pooling import pooling_mistakes
from grader.referee.diagnosis.operations import Layer
from grader.referee.diagnosis.program import Change, Program
from grader.referee.diagnosis.words import name_layer, tell_change

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
_LENGTHS = (
    re.compile(r"Reduction dimensions of \w+ do not match\. (\d+) vs (\d+)"),
    re.compile(r"reduction length as (\d+),.* reduction length as (\d+)"),
)
_BIAS = re.compile(r"assert len\(bias\.shape\) == 1")
_MISSING = re.compile(r"(conv2d|pool2d)\w*\(\) missing \d+ required positional arguments?: (.+)")

Layers = Callable[[], Sequence[Layer]]
"""What PyTorch does for a part, recorded when it is asked for."""


def usual_cause(error: str, message: str, layers: Layers = tuple) -> str:
    """Return what mostly lies behind an error of TVM's constructors and what to do, or nothing.

    `layers` returns PyTorch's for the part that was to be built.
    """
    for cause in (_name_cause, _argument_cause):
        found = cause(error, message)
        if found:
            return found
    return _length_cause(message, layers)


def _name_cause(error: str, message: str) -> str:
    found = _NO_NAME.search(message)
    if found is None or error != "AttributeError":
        return ""
    asked = f"{found[1].removeprefix('tvm.')}.{found[2]}"
    if asked not in NAMES:
        return ""
    return say("TVM has no {asked}; use {name}.", asked=asked, name=NAMES[asked])


_GIVE = mark("Give {operator} all of its arguments: {arguments} have no default values.")


def _argument_cause(error: str, message: str) -> str:
    if _BIAS.search(message):
        return say(
            "The bias of topi.nn.dense has one axis, the columns: give it the shape (n,), not"
            " (1, n)."
        )
    found = _MISSING.search(message) if error == "TypeError" else None
    if found:
        return say(_GIVE, operator=found[1], arguments=found[2])
    return ""


def _length_cause(message: str, layers: Layers) -> str:
    """Explain two lengths that do not fit together."""
    match = next(filter(None, (each.search(message) for each in _LENGTHS)), None)
    if match is None:
        return ""
    found, wanted = int(match[1]), int(match[2])
    recorded = layers()
    for layer in recorded:
        if layer.operation.kind == "linear":
            rows, columns = layer.operation.operands[1].value.shape
            if (found, wanted) == (columns, rows):
                return say(
                    "The weight has the shape ({rows}, {columns}), one row for each output: a dense"
                    " layer takes it as it is, a product of matrices takes it transposed.",
                    rows=rows,
                    columns=columns,
                )
    return _tried(found, wanted, recorded)


def _tried(found: int, wanted: int, layers: Sequence[Layer]) -> str:
    """Return the one change of PyTorch's layers that gives a length in place of another."""
    program = Program(layers)
    for one in _changes(layers):
        place = _place_of(wanted, found, one, program)
        if place is None:
            continue
        what, advice = tell_change(one.kind, one.facts)
        there = say(
            "PyTorch has {wanted} there, after {layer}, not {found}. That is what comes of another"
            " {changed}: {what}.",
            wanted=wanted,
            found=found,
            layer=name_layer(layers[place].name),
            changed=layers[one.place].name.partition(" ")[0],
            what=what,
        )
        return join(there, advice)
    return ""


def _changes(layers: Sequence[Layer]) -> Iterator[Change]:
    for place, layer in enumerate(layers):
        if layer.operation.kind == "convolution":
            yield from convolution_mistakes(place, layer)
        if layer.operation.kind == "pool":
            yield from pooling_mistakes(place, layer)


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
