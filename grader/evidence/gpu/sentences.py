"""Faults of a kernel in words: what happened, which threads and statements, what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from grader.evidence.gpu.devices import Device, Excess
from grader.evidence.gpu.found import FoundStep
from grader.evidence.gpu.messages import Access, Axes, Change, Finding
from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, foreign, say

SHOWN_STATEMENT = 120
"""Longest statement that a sentence repeats, in characters."""


class Told(NamedTuple):
    """A fault, and the next step."""

    reason: Text
    hint: Text


def tell(finding: Finding, *, scheduled: bool = False) -> Told:
    """Return the sentences for a finding.

    Who hands in a schedule sets no barriers: TVM does, for shared memory alone.
    """
    told = _TELLING[finding.kind](finding)
    if scheduled and finding.kind in _OF_SCHEDULES:
        told = told._replace(hint=_OF_SCHEDULES[finding.kind](finding) or told.hint)
    return told


def quoted(statement: str, most: int = SHOWN_STATEMENT) -> Text:
    """Return a statement as code, cut where it is longer than `most` characters."""
    clean = "".join(each for each in statement if each.isprintable() and each != "`")
    return foreign(f"`{clean if len(clean) <= most else clean[: most - 1] + '…'}`")


def extents(axes: Axes) -> Text:
    """Return how many there are along x, y and z, without what is one at the end."""
    x, y, z = axes
    counts = (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)
    return foreign(" x ".join(f"{each:,}" for each in counts))


def place(axes: Axes) -> Text:
    """Return where a thread or a block is: only x where y and z are 0."""
    x, y, z = axes
    return foreign(f"({x}, {y}, {z})" if z else f"({x}, {y})" if y else str(x))


def _element(finding: Finding) -> Text:
    return foreign(f"{shown(finding.buffer)[:-1]}[{', '.join(map(str, finding.element))}]`")


def _race(finding: Finding) -> Told:
    first, second = finding.accesses
    both = {"element": _element(finding), "first": _who(first), "second": _who(second)}
    in_loop = say("gpu-barrier-in-loop", loop=shown(finding.loop)) if finding.loop else None
    if _is_one_statement(finding):
        statement = quoted(first.text)
        if in_loop is None:
            reason = say("gpu-race-in-one-statement", **both, statement=statement)
            return Told(reason, say("gpu-own-element-written"))
        loop = shown(finding.loop)
        return Told(say("gpu-race-in-two-rounds", **both, statement=statement, loop=loop), in_loop)
    places = {"before": quoted(first.text), "after": quoted(second.text)}
    return Told(say("gpu-race", **both, **places), in_loop or say("gpu-barrier-between", **places))


def _is_one_statement(finding: Finding) -> bool:
    first, second = finding.accesses
    return first.statement == second.statement


def _who(access: Access) -> Text:
    told = say("gpu-thread-stores") if access.kind == "store" else say("gpu-thread-loads")
    return say(told, thread=place(access.thread))


def _block_race(finding: Finding) -> Told:
    first, second = finding.accesses
    if _is_one_statement(finding):
        reason = say(
            "gpu-block-race-in-one-statement",
            element=_element(finding),
            first=place(first.block),
            second=place(second.block),
            statement=quoted(first.text),
        )
        return Told(reason, say("gpu-own-block"))
    reason = say(
        "gpu-block-race",
        element=_element(finding),
        first=place(first.block),
        second=place(second.block),
        before=quoted(first.text),
        after=quoted(second.text),
    )
    return Told(reason, say("gpu-two-kernels"))


def _unwritten(finding: Finding) -> Told:
    (load,) = finding.accesses
    reason = say(
        "gpu-unwritten",
        element=_element(finding),
        thread=place(load.thread),
        block=place(load.block),
        statement=quoted(load.text),
    )
    hints = {
        "shared": say("gpu-fetch-all"),
        "local": say("gpu-local-is-own"),
        "own": say("gpu-set-scope"),
    }
    return Told(reason, hints.get(finding.scope, say("gpu-store-first")))


def _bounds(finding: Finding) -> Told:
    (access,) = finding.accesses
    reason = say(
        "gpu-bounds",
        element=_element(finding),
        thread=place(access.thread),
        block=place(access.block),
        statement=quoted(access.text),
    )
    return Told(reason, say("gpu-compare-index"))


def _divergent(finding: Finding) -> Told:
    return Told(say("gpu-divergent-barrier", where=_barrier(finding)), say("gpu-all-reach-barrier"))


def _barrier(finding: Finding) -> Text:
    """Return where a barrier is, by the statements around it."""
    before, after = quoted(finding.before), quoted(finding.text)
    if not finding.before:
        return say("gpu-before", statement=after)
    if not finding.text:
        return say("gpu-after", statement=before)
    return say("gpu-between", before=before, after=after)


def _outside(finding: Finding) -> Told:
    if finding.scope:
        buffer = shown(finding.buffer)
        return Told(
            say("gpu-allocated-outside", buffer=buffer, scope=finding.scope),
            say("gpu-allocate-inside"),
        )
    return Told(say("gpu-outside-kernel", statement=quoted(finding.text)), say("gpu-bind-loops"))


def _other_name(finding: Finding) -> Told:
    first, second = finding.accesses
    reason = say(
        "gpu-other-name",
        element=_element(finding),
        before=quoted(first.text),
        after=quoted(second.text),
    )
    return Told(reason, say("gpu-allocate-both"))


def _unstored(finding: Finding) -> Told:
    return Told(say("gpu-unstored", element=_element(finding)), say("gpu-store-all"))


def _axis_of_its_own(_finding: Finding) -> Text:
    return say("gpu-axis-of-its-own")


def _shared_or_within(finding: Finding) -> Text:
    """Return what a schedule may do about local memory that threads share; else nothing."""
    if finding.scope != "local":
        return NOTHING
    return say("gpu-local-of-schedule", buffer=shown(finding.buffer))


def _moved_into_loops(finding: Finding) -> Text:
    """Return what a schedule may do about memory of a block outside of it: it allocates none."""
    if not finding.scope:
        return NOTHING
    return say("gpu-move-into-loops", buffer=shown(finding.buffer))


def _own_or_shared(finding: Finding) -> Text:
    """Return what a schedule may do about a race: TVM sets the barriers of shared memory."""
    if _is_one_statement(finding):
        return say("gpu-own-element")
    return say("gpu-share-buffer", buffer=shown(finding.buffer))


_OF_SCHEDULES: dict[str, Callable[[Finding], Text]] = {
    "race": _own_or_shared,
    "unwritten": _shared_or_within,
    "unstored": _axis_of_its_own,
    "outside_kernel": _moved_into_loops,
}
"""What to do in a schedule, whose author writes no statement."""


def _needless(finding: Finding) -> Told:
    return Told(say("gpu-needless-barrier", where=_barrier(finding)), say("gpu-remove-barrier"))


def tell_change(change: Change) -> Text:
    """Say what to change, which was tried: nothing else is to be done."""
    before, after = quoted(change.before), quoted(change.after)
    statement = quoted(change.statement)
    if change.kind == "barrier":
        if not change.after:
            return say("gpu-barrier-in-loop-tried", loop=statement)
        return say("gpu-barrier-between-tried", before=before, after=after)
    told = {
        "extent": say("gpu-extent-tried"),
        "axis": say("gpu-axis-tried"),
        "scope": say("gpu-scope-tried"),
        "condition": say("gpu-condition-tried"),
        "everywhere": say("gpu-everywhere-tried"),
    }.get(change.kind, say("gpu-change-tried"))
    return say(told, before=before, after=after, statement=statement)


def tell_step(found: FoundStep) -> Text:
    """Say which step of a schedule to change, by the student's own line; that was tried."""
    change = found.change
    texts = {"before": quoted(change.before), "after": quoted(change.after)}
    return say(_STEPS[change.kind], **texts, where=_where(found))


def _where(found: FoundStep) -> Text:
    line = found.line
    if not line.line:
        return say("gpu-step-number", number=found.change.place + 1)
    return say("gpu-step-line", cell=line.cell, line=line.line, text=quoted(line.text))


_STEPS: dict[str, Text] = {
    "axis": say("gpu-step-axis"),
    "axes": say("gpu-step-axes"),
    "scope": say("gpu-step-scope"),
    "loop": say("gpu-step-loop"),
    "order": say("gpu-step-order"),
    "factors": say("gpu-step-factors"),
    "exchanged": say("gpu-step-exchanged"),
    "fused": say("gpu-step-fused"),
    "left_out": say("gpu-step-left-out"),
    "bind_missing": say("gpu-step-bind-missing"),
    "place_missing": say("gpu-step-place-missing"),
    "place_missing_reverse": say("gpu-step-place-missing"),
}

_TELLING: dict[str, Callable[[Finding], Told]] = {
    "race": _race,
    "block_race": _block_race,
    "unwritten": _unwritten,
    "bounds": _bounds,
    "divergent_barrier": _divergent,
    "outside_kernel": _outside,
    "needless_barrier": _needless,
    "other_name": _other_name,
    "unstored": _unstored,
}

_LIMITS = {
    "threads": (say("gpu-limit-threads"), say("gpu-smaller-block")),
    "block": (say("gpu-limit-block"), say("gpu-smaller-block")),
    "grid": (say("gpu-limit-grid"), say("gpu-smaller-grid")),
    "static_bytes": (say("gpu-limit-static"), say("gpu-smaller-tiles")),
    "shared_bytes": (say("gpu-limit-shared"), say("gpu-smaller-tiles")),
}


def tell_excess(excess: Excess, device: Device, kernel: int) -> Told:
    """Say what of a kernel does not fit on a device."""
    limit, _, axis = excess.limit.partition(".")
    reason, hint = _LIMITS[limit]
    told = say(
        reason,
        kernel=kernel + 1,
        axis=axis,
        value=excess.value,
        most=excess.most,
        device=device.name,
    )
    return Told(told, hint)
