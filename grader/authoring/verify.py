"""Is an assignment sound? The reference gets everything, the template nothing, mutants lose points.

Notebooks are run and judged by the functions that grade submissions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from grader.assignment import PartTable
from grader.authoring import verify_result as words
from grader.authoring.degenerate import examine
from grader.authoring.master import find_master, has_master, read_master, tags_of
from grader.authoring.mutants import (
    Captures,
    DeclaredMutant,
    Made,
    apply_declared,
    judge,
    load_declared,
    make_mutants,
    run_python_mutants,
    up_to,
)
from grader.authoring.mutants_python import PythonMutant, python_mutants
from grader.authoring.template import make_reference, make_template
from grader.authoring.verify_result import (
    Inapplicable,
    Mutant,
    MutantVerdict,
    ScoreRange,
    Verification,
    VerifiedScore,
)
from grader.course import CourseAssignment
from grader.evidence.answers import load_answers
from grader.evidence.case import Outputs
from grader.grading.judge import Graded
from grader.grading.pipeline import Stages, compare_captures, run_notebook, run_parts
from grader.grading.preparation import Preparation, Settings
from grader.grading.spelling import find_respelling
from grader.progress import Estimate, Progress, Silent
from grader.reading.submission import SubmissionFile
from grader.report import Part

EACH_KIND = 3
"""Most automatic mutants of one kind for a part."""

UNCERTAIN = 0.05
"""Share of a speed's points that the reference may lack: it is measured against itself, and two
measurements of the same function differ by so much on a busy machine."""


class Known(NamedTuple):
    """What is known of the reference: its candidates by part, its scores, what is wrong with it."""

    best: dict[str, Graded]
    scores: tuple[VerifiedScore, ...]
    problems: tuple[str, ...]
    unmeasured: tuple[str, ...]


class Notebooks:
    """What is made of an assignment's master notebook. Raises CourseError where that cannot be."""

    def __init__(self, root: Path, chosen: CourseAssignment) -> None:
        assignment = chosen.assignment
        slug = assignment.slug if has_master(root, assignment.slug) else chosen.folder.name
        master = read_master(find_master(root, slug))
        self.reference = make_reference(master, assignment.slug, assignment.version)
        self.template = make_template(master, assignment.slug, assignment.version)


Job = Callable[[], "Mutant | Inapplicable"]


class Verifier:
    """Verifies one assignment, `jobs` mutants at a time. Speed is measured if it is `timed`."""

    def __init__(
        self,
        course_assignment: CourseAssignment,
        notebooks: Notebooks,
        settings: Settings,
        *,
        timed: bool,
        jobs: int,
    ) -> None:
        self.prepared = Preparation(course_assignment, settings)
        self.notebooks = notebooks
        self.declared = load_declared(course_assignment)
        self.parts = course_assignment.assignment.part
        has_times = any(words.timed_checks(part) for part in self.parts)
        self.timed = timed and has_times
        self.notes = (
            *(("Speed was left out (--quick).",) if has_times and not timed else ()),
            *map(words.marked_by_people, course_assignment.assignment.manual),
        )
        self.jobs = jobs

    def verify(self, progress: Progress) -> Verification:
        """Do everything. Raises GraderError when the assignment cannot be judged at all."""
        clock = self.prepared.settings.clock
        start = clock()
        for each in self.declared:  # mistakes in the file are told before anything is run
            apply_declared(each, self.notebooks.reference)
        progress.stage("the reference")
        with ThreadPoolExecutor(max_workers=2) as beside:
            if self.timed:  # nothing else runs while speed is measured
                known = self._reference()
            template, outputs = beside.submit(self._template), beside.submit(self._oracles)
            if not self.timed:
                known = self._reference()
            mutants, missing = self._mutants(known.best, progress)
        ranges, findings = outputs.result()
        problems = [
            *known.problems,
            *(words.template_problem(e.part, e.score) for e in template.result() if e.score > 0),
            *self.unanswerable(),
            *findings,
            *(each.advice for each in mutants if each.advice),
        ]
        assignment = self.prepared.course_assignment.assignment
        return Verification(
            assignment=assignment.slug,
            version=assignment.version,
            seed=self.prepared.settings.seed,
            timed=self.timed,
            seconds=round(clock() - start, 1),
            reference=known.scores,
            template=template.result(),
            mutants=tuple(mutants),
            inapplicable=tuple(missing),
            oracles=ranges,
            problems=tuple(problems),
            unmeasured=known.unmeasured,
            notes=self.notes,
        )

    def _reference(self) -> Known:
        """Run and judge the reference, with its speed if that is to be measured."""
        timed: tuple[Part, ...] = ()
        if self.timed:
            stages = Stages(self.prepared.settings.clock)
            reference = self.notebooks.reference
            found = find_respelling(reference)
            submission = SubmissionFile("reference.ipynb", "", reference, respelling=found)
            execution, (timed, _), _ = run_parts(submission, self.prepared, Silent(), stages)
        else:
            execution = run_notebook(self.notebooks.reference, self.prepared, Silent())
        compared = compare_captures(execution.captures, self.prepared, Silent())
        best = {part.id: graded[0] for part, graded in compared}
        results = {part.id: part for part in timed} or {name: g.part for name, g in best.items()}
        problems = [words.failed_cell(each) for each in execution.problems]
        unmeasured: list[str] = []
        for part in self.parts:
            lost, unknown = self._losses(part, results[part.id])
            problems += lost
            unmeasured += unknown
        scores = tuple(self._score(part, results[part.id]) for part in self.parts)
        return Known(best, scores, tuple(problems), tuple(unmeasured))

    def _losses(self, part: PartTable, result: Part) -> tuple[list[str], list[str]]:
        """Say which checks of the reference lose points, and which could not be measured."""
        lost: list[str] = []
        unmeasured: list[str] = []
        for check in result.checks:
            is_timed = check.id in words.timed_checks(part)
            enough = check.max_score * (1 - UNCERTAIN if is_timed else 1)
            if check.verdict == "passed" or (is_timed and not self.timed):
                continue
            if is_timed and check.verdict == "not_graded":
                unmeasured.append(words.reference_problem(part, check))
            elif not is_timed or check.score < enough:
                lost.append(words.reference_problem(part, check))
        return lost, unmeasured

    def _score(self, part: PartTable, result: Part) -> VerifiedScore:
        lost = tuple(words.say_loss(each) for each in words.not_passed(part, result))
        if self.timed:
            return VerifiedScore(part.id, result.score, part.points, lost)
        score = words.untimed_score(part, result)
        return VerifiedScore(part.id, score, words.untimed_points(part), lost)

    def _template(self) -> tuple[VerifiedScore, ...]:
        captures = run_notebook(self.notebooks.template, self.prepared, Silent()).captures
        compared = compare_captures(captures, self.prepared, Silent())
        return tuple(
            VerifiedScore(part.id, graded[0].part.score, part.points) for part, graded in compared
        )

    def unanswerable(self) -> Iterator[str]:
        """Say of which parts that a person marks students have no cell, or nobody a rubric."""
        cells = [((cell.id, *tags_of(cell)), cell.source) for cell in self.notebooks.template.cells]
        for part in self.prepared.course_assignment.assignment.manual:
            if not any(part.is_answer(*cell) for cell in cells):
                yield words.no_answer_cell(part)
            if not part.item:
                yield words.no_rubric(part)

    def _oracles(self) -> tuple[tuple[ScoreRange, ...], tuple[str, ...]]:
        data = self.prepared.data(Silent())
        seeds = np.random.SeedSequence(self.prepared.settings.seed + 1)
        others = load_answers(self.prepared.course_assignment, data, seeds)
        return examine(self.prepared.answers(data).result(), others)

    def _mutants(
        self, best: dict[str, Graded], progress: Progress
    ) -> tuple[list[Mutant], list[Inapplicable]]:
        """Judge all mutants, in the order of the parts: declared ones, then those that are made."""
        progress.stage("making mutants")
        sound = [part for part in self.parts if best[part.id].case is not None]
        jobs: list[Job] = [self._declared_job(each, best) for each in self.declared]
        missing: list[Inapplicable] = []
        with ThreadPoolExecutor(max_workers=self.jobs) as executor:
            made = executor.map(lambda part: self._automatic(part, best[part.id]), sound)
            for found, lacking in made:
                jobs += found
                missing += lacking
            progress.stage("judging mutants")
            pending = [executor.submit(job) for job in jobs]
            estimate = Estimate(self.prepared.settings.clock)
            for done, _ in enumerate(as_completed(pending), start=1):
                left = estimate.left(done, len(pending))
                progress.step(done, len(pending), f"{done} of {len(pending)}{left}")
        results = [future.result() for future in pending]
        missing += [each for each in results if isinstance(each, Inapplicable)]
        mutants = [each for each in results if isinstance(each, Mutant)]
        order = [part.id for part in self.parts]
        return sorted(mutants, key=lambda each: order.index(each.part)), missing

    def _automatic(self, part: PartTable, best: Graded) -> tuple[list[Job], list[Inapplicable]]:
        assert best.case is not None
        if part.entry_kind == "python":
            return self._python_jobs(part, best), []
        made, missing = make_mutants(self.prepared, part, best.case, EACH_KIND)
        return [self._made_job(each, name) for each, name in _named(made)], missing

    def _made_job(self, made: Made, name: str) -> Job:
        def run() -> Mutant:
            graded = judge(self.prepared, made.part, (made.capture,))
            return self._decide(
                Mutant(
                    name, made.part.id, made.mutation.about, False, "broken", mutation=made.mutation
                ),
                made.part,
                graded,
                made.difference,
            )

        return run

    def _python_jobs(self, part: PartTable, best: Graded) -> list[Job]:
        cells = tuple(
            cell.source for cell in self.notebooks.reference.cells if cell.cell_type == "code"
        )
        mutants = python_mutants(cells, part, EACH_KIND)
        if not mutants:
            return []
        captured = run_python_mutants(self.prepared, self.notebooks.reference, mutants)
        return [
            self._python_job(part, best, mutant, f"{mutant.mutation.kind}-{number}", captures)
            for number, (mutant, captures) in enumerate(zip(mutants, captured, strict=True), 1)
        ]

    def _python_job(
        self, part: PartTable, best: Graded, mutant: PythonMutant, name: str, captures: Captures
    ) -> Job:
        def run() -> Mutant | Inapplicable:
            graded = judge(self.prepared, part, captures)
            kind, about = mutant.mutation.kind, mutant.mutation.about
            if _same_outputs(graded, best):
                return Inapplicable(part.id, kind, f"{about}: the outputs stay the same")
            row = Mutant(name, part.id, about, False, "broken", mutation=mutant.mutation)
            return self._decide(row, part, graded, None)

        return run

    def _declared_job(self, declared: DeclaredMutant, best: dict[str, Graded]) -> Job:
        part = next(each for each in self.parts if each.id == declared.part)
        row = Mutant(declared.id, part.id, declared.about, True, "not_run")

        def run() -> Mutant:
            if declared.expect in words.timed_checks(part):
                return row
            notebook = apply_declared(declared, self.notebooks.reference)
            origin = best[part.id].part.origin
            if origin is not None:
                notebook = up_to(notebook, self.notebooks.reference, origin.cell)
            captures = run_notebook(notebook, self.prepared, Silent()).captures
            graded = judge(self.prepared, part, captures)
            return self._decide(row, part, graded, None, declared.expect)

        return run

    def _decide(
        self,
        row: Mutant,
        part: PartTable,
        graded: Graded,
        difference: float | None,
        expected: str = "",
    ) -> Mutant:
        """Say what became of a mutant, and what to do unless it was caught as it should be."""
        full = words.untimed_points(part)
        score = words.untimed_score(part, graded.part)
        checks = tuple(each.id for each in words.not_passed(part, graded.part))
        verdict: MutantVerdict = "caught" if score < full else "survived"
        advice = ""
        comparison = self.prepared.course_assignment.assignment.comparison(part)
        if verdict == "survived" and expected:
            advice = words.missed(row.id, expected)
        elif verdict == "survived":
            advice = words.survivor(row.id, row.about, part, comparison, difference)
        elif expected and expected not in checks:
            advice = words.unexpected(row.id, expected, checks)
        elif row.declared and graded.capture is None:
            verdict, advice = "broken", words.broken(row.id, graded.part.checks[0].reason.english)
        return msgspec.structs.replace(
            row, verdict=verdict, score=score, full=full, checks=checks, advice=advice
        )


def _named(made: list[Made]) -> Iterator[tuple[Made, str]]:
    """Give each mutant a name: its kind, and a number where there are several of it."""
    counts: dict[str, int] = {}
    for each in made:
        kind = each.mutation.kind
        counts[kind] = counts.get(kind, 0) + 1
        yield each, f"{kind}-{counts[kind]}"


def _same_outputs(one: Graded, other: Graded) -> bool:
    outputs = [each.case.evidence.outputs if each.case else None for each in (one, other)]
    first, second = outputs
    if not isinstance(first, Outputs) or not isinstance(second, Outputs):
        return False
    return first.actual.shape == second.actual.shape and np.array_equal(first.actual, second.actual)
