"""What errors are about is read from their words: each is raised by what really raises it."""

from __future__ import annotations

import errno
import os
import socket
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from tvm import relax, te, topi
from tvm.te.tag import TagScope

from grader.execute.known_errors import UNKNOWN, ErrorKind, KnownError, recognise
from grader.execute.problems import telling_line
from grader.inside.kernel.faults import describe_error, error_name


def tensor(*shape: int) -> Any:
    return te.placeholder(shape, dtype="float32", name="x")


def variable(*shape: int) -> Any:
    return relax.Var("x", relax.TensorType(shape, "float32"))


def within_main(use: Callable[[Any, Any], object]) -> Callable[[], object]:
    """Return what uses a block builder and an argument of `main` of shape (2, 4)."""

    def build() -> object:
        builder, argument = relax.BlockBuilder(), variable(2, 4)
        with builder.function("main", [argument]), builder.dataflow():
            return use(builder, argument)

    return build


def system(number: int) -> Callable[[], object]:
    """Return what raises an error of the system, in the words of the C library."""

    def fail() -> object:
        raise OSError(number, os.strerror(number))

    return fail


def unresolved() -> object:
    try:
        return socket.getaddrinfo("grader.invalid", 80)
    except socket.gaierror as error:
        raise urllib.error.URLError(error) from None


def stacked() -> object:
    with te.tag_scope("one"), te.tag_scope("two"):
        return None


def stubbed() -> object:
    raise NotImplementedError


REAL: list[tuple[Callable[[], object], KnownError]] = [
    (stubbed, KnownError("not_implemented")),
    (lambda: eval("relaxed", {}), KnownError("undefined_name", ("relaxed",))),
    (lambda: topi.linear, KnownError("no_attribute", ("tvm.topi", "linear"))),
    (
        lambda: topi.nn.conv2d(1, 2),
        KnownError("missing_arguments", ("conv2d", "'strides', 'padding', and 'dilation'")),
    ),
    (lambda: __import__("no_such_package"), KnownError("missing_package", ("no_such_package",))),
    (lambda: Path("/no/such/file").read_bytes(), KnownError("not_found")),
    (lambda: Path("/dev/null/file").read_bytes(), KnownError("not_found")),
    (system(errno.EROFS), KnownError("not_found")),
    (lambda: bytearray(2**62), KnownError("memory")),
    (lambda: np.empty(2**57), KnownError("memory")),
    (lambda: torch.empty(2**57), KnownError("memory")),
    (system(errno.ENOMEM), KnownError("memory")),
    (system(errno.ENOSPC), KnownError("disk")),
    (system(errno.EFBIG), KnownError("file_size")),
    (system(errno.EAGAIN), KnownError("processes")),
    (system(errno.EMFILE), KnownError("descriptors")),
    (system(errno.EACCES), KnownError("network")),
    (system(errno.ENETUNREACH), KnownError("network")),
    (unresolved, KnownError("network")),
    (lambda: topi.nn.dense(tensor(2, 4), tensor(3, 5)), KnownError("lengths", numbers=(4, 5))),
    (
        within_main(lambda bb, x: bb.emit(relax.op.matmul(x, variable(3, 5)))),
        KnownError("lengths", numbers=(4, 3)),
    ),
    (lambda: topi.add(tensor(2, 4), tensor(2, 5)), KnownError("broadcast", numbers=(4, 5))),
    (
        within_main(lambda bb, x: bb.emit(relax.op.add(x, variable(2, 5)))),
        KnownError("broadcast", numbers=(4, 5)),
    ),
    (lambda: topi.add(tensor(3, 4), tensor(3)), KnownError("dense_order", numbers=(4, 3))),
    (
        lambda: topi.nn.dense(tensor(2, 4), tensor(3, 4), tensor(1, 3)),
        KnownError("bias_of_two_axes"),
    ),
    (
        lambda: topi.nn.pool2d(tensor(1, 1, 4, 4), (2, 2), (2, 2), (1, 1), (0, 0), "max"),
        KnownError("pool_padding"),
    ),
    (
        lambda: topi.matmul(tensor(2, 4), tensor(4, 3), tensor(3)),
        KnownError("topi_matmul_bias"),
    ),
    (
        within_main(lambda bb, x: bb.emit(relax.op.matmul(x, variable(4, 3), variable(3)))),
        KnownError("relax_matmul_bias"),
    ),
    (
        within_main(lambda bb, x: bb.emit_te(topi.nn.relu(x))),
        KnownError("called_in_emit_te"),
    ),
    (within_main(lambda bb, _: bb.emit(topi.nn.relu, tensor(2))), KnownError("tensor_in_emit")),
    (
        within_main(lambda bb, x: bb.emit_te(relax.op.nn.relu, x)),
        KnownError("operator_in_emit_te"),
    ),
    (
        within_main(lambda bb, x: bb.emit_te(topi.nn.softmax, x, max)),
        KnownError("python_function_in_emit_te"),
    ),
    (
        within_main(lambda bb, x: bb.emit(relax.op.reshape(x, (3, 3)))),
        KnownError("reshape_size"),
    ),
    (stacked, KnownError("nested_tag")),
    (
        lambda: topi.nn.conv2d(tensor(5, 1, 3, 3), tensor(4, 1, 28, 28), 1, 0, 1),
        KnownError("convolution_order"),
    ),
    (lambda: topi.nn.softmax(tensor(2, 4), 2), KnownError("no_axis")),
    (within_main(lambda bb, x: bb.emit(relax.op.nn.softmax(x, 2))), KnownError("no_axis")),
]
"""What raises, and what is read of it. A limit of the system is worded by the system here, too."""

WORDED: list[tuple[str, str, ErrorKind]] = [
    ("KeyboardInterrupt", "", "interrupted"),
    ("RuntimeError", "can't start new thread", "processes"),
    ("InternalError", "std::bad_alloc", "memory"),
    (  # tests/inside/common/test_executables.py has it raised
        "FileNotFoundError",
        "TVM found no C compiler: g++, gcc and clang are not in PATH.",
        "no_compiler",
    ),
    ("HTTPError", "HTTP Error 404: Not Found", "network"),
    ("RuntimeError", "Dataset not found. You can use download=True to download it", "not_found"),
]
"""What a test cannot have raised."""


LEFT_OPEN = pytest.mark.filterwarnings("ignore:Tag .* declared via TagScope was not used")
"""TVM warns of a tag that it has left open itself."""


@pytest.fixture(autouse=True)
def _no_tag() -> Any:
    """TVM leaves a tag as it was when a function of TOPI raised."""
    yield
    TagScope._current = None


@LEFT_OPEN
@pytest.mark.parametrize(("fail", "known"), REAL)
def test_it_is_read_as_a_capture_tells_it(fail: Callable[[], object], known: KnownError) -> None:
    with pytest.raises(BaseException) as caught:
        fail()
    assert known == recognise(error_name(caught.value), describe_error(caught.value))


@LEFT_OPEN
@pytest.mark.parametrize(("fail", "known"), REAL)
def test_it_is_read_as_a_cell_ends_in_it(fail: Callable[[], object], known: KnownError) -> None:
    with pytest.raises(BaseException) as caught:
        fail()
    # Jupyter tells nothing of an assertion without words, and of an operator all that it has.
    if known.kind == "bias_of_two_axes" or (
        known.kind == "broadcast" and "ir.Op(" in str(caught.value)
    ):
        known = UNKNOWN
    message = telling_line(str(caught.value))
    assert known == recognise(type(caught.value).__name__, message)


@pytest.mark.parametrize(("error", "message", "kind"), WORDED)
def test_it_is_read_by_its_words(error: str, message: str, kind: ErrorKind) -> None:
    assert kind == recognise(error, message).kind


def test_every_kind_is_raised_here() -> None:
    raised = {known.kind for _, known in REAL} | {kind for _, _, kind in WORDED}
    assert {*get_args(ErrorKind)} == raised | {"unknown"}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("NameError", "no name"),
        ("ValueError", "name 'relax' is not defined"),
        ("ValueError", "module 'tvm.topi' has no attribute 'linear'"),
        ("ValueError", "3 vs 4"),
        ("PermissionError", "[Errno 13] Permission denied: '/etc/x'"),
        ("MyMemoryError", "so it is"),
        ("ValueError", "x" * 3000 + "No space left on device"),
        ("ValueError", "Reduction dimensions of dense do not match. 1234567890 vs 4"),
    ],
)
def test_any_other_is_unknown(error: str, message: str) -> None:
    assert UNKNOWN == recognise(error, message)
