"""Under which circumstances a submission was graded, in sentences: for every rendering."""

from __future__ import annotations

from collections.abc import Iterator

from grader.language import Text, in_a_row, say
from grader.render import wording
from grader.render.speech import tell
from grader.report import Report, Submission

_HIDDEN = say("{count:,} hidden random input"), say("{count:,} hidden random inputs")
_IMAGES = say("{count:,} test image"), say("{count:,} test images")
_CORES = say("{count:,} core"), say("{count:,} cores")
_STAGES = {"data": say("data"), "notebook": say("notebook"), "parts": say("parts")}
"""What is said of the stages of a grading."""


def circumstances(report: Report) -> Iterator[tuple[str, str]]:
    """Yield what is to be said, each with its name; foreign text in it is on one line."""
    for name, value in (
        (tell("Assignment"), _assignment(report)),
        (tell("Dialect"), _dialect(report)),
        (tell("Data"), _data(report)),
        (tell("Isolation"), _with_detail(report.sandbox.level, report.sandbox.detail)),
        (tell("Machine"), _machine(report)),
        (tell("Versions"), _versions(report)),
        (tell("Seed"), str(report.seed or "")),  # 0 where the audience may not know it
        (tell("Graded"), _graded(report)),
        (tell("Duration"), _duration(report)),
    ):
        if value:
            yield name, wording.one_line(value)


def cells_run(submission: Submission) -> str:
    """Say how many of the code cells ran."""
    executed, cells = submission.executed, submission.cells
    if not cells:
        return tell("No code cell was run.")
    if executed == cells == 1:
        return tell("The code cell ran to its end.")
    if executed == cells:
        return tell("All {cells} code cells ran to their end.", cells=cells)
    if cells == 1:
        return tell("{executed} of 1 code cell ran to the end.", executed=executed)
    return tell(
        "{executed} of {cells:,} code cells ran to the end.", executed=executed, cells=cells
    )


def _assignment(report: Report) -> str:
    assignment = report.assignment
    if not assignment.slug:
        return ""
    return tell("{slug}, version {version}", slug=assignment.slug, version=assignment.version)


def _graded(report: Report) -> str:
    if report.graded is None:
        return ""
    return f"{report.graded:%Y-%m-%d %H:%M %Z}"


def _dialect(report: Report) -> str:
    if report.dialect == "current":
        return ""
    return tell(
        "TVM as it was in {dialect}; it was run in today's spelling", dialect=report.dialect
    )


def _data(report: Report) -> str:
    data = report.data
    if not data.name:
        return ""
    hidden = wording.counted(data.hidden, *_HIDDEN)
    if data.name == "none":
        return _with_detail(hidden, data.detail)
    images = wording.counted(data.images, *_IMAGES)
    compared = tell("{name}: {images} and {hidden}", name=data.name, images=images, hidden=hidden)
    return _with_detail(compared, data.detail)


def _with_detail(text: str, detail: Text) -> str:
    return tell("{text}. {detail}", text=text, detail=detail) if detail else text


def _machine(report: Report) -> str:
    environment = report.environment
    cores = wording.counted(environment.cores, *_CORES)
    return tell("{cpu}, {cores}", cpu=environment.cpu, cores=cores)


def _versions(report: Report) -> str:
    environment = report.environment
    packages = [f"{name} {version}" for name, version in environment.packages.items()]
    return ", ".join([f"Python {environment.python}", *packages])


def _duration(report: Report) -> str:
    duration = report.duration
    total = wording.seconds(duration.total)
    stages = in_a_row(
        f"{tell(_STAGES[name]) if name in _STAGES else name} {wording.seconds(value)}"
        for name, value in duration.stages.items()
    )
    return tell("{total} ({stages})", total=total, stages=stages) if stages else total
