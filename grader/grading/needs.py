"""What the checks of a part ask for: which evidence, of what, and how it is measured."""

from grader.assignment import Assignment, PartTable
from grader.checks import kinds as registered
from grader.checks.kinds.schedule import StepOptions
from grader.course import CourseAssignment
from grader.evidence.candidates import runner_kind
from grader.evidence.plug import kinds_of, part_needs
from grader.evidence.registry import find_check
from grader.evidence.runners import Kind, RunnerPool
from grader.evidence.subject import Subject
from grader.measurement.measure import Machine, MeasurementSetup, measuring_threads
from grader.measurement.points import SpeedOptions

assert registered.__all__  # importing the package registers the checks


def expected_runners(course_assignment: CourseAssignment) -> list[Kind]:
    """Return the runners that a complete submission will need, one for each first task."""
    kinds: list[Kind] = []
    for part in course_assignment.assignment.part:
        needs = part_needs(part)
        if "outputs" in needs:
            kinds.append(runner_kind(part))
        kinds += ["pure" for need in ("stubs", "replay") if need in needs]
        kinds += ["pure" for kind in kinds_of(part) for _ in range(kind.runners)]
        kinds += ["timing"] if "timing" in needs else []
    return kinds


def timing_threads(assignment: Assignment) -> int:
    """Return how many threads a timed schedule may use here; 1 when nothing is timed."""
    timed = [part for part in assignment.part if "timing" in part_needs(part)]
    return max((measuring_threads(speed_options(part)[0].threads) for part in timed), default=1)


def speed_options(part: PartTable) -> tuple[SpeedOptions, float]:
    """Return the options of a part's check of speed, and its points."""
    for table in part.check:
        options = find_check(table).parse(table)
        if isinstance(options, SpeedOptions):
            return options, table.points
    raise AssertionError(f"part {part.id} is timed without a speed check")


def replayed(part: PartTable) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the weight's shape and the larger batches that the checks of a part ask for."""
    parsed = [find_check(table).parse(table) for table in part.made]
    weights = [each.weight for each in parsed if isinstance(each, SpeedOptions | StepOptions)]
    batches = [each.batches for each in parsed if isinstance(each, SpeedOptions)]
    return next(filter(None, weights), ()), batches[0] if batches else ()


def timing_setup(
    course_assignment: CourseAssignment, part: PartTable, runners: RunnerPool, machine: Machine
) -> MeasurementSetup:
    """Return how a part with a check of speed is measured."""
    options, points = speed_options(part)
    return MeasurementSetup(
        workload=course_assignment.workload(),
        options=options,
        subject=Subject(options.weight, course_assignment.assignment.comparison(part)),
        points=points,
        runners=runners,
        machine=machine,
    )
