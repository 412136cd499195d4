"""What a report shows of kernels: what each access moves, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from grader.evidence.gpu.cost import cost_of, intensity
from grader.evidence.gpu.devices import Device, find_excesses
from grader.evidence.gpu.found import FoundKernels
from grader.evidence.gpu.messages import Finding, KernelCounts, Traffic
from grader.evidence.gpu.sentences import extents, quoted, tell
from grader.language import Text, foreign, join, say
from grader.report import Bar, Bars, Grid, Paragraph, Section

SHOWN_STATEMENT, SHOWN_ACCESS = 60, 90
"""Longest statement and element in a table, in characters."""

MOST_ROWS = 24
"""Most accesses that are shown, those that move most."""

_CAUSES = {
    "global": say("gpu-cause-global"),
    "shared": say("gpu-cause-shared"),
    "operations": say("gpu-cause-operations"),
    "waits": say("gpu-cause-waits"),
}


def show_kernels(found: FoundKernels) -> Section | None:
    """Return the section of a part's kernels, None where there are none."""
    if not found.kernels:
        return None
    blocks: list[Paragraph | Bars | Grid] = []
    figures: dict[str, int | float | str] = {"device": found.device.name}
    for number, kernel in enumerate(found.kernels, start=1):
        figures.update(_figures(number, kernel, found.device))
    number = 1
    for kernel, alike in groupby(found.kernels):
        blocks.extend(_blocks(number, kernel, found.device, found.findings))
        last = number + len([*alike]) - 1
        if number < last:
            blocks.append(Paragraph(say("gpu-alike", first=number + 1, last=last)))
        number = last + 1
    title = say("gpu-section", device=found.device.name, card=found.device.card)
    return Section(title=title, blocks=tuple(blocks), figures=figures)


def _blocks(
    number: int, kernel: KernelCounts, device: Device, findings: tuple[Finding, ...]
) -> Iterator[Paragraph | Bars | Grid]:
    cost = cost_of(device, kernel)
    launch = say(
        "gpu-launch",
        number=number,
        grid=extents(kernel.grid),
        block=extents(kernel.block),
        shared=kernel.shared_bytes + kernel.dynamic_bytes,
        registers=kernel.registers,
    )
    if find_excesses(device, kernel):
        yield Paragraph(join(launch, say("gpu-too-large-to-run")))
        return
    resident = say("gpu-resident", resident=cost.resident, occupancy=cost.occupancy)
    yield Paragraph(join(launch, resident))
    for finding in findings:
        if finding.kind == "needless_barrier" and finding.kernel == number - 1:
            yield Paragraph(join(*tell(finding)))
    cycles = cost.causes
    yield Bars(
        tuple(
            Bar(_CAUSES[cause], float(cycles[cause]), say("gpu-cycles-of", cycles=cycles[cause]))
            for cause in cycles
        )
    )
    rows = sorted(kernel.traffic, key=lambda each: (-each.units, each.statement, each.kind))
    head = (
        say("gpu-column-statement"),
        say("gpu-column-access"),
        say("gpu-column-requests"),
        say("gpu-column-moved"),
        say("gpu-column-least"),
    )
    yield Grid(head, tuple(map(_row, rows[:MOST_ROWS])))


def _row(traffic: Traffic) -> tuple[Text, ...]:
    kinds = {"load": say("gpu-load-of"), "store": say("gpu-store-of")}
    units = {"global": say("gpu-sectors"), "shared": say("gpu-passes")}[traffic.scope]
    return (
        quoted(_without_indices(traffic.text), SHOWN_STATEMENT),
        say(kinds[traffic.kind], element=quoted(traffic.access, SHOWN_ACCESS)),
        foreign(f"{traffic.requests:,}"),
        say(units, count=traffic.units),
        foreign(f"{traffic.least:,}"),
    )


def _without_indices(statement: str) -> str:
    """Return a statement with what stands in brackets left out: the access beside it has it."""
    depth, kept = 0, ""
    for each in statement:
        depth -= each == "]"
        kept += each if depth == 0 else ""
        if each == "[":
            kept += "…" if depth == 0 else ""
            depth += 1
    return kept + "]" * bool(depth)


def _figures(
    number: int, kernel: KernelCounts, device: Device
) -> Iterator[tuple[str, int | float | str]]:
    """Return the same facts for programs: whole numbers, the same on every machine."""
    cost = cost_of(device, kernel)
    yield f"kernel_{number}_cycles", cost.cycles
    yield f"kernel_{number}_bottleneck", cost.bottleneck
    yield f"kernel_{number}_occupancy", cost.occupancy
    yield f"kernel_{number}_operations", kernel.operations
    for scope in ("global", "shared"):
        chosen = [each for each in kernel.traffic if each.scope == scope]
        yield f"kernel_{number}_{scope}_bytes", sum(each.bytes for each in chosen)
        yield f"kernel_{number}_{scope}_units", sum(each.units for each in chosen)
        yield f"kernel_{number}_{scope}_least", sum(each.least for each in chosen)
    reached = intensity(kernel)
    if reached < float("inf"):
        yield f"kernel_{number}_intensity", round(reached, 4)
