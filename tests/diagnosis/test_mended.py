"""A wrong statement is named with the edit that makes it right, which was tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
import tvm
from tvm import relax, te, topi
from tvm.script import from_source
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.diagnosis import mended
from grader.diagnosis.align import Alignment, Observed, align
from grader.diagnosis.layers import known
from grader.diagnosis.mended import Other, with_mended_statement
from grader.diagnosis.mistakes import LikelyMistake
from grader.diagnosis.statement_edits import edits
from grader.diagnosis.statements import Statements
from grader.diagnosis.tracing import Traced
from grader.evidence.recorder import record
from grader.ir.read import read_module
from tests.ir.modules import save

A = np.random.default_rng(1).standard_normal((5, 6)).astype(np.float32)
B = np.random.default_rng(2).standard_normal((6, 5)).astype(np.float32)
V = np.random.default_rng(3).standard_normal((5,)).astype(np.float32)
"""Each axis along which two of them are read has another extent than the sum."""

MATMUL = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 5), "float32"),
          V: T.Buffer((5,), "float32"), C: T.Buffer((5, 5), "float32")):
        for i, j, k in T.grid(5, 5, 6):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj] * V[vj]
"""


BEGUN_APART = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 5), "float32"), B: T.Buffer((5, 5), "float32"),
          V: T.Buffer((5,), "float32"), C: T.Buffer((5, 5), "float32")):
        for i, j in T.grid(5, 5):
            with T.sblock("C_init"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(0)
        for i, j, k in T.grid(5, 5, 5):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

SQUARE = MATMUL.replace("6", "5").replace(" * V[vj]", "")


WINDOW = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 5), "float32"),
          V: T.Buffer((5,), "float32"), C: T.Buffer((3, 6), "float32")):
        for i, j, k in T.grid(3, 6, 3):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + B[vk, vi] * A[vi + vk, vj]
"""
"""Three rows at a time: the axis of 5 has no iterator of its own."""


TWO = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 5), "float32"),
          V: T.Buffer((5,), "float32"), C: T.Buffer((5, 6), "float32")):
        Y = T.sblock_alloc_buffer((5, 6), "float32")
        for i, j in T.grid(5, 6):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = C[vi, vj] * T.float32(2)
        for i, j in T.grid(5, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(Y[vi, vj], A[vi, vj])
"""


LARGEST = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 5), "float32"),
          V: T.Buffer((5,), "float32"), C: T.Buffer((5,), "float32")):
        for i, k in T.grid(5, 2):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(-1000)
                C[vi] = T.max(C[vi], A[vi, vk])
"""


def windows(a: Any, b: Any, _v: Any) -> Any:
    return sum(b[k, :3, None] * a[k : k + 3] for k in range(3))


def pytorch(a: Any, b: Any, v: Any) -> Any:
    return a @ (b * v)


def told(
    old: str,
    new: str,
    source: str = MATMUL,
    compute: Callable[..., Any] = pytorch,
    kind: Any = None,
) -> LikelyMistake | None:
    """Return what is told of a module in which a piece of the text is another one."""
    assert old in source
    module = from_source(source.replace(old, new), extra_vars={"I": I, "T": T})
    pair = A, B[:, 0], B[:, 1]
    square = A[:, :5], B[:5], V
    found = {SQUARE: square, BEGUN_APART: square, PAIR: pair, CLAMP: pair}
    given = found.get(source, (A, B, V))
    return told_of(module, given, compute, kind)


def told_of(
    module: Any,
    given: tuple[Any, ...],
    compute: Callable[..., Any],
    kind: Any,
    unscheduled: Any = None,
    dtype: str = "float32",
    told_before: Mapping[str, str] = {},
    others: Any = (),
    *,
    is_stopped: bool = False,
) -> LikelyMistake | None:
    """Return what is told of a module that computes something else of what it is given.

    `is_stopped`: it is not run, as a guard stops it.
    """
    tensors = [torch.tensor(each.astype(np.float64)) for each in given]
    layers = record(lambda: compute(*tensors).numpy(), given)
    value = None if is_stopped else run(module, given, layers[-1].value.shape, dtype)
    steps = [Observed("C", "f", value, (), takes_input=True)]
    seen = None if kind is None else LikelyMistake(kind, "matmul", told_before, len(layers) - 1)
    alignment = Alignment(("wrong",), (None,), 0, expected=len(layers) - 1, mistake=seen)
    assert is_stopped or align(steps, layers).wrong == 0
    traced = Traced(tuple(steps), given)
    facts = read_module(save(module))
    base = None if unscheduled is None else read_module(save(unscheduled))
    found = with_mended_statement(alignment, facts, traced, layers, unscheduled=base, others=others)
    return found.mistake


def run(module: Any, given: tuple[Any, ...], shape: tuple[int, ...], dtype: str = "float32") -> Any:
    output = tvm.runtime.tensor(np.full(shape, 7 if dtype.startswith("int") else np.nan, dtype))
    tvm.compile(module, "llvm")["f"](*(tvm.runtime.tensor(each.copy()) for each in given), output)
    return output.numpy()


@pytest.mark.parametrize(
    ("old", "new", "kind", "found", "wanted"),
    [
        ("V[vj]", "V[vi]", "wrong_index", "V[vi]", "V[vj]"),
        ("A[vi, vk]", "A[vi, vj]", "wrong_index", "A[vi, vj]", "A[vi, vk]"),
        ("A[vi, vk]", "A[vi, 0]", "wrong_index", "A[vi, 0]", "A[vi, vk]"),
        (
            "A[vi, vk] * B[vk, vj]",
            "(A[vi, vk] + B[vk, vj])",
            "wrong_operator",
            "A[vi, vk] + B[vk, vj]",
            "A[vi, vk] * B[vk, vj]",
        ),
        (
            "+ A[vi, vk] * B[vk, vj] * V[vj]",
            "- A[vi, vk] * B[vk, vj] * V[vj]",
            "wrong_operator",
            "C[vi, vj] - A[vi, vk] * B[vk, vj] * V[vj]",
            "C[vi, vj] + A[vi, vk] * B[vk, vj] * V[vj]",
        ),
        (
            "A[vi, vk] * B[vk, vj] * V[vj]",
            "A[vi, vk] * V[vj] + B[vk, vj]",
            "wrong_operator",
            "C[vi, vj] + A[vi, vk] * V[vj] + B[vk, vj]",
            "C[vi, vj] + A[vi, vk] * V[vj] * B[vk, vj]",
        ),
        (
            " * V[vj]",
            "",
            "operand_left_out",
            "V",
            "A[vi, vk] * B[vk, vj] * V[vj]",
        ),
        ("T.float32(0)", "T.float32(-1)", "sum_start", "-1.0", "0.0"),
        ("T.float32(0)", "A[vi, 0] * V[vj]", "sum_start", "A[vi, 0] * V[vj]", "0.0"),
        (
            "V[vj]",
            "V[vj] * T.float32(2)",
            "wrong_operator",
            "A[vi, vk] * B[vk, vj] * V[vj] * 2.0",
            "A[vi, vk] * B[vk, vj] * V[vj]",
        ),
        ("T.grid(5, 5, 6)", "T.grid(5, 5, 4)", "short_axis", "4", "6"),
    ],
)
def test_an_edit_that_makes_a_statement_right_is_named(
    old: str, new: str, kind: str, found: str, wanted: str
) -> None:
    mistake = told(old, new)
    assert mistake is not None
    assert (kind, "C", found, wanted) == (
        mistake.kind,
        *(mistake.facts[name] for name in ("block", "found", "wanted")),
    )


@pytest.mark.parametrize(
    ("told_before", "kind"),
    [({}, "sum_start"), ({"taken_step": "lv1", "wanted_step": "lv2"}, "other_operand")],
)
def test_a_start_is_not_advised_where_the_step_is_known_that_should_be_taken(
    told_before: dict[str, str], kind: str
) -> None:
    """A largest number that begins with 0 has the numbers of one that is taken of a ReLU."""
    module = from_source(LARGEST, extra_vars={"I": I, "T": T})
    mistake = told_of(
        module,
        (A, B, V),
        lambda a, _b, _v: torch.relu(a)[:, :2].amax(1),
        "other_operand",
        told_before=told_before,
    )
    assert mistake is not None
    assert kind == mistake.kind


BIASED = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 5), "float32"),
          V: T.Buffer((5,), "float32"), C: T.Buffer((5, 5), "float32")):
        for i, j, k in T.grid(5, 5, 6):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = V[vj]
                C[vi, vj] = T.max(C[vi, vj] + A[vi, vk] * B[vk, vj], T.float32(0))
"""


def layer(a: Any, b: Any, v: Any) -> Any:
    return torch.relu(a @ b + v)


def test_a_relu_of_a_sum_that_begins_with_the_bias_is_not_taken_for_a_clamp() -> None:
    """`max(x, -128)` gives the sum without its ReLU, and no step that PyTorch has next."""
    mistake = told("", "", source=BIASED, compute=layer)
    assert mistake is not None
    assert ("relu_in_every_round", "relu") == mistake[:2]


CONDITION = "T.if_then_else(A[vi, vj] > T.float32(0), A[vi, vj] + B[vj], T.float32(0))"


def test_a_condition_is_compared_with_another_number_and_not_made_one() -> None:
    """`if x` in place of `if x > 0` gives the sum alone, which nobody would write."""
    old = "T.min(A[vi, vj] * B[vj] + V[vj], T.float32(127))"
    mistake = told(old, CONDITION, source=PAIR, compute=lambda a, b, _v: torch.relu(a + b))
    assert mistake is not None
    assert "A[vi, vj] + B[vj] > 0.0" == mistake.facts["wanted"]


ANY_SIZE = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(a: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 6), "float32")
        C = T.match_buffer(c, (n, 6), "float32")
        S = T.sblock_alloc_buffer((6,), "float32")
        for j, k in T.grid(6, n):
            with T.sblock("S"):
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    S[vj] = T.float32(0)
                S[vj] = S[vj] + A[vk, vj]
        for i, j in T.grid(n, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] - S[vj] / T.Cast("float32", n)
"""


@pytest.mark.parametrize(
    ("old", "new", "found", "wanted"),
    [
        ('"float32", n)', '"float32", n - T.int64(1))', "n - 1", "n"),
        ("S[vj] / T", "S[vj] * T", "S[vj] * n", "S[vj] / n"),
    ],
)
def test_a_statement_of_a_function_for_any_size_is_named(
    old: str, new: str, found: str, wanted: str
) -> None:
    """`n` is what the argument has, in its loops as well as in what is computed with it."""
    module = from_source(ANY_SIZE.replace(old, new), extra_vars={"I": I, "T": T})
    mistake = told_of(module, (A,), lambda a: a - a.mean(0, keepdims=True), None)
    assert mistake is not None
    assert (found, wanted) == (mistake.facts["found"], mistake.facts["wanted"])


def test_the_extent_of_one_call_is_no_number_for_all() -> None:
    """5 for 4 is right of five rows, and wrong of three."""
    fixed = ANY_SIZE.replace('T.Cast("float32", n)', "T.float32(4)")
    module = from_source(fixed, extra_vars={"I": I, "T": T})
    assert told_of(module, (A,), lambda a: a - a.mean(0, keepdims=True), None) is None


def test_no_edit_is_named_that_is_right_of_an_extent_of_one() -> None:
    """A row less its own mean is 0, as is a row less itself: no division was advised."""
    fixed = ANY_SIZE.replace('T.Cast("float32", n)', "T.float32(8)")
    module = from_source(fixed, extra_vars={"I": I, "T": T})
    assert told_of(module, (A[:1],), lambda a: a - a.mean(0, keepdims=True), None) is None


QUOTIENT = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8, 8), "int32")):
        for i, j in T.grid(8, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.Cast("int32", T.round(
                    T.Cast("float32", A[vi, vj]) / T.Cast("float32", B[vj])))
"""


def test_a_quotient_of_integers_that_are_cast_is_none_of_integers() -> None:
    """It is no fault of the axes that PyTorch rounds it towards 0."""
    generator = np.random.default_rng(1)
    given = generator.integers(-99, 99, (8, 8), "int32"), generator.integers(2, 9, 8, "int32")
    module = from_source(QUOTIENT, extra_vars={"I": I, "T": T})
    mistake = told_of(module, given, lambda a, b: torch.trunc(a / b), None, dtype="int32")
    assert mistake is None or "axis_binding" != mistake.kind


def test_the_number_that_a_sign_is_made_of_is_told_with_it() -> None:
    """TVM has `x * -1` for `-x`."""
    old = "T.min(A[vi, vj] * B[vj] + V[vj], T.float32(127))"
    mistake = told(old, "-A[vi, vj] + B[vj]", source=PAIR, compute=lambda a, b, _v: a * -2 + b)
    assert mistake is not None
    assert ("-A[vi, vj]", "A[vi, vj] * -2.0") == (mistake.facts["found"], mistake.facts["wanted"])


def test_what_main_returns_is_not_mended_into_an_earlier_layer() -> None:
    """Without its mean, a ReLU that is taken last is PyTorch's first step, and no output."""

    def late(x: Any) -> Any:
        k = te.reduce_axis((0, 5), name="k")
        mean = te.compute((6,), lambda j: te.sum(x[k, j] / 5.0, axis=k), name="mean")
        zero = te.const(0, "float32")
        return te.compute((5, 6), lambda i, j: te.max(x[i, j] - mean[j], zero), name="late")

    x = relax.Var("x", R.Tensor((5, 6), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(bb.emit_te(late, x))
        bb.emit_func_output(out)

    def right(a: Any) -> Any:
        return torch.relu(a) - torch.relu(a).mean(0, keepdims=True)

    tensor = torch.tensor(A.astype(np.float64))
    layers = record(lambda: right(tensor).numpy(), (A,))
    step = Observed("late", "late", np.maximum(A - A.mean(0), 0), (), takes_input=True)
    alignment = Alignment(("wrong",), (None,), 0, expected=0)
    traced = Traced((step,), (A,), bindings=(0,))
    facts = read_module(save(bb.get()))
    assert with_mended_statement(alignment, facts, traced, layers).mistake is None


def test_of_a_norm_without_its_scale_the_shift_is_not_taken_out_as_well() -> None:
    """The quotient is PyTorch's then, and no argument is read but what is divided."""

    def norm(x: Any, scale: Any, shift: Any) -> Any:
        return te.compute((5, 6), lambda i, j: x[i, j] / 3.0 + shift[j], name="norm")

    given = A, B[:, 0], B[:, 1]
    parameters = [
        relax.Var(name, R.Tensor(each.shape, "float32"))
        for name, each in zip("xab", given, strict=True)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", parameters):
        with bb.dataflow():
            out = bb.emit_output(bb.emit_te(topi.nn.relu, bb.emit_te(norm, *parameters)))
        bb.emit_func_output(out)
    x, scale, shift = (torch.tensor(each.astype(np.float64)) for each in given)
    layers = record(lambda: torch.relu(x / 3 * scale + shift).numpy(), given)
    step = Observed("norm", "norm", A / 3 + B[:, 1], (), takes_input=True)
    alignment = Alignment(("wrong",), (None,), 0, expected=0)
    traced = Traced((step,), given, bindings=(0,))
    found = with_mended_statement(alignment, read_module(save(bb.get())), traced, layers).mistake
    assert found is not None
    assert ("operand_left_out", "a") == (found.kind, found.facts["found"])


def test_a_sum_is_not_made_a_product_that_stays_0() -> None:
    module = read_module(save(from_source(MATMUL, extra_vars={"I": I, "T": T})))
    wanted = {each.wanted for each in edits(module.functions["f"])}
    assert any(each.startswith("C[vi, vj] - ") for each in wanted)
    assert not any(each.startswith("C[vi, vj] * ") for each in wanted)


def test_a_summand_of_one_is_not_made_a_factor() -> None:
    """Of `A * B + 1` the student was told to compute `A * B * 1.0`."""
    mistake = told("V[vj]", "V[vj] + T.float32(1)")
    assert mistake is not None
    assert "C[vi, vj] + A[vi, vk] * B[vk, vj] * V[vj]" == mistake.facts["wanted"]


def test_no_end_of_a_type_is_tried_for_the_0_of_a_relu() -> None:
    """With it the sum of many positive terms is right, and the ReLU after it is left out."""
    module = read_module(save(from_source(BIASED, extra_vars={"I": I, "T": T})))
    tried = {each.wanted for each in edits(module.functions["f"]) if each.found == "0.0"}
    assert tried
    assert tried.isdisjoint({"-128.0", "127.0", "255.0"})


def test_what_is_done_in_every_round_is_to_be_done_once() -> None:
    old = "T.max(C[vi, vj] + A[vi, vk] * B[vk, vj], T.float32(0))"
    half = "(C[vi, vj] + A[vi, vk] * B[vk, vj]) * T.float32(0.5)"
    mistake = told(old, half, source=BIASED, compute=lambda a, b, v: (a @ b + v) * 0.5)
    assert mistake is not None
    assert ("operation_in_every_round", "C[vi, vj] * 0.5") == (
        mistake.kind,
        mistake.facts["wanted"],
    )


def test_a_statement_before_one_that_changes_its_numbers_in_place_is_named() -> None:
    """A ReLU of the buffer itself, in a block of its own, is part of what the function computes."""
    end = """        for i, j in T.grid(5, 5):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""
    old = "T.max(C[vi, vj] + A[vi, vk] * B[vk, vj], T.float32(0))\n"
    new = "C[vi, vj] + A[vi, vk] * B[vk, vj] * V[vi]\n"
    mistake = told(old, new + end, source=BIASED, compute=lambda a, b, v: layer(a, b * v, v))
    assert mistake is not None
    assert ("wrong_index", "V[vi]", "V[vj]") == (
        mistake.kind,
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


def test_a_window_that_is_not_read_is_named_with_its_index() -> None:
    mistake = told(" * A[vi + vk, vj]", "", source=WINDOW, compute=windows)
    assert mistake is not None
    assert ("operand_left_out", "A", "B[vk, vi] * A[vi + vk, vj]") == (
        mistake.kind,
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("A[vi + vk, vj]", "A[vi, vj]", "A[vi, vj]"),
        ("A[vi + vk, vj]", "A[vk, vj]", "A[vk, vj]"),
        ("B[vk, vi]", "B[vk + 1, vi]", "B[vk + 1, vi]"),
    ],
)
def test_an_index_with_a_summand_too_few_or_too_many_is_named(
    old: str, new: str, found: str
) -> None:
    mistake = told(old, new, source=WINDOW, compute=windows)
    assert mistake is not None
    assert ("wrong_index", found, old) == (
        mistake.kind,
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A[vi + vk, vj]", "A[vi + vk + 1, vj]"),
        ("A[vi + vk, vj]", "A[vi * 2 + vk, vj]"),
        ("A[vi + vk, vj]", "A[vj, vi + vk]"),
        ("B[vk, vi]", "B[vk, vi * 3]"),
    ],
)
def test_an_index_that_leaves_its_buffer_is_named_with_one_that_does_not(
    old: str, new: str
) -> None:
    """A guard stops it: what it would give is not known."""
    module = from_source(WINDOW.replace(old, new), extra_vars={"I": I, "T": T})
    mistake = told_of(module, (A, B, V), windows, None, is_stopped=True)
    assert mistake is not None
    assert (new, old) == (mistake.facts["found"], mistake.facts["wanted"])


TWO_BLOCKS = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 5), "float32"),
          V: T.Buffer((5,), "float32"), C: T.Buffer((5, 5), "float32")):
        Y = T.sblock_alloc_buffer((5, 5), "float32")
        for i, j, k in T.grid(5, 5, 6):
            with T.sblock("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(5, 5):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(Y[vi, vj], T.float32(0))
"""


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [("Y[vi, vj], T", "Y[vi, vj + 1], T", "C"), ("B[vk, vj]", "B[vk + 1, vj]", "Y")],
)
def test_of_two_blocks_the_one_is_named_that_leaves_a_buffer(old: str, new: str, step: str) -> None:
    """A guard stops all: no value of either is seen, and the first was called wrong."""
    given = A, B, V
    tensors = [torch.tensor(each.astype(np.float64)) for each in given]
    layers = record(lambda: torch.relu(tensors[0] @ tensors[1]).numpy(), given)
    steps = tuple(Observed(name, "f", None, (), takes_input=True) for name in "YC")
    alignment = Alignment(("wrong", "follows"), (None, None), 0, expected=0)
    facts = read_module(
        save(from_source(TWO_BLOCKS.replace(old, new), extra_vars={"I": I, "T": T}))
    )
    found = with_mended_statement(alignment, facts, Traced(steps, given), layers)
    assert found.mistake is not None and found.wrong is not None
    assert step == steps[found.wrong].variable == found.mistake.facts["block"]
    assert "wrong" == found.statuses[found.wrong]


@pytest.mark.parametrize(
    ("old", "new", "kind", "found", "wanted"),
    [
        ("C[vi, vj]", "C[vi + 1, vj]", "wrong_index", "C[vi + 1, vj]", "C[vi, vj]"),
        ("C[vi, vj]", "C[vi, vj + 3]", "wrong_index", "C[vi, vj + 3]", "C[vi, vj]"),
        ("T.grid(3, 6, 3)", "T.grid(3, 7, 3)", "short_axis", "7", "6"),
    ],
)
def test_a_store_that_leaves_its_buffer_is_named_with_one_that_does_not(
    old: str, new: str, kind: str, found: str, wanted: str
) -> None:
    """Of what is read beyond its buffer that was said, and of what is stored was not."""
    module = from_source(WINDOW.replace(old, new), extra_vars={"I": I, "T": T})
    mistake = told_of(module, (A, B, V), windows, None, is_stopped=True)
    assert mistake is not None
    assert (kind, found, wanted) == (mistake.kind, *map(mistake.facts.get, ("found", "wanted")))


def test_a_sum_that_goes_on_behind_what_it_reads_is_to_end_there() -> None:
    """`te.reduce_axis((0, rows))` over the columns: the index was said to be wrong."""
    module = from_source(
        MATMUL.replace("T.grid(5, 5, 6)", "T.grid(5, 5, 9)"), extra_vars={"I": I, "T": T}
    )
    mistake = told_of(module, (A, B, V), pytorch, None, is_stopped=True)
    assert mistake is not None and "short_axis" == mistake.kind
    told = [mistake.facts[each] for each in ("iterator", "found", "wanted", "where")]
    assert ["vk", "9", "6", "long"] == told


def test_an_iterator_that_is_always_0_is_no_summand() -> None:
    """`vi + vk + vn` was advised, with `vn` over a batch of one."""
    source = WINDOW.replace(
        "for i, j, k in T.grid(3, 6, 3)", "for n, i, j, k in T.grid(1, 3, 6, 3)"
    )
    source = source.replace(
        'vi, vj, vk = T.axis.remap("SSR", [', 'vn, vi, vj, vk = T.axis.remap("SSSR", [n, '
    )
    module = from_source(source.replace("vi + vk", "vi + vk + 1"), extra_vars={"I": I, "T": T})
    mistake = told_of(module, (A, B, V), windows, None, is_stopped=True)
    assert mistake is not None
    assert "A[vi + vk, vj]" == mistake.facts["wanted"]


def test_all_terms_of_a_sum_of_sums_are_counted() -> None:
    """Four products one after the other took as many gigabytes, and the report minutes."""
    source = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        Y = T.sblock_alloc_buffer((8, 8), "float32")
        for i, j, k in T.grid(8, 8, 8):
            with T.sblock("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * A[vk, vj]
        for i, j, k in T.grid(8, 8, 8):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + Y[vi, vk] * A[vk, vj]
"""
    module = save(from_source(source, extra_vars={"I": I, "T": T}))
    statements = Statements(read_module(module).functions["f"], {"A": np.ones((8, 8))})
    statements.at("C", (np.arange(8), np.arange(8)))
    assert 8 * 8 + 8 * 8 * 8 == statements.computed


def test_an_iterator_that_the_index_lacks_is_named_before_those_that_it_has() -> None:
    """Both are always 0, and `A[vn, vn, vj]` says nothing to whoever wrote `A[vn, vi, vj]`."""
    source = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((1, 1, 6), "float32"), B: T.Buffer((2, 1), "float32"),
          V: T.Buffer((5,), "float32"), C: T.Buffer((1, 2, 6), "float32")):
        for n, i, c, j in T.grid(1, 2, 1, 6):
            with T.sblock("C"):
                vn, vi, vc, vj = T.axis.remap("SSRS", [n, i, c, j])
                with T.init():
                    C[vn, vi, vj] = T.float32(0)
                C[vn, vi, vj] = C[vn, vi, vj] + A[vn, vi, vj] * B[vi, vc]
"""
    given = A[:1, None], B[:2, :1], V
    module = from_source(source, extra_vars={"I": I, "T": T})
    mistake = told_of(module, given, lambda a, b, _: a * b, None, is_stopped=True)
    assert mistake is not None
    assert "A[vn, vc, vj]" == mistake.facts["wanted"]


SHUFFLE = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4, 3, 3), "float32"), C: T.Buffer((6, 6), "float32")):
        for i, j in T.grid(6, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vj % 2 * 2 + vi % 2, vi // 2, vj // 2]
"""


def test_two_iterators_of_one_index_that_are_exchanged_are_named() -> None:
    given = (np.random.default_rng(7).standard_normal((4, 3, 3)).astype(np.float32),)
    module = from_source(SHUFFLE, extra_vars={"I": I, "T": T})
    mistake = told_of(module, given, lambda a: torch.pixel_shuffle(a, 2)[0], None)
    assert mistake is not None
    assert ("wrong_index", "A[vi % 2 * 2 + vj % 2, vi // 2, vj // 2]") == (
        mistake.kind,
        mistake.facts["wanted"],
    )


def test_a_buffer_that_is_read_before_it_is_written_is_named_with_another() -> None:
    mistake = told("A[vi, vj])", "T.float32(0))", source=TWO, compute=lambda a, *_: (2 * a).relu())
    assert mistake is not None
    assert ("wrong_operand", "C[vi, vj]", "A[vi, vj]") == (
        mistake.kind,
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


PAIR = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6,), "float32"),
          V: T.Buffer((6,), "float32"), C: T.Buffer((5, 6), "float32")):
        for i, j in T.grid(5, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.min(A[vi, vj] * B[vj] + V[vj], T.float32(127))
"""


@pytest.mark.parametrize(
    ("old", "new", "kind", "found", "wanted"),
    [
        ("B[vj] + V[vj]", "V[vj] + B[vj]", "arguments_exchanged", "B", "V"),
        ("T.float32(127)", "T.float32(-2)", "wrong_operand", "-2.0", "127.0"),
    ],
)
def test_exchanged_arguments_and_ends_of_a_type_are_named(
    old: str, new: str, kind: str, found: str, wanted: str
) -> None:
    mistake = told(old, new, source=PAIR, compute=scaled)
    assert mistake is not None
    assert (kind, found, wanted) == (
        mistake.kind,
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


def scaled(a: Any, b: Any, v: Any) -> Any:
    return torch.clamp(a * b + v, max=127)


CLAMP = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6,), "float32"),
          V: T.Buffer((6,), "float32"), C: T.Buffer((5, 6), "float32")):
        for i, j in T.grid(5, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(T.min(X, T.float32(127)), T.float32(-128))
""".replace("X", "V[vj] + V[vj] * A[vi, vj] * T.float32(300)")
CLAMPED = CLAMP[CLAMP.index("T.max") : CLAMP.rindex("\n")]


def clamped(a: Any, _b: Any, v: Any) -> Any:
    return torch.clamp(v + v * a * 300, -128, 127)


@pytest.mark.parametrize(
    ("old", "new", "kind", "found", "wanted"),
    [
        (
            "T.float32(300), T.float32(127)",
            "T.float32(127), T.float32(300)",
            "wrong_operator",
            "min(V[vj] + V[vj] * A[vi, vj] * 127.0, 300.0)",
            "min(V[vj] + V[vj] * A[vi, vj] * 300.0, 127.0)",
        ),
        (
            CLAMPED,
            "T.max(V[vj] + V[vj] * A[vi, vj] * T.float32(300), T.float32(-128))",
            "wrong_operator",
            "max(V[vj] + V[vj] * A[vi, vj] * 300.0, -128.0)",
            "min(max(V[vj] + V[vj] * A[vi, vj] * 300.0, -128.0), 127.0)",
        ),
        (
            CLAMPED,
            "T.max(V[vj] + V[vj] * A[vi, vj] * T.float32(300), T.float32(127))",
            "wrong_operator",
            "max(V[vj] + V[vj] * A[vi, vj] * 300.0, 127.0)",
            "max(min(V[vj] + V[vj] * A[vi, vj] * 300.0, 127.0), -128.0)",
        ),
        (
            "V[vj] * A[vi, vj] *",
            "A[vi, vj] *",
            "wrong_operator",
            "A[vi, vj] * 300.0",
            "A[vi, vj] * 300.0 * V[vj]",
        ),
        (
            "V[vj] + V[vj] * A",
            "V[vj] + V[vj] * V[vj] * A",
            "wrong_operator",
            "V[vj] * V[vj]",
            "V[vj]",
        ),
    ],
)
def test_an_end_or_an_operator_more_or_less_is_named(
    old: str, new: str, kind: str, found: str, wanted: str
) -> None:
    mistake = told(old, new, source=CLAMP, compute=clamped)
    assert mistake is not None
    assert (kind, found, wanted) == (
        mistake.kind,
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


def test_a_clamp_of_which_tvm_made_a_number_is_named() -> None:
    """TVM makes 127 of `max(min(x, -128), 127)`, and no statement is left to edit."""
    mistake = told(CLAMPED, "T.float32(127)", source=CLAMP, compute=clamped)
    assert mistake is not None
    assert ("clamp_range", "folded", 127.0) == (
        mistake.kind,
        mistake.facts["moved"],
        mistake.facts["amount"],
    )


REQUANTIZE = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(sums: T.Buffer((5, 6), "int32"), multiplier: T.Buffer((6,), "int32"),
          shift: T.Buffer((6,), "int32"), C: T.Buffer((5, 6), "int8")):
        for i, j in T.grid(5, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.Cast("int8", T.max(T.min((
                    sums[vi, vj] * multiplier[vj] + (1 << shift[vj] - 1)
                    ) >> shift[vj], 127), -128))
"""
SUMS = np.random.default_rng(4).integers(-20000, 20001, (5, 6)).astype(np.int32)
FACTORS = np.random.default_rng(5).integers(1, 16, 6).astype(np.int32)
SHIFTS = np.random.default_rng(6).integers(6, 13, 6).astype(np.int32)


def requantized(sums: Any, multiplier: Any, shift: Any) -> Any:
    scaled = sums * multiplier + 2.0 ** (shift - 1)
    return torch.clamp(torch.floor(scaled / 2.0**shift), -128, 127)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("1 << shift[vj] - 1", "shift[vj] - 1 << 1", "wrong_operator"),
        ("sums[vi, vj] * multiplier[vj]", "sums[vi, vj] * shift[vj]", "wrong_operand"),
        (">> shift[vj], 127", ">> multiplier[vj], 127", "wrong_operand"),
        ("127), -128", "-128), 127", "wrong_operator"),
    ],
)
def test_what_is_exchanged_in_a_requantisation_is_named(old: str, new: str, kind: str) -> None:
    assert old in REQUANTIZE
    module = from_source(REQUANTIZE.replace(old, new), extra_vars={"I": I, "T": T})
    mistake = told_of(module, (SUMS, FACTORS, SHIFTS), requantized, None, dtype="int8")
    assert mistake is not None
    assert kind == mistake.kind


ROUNDED = """T.truncdiv(
                    sums[vi, vj] * multiplier[vj] + (1 << shift[vj] - 1)
                    , 1 << shift[vj])"""
NEGATED = """(
                    sums[vi, vj] * multiplier[vj] + T.if_then_else(
                        sums[vi, vj] >= 0, 1 << shift[vj] - 1, -(1 << shift[vj] - 1))
                    ) >> shift[vj]"""
HALF_LAST = """(sums[vi, vj] * multiplier[vj] >> shift[vj]) + (1 << shift[vj] - 1)"""


@pytest.mark.parametrize(
    ("written", "found", "wanted"),
    [
        (ROUNDED, "truncdiv(..., 1 << shift[vj])", "... // (1 << shift[vj])"),
        (NEGATED, "-(1 << shift[vj] - 1)", "1 << shift[vj] - 1"),
        (
            HALF_LAST,
            "(... >> shift[vj]) + (1 << shift[vj] - 1)",
            "(... + (1 << shift[vj] - 1)) >> shift[vj]",
        ),
    ],
)
def test_what_rounds_otherwise_is_named_with_what_rounds_right(
    written: str, found: str, wanted: str
) -> None:
    right = REQUANTIZE[REQUANTIZE.index("(\n") : REQUANTIZE.index(", 127)")]
    module = from_source(REQUANTIZE.replace(right, written), extra_vars={"I": I, "T": T})
    mistake = told_of(module, (SUMS, FACTORS, SHIFTS), requantized, None, dtype="int8")
    assert mistake is not None
    assert ("wrong_operator", found, wanted) == (
        mistake.kind,
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


@pytest.mark.parametrize("is_right", [True, False])
def test_an_edit_is_named_that_is_right_of_other_samples_too(is_right: bool) -> None:
    """Where no number of a sample lies half way, a half less one rounds as the half does."""
    other = tuple(np.random.default_rng(7).permutation(each) for each in (A, B, V))
    wanted = pytorch(*other) if is_right else other[0] @ other[1]
    module = from_source(MATMUL.replace("V[vj]", "V[vi]"), extra_vars={"I": I, "T": T})
    mistake = told_of(module, (A, B, V), pytorch, None, others=[Other(other, known(wanted))])
    assert is_right == (mistake is not None)


BYTES = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "int8"), B: T.Buffer((6, 5), "int8"), C: T.Buffer((5, 5), "int32")):
        for i, j, k in T.grid(5, 5, 6):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk] * B[vk, vj])
"""


def test_of_a_product_that_wraps_round_its_operands_are_to_be_wide() -> None:
    generator = np.random.default_rng(7)
    given = tuple(generator.integers(-128, 128, each).astype(np.int8) for each in ((5, 6), (6, 5)))
    module = from_source(BYTES, extra_vars={"I": I, "T": T})
    mistake = told_of(module, given, torch.matmul, None, dtype="int32")
    assert mistake is not None
    assert ("int32(A[vi, vk] * B[vk, vj])", "int32(A[vi, vk]) * int32(B[vk, vj])") == (
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


def test_what_is_to_be_wide_is_told_as_it_may_be_put_in() -> None:
    """`int32(A) - 100 * int32(B)` is another number."""
    generator = np.random.default_rng(7)
    given = tuple(generator.integers(-128, 128, each).astype(np.int8) for each in ((5, 6), (6, 5)))
    source = BYTES.replace(
        'T.Cast("int32", A[vi, vk] * B[vk, vj])',
        'T.Cast("int32", A[vi, vk] - T.int8(100)) * T.Cast("int32", B[vk, vj])',
    )
    module = from_source(source, extra_vars={"I": I, "T": T})
    mistake = told_of(module, given, lambda a, b: (a - 100) @ b, None, dtype="int32")
    assert mistake is not None
    assert ("int32(A[vi, vk] - 100)", "(int32(A[vi, vk]) - 100)") == (
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


def test_no_operand_is_told_without_the_cast_that_it_needs() -> None:
    """`int32(A * B) * 9` was advised, of which `A * B` wraps round in int8."""
    generator = np.random.default_rng(7)
    given = tuple(generator.integers(-128, 128, each).astype(np.int8) for each in ((5, 6), (6, 5)))
    narrow = 'T.Cast("int16", A[vi, vk]) * T.Cast("int16", B[vk, vj]) * T.int16(9)'
    module = from_source(
        BYTES.replace("A[vi, vk] * B[vk, vj]", narrow), extra_vars={"I": I, "T": T}
    )
    mistake = told_of(module, given, lambda a, b: (a @ b) * 9, None, dtype="int32")
    assert mistake is None or "int32(A[vi, vk] * B[vk, vj])" not in mistake.facts["wanted"]


IN_TWO = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(sums: T.Buffer((5, 6), "int32"), multiplier: T.Buffer((6,), "int32"),
          shift: T.Buffer((6,), "int32"), out: T.Buffer((5, 6), "int8")):
        C = T.sblock_alloc_buffer((5, 6), "int32")
        for i, j in T.grid(5, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = (sums[vi, vj] * multiplier[vj] + (1 << shift[vj])) >> shift[vj]
        for i, j in T.grid(5, 6):
            with T.sblock("out"):
                vi, vj = T.axis.remap("SS", [i, j])
                out[vi, vj] = T.Cast("int8", T.max(T.min(C[vi, vj], 127), 0))
"""


def test_no_layer_in_between_is_what_a_statement_should_be() -> None:
    """`*` for `+` makes it the product alone, which PyTorch has as well: it was advised."""
    given = SUMS, FACTORS, SHIFTS
    layers = record(lambda: requantized(*map(torch.tensor, given)).numpy(), given)
    module = from_source(IN_TWO, extra_vars={"I": I, "T": T})
    value = (SUMS * FACTORS + (1 << SHIFTS)) >> SHIFTS
    steps = [
        Observed("C", "f", value.astype(np.int32), (), takes_input=True),
        Observed("out", "f", np.clip(value, 0, 127).astype(np.int8), (0,)),
    ]
    alignment = Alignment(("wrong", "after"), (None, None), 0, expected=0)
    facts = read_module(save(module))
    found = with_mended_statement(alignment, facts, Traced(tuple(steps), given), layers).mistake
    assert found is None or "wrong_operator" != found.kind


def test_what_is_written_several_times_is_told_with_what_is_around_it() -> None:
    mistake = told("V[vj] + V[vj] * A", "V[vi] + V[vj] * A", source=CLAMP, compute=clamped)
    assert mistake is not None
    assert ("V[vi]", "V[vj]") == (mistake.facts["found"], mistake.facts["wanted"])
    mistake = told("V[vj] + V[vj] * A", "B[vj] + B[vj] * V[vj] * A", source=CLAMP, compute=doubled)
    assert mistake is not None
    assert ("B[vj] * V[vj]", "V[vj]") == (mistake.facts["found"], mistake.facts["wanted"])


def doubled(a: Any, b: Any, v: Any) -> Any:
    return torch.clamp(b + v * a * 300, -128, 127)


APART = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 5), "float32"),
          V: T.Buffer((5,), "float32"), C: T.Buffer((5, 5), "float32")):
        for i, j in T.grid(5, 5):
            with T.sblock("C_init"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(0)
        for i, j, k in T.grid(5, 5, 6):
            with T.sblock("C_update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj] * V[vj]
"""


def test_a_sum_that_begins_in_a_block_of_its_own_is_mended_too() -> None:
    mistake = told("V[vj]", "V[vi]", source=APART)
    assert mistake is not None
    assert ("wrong_index", "C_update", "V[vi]", "V[vj]") == (
        mistake.kind,
        *(mistake.facts[name] for name in ("block", "found", "wanted")),
    )


def test_a_scheduled_function_is_mended_as_it_was_written() -> None:
    """`k` is split in it, and no iterator of the block goes along the whole sum."""
    wrong = from_source(MATMUL.replace("V[vj]", "V[vi]"), extra_vars={"I": I, "T": T})
    schedule = tvm.s_tir.Schedule(wrong)
    block = schedule.get_sblock("C", func_name="f")
    _, _, k = schedule.get_loops(block)
    schedule.rfactor(schedule.split(k, factors=[2, 3])[0], 0)
    mistake = told_of(schedule.mod, (A, B, V), pytorch, None, unscheduled=wrong)
    assert mistake is not None
    assert ("wrong_index", "C", "V[vi]") == (
        mistake.kind,
        mistake.facts["block"],
        mistake.facts["found"],
    )


def test_two_mistakes_are_not_mended_by_one_edit() -> None:
    assert told("A[vi, vk] * B[vk, vj] * V[vj]", "A[vi, vk] + B[vk, vj] * V[vi]") is None


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("= C[vi, vj] + A", "= C[vj, vi] + A", "C[vj, vi]"),
        ("C[vi, vj] = T.float32(0)", "C[vj, vi] = T.float32(0)", "C[vj, vi]"),
        ("C[vi, vj] = C[vi, vj] + A", "C[vj, vi] = C[vi, vj] + A", "C[vj, vi]"),
    ],
)
def test_a_sum_that_is_begun_read_or_stored_elsewhere_is_named(
    old: str, new: str, found: str
) -> None:
    """The result depends on the order of the loops and on what the memory held."""
    mistake = told(old, new, kind="sum_not_initialised")
    assert mistake is not None
    assert ("wrong_index", found, "C[vi, vj]") == (
        mistake.kind,
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


def test_a_sum_of_many_numbers_that_is_stored_elsewhere_is_named() -> None:
    """How many terms there are is not known of what is stored along a diagonal."""
    source = SQUARE.replace("5, 5)", "200, 200)").replace(
        "T.grid(5, 5, 5)", "T.grid(200, 200, 200)"
    )
    source = source.replace("C[vi, vj] = C", "C[vi, vi] = C")
    module = from_source(source, extra_vars={"I": I, "T": T})
    generator = np.random.default_rng(7)
    given = [generator.standard_normal((200, 200)).astype(np.float32) for _ in "ab"]
    mistake = told_of(module, (*given, V), lambda a, b, _v: a @ b, None)
    assert mistake is not None
    assert ("wrong_index", "C[vi, vi]") == (mistake.kind, mistake.facts["found"])


def test_an_axis_that_goes_along_with_another_one_is_told_as_such() -> None:
    """The statement is right, and its second axis has the loop of the third."""
    mistake = told("[i, j, k]", "[i, j, j]", source=SQUARE, compute=lambda a, b, v: a @ b)
    assert mistake is not None
    assert ("axis_binding", "C") == (mistake.kind, mistake.facts["block"])


def test_an_axis_that_is_bound_to_another_loop_is_not_too_short() -> None:
    """Whoever lengthens the loop of 3 that both axes have goes beyond the other one."""
    mistake = told("[i, j, k]", "[i, i, k]", source=WINDOW, compute=windows)
    assert mistake is not None
    assert "axis_binding" == mistake.kind


def test_axes_of_a_scheduled_function_are_not_told() -> None:
    """The copy that `cache_write` makes is right, and its loops are none of the student's: what is
    named is the block as it was written, which has a loop that nothing depends on."""
    source = SQUARE.replace("[i, j, k]", "[i, j, j]")
    wrong = from_source(source, extra_vars={"I": I, "T": T})
    schedule = tvm.s_tir.Schedule(wrong)
    schedule.cache_write(schedule.get_sblock("C", func_name="f"), 0, "global")
    given = A[:, :5], B[:5], V
    right = from_source(SQUARE, extra_vars={"I": I, "T": T})
    for unscheduled, kind in ((None, "axis_binding"), (wrong, "axis_binding"), (right, None)):
        found = told_of(schedule.mod, given, lambda a, b, v: a @ b, None, unscheduled)
        assert kind == (None if found is None else found.kind)
        assert found is None or unscheduled is None or "C" == found.facts["block"]


def test_axes_that_are_declared_as_others_are_no_wrong_loops() -> None:
    """The letters are wrong: whoever rebinds the loops makes it worse, and they are named."""
    letters = told('remap("SSR"', 'remap("RSS"', source=SQUARE, compute=lambda a, b, v: a @ b)
    assert letters is not None
    assert ("axis_binding", "RSS", "SSR") == (
        letters.kind,
        letters.facts["found"],
        letters.facts["wanted"],
    )


def test_what_is_cut_is_the_same_in_both_expressions() -> None:
    """`max(... * 300, 127)` and `max(min(..., 127), -128)` would cut two things."""
    long = "V[vj] + V[vj] * A[vi, vj] * V[vj] * A[vi, vj] * T.float32(300)"
    source = CLAMP.replace("V[vj] + V[vj] * A[vi, vj] * T.float32(300)", long)
    source = source.replace("T.min(", "T.max(")
    module = from_source(source, extra_vars={"I": I, "T": T})

    def compute(a: Any, _b: Any, v: Any) -> Any:
        return torch.clamp(v + v * a * v * a * 300, -128, 127)

    mistake = told_of(module, (A, B[:, 0], B[:, 1]), compute, None)
    assert mistake is not None
    assert ("max(..., 127.0)", "min(..., 127.0)") == (
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


def test_letters_are_named_where_each_item_seems_to_begin_anywhere() -> None:
    letters = told(
        *('remap("SSR"', 'remap("RSS"'),
        source=SQUARE,
        compute=lambda a, b, v: a @ b,
        kind="sum_not_initialised",
    )
    assert letters is not None
    assert ("axis_binding", "SSR") == (letters.kind, letters.facts["wanted"])


ONE = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((1, 5), "float32"), B: T.Buffer((5, 5), "float32"),
          C: T.Buffer((1, 5), "float32")):
        for n, j, c, k in T.grid(1, 5, 1, 5):
            with T.sblock("C"):
                vn, vj, vc, vk = T.axis.remap("RRSS", [n, j, c, k])
                with T.init():
                    C[vn, vj] = T.float32(0)
                C[vn, vj] = C[vn, vj] + A[vc, vk] * B[vk, vj]
"""


def test_where_statements_are_right_no_index_of_one_item_is_put_for_another() -> None:
    """Of one image and one channel, either axis may stand in the index; the letters are wrong."""
    module = from_source(ONE, extra_vars={"I": I, "T": T})
    found = told_of(module, (A[:1, :5], B[:5, :5]), lambda a, b: a @ b, "sum_not_initialised")
    assert found is not None
    assert ("axis_binding", "SSRR") == (found.kind, found.facts["wanted"])


def test_a_sum_that_begins_elsewhere_begins_where_it_is_stored() -> None:
    """Of one image, `C[vc, vj]` would be right as well, at both places."""
    source = ONE.replace("RRSS", "SSRR").replace("C[vn, vj] = T.f", "C[vn, vc] = T.f")
    module = from_source(source, extra_vars={"I": I, "T": T})
    found = told_of(module, (A[:1, :5], B[:5, :5]), lambda a, b: a @ b, "sum_not_initialised")
    assert found is not None
    assert ("C[vn, vc]", "C[vn, vj]") == (found.facts["found"], found.facts["wanted"])


def test_of_two_indices_that_would_both_be_right_none_is_named() -> None:
    """A square, begun along its diagonal: who says whether rows or columns were meant?"""
    mistake = told(
        *("C[vi, vj] = T.float32(0)", "C[vi, vi] = T.float32(0)"),
        source=BEGUN_APART,
        compute=lambda a, b, v: a @ b,
        kind="sum_not_initialised",
    )
    assert mistake is not None
    assert "sum_not_initialised" == mistake.kind


def shifted(a: Any, _b: Any, v: Any) -> Any:
    return torch.clamp((a * v * 8 + v) / 2, -1, 1)


SHIFT = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6,), "float32"),
          V: T.Buffer((6,), "float32"), C: T.Buffer((5, 6), "float32")):
        Y = T.sblock_alloc_buffer((5, 6), "float32")
        for i, j in T.grid(5, 6):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = QUOTIENT
        for i, j in T.grid(5, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(T.min(Y[vi, vj], T.float32(1)), T.float32(-1))
"""


@pytest.mark.parametrize(
    ("quotient", "wanted"),
    [
        ("(A[vi, vj] * V[vj] * T.float32(8) + V[vj]) / T.float32(4)", "2.0"),
        ("A[vi, vj] * V[vj] * T.float32(8) + V[vj] / T.float32(2)", "4.0"),
    ],
)
def test_a_buffer_is_held_against_the_layer_with_which_the_rest_is_right(
    quotient: str, wanted: str
) -> None:
    """With 1 in place of 2 the sum has PyTorch's numbers, which nobody divides then."""
    given = A, B[:, 0], B[:, 1]
    module = from_source(SHIFT.replace("QUOTIENT", quotient), extra_vars={"I": I, "T": T})
    tensors = [torch.tensor(each.astype(np.float64)) for each in given]
    layers = record(lambda: shifted(*tensors).numpy(), given)
    value = A * B[:, 1] * 8 + B[:, 1] / 2 if wanted == "4.0" else (A * 8 + 1) * B[:, 1] / 4
    steps = Observed("Y", "f", value, (), takes_input=True), Observed("C", "f", value, (0,))
    alignment = Alignment(("wrong", "follows"), (None, None), 0, expected=0)
    facts = read_module(save(module))
    mistake = with_mended_statement(alignment, facts, Traced(steps, given), layers).mistake
    assert mistake is not None
    assert wanted == mistake.facts["wanted"]


def test_what_a_function_returns_is_held_against_an_output() -> None:
    """Without its last factor it would have the numbers of the layer before."""
    module = from_source(
        SHIFT.replace("QUOTIENT", "A[vi, vj] * V[vj]").replace(
            "T.max(T.min(Y[vi, vj], T.float32(1)), T.float32(-1))", "T.exp(Y[vi, vj]) * B[vj]"
        ),
        extra_vars={"I": I, "T": T},
    )
    mistake = told_of(
        module,
        (A, B[:, 0], B[:, 1]),
        lambda a, b, v: torch.tanh(torch.exp(a * v)),
        None,
    )
    assert mistake is None


SYMBOLIC = MATMUL.replace('A: T.Buffer((5, 6), "float32")', "a: T.handle").replace(
    "        for i, j, k",
    """        n = T.int32()
        A = T.match_buffer(a, (n, 6), "float32")
        for i, j, k""",
)


def test_a_function_for_any_length_is_mended_too() -> None:
    """An argument of another rank is no value of a buffer whose extents have names."""
    module = from_source(SYMBOLIC.replace("V[vj]", "V[vi]"), extra_vars={"I": I, "T": T})
    mistake = told_of(module, (A, B, V), pytorch, None)
    assert mistake is not None
    assert ("V[vi]", "V[vj]") == (mistake.facts["found"], mistake.facts["wanted"])


APART_AXES = """T.grid(5, 4):
            with T.sblock("C"):
                vi = T.axis.spatial(5, i)
                vj = T.axis.spatial(6, j)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("T.grid(5, 6)", "T.grid(5, 4)"),
        (PAIR[PAIR.index("T.grid") : PAIR.index("                C[vi")], APART_AXES),
    ],
)
def test_an_axis_that_is_too_short_is_named(old: str, new: str) -> None:
    mistake = told(old, new, source=PAIR, compute=scaled)
    assert mistake is not None
    assert ("short_axis", "C", "vj", "4", "6") == (
        mistake.kind,
        *(mistake.facts[name] for name in ("block", "iterator", "found", "wanted")),
    )


def test_a_mistake_that_is_named_already_stays() -> None:
    mistake = told("V[vj]", "V[vi]", kind="bias_missing")
    assert mistake is not None
    assert "bias_missing" == mistake.kind


def test_the_search_ends_by_what_it_has_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mended, "_WORK", 0)
    assert told("V[vj]", "V[vi]") is None


CUT = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 5), "float32"),
          V: T.Buffer((6,), "float32"), C: T.Buffer((5, 6), "float32")):
        for i, j in T.grid(5, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(A[vi, vj] + V[vj], T.float32(1))
"""


@pytest.mark.parametrize("wrong", ["C[vj, vj]", "C[vi, vi]"])
def test_a_store_along_a_diagonal_is_named(wrong: str) -> None:
    """All but the diagonal keeps what the memory held, and no sum says which index was meant."""
    source = CUT.replace("C[vi, vj] =", f"{wrong} =").replace("T.float32(1)", "T.float32(0)")
    source = source.replace("(5, 6)", "(6, 6)").replace("(6, 5)", "(6, 6)")
    module = from_source(
        source.replace("T.grid(5, 6)", "T.grid(6, 6)"), extra_vars={"I": I, "T": T}
    )
    square = np.random.default_rng(9).standard_normal((6, 6)).astype(np.float32)
    given = square, square, A[0]
    mistake = told_of(module, given, lambda a, _b, v: torch.relu(a + v), "partly_written")
    assert mistake is not None
    assert ("wrong_index", wrong, "C[vi, vj]") == (
        mistake.kind,
        mistake.facts["found"],
        mistake.facts["wanted"],
    )


def test_the_smallest_edit_tells_which_layer_is_meant() -> None:
    """The sum alone would come of -128 in place of 1, and nobody writes that for a ReLU."""
    module = from_source(CUT, extra_vars={"I": I, "T": T})
    given = A, B, B[:, 0]
    tensors = [torch.tensor(each.astype(np.float64)) for each in given]
    layers = record(lambda: torch.relu(tensors[0] + tensors[2]).numpy(), given)
    value = run(module, given, (5, 6), "float32")
    steps = (Observed("C", "f", value, (), takes_input=True),)
    alignment = Alignment(("wrong",), (None,), 0, expected=0)
    bare = tuple(each._replace(output=None) for each in layers)
    facts = read_module(save(module))
    mistake = with_mended_statement(alignment, facts, Traced(steps, given), bare).mistake
    assert mistake is not None
    assert ("wrong_operand", "relu", "0.0") == (
        mistake.kind,
        mistake.layer,
        mistake.facts["wanted"],
    )


ROTATED = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(X: T.Buffer((5, 3, 8), "float32"), U: T.Buffer((5, 4), "float32"),
          W: T.Buffer((5, 4), "float32"), C: T.Buffer((5, 3, 8), "float32")):
        for p, h, d in T.grid(5, 3, 4):
            with T.sblock("first"):
                vp, vh, vd = T.axis.remap("SSS", [p, h, d])
                C[vp, vh, vd] = X[vp, vh, vd] * U[vp, vd] - X[vp, vh, vd + 4] * W[vp, vd]
        for p, h, d in T.grid(5, 3, 4):
            with T.sblock("second"):
                vp, vh, vd = T.axis.remap("SSS", [p, h, d])
                C[vp, vh, vd + 4] = X[vp, vh, vd + 4] * U[vp, vd] + X[vp, vh, vd] * W[vp, vd]
"""
"""Two halves of one buffer, each written by its own block."""


def rotated(x: Any, u: Any, w: Any) -> Any:
    u, w = u[:, None], w[:, None]
    first, second = x[..., :4], x[..., 4:]
    return torch.cat([first * u - second * w, second * u + first * w], -1)


def told_of_rotation(*exchanges: tuple[str, str]) -> LikelyMistake | None:
    source = ROTATED
    for old, new in exchanges:
        assert old in source
        source = source.replace(old, new)
    random = np.random.default_rng(8)
    given = tuple(random.standard_normal(n).astype(np.float32) for n in ((5, 3, 8), (5, 4), (5, 4)))
    module = from_source(source, extra_vars={"I": I, "T": T})
    return told_of(module, given, rotated, None)


def test_buffers_that_are_swapped_in_all_blocks_are_named() -> None:
    mistake = told_of_rotation(("U[vp", "Q[vp"), ("W[vp", "U[vp"), ("Q[vp", "W[vp"))
    assert mistake is not None
    assert ("arguments_exchanged", "everywhere", "U", "W") == (
        mistake.kind,
        *(mistake.facts[name] for name in ("where", "found", "wanted")),
    )


def test_an_index_that_is_wrong_in_all_blocks_is_named() -> None:
    mistake = told_of_rotation(("U[vp", "U[vh"), ("W[vp", "W[vh"))
    assert mistake is not None
    assert ("wrong_index", "everywhere") == (mistake.kind, mistake.facts["where"])
    assert mistake.facts["wanted"] in ("U[vp, vd]", "W[vp, vd]")


@pytest.mark.parametrize("in_all", [True, False])
def test_an_index_that_is_off_by_one_is_named(in_all: bool) -> None:
    exchanges = [("X[vp, vh, vd + 4] * U", "X[vp, vh, vd + 3] * U")]
    if in_all:
        exchanges.append(("X[vp, vh, vd + 4] * W", "X[vp, vh, vd + 3] * W"))
    mistake = told_of_rotation(*exchanges)
    assert mistake is not None
    assert ("wrong_index", "X[vp, vh, vd + 3]", "X[vp, vh, vd + 4]") == (
        mistake.kind,
        mistake.facts["found"],
        mistake.facts["wanted"],
    )
    assert in_all == (mistake.facts.get("where") == "everywhere")


def test_one_wrong_half_is_named_with_its_block() -> None:
    mistake = told_of_rotation(("+ X[vp, vh, vd] * W", "- X[vp, vh, vd] * W"))
    assert mistake is not None
    assert ("wrong_operator", "second") == (mistake.kind, mistake.facts["block"])


MASKED = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(8, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.if_then_else(
                    vj <= vi, A[vi, vj] * T.float32(0.25), T.min_value("float32")
                )
"""


def masked(a: Any) -> Any:
    future = torch.ones(8, 8, dtype=torch.bool).triu(1)
    return (a * 0.25).masked_fill(future, float("-inf"))


@pytest.mark.parametrize(
    ("old", "new", "found", "wanted"),
    [
        ("vj <= vi", "vj < vi", "vj < vi", "vj <= vi"),
        ("vj <= vi", "vj >= vi", "vj >= vi", "vj <= vi"),
        ("0.25", "0.0625", "0.0625", "0.25"),
        ("0.25", "1.37", "1.37", "0.25"),
    ],
)
def test_a_wrong_mask_and_a_wrong_factor_below_it_are_named(
    old: str, new: str, found: str, wanted: str
) -> None:
    given = (np.random.default_rng(9).standard_normal((8, 8)).astype(np.float32),)
    module = from_source(MASKED.replace(old, new), extra_vars={"I": I, "T": T})
    mistake = told_of(module, given, masked, None)
    assert mistake is not None
    assert (found, wanted) == (mistake.facts["found"], mistake.facts["wanted"])


SCALED = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), C: T.Buffer((5, 6), "float32")):
        for i, j in T.grid(5, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] / T.float32(4.898979485566356)
"""


@pytest.mark.parametrize("facts", [{"of": "factor", "found": 0.2041, "wanted": 0.25}, {}])
def test_the_factor_of_a_layer_is_told_and_not_the_number_that_gives_it(facts: Any) -> None:
    a = A.astype(np.float64)
    layers = record(lambda: torch.tensor(a) * 0.25, [A])
    facts_of_module = read_module(save(from_source(SCALED, extra_vars={"I": I, "T": T})))
    steps = (Observed("C", "f", A / np.float32(24**0.5), (), takes_input=True),)
    alignment = Alignment(
        ("wrong",), (None,), 0, expected=0, mistake=LikelyMistake("scaled", "mul", facts, 0)
    )
    found = with_mended_statement(alignment, facts_of_module, Traced(steps, (A,)), layers).mistake
    assert found is not None
    assert ("scaled" if facts else "wrong_operand") == found.kind


def test_nothing_is_added_to_a_comparison() -> None:
    facts = read_module(save(from_source(MASKED, extra_vars={"I": I, "T": T})))
    wanted = [each.wanted for each in edits(facts.functions["f"])]
    assert wanted
    assert not [each for each in wanted if re.search(r"\(vj <= vi\) [-+*/]", each)]


NORM = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((5, 6), "float32"), B: T.Buffer((6,), "float32"),
          C: T.Buffer((5, 6), "float32")):
        squares = T.sblock_alloc_buffer((5,), "float32")
        for i, k in T.grid(5, 6):
            with T.sblock("squares"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    squares[vi] = T.float32(0)
                squares[vi] = squares[vi] + A[vi, vk] * A[vi, vk]
        for i, j in T.grid(5, 6):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.rsqrt(squares[vi] / T.float32(6)) * B[vj]
"""


SHORT = NORM.replace("T.grid(5, 6):", "T.grid(5, 4):", 1)
NEGATIVE = NORM.replace("squares[vi] + A", "squares[vi] - A")
"""The root of a negative sum is NaN."""


@pytest.mark.parametrize(
    ("source", "kind", "block", "wanted"),
    [
        (SHORT, "short_axis", "squares", "6"),
        (NORM.replace("T.float32(0)", "T.float32(1)"), "sum_start", "squares", "0.0"),
        (NORM.replace(" * B[vj]", ""), "operand_left_out", "C", None),
        (NEGATIVE, "wrong_operator", "squares", "squares[vi] + A[vi, vk] * A[vi, vk]"),
    ],
)
def test_a_norm_is_mended_in_its_sums_too(
    source: str, kind: str, block: str, wanted: str | None
) -> None:
    """PyTorch's norm is one layer: what the student adds up for it has the shape of none."""
    module = from_source(source, extra_vars={"I": I, "T": T})
    given = A, B[:, 0].copy()
    tensors = [torch.tensor(each.astype(np.float64)) for each in given]
    norm = torch.nn.functional.rms_norm
    layers = record(lambda: norm(tensors[0], (6,), tensors[1], 0.0).numpy(), given)
    sums = (A * A)[:, : 4 if source == SHORT else 6].sum(1) + ("T.float32(1)" in source)
    sums *= -1 if source == NEGATIVE else 1
    steps = (
        Observed("squares", "f", sums, (), takes_input=True),
        Observed("C", "f", run(module, given, (5, 6)), (0,), takes_input=True),
    )
    alignment = align(steps, layers)
    assert 1 == alignment.wrong
    facts = read_module(save(module))
    found = with_mended_statement(alignment, facts, Traced(steps, given), layers).mistake
    assert found is not None
    assert (kind, block) == (found.kind, found.facts["block"])
    assert wanted in (None, found.facts["wanted"])
