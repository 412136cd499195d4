"""Accesses that must leave their buffer are found, and nothing else is."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
import tvm
from tvm import te
from tvm.script import tirx as T  # noqa: N812

from grader.ir.facts import Finding
from grader.ir.read import read_module
from tests.ir.modules import save


def beyond(index: Any, *, size: int = 16, extent: int = 16) -> tuple[Finding, ...]:
    """Return what leaves A in B[i, j] = A[index(i, j)], where B is `extent` by `extent`."""
    A = te.placeholder((size,), "float32", "A")  # noqa: N806
    B = te.compute((extent, extent), lambda i, j: A[index(i, j)], "B")  # noqa: N806
    return read_module(save(tvm.IRModule({"f": te.create_prim_func([A, B])}))).faults


def within(function: Any) -> bool:
    """Say whether nothing is found to leave a buffer in a function."""
    return () == read_module(save(tvm.IRModule({"f": function}))).faults


class TestCertainly:
    """In some iteration, nothing having been asked before."""

    def test_one_beyond_the_end(self) -> None:
        (finding,) = beyond(lambda i, _: i + 1)
        assert ("out_of_bounds", "A", "f") == (finding.code, finding.subject, finding.where)
        expected = (
            "In the function `f`, index number 1 of the buffer `A` runs from 1 to 16, but must "
            "stay between 0 and 15."
        )
        assert expected == finding.message.english

    def test_one_value_is_no_interval(self) -> None:
        """It was said to run from 1 to 1, and to have to stay between 0 and 0."""
        A = te.placeholder((1, 6), "float32", "A")  # noqa: N806
        B = te.compute((6,), lambda i: A[1, i], "B")  # noqa: N806
        (finding,) = read_module(save(tvm.IRModule({"f": te.create_prim_func([A, B])}))).faults
        assert finding.message.english.endswith("the buffer `A` is 1, but must be 0.")

    def test_all_indices_of_an_access_are_told(self) -> None:
        """Whoever was told of the rows alone was told of the columns when those were mended."""
        A = te.placeholder((4, 6, 8), "float32", "A")  # noqa: N806
        B = te.compute((9, 6, 9), lambda i, j, k: A[i, j, k], "B")  # noqa: N806
        function = te.create_prim_func([A, B])
        (finding,) = read_module(save(tvm.IRModule({"f": function}))).faults
        assert finding.message.english == (
            "In the function `f`, index number 1 of the buffer `A` runs from 0 to 8, but must stay "
            "between 0 and 3. Index number 3 runs from 0 to 8, but must stay between 0 and 7."
        )

    @pytest.mark.parametrize(
        "index",
        [
            lambda i, _: i - 1,
            lambda i, j: i + j,
            lambda i, _: i * 2,
            lambda i, _: 15 - i * 2,
            lambda i, j: tvm.tirx.max(i, j + 3),
            lambda i, _: tvm.tirx.min(i, 3) - 1,
            lambda i, j: (i * 16 + j) // 15,
            lambda i, j: i * j,
            lambda i, _: i * 3 - i,
            lambda i, _: (i + 3) % 20,
            lambda i, j: tvm.tirx.if_then_else(i + j < 17, i + j, 0),
            lambda _i, _j: 16,
        ],
    )
    def test_indices_that_leave_the_buffer(self, index: Any) -> None:
        assert "out_of_bounds" == beyond(index)[0].code

    def test_an_index_beside_one_that_is_not_known(self) -> None:
        A = te.placeholder((4, 16), "float32", "A")  # noqa: N806
        rows = te.placeholder((16,), "int32", "rows")
        B = te.compute((16,), lambda i: A[rows[i], i + 1], "B")  # noqa: N806
        function = te.create_prim_func([A, rows, B])
        (finding,) = read_module(save(tvm.IRModule({"f": function}))).faults
        assert "Index" not in finding.message.english
        assert "index number 2 of the buffer `A` runs from 1 to 16" in finding.message.english

    def test_one_that_a_predicate_lets_through(self) -> None:
        """Split into blocks of five, 17 of the 20 iterations are done."""
        A, B = (te.placeholder((16,), "float32", name) for name in "AB")  # noqa: N806
        C = te.compute((17,), lambda i: A[i] + B[i - i], "C")  # noqa: N806
        schedule = tvm.s_tir.Schedule(te.create_prim_func([A, B, C]))
        schedule.split(schedule.get_loops(schedule.get_sblock("C"))[0], [None, 5])
        (finding,) = read_module(save(schedule.mod)).faults
        assert "runs from 0 to 16, but must stay between 0 and 15" in finding.message.english

    def test_loops_that_are_too_long_to_be_gone_through(self) -> None:
        (finding,) = beyond(lambda i, j: i * 2048 + j + 1, size=2**22, extent=2048)
        assert f"runs from 1 to {2**22}, but" in finding.message.english

    def test_a_block_iterator_stands_for_its_value(self) -> None:
        """The same function with a loop twice as long."""
        (finding,) = beyond(lambda i, _: i, extent=32)
        assert "from 0 to 31" in finding.message.english

    def test_every_function_that_does_is_one_of_which_no_guard_sees_all(self) -> None:
        """A guard lets `A[0, 4]` pass where there are more rows: such a function was timed."""
        A = te.placeholder((4, 4), "float32", "A")  # noqa: N806
        function = te.create_prim_func([A, te.compute((4,), lambda i: A[0, i + 1], "B")])
        functions = {f"f{each}": function for each in range(8)}
        read = read_module(save(tvm.IRModule(functions))).functions.values()
        assert {"out_of_bounds"} == {each.unguarded and each.unguarded.code for each in read}


class TestPerhaps:
    """Anything that is not certain is no finding."""

    @pytest.mark.parametrize(
        "index",
        [
            lambda i, _: i,
            lambda i, j: (i + j) // 2,
            lambda i, _: i - i,
            lambda i, _: i * 2 - i,
            lambda i, j: (i * 16 + j) % 16,
            lambda i, _: i * 3 % 16,
            lambda i, _: (i + 3) % 16,
            lambda i, j: i + j - tvm.tirx.max(i, j),
            lambda i, j: tvm.tirx.min(i + j, 15),
            lambda i, j: tvm.tirx.if_then_else(i + j < 16, i + j, 0),
        ],
    )
    def test_indices_that_stay_or_may_stay_within(self, index: Any) -> None:
        assert () == beyond(index)

    def test_of_the_first_and_last_iterations_no_ends_are_known(self) -> None:
        """It runs to 4093, which is in the middle of the loops."""
        index = lambda i, j: tvm.tirx.min(i + j, 4093 - i - j) + 3000  # noqa: E731
        assert () == beyond(index, size=2048, extent=2048)

    def test_the_ends_under_a_condition_that_leaves_out_what_is_not_looked_at(self) -> None:
        """It runs to 499999, and was told to run to 131071."""

        @T.prim_func(s_tir=True)
        def cut(A: T.Buffer((100000,), "float32"), B: T.Buffer((2**20,), "float32")):  # noqa: N803
            for i in range(2**20):
                if i < 500000:
                    B[i] = A[i]

        assert within(cut)

    def test_the_ends_in_a_loop_whose_own_ends_are_in_the_middle_of_another(self) -> None:
        @T.prim_func(s_tir=True)
        def turning(A: T.Buffer((50000,), "float32"), B: T.Buffer((2**20,), "float32")):  # noqa: N803
            for i in range(2**20):
                for j in T.serial(T.min(i, 2**20 - i), T.min(i, 2**20 - i) + 1):
                    B[i] = A[j]

        assert within(turning)

    def test_the_ends_of_more_loops_than_two_iterations_each_are_looked_at(self) -> None:
        """It runs to 24, and was told to run to 18."""
        A = te.placeholder((2,), "float32", "A")  # noqa: N806
        B = te.compute((2,) * 24, lambda *i: A[sum(i)], "B")  # noqa: N806
        assert within(te.create_prim_func([A, B]))

    def test_numbers_without_a_sign_that_pass_zero(self) -> None:
        """`0 - 1` is the greatest one, and not less than 8."""

        @T.prim_func(s_tir=True)
        def unsigned(A: T.Buffer((8,), "float32"), B: T.Buffer((9,), "float32")):  # noqa: N803
            for i in range(9):
                if T.Cast("uint32", i) - T.uint32(1) < T.uint32(8):
                    B[i] = A[T.Cast("int32", T.Cast("uint32", i) - T.uint32(1))]

        assert within(unsigned)

    def test_in_a_loop_without_a_round(self) -> None:
        """The second one has none, so that the third one has no extent."""

        @T.prim_func(s_tir=True)
        def empty(A: T.Buffer((8,), "float32")):  # noqa: N803
            for i in range(1):
                for j in range(i):
                    A[8] = T.float32(0)
                    for k in range(j):
                        A[8 + k] = T.float32(0)

        assert within(empty)

    def test_vectors_as_long_as_they_may_be(self) -> None:
        """It took 16 GB."""

        @T.prim_func(s_tir=True)
        def vectors(A: T.Buffer((8,), "float32")):  # noqa: N803
            for i in range(2**18):
                A[T.Ramp(0, 1, 256) + T.Broadcast(i, 256)] = T.Broadcast(T.float32(0), 256)

        tracemalloc.start()
        try:
            assert within(vectors)
            assert 100 * 2**20 > tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def test_in_a_loop_that_may_have_no_round(self) -> None:
        A, n = te.placeholder((16,), "float32", "A"), te.var("n")  # noqa: N806
        B = te.compute((n,), lambda i: A[i - i + 16], "B")  # noqa: N806
        module = tvm.IRModule({"f": te.create_prim_func([A, B])})
        assert () == read_module(save(module)).faults

    def test_an_access_under_a_condition(self) -> None:
        A = te.placeholder((16,), "float32", "A")  # noqa: N806
        B = te.compute(  # noqa: N806
            (18,), lambda i: te.if_then_else(te.all(i >= 1, i < 17), A[i - 1], 0.0), "B"
        )
        module = tvm.IRModule({"f": te.create_prim_func([A, B])})
        assert () == read_module(save(module)).faults

    def test_an_access_in_a_block_that_has_a_predicate(self, honest: dict[str, bytes]) -> None:
        assert () == read_module(honest["product uneven"]).faults

    def test_nothing_in_any_honest_module(self, honest: dict[str, bytes]) -> None:
        for document in honest.values():
            assert () == read_module(document, ("env.*",)).faults
