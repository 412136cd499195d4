"""A schedule that is wrong by a step is told which: it was tried, and all is right then."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te

from grader.assignment import Computation, TensorTable
from grader.errors import IRError
from grader.evidence.case import Outputs
from grader.evidence.gpu.devices import DEVICES
from grader.evidence.gpu.found import FoundKernels, FoundStep
from grader.evidence.gpu.gather import mend_kernels
from grader.evidence.gpu.inside import changes, steps
from grader.evidence.gpu.inside.entry import perform
from grader.evidence.gpu.messages import StepChange, StepsTried, TrySteps
from grader.evidence.gpu.sentences import _STEPS, tell_step
from grader.ir.trace import read_trace
from grader.language import LANGUAGES
from grader.messages.evidence import Examined
from grader.messages.frames import Array, pack_array, unpack_array
from grader.messages.kernel import StepLine
from tests.seeded import seeded

ROWS = 256


def function() -> Any:
    """Return sums of nine neighbours."""
    a = te.placeholder((ROWS + 8,), "float32", name="A")
    k = te.reduce_axis((0, 9), name="k")
    b = te.compute((ROWS,), lambda i: te.sum(a[i + k], axis=k), name="B")
    return tvm.IRModule({"main": te.create_prim_func([a, b])})


def scheduled(
    scope: str = "shared",
    axis: str = "threadIdx.x",
    factor: int = 64,
    *,
    moves: bool = True,
    is_inner: bool = True,
) -> Any:
    """Return a schedule of it by threads; each argument is one step."""
    made = tvm.s_tir.Schedule(function())
    block = made.get_sblock("B")
    written = made.cache_write(block, 0, "local")
    i, _ = made.get_loops(block)
    bx, tx = made.split(i, factors=[None, 64])
    made.bind(bx, "blockIdx.x")
    made.bind(tx, "threadIdx.x")
    if moves:
        made.reverse_compute_at(written, tx if is_inner else bx)
    fetched = made.cache_read(block, 0, scope)
    made.compute_at(fetched, bx)
    _, thread = made.split(made.get_loops(fetched)[-1], factors=[None, factor])
    made.bind(thread, axis)
    return made


INPUTS = [seeded(40 + each).standard_normal(ROWS + 8).astype("float32") for each in range(2)]
RIGHT = [np.convolve(each, np.ones(9), "valid") for each in INPUTS]


def task(made: Any, base: Any = None, lines: tuple[int, ...] = ()) -> TrySteps:
    trace = json.dumps(made.trace.as_json(), default=lambda each: each.value).encode()
    room = np.zeros(ROWS, "float32")
    return TrySteps(
        base=tvm.ir.save_json(function() if base is None else base).encode(),
        trace=read_trace(trace, for_device=True).document,
        lines=lines,
        module=tvm.ir.save_json(made.mod).encode(),
        function="main",
        calls=tuple((pack_array(each), pack_array(room)) for each in INPUTS),
        outputs=(1,),
        device="sm_80",
    )


def mended(made: Any, lines: tuple[int, ...] = ()) -> StepChange | None:
    """Return the first change with which all outputs are right."""
    answer = perform(task(made, lines=lines))
    assert isinstance(answer, StepsTried)
    return next((each for each in answer.changes if _is_right(each.outputs)), None)


def _is_right(outputs: tuple[Array, ...]) -> bool:
    return all(
        np.allclose(unpack_array(each), right, atol=1e-4)
        for each, right in zip(outputs, RIGHT, strict=True)
    )


@pytest.mark.parametrize(
    ("make", "kind", "after"),
    [
        (lambda: scheduled(scope="local"), "scope", "shared"),
        (lambda: scheduled(axis="blockIdx.y"), "axis", "threadIdx.x"),
        (lambda: scheduled(is_inner=False), "loop", "i_1"),
        (lambda: scheduled(moves=False), "place_missing_reverse", "reverse_compute_at(B_local, "),
    ],
    ids=["scope", "axis", "outside", "missing"],
)
def test_the_step_is_named(make: Callable[[], Any], kind: str, after: str) -> None:
    found = mended(make())
    assert found is not None
    assert kind == found.kind
    assert found.after.startswith(after)


def test_trials_end_with_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays count as no steps: of a long schedule there were 600, which took a minute."""
    replayed = []
    true = steps._replayed
    monkeypatch.setattr(steps, "_replayed", lambda *given: replayed.append(given) or true(*given))
    monkeypatch.setattr(changes, "MOST_SECONDS", 0.0)
    assert mended(scheduled(scope="local")) is None
    assert 1 == len(replayed)


def test_loops_that_nothing_uses_are_not_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that give 64 loops each, none of which is used, took two minutes of renaming."""
    renamed = []
    true = steps._renamed
    monkeypatch.setattr(steps, "_renamed", lambda *given: renamed.append(given) or true(*given))
    loops = [
        ["GetLoops", ["b0"], [], [f"l{64 * at + each}" for each in range(64)]] for at in range(9)
    ]
    instructions = [["GetSBlock", [], ["B", "main"], ["b0"]], *loops]
    assert not [*steps._exchanged(steps._Trace(instructions, ()))]
    assert not renamed


def test_the_place_is_that_of_the_instruction() -> None:
    made = scheduled(scope="local")
    found = mended(made)
    assert found is not None
    assert "CacheRead" == str(made.trace.as_json()[0][found.place][0])


def test_of_a_trace_of_another_module_nothing_is_tried() -> None:
    wrong = task(scheduled(scope="local"))
    other = task(scheduled())
    found = perform(TrySteps(**{**_fields(wrong), "trace": other.trace}))
    assert StepsTried(()) == found


def _fields(of: TrySteps) -> dict[str, Any]:
    return {each: getattr(of, each) for each in of.__struct_fields__}


def test_what_stands_in_one_line_is_changed_together() -> None:
    """Two copies, both in local memory: neither alone makes the sums right."""
    a, b = (te.placeholder((ROWS + 8,), "float32", name=each) for each in "AB")
    k = te.reduce_axis((0, 9), name="k")
    c = te.compute((ROWS,), lambda i: te.sum(a[i + k] + b[i + k], axis=k), name="C")
    base = tvm.IRModule({"main": te.create_prim_func([a, b, c])})
    made, lines = tvm.s_tir.Schedule(base), list[int]()
    block = made.get_sblock("C")
    i, _ = made.get_loops(block)
    bx, tx = made.split(i, factors=[None, 64])
    made.bind(bx, "blockIdx.x")
    made.bind(tx, "threadIdx.x")
    lines += range(1, len(made.trace.insts) + 1)

    def in_line(line: int, result: Any) -> Any:
        lines.extend([line] * (len(made.trace.insts) - len(lines)))
        return result

    for operand in (0, 1):
        fetched = in_line(100, made.cache_read(block, operand, "local"))
        in_line(101, made.compute_at(fetched, bx))
        pieces = in_line(102, made.split(made.get_loops(fetched)[-1], factors=[None, 64]))
        in_line(103, made.bind(pieces[1], "threadIdx.x"))
    few = task(made, base, tuple(lines))
    calls = tuple((each[0], pack_array(INPUTS[0]), each[1]) for each in few.calls)
    answer = perform(TrySteps(**{**_fields(few), "calls": calls, "outputs": (2,)}))
    assert isinstance(answer, StepsTried)
    assert ("scope", "shared") == (answer.changes[0].kind, answer.changes[0].after)
    both = np.convolve(2 * INPUTS[0], np.ones(9), "valid")
    assert np.allclose(unpack_array(answer.changes[0].outputs[0]), both, atol=1e-4)


# --- what the referee believes --------------------------------------------------------------------

COMPARISON = Computation("f", (), (TensorTable(shape=(4,)),), rtol=1e-4, atol=1e-4)
LINE = StepLine(3, 7, 'sch.bind(thread, "threadIdx.y")')


def answered(*outputs: float, trace: bytes = b"[[], []]") -> FoundKernels:
    """Return what is made of a box that answers with such outputs of changes."""
    tried = tuple(
        StepChange("axis", 0, "threadIdx.y", "threadIdx.x", (pack_array(np.full(4, e, "float32")),))
        for e in outputs
    )
    room = SimpleNamespace(shape=(4,), dtype="float32", varies=True)
    argument = SimpleNamespace(array=np.zeros((1, 4), "float32"), varies=True)
    arrangement = SimpleNamespace(arguments=(argument,), outputs=(room,), function="f")
    capture = SimpleNamespace(module=b"{}", base=b"{}", trace=trace, lines=(LINE,))
    question = SimpleNamespace(
        arrangement=lambda: arrangement,
        comparison=COMPARISON,
        candidate=SimpleNamespace(capture=capture, base=object()),
        options=lambda _: None,
        runners=SimpleNamespace(request=lambda *_: Examined.of("gpu", StepsTried(tried))),
    )
    outputs_of = Outputs(np.zeros((1, 4), "float32"), np.ones((1, 4)), np.ones(1, bool))
    found = FoundKernels(outputs_of, (), (), DEVICES["sm_80"], scheduled=True)
    return mend_kernels(question, found)  # type: ignore[arg-type]


def test_only_a_change_whose_outputs_are_right_is_told() -> None:
    assert None is answered(0.5).step
    found = answered(0.5, 1.0).step
    assert found is not None
    assert LINE == found.line


def test_a_trace_that_is_not_read_is_given_to_no_box() -> None:
    assert None is answered(1.0, trace=b'[[["Unsafe", [], [], []]], []]').step


def test_a_trace_for_a_processor_binds_nothing() -> None:
    made = scheduled()
    trace = json.dumps(made.trace.as_json(), default=lambda each: each.value).encode()
    with pytest.raises(IRError):
        read_trace(trace)
    assert read_trace(trace, for_device=True).steps


@pytest.mark.parametrize("axis", ["blockIdx.w", "threadIdx.x\n", "pthread", "", 7])
def test_a_loop_is_bound_to_axes_of_threads_alone(axis: Any) -> None:
    trace = [
        ["GetSBlock", [], ["B", "main"], ["b0"]],
        ["GetLoops", ["b0"], [], ["l1"]],
        ["Bind", ["l1"], [axis], []],
    ]
    with pytest.raises(IRError):
        read_trace(json.dumps([trace, []]).encode(), for_device=True)


# --- sentences ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", _STEPS)
def test_each_kind_is_told_in_every_language(kind: Any) -> None:
    found = FoundStep(LINE, StepChange(kind, 0, "before", "after", ()))
    told = tell_step(found)
    assert len(LANGUAGES) == len({told.in_(language) for language in LANGUAGES})
    assert not any("{" in told.in_(language) for language in LANGUAGES)


def test_the_line_is_the_students_own() -> None:
    change = StepChange("axis", 5, "threadIdx.y", "threadIdx.x", ())
    assert tell_step(FoundStep(LINE, change)).english.startswith(
        'In code cell 3, line 7, `sch.bind(thread, "threadIdx.y")`, bind the loop to `threadIdx.x`'
    )
    assert "instruction 6" in tell_step(FoundStep(StepLine(), change)).english
