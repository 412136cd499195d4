"""Grading the parts of one submission, from captures to points.

Three rounds: `compare` runs and judges every part's candidates on what they compute, parts beside
each other; then `time`, with nothing else running, measures the best candidates of the parts that
score speed, for which `compile_timed` makes ready; then `judge` judges these by what was measured.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from grader.assignment import PartTable
from grader.checks.kinds.measured import EquivalenceOptions
from grader.course import CourseAssignment
from grader.diagnosis.carrying import judge_layers
from grader.diagnosis.explain import explain_case
from grader.diagnosis.report import Diagnosed
from grader.evidence.answers import Answers
from grader.evidence.candidates import (
    READ_LIMIT,
    candidate_limit,
    gather_outputs,
    gather_stubs,
    in_order,
    inspect,
    is_given,
    is_meant,
)
from grader.evidence.case import Candidate, Case, Evidence, Outputs, Problem, TimedSchedule
from grader.evidence.plug import EvidenceKind, Question, admission, kinds_of, part_needs, tables_of
from grader.evidence.problems import wrong_samples
from grader.evidence.registry import find_check
from grader.evidence.replay import NO_SCHEDULE, gather_replay
from grader.evidence.runners import RunnerPool
from grader.evidence.subject import Subject
from grader.execute.result import LostCell, Written
from grader.grading.absence import explain_absence, explain_stale
from grader.grading.half_made import find_stop, with_other_stop
from grader.grading.judge import (
    Graded,
    Refused,
    first_timing,
    is_complete,
    judge_case,
    judge_problem,
    nothing_counts,
    select,
    stop_of,
)
from grader.grading.needs import replayed, timing_setup
from grader.grading.rescoring import outdoes
from grader.language import NOTHING, foreign, say
from grader.measurement.measure import Machine, Measured, MeasurementSetup
from grader.measurement.speed import compare_timed, gather_timing, timing_to_come
from grader.measurement.steps.gather import (
    MeasuredSteps,
    StepsTask,
    gather_steps,
    steps_task,
    unproven,
)
from grader.measurement.steps.read import read_steps, without_times
from grader.messages.kernel import Capture, CaptureFailure
from grader.progress import Progress
from grader.report import Origin, Part, Timing

TIMED_LIMIT = 3
"""Most candidates of one part that are timed, when several earn the same otherwise."""


Compared = list[tuple[PartTable, list[Graded]]]
"""Each part with its candidates, judged on everything but time, best first."""


class MeasuredCandidate(NamedTuple):
    """A candidate, and what was measured of it; None where it is not timed. `steps` are those of
    the fastest one."""

    graded: Graded
    measured: Measured | Problem | None
    steps: MeasuredSteps | None = None


class TimedPart(NamedTuple):
    """A part, its candidates, and of those that were timed what was measured."""

    part: PartTable
    graded: list[Graded]
    taken: list[MeasuredCandidate]


def has_timing(compared: Compared) -> bool:
    """Say whether a candidate of any part is to be timed."""
    return any(_is_timed(part, graded) for part, graded in compared)


class Referee:
    """Grades parts. Holds the oracle, and the runners that it asks for evidence."""

    def __init__(
        self,
        course_assignment: CourseAssignment,
        answers: Answers,
        runners: RunnerPool,
        seeds: np.random.SeedSequence,
        machine: Machine,
        progress: Progress,
    ) -> None:
        self._course_assignment = course_assignment
        self._answers = answers
        self._runners = runners
        self._machine = machine
        self._progress = progress
        self._given = course_assignment.given()
        self._lost: tuple[LostCell, ...] = ()
        self._written = Written()
        self._mends = True
        parts = course_assignment.assignment.part
        self._seeds = dict(zip((part.id for part in parts), seeds.spawn(len(parts)), strict=True))

    def compare(
        self,
        captures: tuple[Capture | CaptureFailure, ...],
        lost: tuple[LostCell, ...] = (),
        written: Written = Written(),  # noqa: B008
        *,
        mends: bool = True,
    ) -> Compared:
        """Judge all parts on everything but time.

        `lost` are the cells in which a part may stand that is not among the captures, as it may in
        the cells that are `written`. With `mends` kinds of evidence look for what would mend the
        best candidate.
        """
        self._lost, self._written, self._mends = lost, written, mends
        parts = self._course_assignment.assignment.part
        self._progress.stage(say("comparing-with-pytorch"))
        with ThreadPoolExecutor(max_workers=len(parts)) as executor:
            pending = [
                executor.submit(copy_context().run, self._compare, part, captures) for part in parts
            ]
            compared = []
            for done, (part, future) in enumerate(zip(parts, pending, strict=True)):
                self._progress.step(done, len(parts), foreign(part.title))
                compared.append((part, future.result()))
        return compared

    def compile_timed(self, compared: Compared) -> None:
        """Have compiled what is timed first of each part; afterwards nothing of this grading runs.

        Others stand still while something is timed: in a batch of two that was a third of the time,
        and compiling a third of that.
        """
        timed = [(part, graded) for part, graded in compared if _is_timed(part, graded)]
        of_steps = []
        for part, graded in timed:
            case = next(filter(partial(_may_be_timed, part), _best_of(graded))).case
            assert case is not None
            task = timing_to_come(case.candidate, self._setup(part), case.evidence.replay)
            if task is not None:
                self._runners.build(part.id, "timing", task)
            asked = self._steps_task(part, case)
            if asked is not None:
                self._runners.build(_of_steps(part), "timing", asked.task)
                of_steps.append(_of_steps(part))
        self._runners.settle("timing", [*(part.id for part, _ in timed), *of_steps])

    def time(self, compared: Compared) -> list[TimedPart]:
        """Time what is to be timed. Nothing is judged yet: others wait for the end of this."""
        timed = []
        for part, graded in compared:
            taken: list[MeasuredCandidate] = []
            if _is_timed(part, graded):
                self._progress.stage(say("timing-title", title=part.named))
                taken = self._time(part, graded)
            timed.append(TimedPart(part, graded, taken))
        return timed

    def judge(self, timed: Sequence[TimedPart]) -> tuple[tuple[Part, ...], Timing | None]:
        """Judge what was timed. Returns all parts in order, and the timing if one was made."""
        results, timings = [], list[Timing]()
        for part, graded, taken in timed:
            best = graded[0]
            if taken:
                judged = [self._judge_timed(part, each) for each in taken]
                # A refused schedule is told of before a module that its time earns nothing.
                told_first = [best] if best.case is None else []
                best = max([*told_first, *judged], key=lambda each: each.rank(part))
                timings += _timing_of(best, part)
            stop = stop_of(self._course_assignment.assignment, part, graded)
            told = with_other_stop(best.part, stop, part.check)
            results.append(msgspec.structs.replace(told, contested=graded[0].contested))
        return tuple(results), first_timing(timings, self._course_assignment.assignment)

    def _compare(
        self, part: PartTable, captures: tuple[Capture | CaptureFailure, ...]
    ) -> list[Graded]:
        """Judge a part's candidates on everything but time, best first; the list is never empty."""
        candidates = [each for each in captures if each.part == part.id]
        found = [each for each in candidates if isinstance(each, Capture) and is_meant(part, each)]
        failures = tuple(each for each in candidates if isinstance(each, CaptureFailure))
        graded, refused = self._compare_all(part, in_order(found))
        assignment = self._course_assignment.assignment
        best = select(assignment, part, graded, failures)
        layers = partial(self._answers.of(part).layers, [0])
        if not best:
            names = assignment.arguments.names()
            told = self._lost, assignment.preamble, layers, names, self._written
            absent = explain_absence(part, failures, *told)
            return [Graded(judge_problem(part, nothing_counts(refused, part, absent)))]
        origin = best[0].part.origin
        if part.entry_kind == "schedule" and origin is not None and not best[0].part.score:
            stale = explain_stale(origin, self._lost, assignment.preamble, layers)
            if stale is not None:
                return [Graded(judge_problem(part, stale, origin))]
        contested = any(outdoes(each.part, best[0].part) for each in best[1:])
        return [replace(self._explained(part, best[0]), contested=contested), *best[1:]]

    def _compare_all(
        self, part: PartTable, captures: list[Capture]
    ) -> tuple[list[Graded], list[Refused]]:
        """Judge a part's candidates until one is complete; return those that are given besides."""
        graded: list[Graded] = []
        refused: list[Refused] = []
        for capture in captures[:READ_LIMIT]:
            if len(graded) == candidate_limit(part):
                break
            result = self._compare_one(part, capture)
            if isinstance(result, Refused):
                refused.append(result)
                continue
            graded.append(result)
            if is_complete(part, result.part):
                break
        return graded, refused

    def _explained(self, part: PartTable, graded: Graded) -> Graded:
        """Judge a candidate again with what explains outputs that differ, if they do."""
        if graded.case is None:
            return graded
        found = graded.case.evidence.outputs
        oracle = self._answers.of(part).groups[0 if found is None else found.group]
        candidate = graded.case.candidate.taking(oracle.shapes(part))
        diagnosed = Diagnosed(candidate, part, self._course_assignment.assignment, oracle)
        case, wrong, runners = graded.case, _to_share_out(part, graded.case), self._runners
        generator = np.random.default_rng(self._seeds[part.id].spawn(1)[0])
        with ThreadPoolExecutor(max_workers=1) as executor:  # neither needs what the other finds
            explained = executor.submit(copy_context().run, explain_case, case, diagnosed, runners)
            layers = () if wrong is None else judge_layers(diagnosed, wrong, runners, generator)
        case = explained.result()
        found_by_kind = self._mended(part, case) if self._mends else case.evidence.found
        case = replace(case, evidence=replace(case.evidence, layers=layers, found=found_by_kind))
        return Graded(judge_case(part, case), graded.capture, case)

    def _mended(self, part: PartTable, case: Case) -> dict[str, Any]:
        """Return what kinds of evidence have found, with what would mend it.

        Where a schedule begins on a wrong function, no step of it is to be mended.
        """
        found = dict(case.evidence.found)
        for kind in kinds_of(part) if case.evidence.schedule is None else ():
            each = found.get(kind.name)
            if each is not None and not isinstance(each, Problem):
                question = self._question(part, kind, case.candidate)
                found[kind.name] = kind.mend(question, each)
        return found

    def _compare_one(self, part: PartTable, capture: Capture) -> Graded | Refused:
        """Judge one candidate; refuse it where it is what the assignment gives.

        A schedule that arrives at something given is an answer where its steps are proven.
        """
        candidate = inspect(part, capture, admission(part))
        if isinstance(candidate, Problem):
            origin = Origin(capture.name, capture.cell)
            return Graded(judge_problem(part, candidate, origin), capture, fits=False)
        candidate = candidate.taking(self._answers.of(part).shapes(part))
        comparison = self._course_assignment.assignment.comparison(part)
        given = is_given(candidate, comparison, self._given)
        if given and capture.trace is None:
            return Refused(capture)
        candidate, chosen = self._choose(part, candidate)
        evidence = self._gather(part, candidate, given)
        evidence = replace(
            evidence,
            found={**chosen, **evidence.found},
            stopped=find_stop(part, capture, self._lost),
        )
        if given and not (evidence.replay and evidence.replay.proven):
            why = NOTHING if evidence.replay is None else evidence.replay.reason
            return Refused(capture, NOTHING if why in NO_SCHEDULE else why)
        case = Case(candidate, evidence, comparison)
        fits = not isinstance(self._answers.of(part).arrange(part, candidate.signature), Problem)
        return Graded(judge_case(part, case), capture, case, fits)

    def _choose(self, part: PartTable, candidate: Candidate) -> tuple[Candidate, dict[str, object]]:
        """Return the candidate to judge, such as the best schedule of a space, and why it is."""
        found: dict[str, object] = {}
        for kind in kinds_of(part):
            if kind.choose is not None:
                choice = kind.choose(self._question(part, kind, candidate))
                candidate = choice.candidate.taking(self._answers.of(part).shapes(part))
                found[kind.name] = choice.found
        return candidate, found

    def _gather(self, part: PartTable, candidate: Candidate, is_given: bool) -> Evidence:
        """Gather what the part's checks need.

        The steps to something given are replayed also where it cannot be run: an annotation that
        TVM fails at had its author told that nothing was solved.
        """
        needs = part_needs(part)
        generator = np.random.default_rng(self._seeds[part.id])
        oracle = self._answers.of(part)
        outputs = stubs = replay = None
        if "stubs" in needs and candidate.facts.externs:
            stubs = gather_stubs(candidate, part, oracle, self._runners, generator)
        if "outputs" in needs:
            compared = self._course_assignment.assignment.comparison(part)
            outputs = gather_outputs(candidate, part, oracle, self._runners, compared)
        if "replay" in needs and (is_given or not isinstance(outputs, Problem)):
            weight, batches = replayed(part)
            subject = Subject(weight, self._course_assignment.assignment.comparison(part))
            replay = gather_replay(candidate, subject, batches, self._runners)
        found = {
            kind.name: kind.gather(replace(self._question(part, kind, candidate), outputs=outputs))
            for kind in kinds_of(part)
            if kind.gather is not None
        }
        return Evidence(outputs=outputs, stubs=stubs, replay=replay, found=found)

    def _question(self, part: PartTable, kind: EvidenceKind[Any], candidate: Candidate) -> Question:
        return Question(
            part=part,
            candidate=candidate,
            comparison=self._course_assignment.assignment.comparison(part),
            oracle=self._answers.of(part),
            tables=tables_of(part, kind),
            runners=self._runners,
            generator=np.random.default_rng(self._seeds[part.id]),
            workload=self._course_assignment.workload,
            weight=replayed(part)[0],
        )

    def _setup(self, part: PartTable) -> MeasurementSetup:
        return timing_setup(self._course_assignment, part, self._runners, self._machine)

    def _time(self, part: PartTable, graded: list[Graded]) -> list[MeasuredCandidate]:
        setup = self._setup(part)
        taken: list[MeasuredCandidate] = []
        for each in _best_of(graded):
            assert each.case is not None
            measured = None
            if _may_be_timed(part, each):
                generator = np.random.default_rng(self._seeds[part.id])
                replay = each.case.evidence.replay
                measured = gather_timing(each.case.candidate, setup, generator, replay)
            taken.append(MeasuredCandidate(each, measured))
        return self._with_steps(part, taken, setup)

    def _with_steps(
        self, part: PartTable, taken: list[MeasuredCandidate], setup: MeasurementSetup
    ) -> list[MeasuredCandidate]:
        """Measure the steps of the fastest candidate, when all times that decide are there."""
        speeds = [
            each.measured.timing.speedup if isinstance(each.measured, Measured) else 0.0
            for each in taken
        ]
        fastest = speeds.index(max(speeds))
        case = taken[fastest].graded.case
        asked = self._steps_task(part, case) if case is not None and speeds[fastest] else None
        if asked is not None:
            taken[fastest] = taken[fastest]._replace(steps=gather_steps(asked, setup))
        return taken

    def _steps_task(self, part: PartTable, case: Case) -> StepsTask | None:
        generator = np.random.default_rng(self._seeds[part.id])
        return steps_task(case.candidate, self._setup(part), case.evidence.replay, generator)

    def _judge_timed(self, part: PartTable, taken: MeasuredCandidate) -> Graded:
        """Judge a candidate again, with its time."""
        graded, measured, _ = taken
        if graded.case is None or measured is None:
            return graded
        timed: TimedSchedule | Problem
        if isinstance(measured, Problem):
            timed = measured
        else:
            timed = compare_timed(measured, self._answers)
            timed = replace(timed, timing=self._tell_steps(part, taken, measured))
        case = replace(graded.case, evidence=replace(graded.case.evidence, timed=timed))
        return Graded(judge_case(part, case), graded.capture, case)

    def _tell_steps(self, part: PartTable, taken: MeasuredCandidate, measured: Measured) -> Timing:
        """Return a timing with what each step brought, or with why that is not known."""
        assert taken.graded.case is not None
        generator = np.random.default_rng(self._seeds[part.id])
        if taken.steps is not None:
            variant = measured.answer.variant
            steps = read_steps(taken.steps, variant, self._answers, generator)
        else:
            replay = taken.graded.case.evidence.replay
            steps = without_times(unproven(self._setup(part), replay))
        return msgspec.structs.replace(measured.timing, steps=steps)


def _of_steps(part: PartTable) -> str:
    """Return under what the runner is kept that has built the steps of a part."""
    return f"{part.id} steps"


def _to_share_out(part: PartTable, case: Case) -> Outputs | None:
    """Return outputs that are wrong, where layers that are right earn points nevertheless."""
    outputs = case.evidence.outputs
    if not isinstance(outputs, Outputs) or not wrong_samples(outputs, case.comparison).any():
        return None
    options = [find_check(table).parse(table) for table in part.made]
    shares = (isinstance(each, EquivalenceOptions) and each.shares_points for each in options)
    return outputs if any(shares) else None


def _best_of(graded: list[Graded]) -> list[Graded]:
    """Return the candidates that earn as much as the best one, if they could be run."""
    best = graded[0].part.score
    return [each for each in graded if each.case and each.part.score == best][:TIMED_LIMIT]


def _is_timed(part: PartTable, graded: list[Graded]) -> bool:
    may_be_timed = partial(_may_be_timed, part)
    return "timing" in part_needs(part) and any(map(may_be_timed, _best_of(graded)))


def _may_be_timed(part: PartTable, graded: Graded) -> bool:
    """Say whether no required check fails, and the schedule does not stop at a step that raised."""
    required = {table.id for table in part.check if table.required}
    return not any(
        check.code == "unfinished_cell" or (check.id in required and check.verdict != "passed")
        for check in graded.part.checks
    )


def _timing_of(graded: Graded, part: PartTable) -> list[Timing]:
    timed = graded.case.evidence.timed if graded.case is not None else None
    if not isinstance(timed, TimedSchedule):
        return []
    return [msgspec.structs.replace(timed.timing, part=part.id)]
