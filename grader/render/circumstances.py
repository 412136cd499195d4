"""Under which circumstances a submission was graded, in sentences: for every rendering."""

from __future__ import annotations

from collections.abc import Iterator

from grader.language import in_a_row, mark, say
from grader.render import wording
from grader.report import Report, Submission

_HIDDEN = mark("{count:,} hidden random input"), mark("{count:,} hidden random inputs")
_IMAGES = mark("{count:,} test image"), mark("{count:,} test images")
_CORES = mark("{count:,} core"), mark("{count:,} cores")
_STAGES = {"data": mark("data"), "notebook": mark("notebook"), "parts": mark("parts")}
"""What is said of the stages of a grading."""


def circumstances(report: Report) -> Iterator[tuple[str, str]]:
    """Yield what is to be said, each with its name; foreign text in it is on one line."""
    for name, value in (
        (say("Assignment"), _assignment(report)),
        (say("Dialect"), _dialect(report)),
        (say("Data"), _data(report)),
        (say("Isolation"), _with_detail(report.sandbox.level, report.sandbox.detail)),
        (say("Machine"), _machine(report)),
        (say("Versions"), _versions(report)),
        (say("Seed"), str(report.seed or "")),  # 0 where the audience may not know it
        (say("Graded"), _graded(report)),
        (say("Duration"), _duration(report)),
    ):
        if value:
            yield name, wording.one_line(value)


def cells_run(submission: Submission) -> str:
    """Say how many of the code cells ran."""
    executed, cells = submission.executed, submission.cells
    if not cells:
        return say("No code cell was run.")
    if executed == cells == 1:
        return say("The code cell ran to its end.")
    if executed == cells:
        return say("All {cells} code cells ran to their end.", cells=cells)
    if cells == 1:
        return say("{executed} of 1 code cell ran to the end.", executed=executed)
    return say("{executed} of {cells:,} code cells ran to the end.", executed=executed, cells=cells)


def _assignment(report: Report) -> str:
    assignment = report.assignment
    if not assignment.slug:
        return ""
    return say("{slug}, version {version}", slug=assignment.slug, version=assignment.version)


def _graded(report: Report) -> str:
    if report.graded is None:
        return ""
    return f"{report.graded:%Y-%m-%d %H:%M %Z}"


def _dialect(report: Report) -> str:
    if report.dialect == "current":
        return ""
    return say("TVM as it was in {dialect}; it was run in today's spelling", dialect=report.dialect)


def _data(report: Report) -> str:
    data = report.data
    if not data.name:
        return ""
    hidden = wording.counted(data.hidden, *_HIDDEN)
    if data.name == "none":
        return _with_detail(hidden, data.detail)
    images = wording.counted(data.images, *_IMAGES)
    compared = say("{name}: {images} and {hidden}", name=data.name, images=images, hidden=hidden)
    return _with_detail(compared, data.detail)


def _with_detail(text: str, detail: str) -> str:
    return say("{text}. {detail}", text=text, detail=detail) if detail else text


def _machine(report: Report) -> str:
    environment = report.environment
    cores = wording.counted(environment.cores, *_CORES)
    return say("{cpu}, {cores}", cpu=environment.cpu, cores=cores)


def _versions(report: Report) -> str:
    environment = report.environment
    packages = [f"{name} {version}" for name, version in environment.packages.items()]
    return ", ".join([f"Python {environment.python}", *packages])


def _duration(report: Report) -> str:
    duration = report.duration
    total = wording.seconds(duration.total)
    stages = in_a_row(
        f"{say(_STAGES.get(name, name))} {wording.seconds(value)}"
        for name, value in duration.stages.items()
    )
    return say("{total} ({stages})", total=total, stages=stages) if stages else total
