"""The results of executing a part's kernels, and the options of checks that use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, NamedTuple

import msgspec

from grader.assignment import PositiveInt, Table
from grader.evidence.case import Outputs
from grader.evidence.gpu.devices import Device
from grader.evidence.gpu.messages import NO_FAULTS, Change, Finding, KernelCounts, StepChange
from grader.evidence.plug import Gathered
from grader.messages.kernel import StepLine

DeviceName = Literal["sm_75", "sm_80", "sm_90", "sm_100"]


class KernelOptions(Table, frozen=True):
    """`device` is the architecture that a part is for; all checks of a part name the same one.

    `calls` of the computation's cases are executed: each takes seconds.
    """

    shared: ClassVar[tuple[str, ...]] = ("device", "calls")

    device: DeviceName = "sm_80"
    calls: Annotated[PositiveInt, msgspec.Meta(le=16)] = 2


class FoundStep(NamedTuple):
    """A change of a schedule's step, and the line that it stands in."""

    line: StepLine
    change: StepChange


@dataclass(frozen=True)
class FoundKernels:
    """What a function's kernels computed, what is wrong with them, and what they moved.

    `findings` and `kernels` are of the first call; the others compute with other numbers alone.
    Of a function that is `scheduled` TVM has set the barriers. With `change` alone all outputs are
    right and nothing is found, or with that of a `step`; None where no such change is known.
    """

    outputs: Outputs
    findings: tuple[Finding, ...]
    kernels: tuple[KernelCounts, ...]
    device: Device
    scheduled: bool
    change: Change | None = None
    step: FoundStep | None = None


def faults(found: FoundKernels) -> tuple[Finding, ...]:
    """Return what is wrong."""
    return tuple(each for each in found.findings if each.kind not in NO_FAULTS)


GPU: Gathered[FoundKernels] = Gathered("gpu")
