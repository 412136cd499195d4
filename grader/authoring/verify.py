"""Is an assignment sound? The reference gets everything, the template nothing, mutants lose points.

Notebooks are run and judged by the functions that grade submissions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from grader.assignment import PartTable
from grader.authoring import verify_result as words
from grader.authoring.degenerate import examine
from grader.authoring.kept import KeptResults, Reference
from grader.authoring.master import tags_of
from grader.authoring.mutants import (
    Captures,
    DeclaredMutant,
    Made,
    apply_declared,
    judge,
    load_declared,
    make_mutants,
    named,
    run_python_mutants,
    same_outputs,
    up_to,
)
from grader.authoring.mutants_python import PythonMutant, python_mutants
from grader.authoring.subject import Notebooks
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
from grader.evidence.plug import admission
from grader.grading.judge import Graded
from grader.grading.pipeline import Stages, compare_captures, run_notebook, run_parts
from grader.grading.preparation import Preparation, Settings
from grader.grading.spelling import find_respelling
from grader.language import NOTHING, Text, foreign, say
from grader.progress import Progress, Silent, TimeLeft
from grader.reading.submission import SubmissionFile
from grader.report import Part

EACH_KIND = 3
"""Most automatic mutants of one kind for a part."""


class Known(NamedTuple):
    """What is known of the reference: its candidates by part, its scores, what is wrong with it.

    `cells` are those that the candidates were captured at. Of a reference that was found sound
    earlier there may be no candidates.
    """

    best: dict[str, Graded]
    scores: tuple[VerifiedScore, ...]
    problems: tuple[Text, ...]
    unmeasured: tuple[Text, ...]
    cells: dict[str, int]


Job = Callable[[], "Mutant | Inapplicable"]


class Verifier:
    """Verifies one assignment, `jobs` mutants at a time. Speed is measured if it is `timed`.

    What `kept` has of an earlier verification is not done again.
    """

    def __init__(
        self,
        course_assignment: CourseAssignment,
        notebooks: Notebooks,
        settings: Settings,
        *,
        timed: bool,
        jobs: int,
        kept: KeptResults | None = None,
    ) -> None:
        self.prepared = Preparation(course_assignment, settings)
        self.notebooks = notebooks
        self.declared = load_declared(course_assignment)
        self.parts = course_assignment.assignment.part
        has_times = any(words.timed_checks(part) for part in self.parts)
        self.timed = timed and has_times
        self.notes = (
            *((say("speed-left-out-quick"),) if has_times and not timed else ()),
            *(
                say("part-marked-by-hand-for-points", part=each.id, points=each.points)
                for each in course_assignment.assignment.manual
            ),
        )
        self.jobs, self.kept = jobs, kept or KeptResults(None)

    def verify(self, progress: Progress) -> Verification:
        """Do everything. Raises GraderError when the assignment cannot be judged at all."""
        clock = self.prepared.settings.clock
        start = clock()
        for each in self.declared:  # mistakes in the file are reported before anything is run
            apply_declared(each, self.notebooks.reference)
        self.kept.describe(self.prepared, self.notebooks, timed=self.timed)
        with ThreadPoolExecutor(max_workers=2) as beside:
            if self.timed:  # nothing else runs while speed is measured
                known = self._known(progress)
            template, outputs = beside.submit(self._template), beside.submit(self._oracles)
            if not self.timed:
                known = self._known(progress)
            mutants, missing = self._mutants(known, progress)
        ranges, findings = outputs.result()
        problems = [
            *known.problems,
            *(words.template_problem(e.part, e.score) for e in template.result() if e.score > 0),
            *self.unanswerable(),
            *findings,
            *(each.advice for each in mutants if each.advice),
        ]
        self.kept.write()
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
            kept=self.kept.used,
        )

    def _known(self, progress: Progress) -> Known:
        earlier = self.kept.reference()
        wanted = [part for part in self.parts if self.kept.automatic(part) is None]
        if earlier is None:
            known = self._reference(progress, timed=self.timed)
            if not known.problems and not known.unmeasured:
                self.kept.keep_reference(Reference(known.scores, known.cells))
            return known
        best = self._reference(progress, timed=False).best if wanted else {}
        return Known(best, earlier.scores, (), (), earlier.cells)

    def _reference(self, progress: Progress, *, timed: bool) -> Known:
        progress.stage(say("the-reference"))
        results: tuple[Part, ...] = ()
        if timed:
            stages = Stages(self.prepared.settings.clock)
            reference = self.notebooks.reference
            found = find_respelling(reference)
            submission = SubmissionFile("reference.ipynb", "", reference, respelling=found)
            execution, (results, _), _ = run_parts(submission, self.prepared, progress, stages)
        else:
            execution = run_notebook(self.notebooks.reference, self.prepared, progress)
        progress.stage(say("judging-reference"))
        compared = compare_captures(execution.captures, self.prepared, progress)
        best = {part.id: graded[0] for part, graded in compared}
        by_part = {part.id: part for part in results} or {n: g.part for n, g in best.items()}
        problems = [
            words.failed_cell(each, self.notebooks.place_of(each.cell))
            for each in execution.problems
        ]
        unmeasured: list[Text] = []
        for part in self.parts:
            lost, unknown = words.losses(part, by_part[part.id], timed=self.timed)
            problems += lost
            unmeasured += unknown
            case = best[part.id].case if lost else None
            if case is not None:
                comparison = self.prepared.course_assignment.assignment.comparison(part)
                problems += filter(None, [words.rounding(part, case.evidence.outputs, comparison)])
        scores = tuple(self._score(part, by_part[part.id]) for part in self.parts)
        origins = {name: graded.part.origin for name, graded in best.items()}
        cells = {name: origin.cell for name, origin in origins.items() if origin is not None}
        return Known(best, scores, tuple(problems), tuple(unmeasured), cells)

    def _score(self, part: PartTable, result: Part) -> VerifiedScore:
        lost = tuple(
            say("name-reason", name=each.id, reason=each.reason)
            for each in words.not_passed(part, result)
        )
        if self.timed:
            return VerifiedScore(part.id, result.score, part.points, lost)
        score = words.untimed_score(part, result)
        return VerifiedScore(part.id, score, words.untimed_points(part), lost)

    def _template(self) -> tuple[VerifiedScore, ...]:
        found = self.kept.template()
        if found is not None:
            return found
        captures = run_notebook(self.notebooks.template, self.prepared, Silent()).captures
        compared = compare_captures(captures, self.prepared, Silent())
        scores = tuple(
            VerifiedScore(part.id, graded[0].part.score, part.points) for part, graded in compared
        )
        if not any(each.score > 0 for each in scores):
            self.kept.keep_template(scores)
        return scores

    def unanswerable(self) -> Iterator[Text]:
        """Say of which parts that a person marks students have no cell, or nobody a rubric."""
        cells = [((cell.id, *tags_of(cell)), cell.source) for cell in self.notebooks.template.cells]
        for part in self.prepared.course_assignment.assignment.manual:
            if not any(part.is_answer(*cell) for cell in cells):
                tag = repr(part.names[0])
                yield say("template-has-no-cell-for-answer-part-give", part=part.id, tag=tag)
            if not part.item:
                yield say("part-has-no-rubric-add-manual-item", part=part.id)

    def _oracles(self) -> tuple[tuple[ScoreRange, ...], tuple[Text, ...]]:
        found = self.kept.oracles()
        if found is not None:
            return found, ()
        data = self.prepared.data(Silent())
        seeds = np.random.SeedSequence(self.prepared.settings.seed + 1)
        others = load_answers(self.prepared.course_assignment, data, seeds)
        ranges, findings = examine(self.prepared.answers(data).result(), others)
        if not findings:
            self.kept.keep_oracles(ranges)
        return ranges, findings

    def _mutants(self, known: Known, progress: Progress) -> tuple[list[Mutant], list[Inapplicable]]:
        """Judge all mutants, in the order of the parts: declared ones, then those that are made."""
        results: list[Mutant | Inapplicable] = []
        jobs: dict[Job, str] = {}
        for declared in self.declared:
            before = self.kept.declared(self._part(declared.part), declared)
            if before is None:
                jobs[partial(self._judge_declared, declared, known)] = ""
            else:
                results.append(before)
        made = self._made_jobs(known, results, progress)
        jobs |= {job: part for part, found in made.items() for job in found}
        judged = self._judge_all(list(jobs), progress) if jobs else []
        by_part: dict[str, list[Mutant | Inapplicable]] = {part: [] for part in made}
        for part, each in zip(jobs.values(), judged, strict=True):
            if part:
                by_part[part].append(each)
            elif isinstance(each, Mutant):
                self.kept.keep_declared(each)
        for name, found in by_part.items():
            lacking = [e for e in results if isinstance(e, Inapplicable) and e.part == name]
            self.kept.keep_automatic(self._part(name), (*found, *lacking))
        results += judged
        order = [part.id for part in self.parts]
        mutants = [each for each in results if isinstance(each, Mutant)]
        missing = [each for each in results if isinstance(each, Inapplicable)]
        mutants.sort(key=lambda each: (order.index(each.part), not each.declared))
        return mutants, missing

    def _part(self, name: str) -> PartTable:
        return next(each for each in self.parts if each.id == name)

    def _made_jobs(
        self, known: Known, results: list[Mutant | Inapplicable], progress: Progress
    ) -> dict[str, list[Job]]:
        """Have mutants made of what the reference's parts are; those that are kept are results."""
        found: dict[str, list[Job]] = {}
        wanted: list[PartTable] = []
        for part in self.parts:
            before = self.kept.automatic(part)
            if not words.is_judged_untimed(part):
                results.append(Inapplicable(part.id, "mutants", words.SPEED_ALONE))
            elif admission(part).codes:
                # What makes mutants runs them on a CPU, to see which compute something else.
                reason = say("mutants-are-made-of-modules-for-cpu")
                results.append(Inapplicable(part.id, "mutants", reason))
            elif before is not None:
                results += before
            elif part.id in known.best and known.best[part.id].case is not None:
                wanted.append(part)
        if wanted:
            progress.stage(say("making-mutants"))
        with ThreadPoolExecutor(max_workers=self.jobs) as executor:
            made = executor.map(lambda part: self._automatic(part, known.best[part.id]), wanted)
            for done, (part, (jobs, lacking)) in enumerate(zip(wanted, made, strict=True), 1):
                progress.step(done, len(wanted), foreign(f"{part.id}: {len(jobs)}"))
                found[part.id] = jobs
                results += lacking
        return found

    def _judge_all(self, jobs: list[Job], progress: Progress) -> list[Mutant | Inapplicable]:
        progress.stage(say("judging-mutants"))
        with ThreadPoolExecutor(max_workers=self.jobs) as executor:
            pending = [executor.submit(job) for job in jobs]
            estimate = TimeLeft(self.prepared.settings.clock)
            for done, _ in enumerate(as_completed(pending), start=1):
                progress.step(done, len(pending), estimate.told(done, len(pending)))
        return [future.result() for future in pending]

    def _automatic(self, part: PartTable, best: Graded) -> tuple[list[Job], list[Inapplicable]]:
        assert best.case is not None
        if part.entry_kind == "python":
            return self._python_jobs(part, best), []
        made, missing = make_mutants(self.prepared, part, best.case, EACH_KIND)
        return [partial(self._judge_made, each, name) for each, name in named(made)], missing

    def _judge_made(self, made: Made, name: str) -> Mutant:
        graded = judge(self.prepared, made.part, (made.capture,))
        about = made.mutation.about
        row = Mutant(name, made.part.id, about, False, "broken", mutation=made.mutation)
        return self._decide(row, made.part, graded, made.difference)

    def _python_jobs(self, part: PartTable, best: Graded) -> list[Job]:
        cells = tuple(
            cell.source for cell in self.notebooks.reference.cells if cell.cell_type == "code"
        )
        mutants = python_mutants(cells, part, EACH_KIND)
        if not mutants:
            return []
        captured = run_python_mutants(self.prepared, self.notebooks.reference, mutants)
        return [
            partial(
                self._judge_python, part, best, mutant, f"{mutant.mutation.kind}-{number}", captures
            )
            for number, (mutant, captures) in enumerate(zip(mutants, captured, strict=True), 1)
        ]

    def _judge_python(
        self, part: PartTable, best: Graded, mutant: PythonMutant, name: str, captures: Captures
    ) -> Mutant | Inapplicable:
        graded = judge(self.prepared, part, captures)
        kind, about = mutant.mutation.kind, mutant.mutation.about
        if same_outputs(graded, best):
            return Inapplicable(part.id, kind, say("outputs-stay-same", about=about))
        row = Mutant(name, part.id, about, False, "broken", mutation=mutant.mutation)
        return self._decide(row, part, graded, None)

    def _judge_declared(self, declared: DeclaredMutant, known: Known) -> Mutant:
        part = self._part(declared.part)
        row = Mutant(declared.id, part.id, declared.about, True, "not_run")
        if declared.expect in words.timed_checks(part) or not words.is_judged_untimed(part):
            return row
        notebook = apply_declared(declared, self.notebooks.reference)
        if part.id in known.cells:
            notebook = up_to(notebook, self.notebooks.reference, known.cells[part.id])
        captures = run_notebook(notebook, self.prepared, Silent()).captures
        graded = judge(self.prepared, part, captures)
        return self._decide(row, part, graded, None, declared.expect)

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
        is_caught = score < full or (full == 0 and bool(words.required_checks(part) & {*checks}))
        verdict: MutantVerdict = "caught" if is_caught else "survived"
        advice = NOTHING
        comparison = self.prepared.course_assignment.assignment.comparison(part)
        if verdict == "survived" and expected:
            told = f"`{expected}`"
            advice = say("mutant-keeps-all-points-check-should-have", name=row.id, check=told)
        elif verdict == "survived":
            advice = words.survivor(row.id, row.about, part, comparison, difference)
        elif expected and expected not in checks:
            advice = words.unexpected(row.id, expected, checks)
        elif row.declared and graded.capture is None:
            verdict, reason = "broken", graded.part.checks[0].reason
            advice = say("mutant-shows-nothing-because-does-not-run", name=row.id, reason=reason)
        return msgspec.structs.replace(
            row, verdict=verdict, score=score, full=full, checks=checks, advice=advice
        )
