"""What a kind of evidence is, where each kind is a folder beside this file.

A folder holds all of its kind, and CONTRIBUTING.md has an example:

    messages.py   `Task` and `Answer`: what is asked of a box, and what it answers
    inside/       what runs in that box: `entry.perform(task)`; it has TVM, nothing of the referee
    found.py      what is found, and as what it is `Gathered`
    kind.py       `KIND`, an `EvidenceKind`: how the evidence is gathered, and how it is shown
    checks.py     the checks that are decided by what is found
    words/        its sentences

Its name in `grader.messages.KINDS` registers it. Whoever runs, gathers, judges, reports and draws
goes through all kinds and knows none by name.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from grader.assignment import Comparison, PartTable, Table
from grader.errors import ProtocolError
from grader.evidence.case import Candidate, Case, Outputs, Problem
from grader.evidence.problems import explain_failure
from grader.evidence.registry import NOT_RUN, find_check, registered_kinds
from grader.evidence.subject import Subject
from grader.ir.facts import Finding
from grader.language import say
from grader.messages.evidence import KINDS, Examine, Examined
from grader.messages.frames import FrameError, Message
from grader.messages.runner import TaskFailure
from grader.report import Section

if TYPE_CHECKING:  # whoever only reads checks need not wait for PyTorch
    import numpy as np

    from grader.evidence.oracle import Arrangement, Oracle
    from grader.evidence.runners import RunnerPool

Found = TypeVar("Found")
Answer = TypeVar("Answer")
Options = TypeVar("Options", bound=Table)

UNREADABLE = Problem(
    say("answer-process-that-ran-module-cannot-read"),
    say("external-functions-may-compute-and-must-leave"),
    code="no_answer",
)
"""What comes of a box whose answer breaks the protocol."""


@dataclass(frozen=True)
class Question:
    """What evidence is gathered of: one candidate of a part, and who may be asked.

    `tables` are the options of the part's checks that need this kind, in their order. `outputs` are
    those that were compared with PyTorch's, None where no check asks for them. `generator` draws
    the same for each candidate of a part. `workload` reads the assignment's `workload.py`. `weight`
    is the shape of the convolution that the part schedules, empty where it is another function.
    """

    part: PartTable
    candidate: Candidate
    comparison: Comparison
    oracle: Oracle
    tables: tuple[Table, ...]
    runners: RunnerPool
    generator: np.random.Generator
    workload: Callable[[], str]
    weight: tuple[int, ...] = ()
    outputs: Outputs | Problem | None = None

    def options(self, wanted: type[Options]) -> Options | None:
        """Return the options of the first check that has such."""
        return next((each for each in self.tables if isinstance(each, wanted)), None)

    def subject(self, weight: tuple[int, ...] = ()) -> Subject:
        """Return what the part's schedule is of. Raises CourseError."""
        return Subject(weight, self.comparison)

    def arrangement(self) -> Arrangement | Problem:
        """Return how the candidate is to be called, or what is wrong with its signature."""
        return self.oracle.arrange(self.part, self.candidate.signature)


@dataclass(frozen=True)
class Gathered(Generic[Found]):
    """What a kind has gathered, for its checks; `name` is that of its folder.

    Checks are read by commands that gather nothing, so it is apart from what gathers: with that
    comes PyTorch, which takes seconds.
    """

    name: str

    def of(self, case: Case) -> Found | Problem:
        """Return what was found of a candidate, for a check to decide from."""
        return cast("Found | Problem", case.evidence.found.get(self.name, NOT_RUN))


@dataclass(frozen=True)
class Admission:
    """What kinds of evidence say to findings of a module: `codes` are admitted."""

    codes: frozenset[str] = frozenset()
    explains: tuple[Callable[[Finding], Problem | None], ...] = ()

    def admits(self, finding: Finding) -> bool:
        """Say whether a module with this finding is not refused for it."""
        return not self.codes.isdisjoint((finding.code, finding.key))

    def explained(self, finding: Finding) -> Problem | None:
        """Return why a module with this finding is refused, None for the usual sentence."""
        return next((told for told in (each(finding) for each in self.explains) if told), None)


@dataclass(frozen=True)
class Choice(Generic[Found]):
    """The evidence, and the candidate to judge instead of the submitted one."""

    found: Found | Problem
    candidate: Candidate


@dataclass(frozen=True)
class EvidenceKind(Generic[Found]):
    """One kind of evidence.

    `gather` returns what was found, or why there is nothing; it raises SandboxError where no runner
    can be started. `view` returns what a report shows of that. A kind that has `choose` in place of
    `gather` comes before all others, which are then of the candidate that it chose. So many
    `runners` are started ahead. `admits` are codes of findings (`grader/ir/`), or `code:subject`,
    for which a part that needs this kind refuses no module: its boxed code knows how to run it.
    `explains` says why another finding is refused, None for the usual sentence. `computed` returns
    what was computed from the oracle's inputs, if anything was. `mend` adds what would mend a wrong
    candidate: that changes sentences and never points, and is asked for where somebody reads them.
    """

    gathered: Gathered[Found]
    gather: Callable[[Question], Found | Problem] | None = None
    view: Callable[[Found], Section | None] = lambda _: None
    choose: Callable[[Question], Choice[Found]] | None = None
    runners: int = 1
    admits: frozenset[str] = frozenset()
    explains: Callable[[Finding], Problem | None] = lambda _: None
    computed: Callable[[Found], Outputs | None] = lambda _: None
    mend: Callable[[Question, Found], Found] = lambda _, found: found

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.gathered.name

    def shown(self, case: Case) -> Section | None:
        """Return what a report shows of it, with the kinds of checks that it explains."""
        found = self.gathered.of(case)
        section = None if isinstance(found, Problem) else self.view(found)
        if section is None:
            return None
        explains = (each.kind for each in registered_kinds() if self.name in each.needs)
        return section.explaining(self.name, tuple(explains))


def computed(case: Case) -> Outputs | None:
    """Return the outputs that a kind of evidence has computed of a case, None where none has."""
    for kind in kinds():
        found = case.evidence.found.get(kind.name)
        outputs = None if found is None or isinstance(found, Problem) else kind.computed(found)
        if outputs is not None:
            return outputs
    return None


@functools.cache
def kinds() -> tuple[EvidenceKind[Any], ...]:
    """Return all kinds, in the order in which their evidence is gathered."""
    return tuple(_module(name, "kind").KIND for name in KINDS)


def kinds_of(part: PartTable) -> tuple[EvidenceKind[Any], ...]:
    """Return the kinds that the checks of a part need."""
    needs = part_needs(part)
    return tuple(each for each in kinds() if each.name in needs)


def part_needs(part: PartTable) -> frozenset[str]:
    """Return what evidence the checks of a part ask for."""
    return frozenset(need for table in part.made for need in find_check(table).needs)


def tables_of(part: PartTable, kind: EvidenceKind[Any]) -> tuple[Table, ...]:
    """Return the options of a part's checks that need a kind."""
    found = ((find_check(table), table) for table in part.made)
    return tuple(check.parse(table) for check, table in found if kind.name in check.needs)


def admission(part: PartTable) -> Admission:
    """Return for which findings a module of a part is refused, and how."""
    chosen = kinds_of(part)
    codes = frozenset(code for kind in chosen for code in kind.admits)
    return Admission(codes, tuple(kind.explains for kind in chosen))


def load_checks() -> None:
    """Register the checks of all kinds."""
    for name in KINDS:
        _module(name, "checks")


def _module(kind: str, name: str) -> Any:
    return importlib.import_module(f"grader.evidence.{kind}.{name}")


def ask(
    runners: RunnerPool,
    kind: str,
    task: Message,
    answer: type[Answer],
    unreadable: Problem = UNREADABLE,
    *,
    timed: bool = False,
) -> Answer | Problem:
    """Have a kind's task done in a box; a failure is a problem. Raises SandboxError.

    An answer that is `timed` is kept for no other submission that asks the same.
    """
    found = request(runners, kind, task, answer, unreadable, timed=timed)
    return explain_failure(found) if isinstance(found, TaskFailure) else found


def request(
    runners: RunnerPool,
    kind: str,
    task: Message,
    answer: type[Answer],
    unreadable: Problem = UNREADABLE,
    *,
    timed: bool = False,
) -> Answer | TaskFailure | Problem:
    """Have a kind's task done in a box, for kinds with sentences of their own for failures."""
    try:
        found = runners.request("pure", Examine.of(kind, task, timed=timed))
        if isinstance(found, TaskFailure):
            return found
        if not isinstance(found, Examined) or found.kind != kind:
            return unreadable
        return found.read(answer)
    except (ProtocolError, FrameError):
        return unreadable


def sections_of(case: Case, among: Iterable[EvidenceKind[Any]]) -> tuple[Section, ...]:
    """Return what a report shows of the evidence for a candidate, in the kinds' order."""
    found = (kind.shown(case) for kind in among)
    return tuple(section for section in found if section is not None)
