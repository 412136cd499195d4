"""What PyTorch does in a course's function, operation by operation.

`record` runs the function with every call of PyTorch in view (torch.overrides.TorchFunctionMode),
and keeps those that depend on the function's arguments. The mode belongs to the thread that enters
it, and nothing is kept between two recordings: gradings in several threads may record at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.overrides import TorchFunctionMode

from grader.evidence.operations import Layer, Operand, Operation, Tensor, composed

_HIDDEN = frozenset(
    {
        *("__getitem__", "__get__", "unsqueeze", "squeeze", "select", "unbind", "split", "chunk"),
        *("stack", "expand", "expand_as", "clone", "detach", "contiguous"),
        *("double", "float", "to", "type", "numpy", "requires_grad_"),
    }
)
"""Functions that give the same numbers in another shape or dtype, or some of them. `cat` is none:
what it joins may be in another order."""

_NAMES = {
    **dict.fromkeys(("__matmul__", "mm"), "matmul"),
    **dict.fromkeys(("__add__", "__radd__", "__iadd__", "add_"), "add"),
    "relu_": "relu",
}
_CONVOLUTION = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
_MASKED = ("attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
_POOL = ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")


def record(
    compute: Callable[[], object], arguments: Sequence[npt.NDArray[Any]] = ()
) -> tuple[Layer, ...]:
    """Return what PyTorch does in `compute`, in order.

    `arguments` are the arrays that it computes from: only what depends on them is a layer. They are
    found again by their numbers, whatever dtype or axes of 1 they are given.
    """
    log = _Log(arguments)
    with _Mode(log):
        result = compute()
    outputs = result if isinstance(result, tuple) else (result,)
    return tuple(_with_outputs(composed(log.layers), outputs))


def replay(layers: Sequence[Layer], arguments: Sequence[npt.NDArray[Any]]) -> tuple[Layer, ...]:
    """Return the layers for other arguments. Raises RuntimeError where their shapes do not fit."""
    done: list[Layer] = []
    for layer in layers:
        operands = tuple(_moved(each, done, arguments) for each in layer.operation.operands)
        operation = layer.operation._replace(operands=operands)
        done.append(layer._replace(operation=operation, value=_array(operation.compute())))
    return tuple(done)


class _Call(NamedTuple):
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @property
    def name(self) -> str:
        name = str(getattr(self.function, "__name__", ""))
        return _NAMES.get(name, name)

    @property
    def tensors(self) -> list[Tensor]:
        return list(_tensors((self.args, tuple(self.kwargs.values()))))

    @property
    def writes_to_argument(self) -> bool:
        """Say whether the result is an argument with other numbers in it: relu_, add_."""
        return self.name.endswith("_") and not self.name.endswith("__")


class _Mode(TorchFunctionMode):  # type: ignore[misc]
    """Notes every call of PyTorch on a log."""

    def __init__(self, log: _Log) -> None:
        super().__init__()
        self._log = log

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        call = _Call(function, args, kwargs or {})
        operands = self._log.operands(call)  # before the call, which may write to them
        result = function(*args, **(kwargs or {}))
        self._log.note(call, operands, result)
        return result


class _Log:
    """The layers so far, and which tensors they gave."""

    def __init__(self, arguments: Sequence[npt.NDArray[Any]]) -> None:
        self.layers: list[Layer] = []
        self._arguments = [np.asarray(each, np.float64).reshape(-1) for each in arguments]
        self._places: dict[int, int] = {}
        self._alive: list[Tensor] = []  # an id belongs to another tensor once its own is gone

    def operands(self, call: _Call) -> list[Operand]:
        """Return what a call takes, one operand for each of its tensors, with the values of now."""
        return [self._operand(each) for each in call.tensors]

    def note(self, call: _Call, operands: Sequence[Operand], result: Any) -> None:
        """Keep a call if it gives tensors that depend on an argument."""
        if not any(each.is_running for each in operands):
            return
        name = call.name
        if isinstance(result, torch.Tensor) and name in _RULES:
            given = {
                id(each): operand for each, operand in zip(call.tensors, operands, strict=True)
            }
            rule, names = _RULES[name]
            if rule(self, _bound(names, call, given)):
                self._is_given_by(result)
                return
        several = isinstance(result, (tuple, list))
        for place, each in enumerate(result if several else [result]):
            if not isinstance(each, torch.Tensor):
                continue
            # `contiguous` may return what it is given, which has its layer already; `relu_` does so
            # with other numbers.
            if id(each) not in self._places or call.writes_to_argument:
                shown = "" if name in _HIDDEN else name.strip("_")
                again = _again(call, place if several else None)
                self.add(shown, "other", operands, call=again)
                self._is_given_by(each)

    def add(
        self,
        name: str,
        kind: str,
        operands: Sequence[Operand],
        is_partial: bool = False,
        **options: Any,
    ) -> Operand:
        """Do an operation, keep it, and return what it gives."""
        operation = Operation(kind, tuple(operands), options)
        value = operation.compute()
        self.layers.append(Layer(name, operation, _array(value), is_partial))
        return Operand(_double(value), layer=len(self.layers) - 1)

    def is_given(self, operand: Operand) -> bool:
        """Say whether an operand is an argument, at most laid out anew."""
        if operand.layer is None:
            return operand.argument is not None
        layer = self.layers[operand.layer]
        return not layer.name and all(map(self.is_given, layer.operation.operands))

    def is_product(self, operand: Operand) -> bool:
        """Say whether an operand is a product of matrices."""
        return operand.layer is not None and self.layers[operand.layer].operation.kind == "matmul"

    def _is_given_by(self, tensor: Tensor) -> None:
        self._places[id(tensor)] = len(self.layers) - 1
        self._alive.append(tensor)

    def _operand(self, tensor: Tensor) -> Operand:
        value = _double(tensor)
        place = self._places.get(id(tensor))
        return Operand(value, place, None if place is not None else self._argument(value))

    def _argument(self, value: Tensor) -> int | None:
        """Return the place of the argument that has these numbers, None where none has."""
        for place, each in enumerate(self._arguments):
            if each.size == value.numel() and np.array_equal(each, value.reshape(-1).numpy()):
                return place
        return None


Given = Mapping[str, Any]
"""What a call is given, by the names of its parameters: operands for tensors."""

Rule = Callable[[_Log, Given], bool]
"""Adds a call's operations to a log; False where it is a call of a kind that is not known."""


def _convolution(log: _Log, given: Given) -> bool:
    if isinstance(given.get("padding"), str):
        return False
    x, weight = given["input"], given["weight"]
    options = {
        "stride": _pair(given.get("stride", 1)),
        "padding": _pair(given.get("padding", 0)),
        "dilation": _pair(given.get("dilation", 1)),
        "groups": given.get("groups", 1),
    }
    if given.get("bias") is None:
        log.add("conv2d", "convolution", (x, weight), **options)
        return True
    inner = log.add("conv2d without its bias", "convolution", (x, weight), True, **options)
    log.add("conv2d", "bias", (inner, given["bias"]), axis=-3)
    return True


def _linear(log: _Log, given: Given) -> bool:
    x, weight = given["input"], given["weight"]
    if given.get("bias") is None:
        log.add("linear", "linear", (x, weight))
        return True
    inner = log.add("linear without its bias", "linear", (x, weight), True)
    log.add("linear", "bias", (inner, given["bias"]), axis=-1)
    return True


def _add(log: _Log, given: Given) -> bool:
    if not _are_two(given) or not all(isinstance(each, Operand) for each in given.values()):
        return False
    left, right = given["left"], given["right"]
    # `x @ w + b` by hand is a bias like that of nn.Linear, and is got wrong in the same ways.
    is_vector = right.value.ndim == 1 and not right.is_running
    if is_vector or (
        log.is_product(left) and log.is_given(right) and _is_row(right.value, left.value)
    ):
        log.add("add", "bias", (left, right), axis=-1)
    else:
        log.add("add", "add", (left, right))
    return True


def _is_row(row: Tensor, value: Tensor) -> bool:
    """Say whether one number is added to each column: `b` of `x @ w + b[:, None]`, case by case."""
    columns = row.shape[-1] if row.ndim else 1
    rows = value.numel() // max(columns, 1)
    return columns > 1 and row.numel() == columns == value.shape[-1] and rows > 1


def _product(name: str) -> Rule:
    def rule(log: _Log, given: Given) -> bool:
        if not _are_two(given):
            return False
        log.add(name, "matmul", (given["left"], given["right"]))
        return True

    return rule


def _are_two(given: Given) -> bool:
    return given.keys() == {"left", "right"}


def _relu(log: _Log, given: Given) -> bool:
    log.add("relu", "relu", [given["input"]])
    return True


def _pool(log: _Log, given: Given) -> bool:
    if given.get("ceil_mode") or given.get("return_indices"):
        return False
    size = _pair(given["kernel_size"])
    stride = given.get("stride")
    log.add(
        "max_pool2d",
        "pool",
        [given["input"]],
        kernel_size=size,
        stride=size if stride is None or stride == [] else _pair(stride),
        padding=_pair(given.get("padding", 0)),
        dilation=_pair(given.get("dilation", 1)),
    )
    return True


def _flatten(log: _Log, given: Given) -> bool:
    options = {"start": given.get("start_dim", 0), "end": given.get("end_dim", -1)}
    log.add("flatten", "flatten", [given["input"]], **options)
    return True


def _softmax(log: _Log, given: Given) -> bool:
    if not isinstance(given.get("dim"), int):
        return False
    _add_softmax(log, given["input"], given["dim"])
    return True


def _add_softmax(log: _Log, x: Operand, axis: int) -> Operand:
    log.add("the largest item of a softmax", "largest", [x], True, axis=axis)
    log.add("the differences to the largest item of a softmax", "shifted", [x], True, axis=axis)
    # With or without the largest item subtracted: students who take a softmax apart do either, and
    # are right.
    for is_shifted in (True, False):
        options = {"axis": axis, "is_shifted": is_shifted}
        log.add("the exponentials of a softmax", "exponential", [x], True, **options)
        log.add("the sum of a softmax", "exponential_sum", [x], True, **options)
    return log.add("softmax", "softmax", [x], axis=axis)


def _attention(log: _Log, given: Given) -> bool:
    """Divide attention into two products and a softmax; one with a mask is left whole."""
    if any(given.get(each) for each in _MASKED):
        return False
    query, key, value = given["query"], given["key"], given["value"]
    turned = log.add("", "other", [key], call=lambda x: x.mT)
    product = log.add("matmul", "matmul", (query, turned))
    width = query.value.shape[-1]
    scaled = log.add("div", "other", [product], call=lambda x: x / width**0.5)
    log.add("matmul", "matmul", (_add_softmax(log, scaled, -1), value))
    return True


_TWO = ("left", "right")

_RULES: Mapping[str, tuple[Rule, tuple[str, ...]]] = {
    "conv2d": (_convolution, _CONVOLUTION),
    "linear": (_linear, ("input", "weight", "bias")),
    "add": (_add, _TWO),
    "matmul": (_product("matmul"), _TWO),
    "bmm": (_product("bmm"), _TWO),
    "relu": (_relu, ("input",)),
    "max_pool2d": (_pool, _POOL),
    "flatten": (_flatten, ("input", "start_dim", "end_dim")),
    "softmax": (_softmax, ("input", "dim")),
    "scaled_dot_product_attention": (_attention, ("query", "key", "value", *_MASKED)),
}
"""Rules by the names of functions, with those of parameters in their order. A product or a sum with
an operand that is given by name is left whole."""


def _again(done: _Call, part: int | None) -> Callable[..., Tensor]:
    """Return a function that does a call again on other tensors, in the order of the call's own."""

    def call(*values: Tensor) -> Tensor:
        left = iter(values)
        positional, named = _filled((done.args, dict(done.kwargs)), left)
        result = done.function(*positional, **named)
        return _double(result if part is None else result[part])

    return call


def _filled(structure: Any, values: Iterator[Tensor]) -> Any:
    if isinstance(structure, torch.Tensor):
        value = next(values).clone()  # a function may write to what it is given
        # A mask, or indices, are kept as floats and taken as what they were.
        return value if structure.is_floating_point() else value.to(structure.dtype)
    if isinstance(structure, (tuple, list)):
        return type(structure)(_filled(each, values) for each in structure)
    if isinstance(structure, dict):
        return {name: _filled(each, values) for name, each in structure.items()}
    return structure


def _tensors(structure: Any) -> Iterator[Tensor]:
    if isinstance(structure, torch.Tensor):
        yield structure
    elif isinstance(structure, (tuple, list)):
        for each in structure:
            yield from _tensors(each)


def _bound(names: tuple[str, ...], call: _Call, operands: Mapping[int, Operand]) -> Given:
    """Return what a call is given, with an operand for each tensor; by its place what is beyond."""
    places = (*names, *map(str, range(len(names), len(call.args))))
    bound = {**dict(zip(places, call.args, strict=False)), **call.kwargs}
    return {name: operands.get(id(each), each) for name, each in bound.items()}


def _pair(value: Any) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    numbers = tuple(int(each) for each in value)
    return (numbers[0], numbers[-1])


def _moved(
    operand: Operand, done: Sequence[Layer], arguments: Sequence[npt.NDArray[Any]]
) -> Operand:
    """Return what an operand is where the arguments are other ones."""
    if operand.layer is not None:
        return operand._replace(value=torch.from_numpy(done[operand.layer].value))
    if operand.argument is not None:
        value = torch.tensor(np.asarray(arguments[operand.argument], np.float64))
        shape = operand.value.shape
        fits = value.shape if value.ndim == operand.value.ndim else (-1, *shape[1:])
        return operand._replace(value=value.reshape(fits))
    return operand


def _with_outputs(layers: Sequence[Layer], outputs: tuple[object, ...]) -> Iterator[Layer]:
    """Mark the last layers that have the numbers of the outputs."""
    places: dict[int, int] = {}
    for number, output in enumerate(outputs):
        wanted = np.asarray(output, np.float64).reshape(-1)
        # A value may be met twice, before and after a ReLU that changes nothing: the output is the
        # last.
        for place in reversed(range(len(layers))):
            found = layers[place].value.reshape(-1)
            if layers[place].name and found.size == wanted.size and np.array_equal(found, wanted):
                places[place] = number
                break
    for place, layer in enumerate(layers):
        yield layer._replace(output=places.get(place))


def _double(tensor: Tensor) -> Tensor:
    """Return float64 numbers that the course's function cannot change any more."""
    return tensor.detach().to(torch.float64, copy=True)


def _array(tensor: Tensor) -> npt.NDArray[np.float64]:
    array: npt.NDArray[np.float64] = _double(tensor).contiguous().numpy()
    return array
