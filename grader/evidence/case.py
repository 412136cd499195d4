"""What a check decides from: facts that the referee read, and evidence that runners brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from grader.assignment import Comparison
from grader.evidence.named_cases import NamedCase
from grader.ir.facts import FunctionFacts, ModuleFacts, bind_symbols
from grader.language import NOTHING, Text, say
from grader.messages.kernel import PYTHON_FUNCTION, Capture
from grader.messages.timing import HotLoops
from grader.report import CheckCode, Diagnosis, Sample, Scripts, Timing

FloatArray = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Problem:
    """Why there is no evidence: a sentence, and what to do next.

    `again` says that this is no fault of the submission, which has to be graded again. `quotes`
    says that the reason ends in the message of an error, to which no sentence can be joined. `code`
    says what it is, apart from how it is worded. `group` is the place of the oracle's samples that
    it is about, where shapes vary.
    """

    reason: Text
    hint: Text = NOTHING
    again: bool = False
    quotes: bool = False
    code: CheckCode = "undecided"
    group: int = 0


@dataclass(frozen=True)
class Outputs:
    """What a module returned for the oracle's inputs, beside what it should have returned.

    `actual` is as the runner sent it, any shape and dtype; `desired` has shape (samples, *output
    shape). `from_test_set` marks the samples that are test images. `unwritten` names functions that
    left their output buffer untouched. `cases` says which of the samples have a name.

    Where shapes vary from case to case, these are the samples of one of the oracle's `groups`, of
    which `group` is the place: the first one where something is wrong. `others` are those of the
    other groups, `extents` says which shapes these are, NOTHING where there are no others.
    """

    actual: FloatArray
    desired: FloatArray
    from_test_set: npt.NDArray[np.bool_]
    unwritten: tuple[str, ...] = ()
    cases: tuple[NamedCase, ...] = ()
    group: int = 0
    others: tuple[Outputs, ...] = ()
    extents: Text = NOTHING


@dataclass(frozen=True)
class StubOutputs:
    """Outputs of a module with every extern replaced by noise.

    `first` and `second` are for the same inputs and other noise, `elsewhere` is for other inputs
    and the noise of `first`.
    """

    first: FloatArray
    second: FloatArray
    elsewhere: FloatArray


@dataclass(frozen=True)
class TimedSchedule:
    """The estimate of the speed-up, whether the timed outputs were right, and what explains a
    difference."""

    timing: Timing
    outputs_right: bool
    hot_loops: HotLoops = field(default_factory=HotLoops)


class LargerBatch(NamedTuple):
    """The scheduled function for a larger batch: the same steps on the same program.

    `module` is graph JSON that was read like a capture's, `facts` are those of `function` in it.
    """

    module: bytes
    function: str
    facts: FunctionFacts


@dataclass(frozen=True)
class Replay:
    """Whether a schedule's trace, on the unscheduled module, gives the module that was handed in.

    `steps` counts the trace's primitives, as far as it could be read. `reason` says why the
    schedule is not proven, in a clause without a full stop. `larger` are functions for larger
    batches, in rising order; `larger_reason` says why there are none, where some were asked for.
    `scripts` are the function before and after, None where it is not proven.
    """

    proven: bool
    steps: int = 0
    reason: Text = NOTHING
    larger: tuple[LargerBatch, ...] = ()
    larger_reason: Text = NOTHING
    scripts: Scripts | None = None

    @property
    def provenance(self) -> Text:
        """Whether the schedule is proven, or why it was graded on its result."""
        if not self.proven:
            return say("schedule-graded-only-on-result", reason=self.reason)
        if self.steps == 1:
            return say("schedule-proven-one-step-applied-unscheduled-module")
        return say("schedule-proven-steps-applied-unscheduled-module-give", steps=self.steps)


class JudgedLayer(NamedTuple):
    """A layer of PyTorch's: whether a submission has it right where PyTorch's values go into it.

    `before` is the layer that it is lost for, if that is one before it which earns nothing itself,
    such as flattening in another order.
    """

    name: str
    is_right: bool
    before: str = ""


class Stop(NamedTuple):
    """Where a schedule stops because a step of it raised; what stands behind it was not done.

    `line` is that of the cell, None where it is not known; `step` is its text, empty where that is
    not known. `error` is the error in one line, `why` says why TVM refuses the step and `remedy`
    what to do, both empty where that is not known.
    """

    cell: int
    line: int | None
    step: str
    error: str
    why: Text = NOTHING
    remedy: Text = NOTHING


@dataclass(frozen=True)
class Evidence:
    """All evidence for one candidate. A field is None when no check of the part asks for it.

    `diagnosis` says where outputs that differ depart from PyTorch, and `sample` shows a test image
    among them, where both can be told. `schedule` says which step of a schedule made them differ,
    `stopped` where the schedule stops because a step raised.
    `layers` are those of PyTorch, where outputs differ and the part shares out its points among
    them. `found` is what the kinds of evidence with folders of their own have gathered, by kind;
    `EvidenceKind.of` reads it.
    """

    outputs: Outputs | Problem | None = None
    stubs: StubOutputs | Problem | None = None
    timed: TimedSchedule | Problem | None = None
    replay: Replay | None = None
    diagnosis: Diagnosis | None = None
    schedule: Problem | None = None
    stopped: Stop | None = None
    sample: Sample | None = None
    layers: tuple[JudgedLayer, ...] = ()
    found: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """A captured module that the reader accepted, without the attributes that were `left_out`.

    `facts` have the assignment's extents for symbolic ones; `symbolic` are the facts without them.
    """

    capture: Capture
    facts: ModuleFacts
    base: ModuleFacts | None = None
    left_out: tuple[str, ...] = ()
    symbolic: ModuleFacts | None = None

    @property
    def is_python(self) -> bool:
        """Say whether it is a Python function and no module."""
        return PYTHON_FUNCTION in self.capture.externs and not self.capture.module

    @property
    def signature(self) -> ModuleFacts | None:
        """Return the facts that tell how it is called: a Python function has none."""
        return None if self.is_python else self.facts

    def taking(self, shapes: Sequence[tuple[int | None, ...]]) -> Candidate:
        """Return the candidate with the symbols of `main` bound to arguments of these shapes."""
        symbolic = self.symbolic or self.facts
        return replace(self, facts=bind_symbols(symbolic, shapes), symbolic=symbolic)


@dataclass(frozen=True)
class Case:
    """What one check is given: the candidate, the evidence, and the assignment's tolerances."""

    candidate: Candidate
    evidence: Evidence
    comparison: Comparison
