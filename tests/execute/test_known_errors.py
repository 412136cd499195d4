"""What errors are about is read from their words: each is raised by what really raises it."""

from __future__ import annotations

import errno
import operator
import os
import socket
import sys
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest
import torch
import tvm
from tvm import relax, te, topi
from tvm.s_tir import TensorIntrin
from tvm.script import ir as I  # noqa: N812 - as courses write it
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812
from tvm.te.tag import TagScope

from grader.execute.advice import advice_on_python, advice_on_step, explain_step
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


@T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
def sum_and_double(  # type: ignore[no-untyped-def]
    a: T.Buffer((16, 16), "float32"),  # type: ignore[valid-type]
    b: T.Buffer((16, 16), "float32"),  # type: ignore[valid-type]
    d: T.Buffer((16, 16), "float32"),  # type: ignore[valid-type]
):
    c = T.sblock_alloc_buffer((16, 16))
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("sums"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                c[vi, vj] = T.float32(0)
            c[vi, vj] += a[vi, vk] * b[vk, vj]
    for x, y in T.grid(16, 16):
        with T.sblock("doubled"):
            vx, vy = T.axis.remap("SS", [x, y])
            d[vx, vy] = c[vx, vy] * T.float32(2)


@T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
def adds_sixteen(a: T.handle, b: T.handle) -> None:  # type: ignore[valid-type]
    x, y = T.match_buffer(a, (16,)), T.match_buffer(b, (16,))
    with T.sblock("root"):
        T.reads(x[0:16], y[0:16])
        T.writes(y[0:16])
        for i in range(16):
            with T.sblock("y"):
                vi = T.axis.spatial(16, i)
                y[vi] = y[vi] + x[vi]


TensorIntrin.register("test.adds_sixteen", adds_sixteen, adds_sixteen, override=True)


def exchanged_arguments() -> object:
    """Write a module whose `main` gives a function its arguments in another order."""

    @I.ir_module
    class Exchanged:
        @T.prim_func(s_tir=True)
        def first(  # type: ignore[no-untyped-def]
            a: T.Buffer((4,), "float32"),  # type: ignore[valid-type]  # noqa: N805
            b: T.Buffer((2,), "float32"),  # type: ignore[valid-type]
            c: T.Buffer((4,), "float32"),  # type: ignore[valid-type]
        ):
            for i in range(4):
                with T.sblock("c"):
                    vi = T.axis.spatial(4, i)
                    c[vi] = a[vi] + b[0]

        @R.function
        def main(  # type: ignore[no-untyped-def]
            x: R.Tensor((4,), "float32"),  # type: ignore[valid-type]  # noqa: N805
            y: R.Tensor((2,), "float32"),  # type: ignore[valid-type]
        ):
            cls = Exchanged  # type: ignore[name-defined]
            return R.call_tir(cls.first, (y, x), R.Tensor((4,), "float32"))

    return Exchanged


def stub_of_tir() -> object:
    """Write a function as a handout leaves it."""

    @T.prim_func(s_tir=True)
    def stub():  # type: ignore[no-untyped-def]
        ...

    return stub


def used_behind_its_block() -> object:
    """Return what a dataflow block binds and does not hand out."""

    @R.function
    def main(x: R.Tensor((2,), "float32")):  # type: ignore[no-untyped-def, valid-type]
        with R.dataflow():
            once = R.add(x, x)
        return once  # noqa: RET504

    return main


def sum_in_the_block() -> object:
    """Write a block with the loop of its sum inside, and T.init() in that, as TVM took in 2022."""

    @T.prim_func(s_tir=True)
    def summed(  # type: ignore[no-untyped-def]
        a: T.Buffer((4, 8), "float32"),  # type: ignore[valid-type]
        c: T.Buffer((4,), "float32"),  # type: ignore[valid-type]
    ):
        for i in range(4):
            with T.sblock("c"):
                vi = T.axis.spatial(4, i)
                for k in range(8):
                    with T.init():
                        c[vi] = T.float32(0)
                    c[vi] = c[vi] + a[vi, k]

    return summed


class Blocks(NamedTuple):
    """A schedule of a sum and what follows it, with its blocks and their loops."""

    sch: Any
    sums: Any
    doubled: Any
    i: Any
    j: Any
    k: Any
    x: Any
    y: Any


def step(do: Callable[[Blocks], object]) -> Callable[[], object]:
    """Return what does a step of a schedule."""

    def run() -> object:
        sch = tvm.s_tir.Schedule(sum_and_double)
        blocks = [sch.get_sblock(each) for each in ("sums", "doubled")]
        loops = [loop for block in blocks for loop in sch.get_loops(block)]
        return do(Blocks(sch, *blocks, *loops))

    return run


def decomposed(do: Callable[[Blocks], object]) -> Callable[[], object]:
    """Return what does a step of a schedule whose sum is decomposed."""
    return step(lambda b: (b.sch.decompose_reduction(b.sums, b.k), do(b)))


def two_of_one_name() -> None:
    bb = relax.BlockBuilder()
    for name in ("one", "other"):
        x = relax.Var("x", R.Tensor((2, 4), "float32"))
        with bb.function(name, [x]):
            with bb.dataflow():
                out = bb.emit_output(relax.op.exp(x))
            bb.emit_func_output(out)
    module = bb.get()
    for variable in module.get_global_vars():
        module.update_func(variable, module[variable].with_attr("global_symbol", "twice"))
    tvm.compile(module, "llvm")


def halved_sum() -> None:
    x, k = tensor(2, 4), te.reduce_axis((0, 4))
    te.compute((2,), lambda i: te.sum(x[i, k], axis=k) / 2)


REAL: list[tuple[Callable[[], object], KnownError]] = [
    (stubbed, KnownError("not_implemented")),
    (lambda: eval("relaxed", {}), KnownError("undefined_name", ("relaxed",))),
    (lambda: topi.linear, KnownError("no_attribute", ("tvm.topi", "linear"))),
    (lambda: None.detach(), KnownError("of_none")),  # type: ignore[attr-defined]
    (
        lambda: getattr(torch.nn.Linear(2, 3), "body.0.bias"),
        KnownError("dotted_name", ("body.0.bias",)),
    ),
    (lambda: max(te.var("x"), 0), KnownError("truth_of_expression")),
    (two_of_one_name, KnownError("duplicate_symbol", ("twice",))),
    (lambda: {}[operator.add], KnownError("lacks_entry", ("operator.add",))),
    (lambda: {}[torch.matmul], KnownError("lacks_entry", ("torch.matmul",))),
    (lambda: {}[torch.nn.functional.relu], KnownError("lacks_entry", ("relu",))),
    (lambda: {}[torch.nn.Linear], KnownError("lacks_entry", ("nn.Linear",))),
    (lambda: np.zeros((3, 5))[1, 5], KnownError("index_beyond", numbers=(1, 5))),
    (lambda: torch.zeros(3, 5)[1, 5], KnownError("index_beyond", numbers=(1, 5))),
    (
        lambda: torch.zeros(1, 4) @ torch.zeros(3, 4),
        KnownError("product_shapes", numbers=(4, 3, 4)),
    ),
    (
        lambda: torch.add(torch.zeros(9), 1, out=torch.from_dlpack(np.zeros(4, np.float32))),
        KnownError("resized_output"),
    ),
    (lambda: stub_of_tir(1), KnownError("too_many_arguments", ("stub_of_tir",))),  # type: ignore[call-arg]
    (used_behind_its_block, KnownError("undefined_variable", ("once",))),
    (exchanged_arguments, KnownError("not_well_formed")),
    (lambda: variable(4).name_hint, KnownError("old_name_hint")),
    (lambda: tvm.tirx.Var("i", "int32").name_hint, KnownError("old_name_hint")),
    (stub_of_tir, KnownError("ellipsis")),
    (sum_in_the_block, KnownError("init_inside", ("c",))),
    (
        lambda: topi.nn.conv2d(1, 2),
        KnownError("missing_arguments", ("conv2d", "'strides', 'padding', and 'dilation'")),
    ),
    (lambda: __import__("no_such_package"), KnownError("missing_package", ("no_such_package",))),
    (lambda: sys.exit(2), KnownError("lacks_arguments")),
    (lambda: sys.exit(0), KnownError("exits")),
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
    (
        within_main(lambda bb, x: bb.emit(relax.op.matmul(x, relax.const(np.zeros((3, 4)))))),
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
    (halved_sum, KnownError("inner_reduction")),
    (
        lambda: topi.nn.conv2d(tensor(5, 1, 3, 3), tensor(4, 1, 28, 28), 1, 0, 1),
        KnownError("convolution_order"),
    ),
    (lambda: topi.nn.softmax(tensor(2, 4), 2), KnownError("no_axis")),
    (within_main(lambda bb, x: bb.emit(relax.op.nn.softmax(x, 2))), KnownError("no_axis")),
    (step(lambda b: b.sch.vectorize(b.k)), KnownError("step_on_reduction", ("sums",))),
    (step(lambda b: b.sch.parallel(b.k)), KnownError("step_on_reduction", ("sums",))),
    (
        step(lambda b: b.sch.bind(b.k, "blockIdx.x")),
        KnownError("step_binds_reduction", ("sums", "k")),
    ),
    (step(lambda b: b.sch.get_sblock("sum")), KnownError("step_without_block", ("sum",))),
    (step(lambda b: b.sch.compute_inline(b.sums)), KnownError("step_inlines_sum", ("sums",))),
    (step(lambda b: b.sch.reorder(b.i, b.i)), KnownError("step_names_loop_twice", ("i",))),
    (step(lambda b: b.sch.split(b.j, [3, 4])), KnownError("step_factors_too_small", ("j",))),
    (step(lambda b: b.sch.fuse(b.i, b.k)), KnownError("step_loops_apart", ("i", "k"))),
    (
        step(
            lambda b: (
                b.sch.compute_at(b.sch.cache_read(b.sums, 0, "global"), b.i),
                b.sch.fuse(b.i, b.j),
            )
        ),
        KnownError("step_loops_with_more_inside", ("j", "i")),
    ),
    (
        step(lambda b: tvm.s_tir.Schedule(sum_and_double).get_loops(b.sums)),
        KnownError("step_on_other_schedule", ("SBlock",)),
    ),
    (
        step(lambda b: tvm.s_tir.Schedule(sum_and_double).parallel(b.i)),
        KnownError("step_on_other_schedule", ("Loop",)),
    ),
    (
        decomposed(lambda b: b.sch.decompose_reduction(b.sums, b.k)),
        KnownError("step_not_a_sum", ("sums_update",)),
    ),
    (
        decomposed(lambda b: b.sch.compute_at(b.sch.get_sblock("sums_init"), b.x)),
        KnownError("step_on_one_of_two_writers", ("sums_init",)),
    ),
    (
        decomposed(lambda b: b.sch.parallel(b.i)),
        KnownError("step_on_half_a_sum", ("sums_update",)),
    ),
    (
        decomposed(lambda b: b.sch.compute_at(b.sums, b.x)),
        KnownError("step_on_half_a_sum", ("sums_update",)),
    ),
    (
        step(lambda b: b.sch.compute_at(b.doubled, b.i)),
        KnownError("step_moves_output", ("doubled",)),
    ),
    (
        step(lambda b: (b.sch.reorder(b.k, b.j), b.sch.decompose_reduction(b.sums, b.j))),
        KnownError("step_decomposes_inside", ("j", "sums")),
    ),
    (step(lambda b: b.sch.reorder(b.i, b.x)), KnownError("step_loops_not_nested")),
    (
        step(
            lambda b: (
                b.sch.compute_at(b.sums, b.x),
                b.sch.reorder(b.sch.get_loops(b.sums)[-1], b.x),
            )
        ),
        KnownError("step_across_loop_of_several", ("x",)),
    ),
    (
        step(lambda b: b.sch.tensorize(b.k, "test.adds_sixteen")),
        KnownError("step_tensorizes_other_loops"),
    ),
    (
        step(lambda b: b.sch.compute_at(b.sch.cache_read(b.sums, 0, "global"), b.x)),
        KnownError("step_blocks_outside", ("sums",)),
    ),
    (
        step(lambda b: (b.sch.split(b.i, [4, 4]), b.sch.parallel(b.i))),
        KnownError("step_on_gone", ("loop",)),
    ),
    (
        step(
            lambda b: (
                copied := b.sch.cache_read(b.doubled, 0, "global"),
                b.sch.compute_inline(copied),
                b.sch.get_loops(copied),
            )
        ),
        KnownError("step_on_gone", ("block",)),
    ),
]
"""What raises, and what is read of it. A limit of the system is worded by the system here, too."""

WORDED: list[tuple[str, str, ErrorKind]] = [
    (
        "TypeError",
        "it returned NoneType where an array of shape (1, 10) is due",
        "gave_nothing",
    ),
    ("KeyboardInterrupt", "", "interrupted"),
    ("RuntimeError", "can't start new thread", "processes"),
    ("InternalError", "std::bad_alloc", "memory"),
    (  # tests/inside/common/test_executables.py has it raised
        "FileNotFoundError",
        "TVM found no C compiler: g++, gcc and clang are not in PATH.",
        "no_compiler",
    ),
    ("SyntaxError", "expected '(' (1234.py, line 3)", "type_parameters"),  # Python 3.12 takes it
    # tests/broken/magics_that_fail.toml has it raised
    ("Exception", "File `'layers.py'` not found.", "missing_script"),
    ("HTTPError", "HTTP Error 404: Not Found", "network"),
    # no last item can be told of
    ("IndexError", "index 0 is out of bounds for axis 0 with size 0", "unknown"),
    # a dictionary of the student's own; PyTorch's `max_pool2d`, whose name Python does not print
    ("KeyError", "<class 'str'>", "unknown"),
    ("KeyError", "<class '__main__.Block'>", "unknown"),
    ("KeyError", "<built-in method join of str object at 0x7f4110135660>", "unknown"),
    ("KeyError", "<function boolean_dispatch.<locals>.fn at 0x7f40eff314e0>", "unknown"),
    ("KeyError", "<function " + "a" * 99 + ".b at 0x7f40eff314e0>", "unknown"),
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
    # Jupyter tells nothing of an assertion without words.
    if known.kind == "bias_of_two_axes":
        known = UNKNOWN
    message = telling_line(str(caught.value))
    assert known == recognise(type(caught.value).__name__, message)


@pytest.mark.parametrize(("error", "message", "kind"), WORDED)
def test_it_is_read_by_its_words(error: str, message: str, kind: ErrorKind) -> None:
    assert kind == recognise(error, message).kind


def test_every_kind_is_raised_here() -> None:
    raised = {known.kind for _, known in REAL} | {kind for _, _, kind in WORDED}
    assert {*get_args(ErrorKind)} == raised


def test_what_python_numpy_and_pytorch_refuse_is_advised_on() -> None:
    kinds = (
        "of_none",
        "lacks_entry",
        "dotted_name",
        "duplicate_symbol",
        "truth_of_expression",
        "index_beyond",
        "product_shapes",
        "resized_output",
        "not_well_formed",
        "init_inside",
        "old_name_hint",
        "too_many_arguments",
        "undefined_variable",
    )
    known = [each for _, each in REAL if each.kind in kinds]
    assert all(advice_on_python(each) for each in known)
    assert 18 == len(known)


def test_a_weight_that_fits_transposed_is_to_be_transposed() -> None:
    transposed = advice_on_python(KnownError("product_shapes", numbers=(784, 128, 784)))
    other = advice_on_python(KnownError("product_shapes", numbers=(784, 128, 10)))
    assert [True, False] == ["Transpose" in each.english for each in (transposed, other)]


def test_what_tvm_refuses_in_a_schedule_is_explained() -> None:
    kinds = [known for _, known in REAL if known.kind.startswith("step_")]
    assert all("{" not in advice_on_step(each).english for each in kinds)
    assert all(explain_step(each)[0] and explain_step(each)[1] for each in kinds)


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


def _scheduled(sch: Any) -> None:
    """Do what any schedule of a sum does: all of this is refused behind decompose_reduction."""
    i, j, k = sch.get_loops(sch.get_sblock("sums"))
    sch.parallel(i)
    k_0, k_1 = sch.split(k, [None, 4])
    sch.reorder(k_0, k_1, j)
    sch.vectorize(j)
    sch.decompose_reduction(sch.get_sblock("sums"), k_0)


@pytest.mark.parametrize(
    "fail",
    [
        decomposed(lambda b: b.sch.parallel(b.i)),
        decomposed(lambda b: b.sch.reorder(b.k, b.j)),
    ],
)
def test_whoever_decomposes_too_early_is_told_to_do_it_at_the_end(
    fail: Callable[[], object],
) -> None:
    """Told to do it behind the line that raised, students met the same in the next line."""
    with pytest.raises(tvm.s_tir.ScheduleError) as caught:
        fail()
    known = recognise(error_name(caught.value), describe_error(caught.value))
    assert "move that call to the end of the schedule" in advice_on_step(known).english
    _scheduled(tvm.s_tir.Schedule(sum_and_double))


@pytest.mark.parametrize("mend", ["", "left out", "before"])
def test_whoever_reorders_across_a_loop_of_two_blocks_is_told_what_is_accepted(mend: str) -> None:
    """All of the loops were of one block, as was advised."""
    sch = tvm.s_tir.Schedule(sum_and_double)
    sums, doubled = (sch.get_sblock(each) for each in ("sums", "doubled"))
    _, j, k = sch.get_loops(sums)
    (j_0, j_1), (k_0, k_1) = sch.split(j, [None, 4]), sch.split(k, [None, 4])
    loops = [j_0, k_0, k_1, j_1]
    if mend == "before":
        sch.reorder(*loops)
    sch.reverse_compute_at(doubled, j_0)
    if mend == "left out":
        sch.reorder(*loops[1:])
    if not mend:
        with pytest.raises(tvm.s_tir.ScheduleError) as caught:
            sch.reorder(*loops)
        known = recognise(error_name(caught.value), describe_error(caught.value))
        assert (
            "Leave that loop out of reorder, or call reorder before"
            in advice_on_step(known).english
        )


@pytest.mark.parametrize(
    "message",
    [
        *("TODO: Part 1", "to do", "YOUR CODE HERE", "Please implement this", "Fill in here"),
        *("not implemented yet", "This function is not implemented.", "Write your code here"),
        *("\n请在此处实现", "待完成", "여기를 구현하세요"),
    ],
)
def test_what_is_to_be_done_is_a_stub(message: str) -> None:
    assert "not_implemented" == recognise("NotImplementedError", message).kind


@pytest.mark.parametrize(
    "message",
    [
        *("conv2d with groups is not implemented", "cannot complete the import of add"),
        *("your graph has an unknown node", "numpy function absolute is not supported yet."),
    ],
)
def test_what_is_left_out_is_no_stub(message: str) -> None:
    """A loop over the nodes of a graph ends so, and was told as not solved yet."""
    assert UNKNOWN == recognise("NotImplementedError", message)


def test_what_pytorch_has_not_is_no_stub() -> None:
    with pytest.raises(NotImplementedError) as raised:
        torch.softmax(torch.ones(2, 2, dtype=torch.int32), 1)
    assert UNKNOWN == recognise("NotImplementedError", str(raised.value))


def test_a_function_that_returns_nothing_is_to_return_its_result() -> None:
    """Whoever forgot `return` was told to call the function in another cell."""
    assert "`return`" in advice_on_python(KnownError("gave_nothing")).english


def test_an_external_function_of_too_few_parameters_is_advised_on() -> None:
    told = "env.conv2d raised TypeError: conv() takes 3 positional arguments but 4 were given"
    assert KnownError("too_many_arguments", ("conv",)) == recognise("TypeError", told)


def test_a_function_of_a_library_is_not_to_be_given_a_parameter() -> None:
    """Of `bb.emit_te(topi.add, x, y, 1)` students were told to give `add` another parameter."""
    known = recognise("TypeError", "add() takes 2 positional arguments but 3 were given")
    assert "Leave out the arguments" in advice_on_python(known).english
