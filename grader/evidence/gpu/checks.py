"""Checks of kernels for a GPU: their outputs, their threads, their size, and their cost."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from grader.assignment import PositiveInt
from grader.evidence.case import Case, Problem
from grader.evidence.gpu.cost import Bottleneck, cost_of, cycles_of, share, share_of_copy
from grader.evidence.gpu.devices import WARP, find_excesses
from grader.evidence.gpu.found import GPU, FoundKernels, KernelOptions, faults
from grader.evidence.gpu.messages import KernelCounts, Traffic
from grader.evidence.gpu.sentences import quoted, tell, tell_change, tell_excess, tell_step
from grader.evidence.problems import explain, wrong_samples
from grader.evidence.registry import Outcome, check, failed, not_graded, partial, passed
from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, join, say

WORTH = 4
"""A change is advised where such changes save more than one unit in so many."""


class CostOptions(KernelOptions, frozen=True, kw_only=True):
    """Cycles at which the points begin, and at which all of them are earned.

    They are those of the unscheduled function with its loops bound, and of the course's schedule.
    `dlight` are those of TVM's default rules, for comparison.
    """

    naive: PositiveInt
    reference: PositiveInt
    dlight: PositiveInt | None = None

    def __post_init__(self) -> None:
        if self.reference >= self.naive:
            raise ValueError(f"`reference` ({self.reference}) must be below `naive` ({self.naive})")


@check("gpu_equivalence", options=KernelOptions, needs=("gpu",))
def gpu_equivalence(case: Case, _options: KernelOptions) -> Outcome:
    """The kernels compute the right outputs.

    They are executed thread by thread, with poison in every buffer that nobody has stored into.
    """
    found = GPU.of(case)
    if isinstance(found, Problem):
        return not_graded(found)
    wrong = wrong_samples(found.outputs, case.comparison)
    if not wrong.any():
        return passed(say("gpu-outputs-right", calls=len(wrong)))
    told_of_base = case.evidence.diagnosis or case.evidence.schedule
    problem = explain(found.outputs, wrong, case.comparison, told_of_base)
    others = (each for each in found.findings if each.kind in ("other_name", "unstored"))
    fault = next(chain(faults(found), others), None)
    if fault is None or told_of_base is not None:
        return failed(problem.reason, _mend(found, problem.hint), problem.code)
    told = tell(fault, scheduled=found.scheduled and case.candidate.capture.trace is not None)
    return failed(join(told.reason, problem.reason), _mend(found, told.hint), problem.code)


def _mend(found: FoundKernels, hint: Text) -> Text:
    """Return the change that makes the kernel right, a hint where none is known."""
    if found.step is not None:
        return tell_step(found.step)
    return hint if found.change is None else tell_change(found.change)


@check("gpu_threads", options=KernelOptions, needs=("gpu",))
def gpu_threads(case: Case, _options: KernelOptions) -> Outcome:
    """No two threads race, and every element is stored before it is loaded.

    A barrier lies between two threads of a block that touch one element, if one of them stores
    there; threads of two blocks never do.
    """
    found = GPU.of(case)
    if isinstance(found, Problem):
        return not_graded(found)
    first, *others = faults(found) or (None,)
    if first is None:
        needless = [tell(each) for each in found.findings if each.kind == "needless_barrier"]
        return passed(join(say("gpu-threads-right"), *(join(*each) for each in needless[:1])))
    told = tell(first, scheduled=found.scheduled)
    more = say("gpu-more-faults", count=len(others)) if others else NOTHING
    base = case.evidence.schedule
    if base is not None:
        return failed(join(base.reason, told.reason, more), base.hint)
    return failed(join(told.reason, more), _mend(found, told.hint))


@check("gpu_fits", options=KernelOptions, needs=("gpu",))
def gpu_fits(case: Case, _options: KernelOptions) -> Outcome:
    """The kernels fit on the device."""
    found = GPU.of(case)
    if isinstance(found, Problem):
        is_known = found.code == "unmet"  # it was too large to be executed
        return failed(found.reason, found.hint) if is_known else not_graded(found)
    if not found.kernels:
        return failed(say("gpu-no-kernel"), say("gpu-bind-loops"))
    return _too_large(found) or passed(say("gpu-fits", device=found.device.name))


def _too_large(found: FoundKernels) -> Outcome | None:
    """Return that a kernel does not fit on the device, None where all do."""
    for number, kernel in enumerate(found.kernels):
        for excess in find_excesses(found.device, kernel):
            told = tell_excess(excess, found.device, number)
            return failed(told.reason, told.hint)
    return None


@check("gpu_cost", options=CostOptions, needs=("gpu",))
def gpu_cost(case: Case, options: CostOptions) -> Outcome:
    """The kernels take few cycles in the model of the device.

    The points are linear in the logarithm of the cycles, between the unscheduled function's and
    the course's.
    """
    found = GPU.of(case)
    if isinstance(found, Problem):
        return not_graded(found)
    if faults(found) or wrong_samples(found.outputs, case.comparison).any():
        # Another check has the cause: the report lists that one, with these points.
        return not_graded(Problem(say("gpu-cost-of-wrong"), say("gpu-mend-first"), code="waits"))
    excess = _too_large(found)
    if excess is not None:
        return excess
    cycles = cycles_of(found.device, found.kernels)
    reason = say("gpu-cycles", cycles=cycles, naive=options.naive, reference=options.reference)
    if options.dlight is not None:
        reason = join(reason, say("gpu-cycles-of-dlight", dlight=options.dlight))
    return partial(share(cycles, options.naive, options.reference), reason, _advice(found))


def _advice(found: FoundKernels) -> Text:
    """Return what to change first: what the slowest kernel takes its time for."""
    costs = [cost_of(found.device, each) for each in found.kernels]
    slowest = max(range(len(costs)), key=lambda each: costs[each].cycles)
    kernel, bottleneck = found.kernels[slowest], costs[slowest].bottleneck
    texts = [[each.text for each in one.traffic] for one in found.kernels]
    count = texts.count(texts[slowest])  # in the last round of a loop some threads are idle
    if count > 1:
        return say("gpu-same-kernel", count=count)
    copied = _copied_by_several(kernel, bottleneck)
    if copied:
        return copied
    accesses = [each for each in kernel.traffic if each.scope == bottleneck]
    changes = [*_summed(kernel, accesses), *map(_spread, accesses)]
    best = max(changes, key=lambda each: each.saves, default=None)
    saved = sum(each.saves for each in changes)  # alike of three buffers, each is a quarter
    if best is not None and saved * WORTH > sum(each.units for each in accesses):
        return best.advice
    if bottleneck == "global" and not any(_is_shared(each, kernel.block) for each in accesses):
        return say("gpu-move-each-once")
    return _OTHERWISE[bottleneck]


def _is_shared(access: Traffic, block: tuple[int, ...]) -> bool:
    """Say whether several threads of a block load one element: it names not all of their axes."""
    axes = (f"threadIdx.{name}" for name, extent in zip("xyz", block, strict=False) if extent > 1)
    return access.kind == "load" and any(axis not in access.access for axis in axes)


def _copied_by_several(kernel: KernelCounts, bottleneck: Bottleneck) -> Text:
    """Return that many threads fill the same shared memory, where that takes the time.

    Its loops were computed at the right place, and bound to no thread, or only to one axis.
    """
    copies = ((_threads_of_each(store), store) for store in kernel.traffic)
    threads, copy = max(copies, key=lambda each: each[0] * each[1].bytes, default=(0, None))
    if threads < _MANY or copy is None or share_of_copy(kernel, copy, bottleneck) * WORTH < 1:
        return NOTHING
    statement = quoted(copy.text)
    return say("gpu-copied-by-several", threads=threads, buffer=shown(copy.buffer), text=statement)


_MANY = 2

_LOOP = re.compile(r"\[.*(?<![\w.])(?!(?:block|thread)Idx\b)[A-Za-z_]")
"""An element that a loop chooses: of `S[0]` there is none to share out."""


def _threads_of_each(store: Traffic) -> int:
    """Return how many threads store the same element of shared memory; 0 where no loop does."""
    if (store.kind, store.scope) != ("store", "shared") or not _LOOP.search(store.access):
        return 0
    return store.bytes // max(1, store.bytes - store.repeated)


class _Change(NamedTuple):
    """A change, and how many units it saves."""

    saves: int
    advice: Text


def _summed(kernel: KernelCounts, accesses: list[Traffic]) -> Iterator[_Change]:
    """Yield the sums that go to global memory in each round: their start alone would do.

    `A[i] = A[i] + B[i]`, which each thread executes once, has no rounds.
    """
    once = kernel.executed * -(-math.prod(kernel.block) // WARP)
    loads = {(each.statement, each.buffer): each for each in accesses if each.kind == "load"}
    for store in accesses:
        load = loads.get((store.statement, store.buffer))
        if load is None or (store.kind, store.scope) != ("store", "global"):
            continue
        if store.requests > once:
            advice = say("gpu-sum-locally", buffer=shown(store.buffer))
            yield _Change(load.units + store.units, advice)


def _spread(access: Traffic) -> _Change:
    """Return the change of an access whose threads touch no neighbours."""
    told = say("gpu-coalesce") if access.scope == "global" else say("gpu-bank-conflicts")
    advice = say(
        told,
        units=access.units,
        least=access.least,
        buffer=shown(access.buffer),
        statement=quoted(access.text),
    )
    return _Change(access.units - access.least, advice)


_OTHERWISE = {
    "global": say("gpu-fewer-sectors"),
    "shared": say("gpu-fewer-passes"),
    "operations": say("gpu-fewer-operations"),
    "waits": say("gpu-fewer-waits"),
}
