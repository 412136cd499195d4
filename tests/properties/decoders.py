"""The decoders of what comes from outside, each with what it may meet and what it may raise.

The tests draw a few examples for each, `benchmarks/decoders.py` draws thousands.
"""

from __future__ import annotations

import importlib
import io
import json
import socket
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st
from rich.console import Console

from grader.assignment import Limits, OracleOptions, PartTable
from grader.checks.kinds.measured import EquivalenceOptions, equivalence, writes_output
from grader.data.dataset import no_data
from grader.errors import GraderError, IRError
from grader.evidence import subject as subjects
from grader.evidence.candidates import gather_outputs
from grader.evidence.case import Candidate, Case, Evidence, Problem
from grader.evidence.oracle import Arrangement, ModelOracle
from grader.evidence.registry import NoOptions
from grader.evidence.search.messages import (
    DrawnTrial,
    DrawnTrials,
    DrawTrials,
    RankTrials,
    TrialTimes,
)
from grader.evidence.subject import convolution_arrays
from grader.execute.captures import CaptureReader
from grader.execute.problems import cell_problem
from grader.ir.facts import BufferFacts, ModuleFacts, TensorFacts
from grader.ir.read import read_module
from grader.ir.rewriting import rebatch
from grader.ir.trace import read_trace
from grader.measurement.measure import Machine, Measured, MeasurementSetup, Version, measure
from grader.measurement.points import SpeedOptions
from grader.measurement.speed import outputs_right
from grader.messages.evidence import KINDS
from grader.messages.frames import (
    Array,
    FrameError,
    decode_payload,
    encode_frame,
    pack_array,
    read_frame,
    unpack_array,
)
from grader.messages.kernel import Capture, CaptureFailure, FromKernel, KernelConfig
from grader.messages.runner import (
    FromRunner,
    ReplayResult,
    ReplayTrace,
    RunArgument,
    RunModule,
    RunResult,
    TaskFailure,
    ToRunner,
)
from grader.messages.timing import (
    MachineLimits,
    MeasureLimits,
    ShapeResult,
    Slice,
    Slots,
    TimingResult,
)
from grader.reading.submission import defined_names, read_submission
from grader.render.terminal import render
from grader.report import Report, decode_report, encode_report, texts
from tests import sample_reports
from tests.broken import files
from tests.broken.cells import CELLS
from tests.properties import strategies
from tests.timing.machine import packed, slots_of, steady

SAMPLES = 6
WIDTH = 16

_WEIGHT = (2, 1, 3, 3)
_OUTPUT = (2, 2, 2, 2)


@dataclass(frozen=True)
class Subject:
    """A decoder: what it is given, and a call that raises nothing when all is well."""

    name: str
    inputs: Callable[[], st.SearchStrategy[Any]]
    check: Callable[[Any], object]


# --- notebooks ------------------------------------------------------------------------------------


@cache
def _notebooks() -> tuple[bytes, ...]:
    sources = list(CELLS.values())
    kinds = (
        files.notebook,
        files.format_3,
        files.format_4_0,
        files.strange_cells,
        files.half_surrogates,
    )
    return tuple(kind(sources) for kind in kinds)


def check_notebook(content: bytes) -> None:
    """A file is a notebook that a kernel can be given, or has a problem that is a sentence."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "submission.ipynb"
        path.write_bytes(content)
        submission = read_submission(path)
    if submission.notebook is None:
        assert submission.problem.english.endswith(".")
        return
    defined_names(submission.sources)
    json.dumps(submission.declared_assignment)
    for source in submission.sources:
        source.encode()


# --- messages -------------------------------------------------------------------------------------

_ARRAY = pack_array(np.arange(6, dtype=np.float32).reshape(2, 3))
_SLICES = packed(steady(1e-3, 3e-4, 3e-4))
_OUTPUTS = np.ones((2, *_OUTPUT), np.float32)
_SLOTS = slots_of(_OUTPUTS, (0, 1))
TIMING = TimingResult(
    variant="conv2d",
    target="llvm",
    shapes=(ShapeResult(pack_array(_OUTPUTS), (0, 1), _SLOTS),),
    slices=_SLICES,
)
_MESSAGES = (
    Capture("p", "f", 3, True, b"{}", b"{}", b"[]", {"env.conv2d": b"\x80"}),
    CaptureFailure("p", "f", 3, "raised", "NameError", "message", 4),
    RunModule(b"{}", (RunArgument(_ARRAY),), "llvm", 4, {"env.a": b"x"}, {"env.b": 1}),
    RunResult(_ARRAY, ("f",)),
    TIMING,
    MeasureLimits("host", (0, 1)),
    MachineLimits(1e11, 2e10),
    ReplayTrace(b"[]", b"{}", b"{}", (b"{}",)),
    ReplayResult("differs", ("f",), "message", (b"{}", b"")),
    DrawTrials(b"[]", b"{}", 7, 16),
    DrawnTrials((DrawnTrial(b"[]", b"{}"),), 3, "message"),
    RankTrials(RunModule(b"", (RunArgument(_ARRAY),), "host", 1), (b"{}", b"{}")),
    TrialTimes((1e-4, None)),
    TaskFailure("load", "Raised", "message", error="ValueError"),
    KernelConfig((3, 4, 5, 6, 7), "key", 8, ()),
)
_PAYLOADS = tuple(msgspec.msgpack.encode(message) for message in _MESSAGES)
_ANSWERS = (importlib.import_module(f"grader.evidence.{kind}.messages").Answer for kind in KINDS)
_TYPES: tuple[Any, ...] = (FromKernel, FromRunner, ToRunner, KernelConfig, Array, *_ANSWERS)


def check_message(payload: bytes) -> None:
    """Bytes are the message that was asked for, or a FrameError; so are arrays in it."""
    for kind in _TYPES:
        with suppress(FrameError):
            message = decode_payload(payload, kind)
            for part in (message, *getattr(message, "shapes", ())):
                outputs = getattr(part, "outputs", None)
                if isinstance(outputs, Array):
                    unpack_array(outputs)


def check_array(array: Array) -> None:
    """An array is one of NumPy's, of that shape and dtype, or a FrameError."""
    with suppress(FrameError):
        values = unpack_array(array)
        assert (array.shape, array.dtype) == (values.shape, str(values.dtype))


class Pipe(io.BytesIO):
    """Bytes that are received a few at a time."""

    def recv(self, size: int, /) -> bytes:
        """Return some of the bytes that are left."""
        return self.read(min(size, 5))


def streams() -> st.SearchStrategy[bytes]:
    """Some frames one after another, with damage."""
    frames = [encode_frame(message) for message in _MESSAGES]
    whole = st.lists(st.sampled_from(frames), max_size=4).map(b"".join)
    return st.one_of(st.binary(max_size=100), whole, strategies.damaged_bytes(frames))


def check_frames(stream: bytes) -> None:
    """A stream is frames of bounded length up to its end, or a FrameError."""
    pipe = Pipe(stream)
    with suppress(FrameError):
        while (payload := read_frame(pipe, 4096)) is not None:
            assert len(payload) <= 4096


def check_captures(stream: bytes) -> None:
    """Whatever a kernel writes, its captures are read to the end, and the thread ends in peace."""
    inner, outer = socket.socketpair()
    raised: list[object] = []
    before, threading.excepthook = threading.excepthook, raised.append
    try:
        reader = CaptureReader(outer, total_limit=2**16, count_limit=3)
        with inner:
            inner.sendall(stream)
        reader.close()
    finally:
        threading.excepthook = before
    assert [] == raised
    assert all(isinstance(each, Capture | CaptureFailure) for each in reader.received)


# --- modules --------------------------------------------------------------------------------------


@cache
def _modules() -> tuple[bytes, ...]:
    """Real modules: TVM runs where the tests run, not in the code under test."""
    from tests.ir import modules

    made = (modules.product_module(16), modules.scheduled_product("tile"), modules.symbolic_batch())
    return tuple(modules.save(module) for module in made)


def check_module(document: bytes) -> None:
    """Bytes are a module's facts, or an IRError, which belongs to the grader's errors."""
    with suppress(GraderError):
        msgspec.json.encode(read_module(document, ("env.*",)), enc_hook=texts.encoder("en"))


@cache
def _traces() -> tuple[bytes, ...]:
    from tvm import s_tir

    from tests.evidence.schedules import saved_trace
    from tests.ir import modules

    made = []
    for name in ("tile", "cache", "sample", "unroll_pragma", "layout"):
        schedule = s_tir.Schedule(modules.product_module())
        blocks = [schedule.get_sblock(block, func_name="mm_relu") for block in ("Y", "C")]
        modules.SCHEDULES[name](schedule, *blocks)
        made.append(saved_trace(schedule))
    return tuple(made)


def check_trace(document: bytes) -> None:
    """Bytes are a trace that reads the same when it is written again, or an IRError."""
    with suppress(IRError):
        trace = read_trace(document)
        assert trace == read_trace(trace.document)


@cache
def _convolutions() -> tuple[bytes, ...]:
    from tests.evidence import schedules
    from tests.ir import modules

    made = (schedules.model("topi", 4), schedules.model("fused", 1))
    return tuple(modules.save(module) for module in made)


def check_rebatch(document: bytes) -> None:
    """A module that can be read has a larger one that can, or a reason why not."""
    with suppress(IRError):
        names = tuple(read_module(document).functions)
        for name in names:
            made = rebatch(document, name, 0, (16,), names)
            assert bool(made.documents) != bool(made.reason)
            for each in made.documents:
                _read_surely(each)


def _read_surely(document: bytes) -> None:
    try:
        read_module(document)
    except IRError as error:
        raise AssertionError("a module that we wrote cannot be read") from error


# --- evidence -------------------------------------------------------------------------------------


def _candidate(batch: int | str) -> Candidate:
    tensor = TensorFacts(shape=(batch, 8), dtype="float32")
    facts = ModuleFacts(
        has_main=True,
        inputs=(BufferFacts(name="x", tensor=tensor),),
        output=None,
        calls=(),
        functions={},
        externs=(),
        findings=(),
    )
    return Candidate(Capture("model", "create_model", 1, True, b"{}"), facts)


_OPTIONS = OracleOptions(input_shape=(8,), output_shape=(WIDTH,), hidden_inputs=SAMPLES)
_PART = PartTable(id="model", title="", entry_kind="function", entry=("f",), check=(), externs=True)


def _oracle() -> ModelOracle:
    """A real oracle of a model that gives zeros, without PyTorch."""
    course: Any = SimpleNamespace(expected=lambda _, inputs: np.zeros((len(inputs), WIDTH)))
    return ModelOracle(course, _OPTIONS, no_data(), np.random.default_rng(0))


def answers() -> st.SearchStrategy[RunResult]:
    """What a runner that a student's extern took over may answer."""
    likely = ((3, 2, WIDTH), (2, 4, WIDTH), (2, 4, 1, WIDTH), (6, 1), (3, 2, 0), (2, 3, WIDTH, 0))
    names = st.lists(st.sampled_from(strategies.STRINGS), max_size=2).map(tuple)
    return st.builds(
        RunResult,
        outputs=strategies.arrays(likely),
        unwritten=names,
        stale=st.booleans(),
    )


def check_evidence(answer: RunResult) -> None:
    """Any answer of the right type is judged, or an error of the grader's own."""
    runners: Any = SimpleNamespace(request=lambda kind, task: answer)
    candidate = _candidate(4)
    with suppress(GraderError), np.errstate(all="ignore"):
        outputs = gather_outputs(candidate, _PART, _oracle(), runners, _OPTIONS)
        case = Case(candidate, Evidence(outputs=outputs), _OPTIONS)
        outcomes = (equivalence(case, EquivalenceOptions()), writes_output(case, NoOptions()))
        assert all(0 <= outcome.fraction <= 1 for outcome in outcomes)


def measurements() -> st.SearchStrategy[TimingResult]:
    """What a runner that a schedule took over may answer: what the referee can decode, and more."""
    payloads = st.builds(_answered, strategies.messages((msgspec.msgpack.encode(TIMING),)))
    likely = ((2, *_OUTPUT), (1, 2, 3), (2, 3), (0, 2, 2), (2, 0, 3))
    results = st.builds(
        ShapeResult,
        outputs=strategies.arrays(likely),
        inputs=st.lists(st.integers(0, 2**62), max_size=3).map(tuple),
        slots=st.just(_SLOTS) | st.builds(Slots),
    )
    times = st.sampled_from((1e-300, 1e-6, 3600.0)).map(lambda each: np.full((4, 10), each))
    seconds = times.map(pack_array) | strategies.arrays(((4, 10), (4, 0), (3, 10)))
    slices = st.builds(
        Slice, st.integers(0, 3), st.lists(seconds, min_size=1, max_size=2).map(tuple)
    )
    made = st.builds(
        msgspec.structs.replace,
        st.just(TIMING),
        shapes=st.lists(results, min_size=1, max_size=2).map(tuple),
        slices=st.lists(slices, max_size=2).map(lambda some: (*some, *_SLICES)),
    )
    return st.one_of(payloads, made)


def _answered(payload: bytes) -> TimingResult:
    try:
        return decode_payload(payload, TimingResult)
    except FrameError:
        return TIMING


def measured_of(answer: TimingResult) -> Measured | Problem:
    """Measure where a runner that has a submission answers this; the others are honest."""

    def request(kind: str, task: ToRunner) -> FromRunner:
        if isinstance(task, MeasureLimits):
            return MachineLimits(1e13, 1e13)
        return answer

    runners: Any = SimpleNamespace(request=request)
    subject = subjects.Subject(_WEIGHT, OracleOptions((1, 4, 4), (10,)))
    setup = MeasurementSetup(
        workload="",
        options=SpeedOptions(weight=_WEIGHT, threads=1),
        subject=subject,
        points=15.0,
        runners=runners,
        machine=Machine(lambda count: tuple(range(count))),
    )
    with np.errstate(all="ignore"):
        version = Version(b"{}", "conv2d", convolution_arrays((2, 1, 4, 4), _WEIGHT))
        return measure([version], setup, np.random.default_rng(0))


def check_measurement(answer: TimingResult) -> None:
    """Any answer of the right type is a measurement or a problem, and can be reported and shown."""
    oracle: Any = SimpleNamespace(workload=lambda _, data, *__: np.zeros((len(data), *_OUTPUT)))
    measured = measured_of(answer)
    if isinstance(measured, Measured):
        outputs_right(measured, oracle)
        report = msgspec.structs.replace(sample_reports.typical(), timing=measured.timing)
        render(decode_report(encode_report(report)), Console(file=io.StringIO()))


def check_batch(extent: int | str) -> None:
    """Whatever batch a module takes, there are inputs of it, or a reason why not."""
    arrangement = _oracle().arrange(_PART, _candidate(extent).facts)
    if isinstance(arrangement, Arrangement):
        assert 1 <= arrangement.arguments[0].shape[0] <= 2**16


# --- errors of cells, and reports -----------------------------------------------------------------


def replies() -> st.SearchStrategy[dict[str, object]]:
    """What a kernel may say of a cell that failed."""
    frames = st.lists(
        st.sampled_from((*strategies.STRINGS, "Cell In[3], line 4", "Cell In [3], line 9"))
    )
    text = st.one_of(strategies.json_values, st.text(), st.sampled_from(strategies.STRINGS))
    values = {"ename": text, "evalue": text, "traceback": strategies.json_values | frames}
    return st.fixed_dictionaries({}, optional=values)


def check_reply(content: dict[str, object]) -> None:
    """Whatever a kernel says, a problem of bounded length comes of it."""
    problem = cell_problem(content, 3, Limits())
    assert len(problem.error) <= 80
    assert len(problem.message) <= 300


@cache
def _reports() -> tuple[bytes, ...]:
    made = (sample_reports.typical(), sample_reports.nothing_to_grade(), sample_reports.hostile())
    return tuple(encode_report(report) for report in made)


def check_report(document: bytes) -> None:
    """A document is a report that can be written again, or msgspec's error, as is documented."""
    try:
        report = decode_report(document)
    except msgspec.DecodeError:
        return
    assert isinstance(report, Report)
    decode_report(encode_report(report))


SUBJECTS = (
    Subject("notebook", lambda: strategies.documents(_notebooks()), check_notebook),
    Subject("message", lambda: strategies.messages(_PAYLOADS), check_message),
    Subject("array", lambda: strategies.arrays(((2, 3), ())), check_array),
    Subject("frames", streams, check_frames),
    Subject("captures", streams, check_captures),
    Subject("module", lambda: strategies.documents(_modules()), check_module),
    Subject("trace", lambda: strategies.documents(_traces()), check_trace),
    Subject("rebatch", lambda: strategies.documents(_convolutions()), check_rebatch),
    Subject("evidence", answers, check_evidence),
    Subject("measurement", measurements, check_measurement),
    Subject("batch", lambda: st.sampled_from(("n", *range(-2, 40), 2**31, 2**62)), check_batch),
    Subject("reply", replies, check_reply),
    Subject("report", lambda: strategies.documents(_reports()), check_report),
)
"""All decoders; the check of each names its errors."""
