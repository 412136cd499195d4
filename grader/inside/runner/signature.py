"""The arrays of timed functions, and how a function takes them: told apart by shape and dtype."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, get_args

import numpy.typing as npt
import tvm

from grader.inside.common.failure import TaskError
from grader.messages.frames import Array, DType, FrameError, unpack_array

Shape = tuple[int, ...]
Values = npt.NDArray[Any]

OUTPUT = "output"
"""What the output is called among the arrays."""


class Form(NamedTuple):
    """The shape and the dtype of one array."""

    shape: Shape
    dtype: str = "float32"


class Signature(NamedTuple):
    """How a function takes its arrays: their names in the order of its parameters, and its shapes.

    The output is called `OUTPUT`; `shapes` has every array that it takes, by name.
    """

    roles: tuple[str, ...]
    shapes: dict[str, Shape]

    @property
    def inputs(self) -> frozenset[str]:
        """Return the names of the arrays that are no output."""
        return frozenset(self.roles) - {OUTPUT}


class Arrays(NamedTuple):
    """The referee's inputs.

    `data` has a leading axis over all inputs and is called `first` in workloads; `fixed` are the
    arrays that are the same for all of them, by name.
    """

    first: str
    data: Values
    fixed: dict[str, Values]

    def forms(self) -> dict[str, Form]:
        """Return the form of each array of one call, the one that changes first."""
        arrays = {self.first: self.data, **self.fixed}
        shapes = self.shapes()
        return {name: Form(shapes[name], str(each.dtype)) for name, each in arrays.items()}

    def shapes(self) -> dict[str, Shape]:
        """Return the shape of each array of one call, the one that changes first."""
        fixed = {name: each.shape for name, each in self.fixed.items()}
        return {self.first: self.data.shape[1:], **fixed}


def unpack_arrays(names: Sequence[str], data: Array, fixed: Sequence[Array], ring: int) -> Arrays:
    """Unpack a task's arrays; `ring` inputs are to be there at a time. Raises FrameError."""
    arrays = [unpack_array(each) for each in (data, *fixed)]
    if len({*names, OUTPUT}) != 1 + len(arrays):
        raise FrameError("timed inputs without a name of their own each")
    if any(each.size == 0 for each in arrays):
        raise FrameError("timed inputs that are empty")
    if arrays[0].ndim < 2:
        raise FrameError("timed inputs of the wrong number of axes")
    if not 2 <= ring <= len(arrays[0]):
        raise FrameError("a ring of fewer than two inputs, or of more than there are")
    first, *others = names
    return Arrays(first, arrays[0], dict(zip(others, arrays[1:], strict=True)))


def read_signature(function: Any, arrays: Arrays, output: Form) -> Signature:
    """Tell a PrimFunc's parameters apart by shape and dtype, in whatever order they are.

    Of several arrays of one form the first parameter is the first, and the output comes last. What
    has no array's shape may be an array of one axis in another one. Raises TaskError unless the
    parameters are the output and arrays, each once.
    """
    forms = parameter_forms(function)
    known = {**arrays.forms(), OUTPUT: output}
    roles: list[str | None] = []
    for form in forms:
        free = [name for name in known if name not in roles]
        roles.append(next((name for name in free if known[name] == form), None))
    for place, form in enumerate(forms):
        roles[place] = roles[place] or next(
            (name for name in arrays.fixed if name not in roles and _holds(form, known[name])),
            None,
        )
    named = [
        role or f"something of shape {form.shape}, {form.dtype}"
        for role, form in zip(roles, forms, strict=True)
    ]
    if None in roles or not {arrays.first, OUTPUT} <= {*named}:
        raise wrong_parameters(named, known)
    shapes = {name: form.shape for name, form in zip(named, forms, strict=True)}
    return Signature(tuple(named), shapes)


def wrong_parameters(taken: Iterable[str], wanted: Iterable[str]) -> TaskError:
    """Return the error of a function that takes other arrays than it should."""
    return TaskError(
        "signature",
        "WrongParameters",
        f"The function takes {', '.join(taken)}; it should take {', '.join(wanted)}.",
    )


def _holds(form: Form, vector: Form) -> bool:
    is_vector = len(vector.shape) == 1 and math.prod(form.shape) == vector.shape[0]
    return is_vector and form.dtype == vector.dtype


def parameter_forms(function: Any) -> list[Form]:
    """Return the shapes and dtypes of a PrimFunc's parameters. Raises TaskError unless they are
    arrays of fixed shapes, of dtypes that messages carry."""
    forms = []
    for parameter in function.params:
        buffer = parameter.ty
        if not isinstance(buffer, tvm.tirx.BufferType) or str(buffer.dtype) not in get_args(DType):
            message = f"Parameter {parameter.name} is not an array of numbers."
            raise TaskError("signature", "WrongParameters", message)
        if not all(isinstance(extent, tvm.tirx.IntImm) for extent in buffer.shape):
            message = f"The shape of parameter {parameter.name} is not fixed."
            raise TaskError("signature", "WrongParameters", message)
        forms.append(Form(tuple(int(extent) for extent in buffer.shape), str(buffer.dtype)))
    return forms
