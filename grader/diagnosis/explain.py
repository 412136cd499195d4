"""Adding to a case what explains outputs that differ. It decides about no points."""

from __future__ import annotations

import base64
import re
import struct
import warnings
import zlib
from dataclasses import replace
from functools import partial
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from grader.diagnosis.layers import TOLERANCE, numbers
from grader.diagnosis.report import Diagnosed, choose_rows, diagnose
from grader.diagnosis.tracing import TARGET
from grader.errors import IRError, ProtocolError, SandboxError
from grader.evidence.candidates import gather_outputs, run_task, runner_kind
from grader.evidence.case import Candidate, Case, Evidence, FloatArray, Outputs, Problem
from grader.evidence.oracle import ModelOracle, Oracle
from grader.evidence.plug import computed
from grader.evidence.problems import wrong_samples
from grader.evidence.runners import RunnerPool
from grader.ir.trace import Trace, read_trace, steps_not_replayed
from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, in_a_row, join, say
from grader.messages.frames import FrameError, unpack_array
from grader.messages.kernel import Capture
from grader.messages.runner import FindStep, FoundStep
from grader.report import Diagnosis, Sample


def explain_case(case: Case, diagnosed: Diagnosed, runners: RunnerPool) -> Case:
    """Return the case with a diagnosis and a test image where its outputs are not PyTorch's.

    It is the same case where they are, or where nothing was to be compared. What ran out of time
    is not run again. Raises SandboxError where no runner can be had, as after Ctrl-C.
    """
    outputs = case.evidence.outputs
    if outputs is None:
        return _with_base(case, diagnosed, runners)
    if isinstance(outputs, Problem) and _is_explained(outputs):
        return case
    if isinstance(outputs, Outputs) and not wrong_samples(outputs, case.comparison).any():
        return case
    try:
        return replace(case, evidence=_explained(case.evidence, outputs, diagnosed, runners))
    except SandboxError:
        raise
    except Exception as error:  # noqa: BLE001 - an explanation that fails must not cost a grade
        warnings.warn(f"A diagnosis failed: {error!r}.", RuntimeWarning, stacklevel=2)
        return case


def _with_base(case: Case, diagnosed: Diagnosed, runners: RunnerPool) -> Case:
    """Return the case with what is wrong in the function that its schedule begins on, if anything.

    What such a schedule makes is no module that can be run step by step.
    """
    outputs, base = computed(case), _unscheduled(diagnosed.candidate)
    if outputs is None or base is None or not wrong_samples(outputs, case.comparison).any():
        return case
    own = gather_outputs(base, diagnosed.part, diagnosed.oracle, runners, case.comparison)
    schedule = Problem(_BEGINS_WRONG, say("fix-module-that-schedule-starts"), code="values")
    if isinstance(own, Problem):
        if own.code not in ("out_of_bounds", "not_deterministic"):
            return case
        schedule = Problem(join(_BEGINS_WRONG, own.reason), own.hint, code=own.code)
    elif not wrong_samples(own, case.comparison).any():
        return case
    diagnosis = _diagnosed(diagnosed._replace(candidate=base), own, runners)
    if diagnosis is not None:
        message = join(_BEGINS_WRONG, diagnosis.message)
        diagnosis = msgspec.structs.replace(diagnosis, message=message)
        # In one place: both say which index leaves its buffer, and this one what would mend it.
        schedule = Problem(message, diagnosis.advice, code=schedule.code)
    return replace(case, evidence=replace(case.evidence, diagnosis=diagnosis, schedule=schedule))


def _is_explained(outputs: Problem) -> bool:
    """Say whether no step has to be looked for: of a module that cannot be built, none runs, and
    what is right by luck may be wrong in another step the next time.
    """
    return outputs.code in ("not_built", "time_limit", "not_deterministic")


def _explained(
    evidence: Evidence, outputs: Outputs | Problem, diagnosed: Diagnosed, runners: RunnerPool
) -> Evidence:
    sample = schedule = None
    if isinstance(outputs, Outputs):
        wrong = wrong_samples(outputs, diagnosed.oracle.options)
        sample = choose_sample(outputs, wrong, diagnosed.oracle)
        schedule = find_step(diagnosed, outputs, runners)
    if schedule is not None and schedule.reason == _KEEPS:
        # A schedule has statements in other loops, and copies of buffers in which nothing is wrong.
        candidate = _unscheduled(diagnosed.candidate) or diagnosed.candidate
        diagnosed = diagnosed._replace(candidate=candidate)
    diagnosis = _diagnosed(diagnosed, outputs, runners)
    # That a buffer was made one of float16 is seen in the numbers, and says more.
    if schedule is None and (diagnosis is None or diagnosis.mistake != "low_precision"):
        schedule = find_step_not_replayed(diagnosed, runners)
    if schedule is not None and diagnosis is not None:
        diagnosis = _with_schedule(diagnosis, schedule)
    return replace(evidence, diagnosis=diagnosis, schedule=schedule, sample=sample)


def _diagnosed(
    diagnosed: Diagnosed, outputs: Outputs | Problem, runners: RunnerPool
) -> Diagnosis | None:
    """Return a diagnosis. It says which index leaves its buffer, and then what would mend that:
    what was behind the buffer makes numbers NaN, and says nothing.
    """
    found = diagnose(diagnosed, outputs, runners)
    if found is None or not isinstance(outputs, Problem) or outputs.code != "out_of_bounds":
        return found
    if not found.mistake:
        return msgspec.structs.replace(found, message=outputs.reason, advice=outputs.hint)
    return msgspec.structs.replace(found, message=join(outputs.reason, found.message))


def _unscheduled(candidate: Candidate) -> Candidate | None:
    """Return a candidate as it was before its schedule, None where there is none."""
    capture = candidate.capture
    if capture.base is None or candidate.base is None:
        return None
    return Candidate(msgspec.structs.replace(capture, module=capture.base), candidate.base)


def _with_schedule(diagnosis: Diagnosis, schedule: Problem) -> Diagnosis:
    """Return a diagnosis with what is known of the schedule."""
    if schedule.reason != _KEEPS:
        return msgspec.structs.replace(
            diagnosis, message=schedule.reason, advice=schedule.hint, mistake=SCHEDULE_STEP
        )
    # Where no step is to blame, the mistake is that of the module, and is told if it is known.
    return msgspec.structs.replace(
        diagnosis,
        message=join(_KEEPS, diagnosis.message),
        advice=diagnosis.advice if diagnosis.mistake else schedule.hint,
    )


# --- the step of a schedule -----------------------------------------------------------------------
# Which step of a schedule changes the result, in words.
#
# The steps are done one after the other in a runner (`grader/inside/runner/find_step.py`); here it
# is looked at whether the module without any of them is right, and said what came of it.


Rows = tuple[int, ...]

SCHEDULE_STEP: Final = "schedule_step"
"""What such a mistake is called in a report."""

_BEGINS_WRONG = say("schedule-begins-on-function-with-wrong-outputs")

_KEEPS = say("unscheduled-module-gives-same-wrong-outputs-schedule")

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")

_OPERANDS = 4
"""Blocks and loops of a step that are named; a reorder may have many."""


def find_step(diagnosed: Diagnosed, outputs: Outputs, runners: RunnerPool) -> Problem | None:
    """Return which step of a candidate's schedule changes the result, and what to do about it.

    None where no step does, or where that cannot be told: where there is no schedule, where it was
    not taken from a module that is accepted, or where that module is itself not right. `outputs`
    are the candidate's.
    """
    found = _task(diagnosed, outputs)
    if found is None:
        return None
    task, rows, trace = found
    try:
        answer = runners.request("pure", task)
        if not isinstance(answer, FoundStep):
            return None
        if not _is_base_right(answer, rows, diagnosed):
            return _told_of_base(answer, outputs, rows, diagnosed)
        return _told(answer) if _is_of(trace, answer) else None
    except (ProtocolError, FrameError):
        return None


def find_step_not_replayed(diagnosed: Diagnosed, runners: RunnerPool) -> Problem | None:
    """Return that a schedule changes the result of a module that is right, and the steps of it that
    cannot be tried: what TVM does not prove. None where there is none.

    `transform_layout` may give a parameter another layout. The numbers then say that a factor is
    transposed, or nothing, and in the student's function all is as it should be.
    """
    candidate, part, oracle = diagnosed.candidate, diagnosed.part, diagnosed.oracle
    capture = candidate.capture
    unscheduled = _unscheduled(candidate)
    if capture.trace is None or unscheduled is None:
        return None
    steps = [_called(*each) for each in steps_not_replayed(capture.trace)]
    if not steps:
        return None
    outputs = gather_outputs(unscheduled, part, oracle, runners, oracle.options)
    if isinstance(outputs, Problem) or wrong_samples(outputs, oracle.options).any():
        return None
    return Problem(*_told_of_steps(steps), code="values")


def _called(kind: str, key: str) -> str:
    """Return how a step is called, between backquotes: `annotate("software_pipeline_stage")`."""
    name = _WORD.sub("_", kind).lower()
    return shown(f'{name}("{key}")' if key else name)


def _told_of_steps(steps: list[str]) -> tuple[Text, Text]:
    """Return that these steps may be to blame, and what to do about it."""
    if len(steps) == 1:
        return say("unscheduled-module-gives-right-outputs-schedule-changes", step=steps[0]), say(
            "compare-outputs-before-and-after-and-leave", step=steps[0]
        )
    return say(
        "unscheduled-module-gives-right-outputs-schedule-changes-result",
        steps=in_a_row(steps[:_OPERANDS]),
    ), say("compare-outputs-after-each-these-steps")


def _is_of(trace: Trace, answer: FoundStep) -> bool:
    """Say whether an answer names a step that there is: what the referee knows is not believed."""
    named = trace.kinds[answer.number - 1 : answer.number] if answer.number else ()
    # A runner has run the submission's code: it may name what it likes.
    return answer.steps == trace.steps and named == (answer.instruction,)


def _task(diagnosed: Diagnosed, outputs: Outputs) -> tuple[FindStep, Rows, Trace] | None:
    """Return the task of one call on samples that are wrong, which these are, and the trace."""
    candidate, part = diagnosed.candidate, diagnosed.part
    capture, trace = candidate.capture, _trace(candidate.capture)
    unscheduled = _unscheduled(candidate)
    if trace is None or unscheduled is None:
        return None
    arrangement = diagnosed.oracle.arrange(part, unscheduled.signature)
    if runner_kind(part) != "pure" or isinstance(arrangement, Problem):
        return None
    rows = choose_rows(outputs, diagnosed)
    if not rows or max(rows) >= arrangement.samples:
        return None
    arrangement, chosen = arrangement.chosen(rows)
    run = msgspec.structs.replace(run_task(unscheduled, arrangement), target=TARGET)
    return FindStep(run, trace.document, capture.module, TOLERANCE), chosen, trace


def _trace(capture: Capture) -> Trace | None:
    if capture.trace is None:
        return None
    try:
        return read_trace(capture.trace)
    except IRError:
        return None


def _is_base_right(answer: FoundStep, rows: Rows, diagnosed: Diagnosed) -> bool:
    """Say whether the unscheduled module gave the oracle's outputs."""
    found = numbers(unpack_array(answer.outputs))
    wanted = np.asarray(diagnosed.oracle.desired[list(rows)], np.float64).reshape(-1)
    comparison = diagnosed.oracle.options
    if found.size < wanted.size:  # a batch may have been filled up
        return False
    return bool(np.isclose(found[: wanted.size], wanted, comparison.rtol, comparison.atol).all())


def _told_of_base(
    answer: FoundStep, outputs: Outputs, rows: Rows, diagnosed: Diagnosed
) -> Problem | None:
    """Return that the unscheduled module gives the same wrong outputs, None where it does not.

    Nothing in the schedule is to be mended then, whatever the numbers look like.
    """
    found = numbers(unpack_array(answer.outputs))
    own = numbers(outputs.actual[list(rows)])
    comparison = diagnosed.oracle.options
    if found.size < own.size:
        return None
    # A sum that nothing begins is NaN, scheduled or not.
    equals = partial(np.isclose, rtol=comparison.rtol, atol=comparison.atol, equal_nan=True)
    if not equals(found[: own.size], own).all():
        return None
    return Problem(_KEEPS, say("fix-module-that-schedule-starts"), code="values")


def _told(answer: FoundStep) -> Problem:
    step = _spelled(answer)
    reason = say(
        "step-changes-result-before-outputs-equal-those",
        number=answer.number,
        steps=answer.steps,
        step=step,
    )
    return Problem(join(reason, _why(answer)), _advice(answer), code="values")


def _spelled(answer: FoundStep) -> str:
    """Return the call of a step, between backquotes: `reverse_compute_at(C, j)`."""
    operands = [*answer.blocks, *answer.loops]
    names = operands[:_OPERANDS] + ["…"] * (len(operands) > _OPERANDS)
    return shown(f"{_WORD.sub('_', answer.instruction).lower()}({', '.join(names)})")


def _why(answer: FoundStep) -> Text:
    facts = {
        "reader": shown(answer.reader),
        "writer": shown(answer.writer),
        "loop": shown(answer.within_loop),
    }
    if answer.within == "sum":
        return say("moved-block-into-loop-in-which-block", **facts)
    if answer.within == "lanes":
        return say("blocks-and-now-stand-in-one-vectorized", **facts)
    return NOTHING


def _advice(answer: FoundStep) -> Text:
    """Return what was tried and gives the right outputs; a place to look where nothing did."""
    if answer.other_loop:
        return say("give-loop-with-that-and-all-other", loop=shown(answer.other_loop))
    if answer.may_go:
        return say("leave-this-step-out-with-all-other")
    return say("print-function-before-and-after-this-step")


# --- a test image ---------------------------------------------------------------------------------
# One image of the public test set that a classifier gets wrong, beside PyTorch's answer.
#
# Only test images are looked at: hidden inputs and their scores stay in the referee.


_PNG = b"\x89PNG\r\n\x1a\n"


def choose_sample(outputs: Outputs, wrong: npt.NDArray[np.bool_], oracle: Oracle) -> Sample | None:
    """Return the test image that shows the mistake best, None where outputs are no scores.

    `wrong` marks the samples that differ. An image counts more whose class PyTorch knows and the
    submission does not, then one whose classes differ, and among these the largest difference. The
    same image is chosen whatever the order of the samples is.
    """
    if not isinstance(oracle, ModelOracle) or not _are_scores(outputs, oracle):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        actual = outputs.actual.astype(np.float64)
    rows = np.flatnonzero(wrong & outputs.from_test_set & np.isfinite(actual).any(axis=1))
    if not len(rows):
        return None
    places = oracle.places[rows]
    labels = oracle.data.labels[places]
    predicted, pytorch = _classes(actual[rows]), _classes(outputs.desired[rows])
    unlike = predicted != pytorch
    # That a shirt is called a sneaker shows more than a score that is off in its third digit.
    rank = unlike.astype(int) + (unlike & (pytorch == labels))
    differences = np.abs(_finite(actual[rows]) - outputs.desired[rows]).max(axis=1)
    # By its place in the test set where all else is equal: samples are mixed anew in every run.
    best = int(np.lexsort((-places, differences, rank))[-1])
    return Sample(
        place=int(places[best]),
        image=base64.b64encode(encode_png(oracle.data.images[places[best]])).decode("ascii"),
        classes=oracle.data.classes,
        label=int(labels[best]),
        predicted=int(predicted[best]),
        pytorch=int(pytorch[best]),
        scores=tuple(float(x) if np.isfinite(x) else None for x in actual[rows[best]]),
        pytorch_scores=tuple(float(x) for x in outputs.desired[rows[best]]),
    )


def encode_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Return grey values, uint8 (rows, columns), as a PNG; the same bytes at every call.

    Eight bits, one channel, no filter (W3C, Portable Network Graphics, sections 5, 9 and 11).
    """
    rows, columns = pixels.shape
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return _PNG + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


def _are_scores(outputs: Outputs, oracle: ModelOracle) -> bool:
    """Say whether each sample's output is a number for each class."""
    classes = len(oracle.data.classes)
    shape = (len(outputs.desired), classes)
    return classes > 0 and outputs.actual.shape == shape == outputs.desired.shape


def _classes(scores: FloatArray) -> npt.NDArray[np.intp]:
    """Return the class of the highest score of each row; what is not finite wins nothing."""
    highest: npt.NDArray[np.intp] = np.where(np.isfinite(scores), scores, -np.inf).argmax(axis=1)
    return highest


def _finite(scores: FloatArray) -> FloatArray:
    return np.nan_to_num(scores, nan=0.0, posinf=0.0, neginf=0.0)
