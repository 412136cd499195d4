"""What a grading is put together of: runners, a referee, and what the kernel looks for."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from typing import Literal

import msgspec
from msgspec.structs import replace

from grader.assignment import Assignment, PartTable
from grader.course import CourseAssignment
from grader.environment import usable_cores
from grader.evidence.answers import Answers
from grader.evidence.case import Problem
from grader.evidence.runner_client import Runner, start_runner, start_timing_runner
from grader.evidence.runners import Kind, RunnerPool
from grader.execute.captures import Taken
from grader.execute.result import Execution, LostCell
from grader.grading.ahead import BuiltAhead
from grader.grading.needs import timing_threads
from grader.grading.preparation import Preparation, Settings, as_given
from grader.grading.referee import Referee
from grader.measurement.library import Arrays, LibraryTime, measure_library
from grader.measurement.measure import Machine, measuring_cpus
from grader.messages.kernel import ArgumentSpec, EntrySpec, ModelSpec
from grader.progress import Progress
from grader.sandbox.interface import Sandbox
from grader.sandbox.room import Stay


def open_runners(
    prepared: Preparation, program: Literal["runner", "mutants"] = "runner"
) -> RunnerPool:
    """Return a pool of runners of a program with the assignment's limits."""
    assignment, settings = prepared.course_assignment.assignment, prepared.settings
    memory = assignment.limits.resources().memory

    def admit(kind: Kind) -> AbstractContextManager[Stay]:
        most = 2 * memory if kind == "extern" else memory  # that of its evaluator, too
        return settings.room.taken(f"{assignment.slug} {kind}", most)

    start = runner_starter(settings.sandbox, assignment, program)
    limits = msgspec.msgpack.encode(assignment.limits)
    return RunnerPool(start, assignment.limits.task_seconds, admit, settings.known, limits)


def make_referee(
    prepared: Preparation, answers: Answers, runners: RunnerPool, progress: Progress
) -> Referee:
    """Return the referee of one grading."""
    return Referee(
        prepared.course_assignment,
        answers,
        runners,
        prepared.part_seeds(),
        _machine(prepared.settings, prepared.course_assignment),
        progress,
    )


def lost_cells(execution: Execution, prepared: Preparation) -> tuple[LostCell, ...]:
    """Return the cells that did not run to their end, and say of each if it is the handout's."""
    lost = execution.lost
    if not lost:  # templates are read for what failed only
        return ()
    given = prepared.handout()
    return tuple(replace(each, is_given=as_given(each.source) in given) for each in lost)


@contextmanager
def building_ahead(
    prepared: Preparation, answers: Future[Answers], runners: RunnerPool
) -> Iterator[Taken | None]:
    """Build captures while the notebook runs, where nothing else does; enter what takes them."""
    if not prepared.settings.builds_ahead:
        yield None
        return
    course_assignment = prepared.course_assignment
    machine = _machine(prepared.settings, course_assignment)
    at_once = _builds_at_once(prepared)
    with BuiltAhead(course_assignment, answers, runners, machine, at_once) as built:
        yield built.take


def _builds_at_once(prepared: Preparation) -> int:
    """Return how many runners may build beside a notebook, which keeps a processor and memory."""
    memory = prepared.course_assignment.assignment.limits.resources().memory
    return max(1, min(usable_cores(), prepared.settings.room.capacity // memory) - 1)


def _machine(settings: Settings, course_assignment: CourseAssignment) -> Machine:
    text = course_assignment.library()

    def time_library(variant: str, arrays: Arrays, cpus: tuple[int, ...]) -> LibraryTime | Problem:
        def measure() -> LibraryTime | Problem:
            return measure_library(settings.sandbox, text or "", variant, arrays, cpus)

        shapes = tuple((each.shape, each.dtype.str) for each in arrays)
        return settings.library_times.find((text, variant, shapes, cpus), measure)

    timer = None if text is None else time_library
    return Machine(measuring_cpus, timer, settings.limits)


def entries_of(prepared: Preparation) -> tuple[EntrySpec, ...]:
    """Return what the capture looks for, one for each part."""
    arguments = _arguments(prepared.course_assignment.assignment)
    return tuple(
        EntrySpec(
            part.id,
            part.entry_kind,
            part.entry,
            holds="model" if part.computation is None else "function",
            model=_model(prepared, part),
            arguments=arguments,
        )
        for part in prepared.course_assignment.assignment.part
    )


def _arguments(assignment: Assignment) -> tuple[ArgumentSpec, ...]:
    """Return what entry points are given by the names of their parameters."""
    declared, oracle = assignment.arguments, assignment.oracle
    shape = () if oracle is None else (declared.batch, *oracle.input_shape)
    names = declared.by_meaning()
    every = (
        ArgumentSpec("parameters", names.get("parameters", ()), file=assignment.data.parameters),
        ArgumentSpec("batch_size", names.get("batch_size", ()), shape),
        ArgumentSpec("input_shape", names.get("input_shape", ()), shape),
        ArgumentSpec("image", names.get("image", ()), shape),
        ArgumentSpec("module", names.get("module", ()), part=declared.module_of),
    )
    return tuple(each for each in every if each.names or each.part)


def _model(prepared: Preparation, part: PartTable) -> ModelSpec | None:
    assignment = prepared.course_assignment.assignment
    found = [each for each in assignment.computation if each.id == part.computation and each.model]
    if not found:
        return None
    shapes = tuple(each.shape for each in found[0].arguments)
    code = prepared.course_assignment.models()
    return ModelSpec(code, found[0].model, prepared.model_seed(), shapes)


def runner_starter(
    sandbox: Sandbox, assignment: Assignment, program: Literal["runner", "mutants"] = "runner"
) -> Callable[[Kind], Runner]:
    """Return what starts a runner of each kind, within an assignment's limits."""
    limits = assignment.limits.resources()

    def start(kind: Kind) -> Runner:
        if kind == "timing":
            return start_timing_runner(sandbox, limits, timing_threads(assignment))
        return start_runner(sandbox, kind, limits, {"TVM_NUM_THREADS": "1"}, program)

    return start
