"""Why a module could not be built: the cell, its error, and the cause that it mostly has.

A cause that shapes can show is tried on the oracle's layers: a padding is named only where PyTorch
with that padding gets the numbers of the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from grader.assignment import PartTable
from grader.language import join, mark, say
from grader.referee.diagnosis.mistakes_convolution import convolution_mistakes
from grader.referee.diagnosis.mistakes_pooling import pooling_mistakes
from grader.referee.diagnosis.operations import Layer
from grader.referee.diagnosis.program import Change, Program
from grader.referee.diagnosis.words import name_layer, tell_change
from grader.referee.evidence import Problem
from grader.report import CellProblem

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
    "topi.nn.add": "topi.add",
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
_DEFINED = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^(\w+)[ \t]*=(?!=)", re.MULTILINE
)


class FailedCell(NamedTuple):
    """A cell that ended in an error: its text, and the error."""

    source: str
    problem: CellProblem


def usual_cause(error: str, message: str, layers: Sequence[Layer] = ()) -> str:
    """Return what mostly lies behind an error of TVM's constructors and what to do, or nothing.

    `layers` are PyTorch's for the part that was to be built.
    """
    for cause in (_name_cause, _argument_cause):
        found = cause(error, message)
        if found:
            return found
    return _length_cause(message, layers)


def explain_definition(part: PartTable, failed: Sequence[FailedCell]) -> Problem | None:
    """Return why a part's entry point is missing where the cell that defines it has failed."""
    if part.entry_kind == "schedule":
        return None
    for pattern in part.entry:
        for each in reversed(failed):
            name = _defined(each.source, pattern)
            if name:
                return _explained(name, each.problem)
    return None


def _defined(source: str, pattern: str) -> str:
    names = (first or second for first, second in _DEFINED.findall(source))
    return next((name for name in names if fnmatchcase(name, pattern)), "")


def _explained(name: str, problem: CellProblem) -> Problem:
    where = say("cell {cell}", cell=problem.cell)
    if problem.line is not None:
        where = say("cell {cell}, line {line}", cell=problem.cell, line=problem.line)
    told = f"{problem.error}: {problem.message}".strip(": ")
    reason = say(
        "{name} is missing because the cell that defines it failed ({where}): {told}",
        name=name,
        where=where,
        told=told,
    )
    hint = problem.hint or usual_cause(problem.error, problem.message)
    return Problem(reason, hint or say("Mend this error first, and run the cell again."))


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


def _length_cause(message: str, layers: Sequence[Layer]) -> str:
    """Explain two lengths that do not fit together."""
    match = next(filter(None, (each.search(message) for each in _LENGTHS)), None)
    if match is None:
        return ""
    found, wanted = int(match[1]), int(match[2])
    for layer in layers:
        if layer.operation.kind == "linear":
            rows, columns = layer.operation.operands[1].value.shape
            if (found, wanted) == (columns, rows):
                return say(
                    "The weight has the shape ({rows}, {columns}), one row for each output: a dense"
                    " layer takes it as it is, a product of matrices takes it transposed.",
                    rows=rows,
                    columns=columns,
                )
    return _tried(found, wanted, layers)


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
