"""A kernel that is wrong by a small change is told which: it was tried, and all is right then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tvm
from tvm.script import from_source
from tvm.script import ir as I  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.assignment import Computation, TensorTable
from grader.evidence.case import Outputs
from grader.evidence.gpu.devices import DEVICES
from grader.evidence.gpu.found import FoundKernels, KernelOptions
from grader.evidence.gpu.gather import _change, mend_kernels
from grader.evidence.gpu.inside import changes
from grader.evidence.gpu.inside.changes import MOST_STATEMENTS
from grader.evidence.gpu.inside.entry import perform
from grader.evidence.gpu.messages import Change, ChangesTried, TryChanges
from grader.evidence.gpu.sentences import tell_change
from grader.language import LANGUAGES
from grader.messages.evidence import Examined
from grader.messages.frames import Array, pack_array, unpack_array
from tests.seeded import seeded

SUMS = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4,), "float32")):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                S = T.alloc_buffer((64,), "float32", scope="shared")
                S[tx] = A[bx, tx]
                T.tvm_storage_sync("shared")
                for i in range(6):
                    if tx < T.shift_right(32, i):
                        S[tx] = S[tx] + S[tx + T.shift_right(32, i)]
                    T.tvm_storage_sync("shared")
                if tx == 0:
                    B[bx] = S[0]
"""
ADD = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((200,), "float32"), B: T.Buffer((200,), "float32"),
             C: T.Buffer((200,), "float32")):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                if bx * 64 + tx < 200:
                    C[bx * 64 + tx] = A[bx * 64 + tx] + B[bx * 64 + tx]
"""
LINES = ADD[ADD.index("                if bx") :].rstrip()
LAUNCHED = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((200,), "float32"), B: T.Buffer((200,), "float32"),
             C: T.Buffer((200,), "float32")):
        bx = T.launch_thread("blockIdx.x", 4)
        tx = T.launch_thread("threadIdx.x", 64)
        i = bx * 64 + tx
        if i < 200:
            C[i] = A[i] + B[i]
"""
SYNC = 'T.tvm_storage_sync("shared")'


def right(arrays: list[Any]) -> Any:
    return arrays[0].sum(1) if len(arrays) == 2 else arrays[0] + arrays[1]


def tried(source: str, calls: int = 2) -> tuple[list[list[Any]], ChangesTried]:
    shapes = [(4, 64), (4,)] if "(4, 64)" in source else [(200,)] * 3
    generator = seeded(40)
    arrays = [
        [generator.standard_normal(each).astype("float32") for each in shapes] for _ in range(calls)
    ]
    module = from_source(source, {"I": I, "T": T})
    document = tvm.ir.save_json(module).encode()
    packed = tuple(tuple(map(pack_array, each)) for each in arrays)
    answer = perform(TryChanges(document, "main", packed, (len(shapes) - 1,), "sm_80"))
    assert isinstance(answer, ChangesTried)
    return arrays, answer


def mended(source: str) -> Change | None:
    """Return the first change with which all outputs are right."""
    arrays, answer = tried(source)
    for each in answer.changes:
        pairs = zip(arrays, each.outputs, strict=True)
        if all(np.allclose(unpack_array(o), right(a), 1e-4, 1e-4) for a, o in pairs):
            return each
    return None


@pytest.mark.parametrize(
    ("source", "old", "new", "kind", "before", "after"),
    [
        (ADD, "A[bx * 64 + tx] +", "A[bx * 63 + tx] +", "number", "A[bx * 63 + tx]", None),
        (ADD, "A[bx * 64 + tx] +", "A[tx] +", "index", "A[tx]", "A[bx * 64 + tx]"),
        (ADD, "A[bx * 64 + tx] +", "A[bx * 64 + bx] +", "variable", "A[bx * 64 + bx]", None),
        (
            ADD.replace(
                LINES,
                "                at = bx * 64 + tx\n"
                "                if at < 200:\n"
                "                    C[at] = T.if_then_else(at < 200, A[at] + B[at], T.float32(0))",
            ),
            "                if at < 200:\n    ",
            "",
            "condition",
            "C[at] = if_then_else(at < 200, A[at] + B[at], 0)",
            "if at < 200",
        ),
        (ADD, "+ B[bx * 64 + tx]", "- B[bx * 64 + tx]", "operator", None, None),
        (ADD, "+ B[", "+ A[", "buffer", None, None),
        (ADD, "+ B[", "+ C[", "buffer", "A[bx * 64 + tx] + C[bx * 64 + tx]", None),
        (ADD, "< 200", "< 264", "number", "bx * 64 + tx < 264", "bx * 64 + tx < 200"),
        (ADD, "binding(4", "binding(3", "extent", "3", "4"),
        (ADD, "if bx * 64 + tx < 200", "if True", "condition", None, "if bx * 64 + tx < 200"),
        (LAUNCHED, "i < 200", "i <= 200", "operator", "i <= 200", "i < 200"),
        (LAUNCHED, "bx * 64", "bx * 32", "number", "bx * 32 + tx", "bx * 64 + tx"),
        (LAUNCHED, '"blockIdx.x", 4', '"blockIdx.x", 3', "extent", "3", "4"),
        (SUMS, '"blockIdx.x"', '"threadIdx.y"', "axis", "threadIdx.y", "blockIdx.x"),
        (SUMS, "range(6)", "range(5)", "extent", "5", "6"),
        (SUMS, "S[tx] + S", "S", "operand", "S[tx + (32 >> i)]", "S[tx] + S[tx + (32 >> i)]"),
        (SUMS, "S[tx + T.s", "S[T.s", "operand", "S[32 >> i]", None),
        (SUMS, 'scope="shared"', 'scope="local"', "scope", "local", "shared"),
        (SUMS, f"tx]\n                {SYNC}", "tx]", "barrier", "S[tx] = A[bx, tx]", None),
        (SUMS, f"                    {SYNC}\n", "", "barrier", None, ""),
    ],
)
def test_what_was_changed_is_found(
    source: str, old: str, new: str, kind: str, before: str | None, after: str | None
) -> None:
    assert 1 == source.count(old)
    found = mended(source.replace(old, new))
    assert found is not None and kind == found.kind
    assert before in (None, found.before)
    assert after in (None, found.after)


def test_an_index_that_stands_in_many_places_is_changed_in_all() -> None:
    """Four times as many blocks were advised to whoever wrote `bx * 16` for blocks of 64."""
    found = mended(ADD.replace("bx * 64", "bx * 16"))
    assert found is not None and "everywhere" == found.kind
    assert ("bx * 16 + tx", "bx * 64 + tx") == (found.before, found.after)


def test_the_only_threads_of_a_block_stay_threads() -> None:
    """A barrier in the condition of the edge was to be mended by blocks of one thread each."""
    store = "C[bx * 64 + tx] ="
    barred = ADD.replace(store, f"{SYNC}\n                    {store}")
    assert [] == [each for each in tried(barred)[1].changes if each.kind == "axis"]


def test_where_two_changes_are_needed_none_is_found() -> None:
    assert mended(SUMS.replace(SYNC, "T.evaluate(0)")) is None


def test_a_kernel_of_many_statements_is_left_alone() -> None:
    line = "                    C[bx * 64 + tx] = A[bx * 64 + tx] + B[bx * 64 + tx]\n"
    assert () == tried(ADD.replace(line, line * MOST_STATEMENTS))[1].changes


@pytest.mark.parametrize(("name", "most"), [("MOST_TRIALS", 3), ("MOST_STEPS", 0)])
def test_so_many_are_executed_at_most(
    name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, name, most)
    assert len(tried(ADD)[1].changes) <= max(most, 1)


CHANGE = Change("operator", "C[i] = A[i] - B[i]", "A[i] - B[i]", "A[i] + B[i]", ())


@pytest.mark.parametrize(
    ("kind", "after", "said"),
    [
        ("operator", "A[i] + B[i]", "Write `A[i] + B[i]` instead of `A[i] - B[i]` in `C[i] ="),
        ("barrier", "D[i] = C[i]", "between `A[i] - B[i]` and `D[i] = C[i]`: then no threads"),
        ("barrier", "", "at the end of the body of the loop `C[i] = A[i] - B[i]`: then"),
        ("everywhere", "A[i]", "Write `A[i]` instead of `A[i] - B[i]` everywhere: then"),
        ("extent", "8", "Let the loop `C[i] = A[i] - B[i]` have `8` iterations instead of"),
        ("condition", "if i < 8", "Put `C[i] = A[i] - B[i]` under `if i < 8`: then"),
        ("scope", "shared", "Keep `C[i] = A[i] - B[i]` in `shared` memory instead of"),
        ("axis", "threadIdx.x", "Bind the loop `C[i] = A[i] - B[i]` to `threadIdx.x` instead"),
    ],
)
def test_each_kind_is_said_as_what_to_do(kind: Any, after: str, said: str) -> None:
    told = tell_change(Change(kind, CHANGE.statement, CHANGE.before, after, ()))
    assert said in told.english
    assert len(LANGUAGES) == len({told.in_(language) for language in LANGUAGES})


def test_what_a_box_calls_a_statement_is_shown_as_text_alone() -> None:
    told = tell_change(Change("operator", "`\x1b[2J", "a`b", "c", ())).english
    assert told.isprintable()
    assert "instead of `ab` in `[2J`" in told


# --- what the referee believes --------------------------------------------------------------------


COMPARISON = Computation("f", (), (TensorTable(shape=(4,)),), rtol=1e-4, atol=1e-4)


def answered(*outputs: Any) -> Any:
    """Return what is made of a box that answers with these outputs of two changes."""
    tried = tuple(
        Change("operator", "C[i] = 1", f"{number}", "1", tuple(each))
        for number, each in enumerate(outputs)
    )
    desired = np.ones((1, 4))
    found = FoundKernels(Outputs(np.zeros((1, 4)), desired, np.ones(1, bool)), (), (), None, False)
    arguments = SimpleNamespace(array=np.zeros(4, "float32"), varies=False)
    room = SimpleNamespace(shape=(4,), dtype="float32")
    arrangement = SimpleNamespace(arguments=(arguments,), outputs=(room,), function="f")
    answer = Examined.of("gpu", ChangesTried(tried))
    question = SimpleNamespace(
        comparison=COMPARISON,
        candidate=SimpleNamespace(capture=SimpleNamespace(module=b"{}")),
        runners=SimpleNamespace(request=lambda *_: answer),
    )
    return _change(question, arrangement, KernelOptions(), found)  # type: ignore[arg-type]


@pytest.mark.parametrize(("scheduled", "value"), [(True, 0.0), (False, 1.0)], ids=["made", "right"])
def test_what_is_right_or_made_by_an_unknown_schedule_is_not_changed(
    scheduled: bool, value: float
) -> None:
    outputs = Outputs(np.full((1, 4), value, "float32"), np.ones((1, 4)), np.ones(1, bool))
    found = FoundKernels(outputs, (), (), DEVICES["sm_80"], scheduled)
    unknown = SimpleNamespace(base=None, capture=SimpleNamespace(base=None, trace=None))
    question = SimpleNamespace(
        comparison=COMPARISON,
        arrangement=SimpleNamespace,
        candidate=unknown,
        options=lambda _: None,
    )
    assert found is mend_kernels(question, found)  # type: ignore[arg-type]


def test_only_a_change_whose_outputs_are_right_is_told() -> None:
    ones, zeros = (pack_array(np.full(4, each, "float32")) for each in (1, 0))
    more = pack_array(np.ones(5, "float32"))
    damaged = Array("float32", (4,), b"\0")
    told = answered([zeros], [more], [damaged], [], [ones, ones], [ones])
    assert told is not None and "5" == told.before
    assert answered([zeros]) is None
