"""Is the step that a diagnosis names the one with the mistake? Shown with mutants.

The reference of an assignment is run once. A runner makes mutants of its modules, which say where
each departs; a Python function's mutants are cells at the end of the notebook. Each is then run on
a few samples and diagnosed, by the functions that grade submissions.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import nbformat

from grader.assignment import PartTable
from grader.authoring.mutants import make_mutants
from grader.authoring.mutants_python import python_mutants
from grader.authoring.subject import Notebooks
from grader.authoring.verify import EACH_KIND
from grader.course import load_course
from grader.diagnosis.report import Diagnosed, diagnose
from grader.evidence.candidates import candidate_limit, gather_outputs, in_order, inspect
from grader.evidence.case import Candidate, Case, Evidence, Problem
from grader.evidence.plug import admission
from grader.evidence.runner_client import Runner
from grader.evidence.runners import Kind
from grader.grading.assembly import open_runners, runner_starter
from grader.grading.pipeline import run_notebook
from grader.grading.preparation import Preparation, Settings
from grader.language import foreign
from grader.messages.kernel import Capture, CaptureFailure
from grader.messages.runner import FromRunner, Mutation, MutationKind, ToRunner
from grader.progress import Silent
from grader.report import Diagnosis
from grader.sandbox.interface import Sandbox

ROOT = Path(__file__).resolve().parents[2]
SLUGS = ("e2e-conv", "e2e-mlp", "tensorir", "from-torch")

SEED = 7
SAMPLES = 64
"""Samples that a mutant is run on, of thousands: enough that it is wrong on one of them."""

BAR = 0.9
"""Share of the mutants of an assignment of which the right step must be named."""

MEANING: dict[MutationKind, frozenset[str]] = {
    "drop_bias": frozenset({"bias_missing", "operand_missing"}),
    "flip_kernel": frozenset({"kernel_flipped"}),
    "swap_layers": frozenset({"order_swapped"}),
    "off_by_one": frozenset({"reduction_too_short"}),
    "float16": frozenset({"low_precision"}),
    "narrow": frozenset(),
    "return_zeros": frozenset({"zeros"}),
    "return_input": frozenset({"input_returned"}),
}
"""The mistakes that each mutation is. Others may explain its values too: the first numbers of an
image are zeros, and two layers in the other order may have the values of a layer left out."""

ROUNDED = ("exact", "half")
"""Variables that the mutation "float16" puts before the binding that it changes: an operator's
value, and the same rounded. The first value to depart is the rounded one."""

Captures = Sequence[Capture | CaptureFailure]


class Mistaken(NamedTuple):
    """A mutant: the part that it belongs to, what was changed, and what is graded."""

    part: PartTable
    mutation: Mutation
    candidate: Candidate


class Found(NamedTuple):
    """What a diagnosis says of a mutant; None where it says nothing."""

    mutant: Mistaken
    diagnosis: Diagnosis | None

    @property
    def named(self) -> str:
        """Return the variable of the step that is named, empty where none is."""
        found = self.diagnosis
        return "" if found is None else found.steps[found.wrong].variable

    @property
    def mistake(self) -> str:
        """Return the mistake that is recognised, empty where none is."""
        return "" if self.diagnosis is None else self.diagnosis.mistake

    @property
    def has_choice(self) -> bool:
        """Say whether another step could have been named: of one step, it is right to name it."""
        return self.diagnosis is None or len(self.diagnosis.steps) > 1

    @property
    def is_right(self) -> bool:
        """Say whether the step that is named is the one that was changed."""
        if self.diagnosis is None:
            return False
        binding = self.mutant.mutation.binding
        if not binding:  # the one function that is run was changed: all steps are its
            return True
        return self.named == binding or self._is_rounding_of(binding)

    @property
    def is_recognised(self) -> bool:
        """Say whether the mistake is recognised as what it is."""
        return self.mistake in MEANING[self.mutant.mutation.kind]

    def _is_rounding_of(self, binding: str) -> bool:
        """Say whether the step that is named is the rounding that a binding was given."""
        assert self.diagnosis is not None
        after = [each.variable for each in self.diagnosis.steps[self.diagnosis.wrong :]]
        own = [each for each in after if each not in ROUNDED]
        is_inserted = self.mutant.mutation.kind == "float16" and self.named in ROUNDED
        return is_inserted and own[:1] == [binding]

    def __str__(self) -> str:
        mutation = self.mutant.mutation
        wanted = mutation.binding or mutation.function
        return (
            f"{self.mutant.part.id}: {mutation.kind}, {mutation.about}: {self.named or 'nothing'}"
            f" is named in place of {wanted} ({self.mistake or 'nothing recognised'})"
        )


class Runners:
    """A pool whose runners do one task after the other: each thread of the trial has its own.

    What they run was made of the course's own reference. Those with externs are used once, as
    always.
    """

    def __init__(self, prepared: Preparation) -> None:
        assignment = prepared.course_assignment.assignment
        self._start = runner_starter(prepared.settings.sandbox, assignment)
        self._seconds = assignment.limits.task_seconds
        self._once = open_runners(prepared)
        self._own = threading.local()
        self._all: list[Runner] = []

    def request(self, kind: Kind, task: ToRunner, *_: float) -> FromRunner:
        """Do one task, as `RunnerPool.request` does."""
        if kind != "pure":
            return self._once.request(kind, task)
        if not hasattr(self._own, "runner"):
            self._own.runner = self._start(kind)
            self._all.append(self._own.runner)
        runner: Runner = self._own.runner
        return runner.request(task, self._seconds)

    def __enter__(self) -> Runners:
        return self

    def __exit__(self, *_error: object) -> None:
        """End all runners."""
        for runner in self._all:
            runner.close()
        self._once.__exit__(None, None, None)


class Trial:
    """The mutants of one assignment, one in `each`, and what is said of them."""

    def __init__(self, slug: str, sandbox: Sandbox, jobs: int, each: int = 1) -> None:
        self.chosen = load_course(ROOT).get(slug)
        self.prepared = Preparation(self.chosen, Settings(sandbox, seed=SEED))
        self.jobs = jobs
        self.each = each

    @cached_property
    def mutants(self) -> list[Mistaken]:
        """Run the reference, and make all of its mutants."""
        reference = Notebooks(ROOT, self.chosen).reference
        cells = tuple(cell.source for cell in reference.cells if cell.cell_type == "code")
        before = sum(bool(source.strip()) for source in cells)
        notebook, written = copy.deepcopy(reference), []
        for part in self._parts("python"):
            for each in python_mutants(cells, part, EACH_KIND):
                notebook.cells.append(nbformat.v4.new_code_cell(each.cell))
                written.append((part, each.mutation))
        captures = run_notebook(notebook, self.prepared, Silent()).captures
        found = []
        for number, (part, mutation) in enumerate(written, start=before + 1):
            own = _of(part, [each for each in captures if each.cell == number])
            found += [Mistaken(part, mutation, each) for each in own]
        with ThreadPoolExecutor(self.jobs) as executor:
            own = [each for each in captures if each.cell <= before]
            parts = [part for part in self.chosen.assignment.part if part.entry_kind != "python"]
            for made in executor.map(lambda part: self._made(part, own), parts):
                found += made
        return found

    def diagnosed(self) -> list[Found]:
        """Diagnose the mutants."""
        with Runners(self.prepared) as runners, ThreadPoolExecutor(self.jobs) as executor:
            chosen = self.mutants[:: self.each]
            return list(executor.map(lambda each: self._diagnosed(each, runners), chosen))

    def _parts(self, kind: str) -> list[PartTable]:
        return [part for part in self.chosen.assignment.part if part.entry_kind == kind]

    def _made(self, part: PartTable, captures: Captures) -> list[Mistaken]:
        candidate = _of(part, captures)[-1]
        comparison = self.chosen.assignment.comparison(part)
        case = Case(candidate, Evidence(), comparison)
        made, _ = make_mutants(self.prepared, part, case, EACH_KIND)
        return [
            Mistaken(part, each.mutation, candidate)
            for each in made
            for candidate in _of(part, [each.capture])
        ]

    def _diagnosed(self, mutant: Mistaken, runners: Any) -> Found:
        oracle = self.prepared.answers(self.prepared.data(Silent())).result().of(mutant.part)
        part = msgspec.structs.replace(mutant.part, samples=SAMPLES)
        diagnosed = Diagnosed(mutant.candidate, part, self.chosen.assignment, oracle)
        found = diagnose(
            diagnosed, Problem(foreign("not run")), runners
        )  # most mistakes show in any case
        if found is None:
            comparison = self.chosen.assignment.comparison(part)
            outputs = gather_outputs(mutant.candidate, part, oracle, runners, comparison)
            found = diagnose(diagnosed, outputs, runners)
        return Found(mutant, found)


def share(found: Iterable[bool]) -> float:
    """Return how many of some things are true, from 0 to 1."""
    counted = list(found)
    return sum(counted) / len(counted)


def _of(part: PartTable, captures: Captures) -> list[Candidate]:
    """Return the candidates of a part that are graded, those that count for most last."""
    found = [each for each in captures if isinstance(each, Capture) and each.part == part.id]
    admitted = admission(part)
    tried = reversed(in_order(found)[: candidate_limit(part)])
    inspected = [inspect(part, each, admitted) for each in tried]
    return [each for each in inspected if not isinstance(each, Problem)]
