"""Deciding a part: which candidate counts, what its checks say, how many points that is.

What bears the name that was asked for counts. What bears another one counts too where nothing with
the name could be called as the part asks (such as an example of the lecture's that bears it), or
where it computes the part and nothing with the name does; but what has the name of another part is
its author's answer to that one. What the assignment gives counts never.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec.structs import replace

from grader.assignment import Assignment, CheckTable, PartTable
from grader.evidence.case import Candidate, Case, Outputs, Problem, Stop
from grader.evidence.plug import kinds_of, sections_of
from grader.evidence.registry import Outcome, find_check, not_graded
from grader.grading.half_made import with_stop
from grader.grading.rescoring import certainty, points_of
from grader.ir.facts import Argument, Call, ModuleFacts, TensorFacts
from grader.ir.vocabulary import FUNCTION_ATTRIBUTES, shown
from grader.language import NOTHING, Text, as_text, clause, join, say
from grader.messages.kernel import Capture, CaptureFailure
from grader.report import Check, Diagnosis, Graph, Node, NodeKind, Origin, Part, Timing

NODE_LIMIT = 64
"""Most nodes: more than that is no picture any more."""

NAME_LIMIT = 40
"""Most characters of a name."""

AXIS_LIMIT = 8
"""Most axes of a shape."""


def draw_graph(facts: ModuleFacts) -> Graph | None:
    """Return the graph of `main`, None where there is no `main`."""
    return _Drawing(facts).graph() if facts.has_main else None


class _Drawing:
    """Nodes and edges; inputs first, and each constant directly before the call that takes it."""

    def __init__(self, facts: ModuleFacts) -> None:
        self.facts = facts
        self.nodes: list[Node] = []
        self.edges: dict[tuple[int, int], None] = {}
        self.inputs: dict[str, int] = {}
        self.calls: dict[int, int] = {}
        self.omitted = 0

    def graph(self) -> Graph:
        for each in self.facts.inputs:
            place = self.add(_node("input", each.name, each.tensor))
            if place is not None:
                self.inputs.setdefault(each.name, place)
        for place, call in enumerate(self.facts.calls):
            self.call(place, call)
        result = self.facts.result
        return Graph(
            nodes=tuple(self.nodes),
            edges=tuple(self.edges),
            output=None if result is None else self.place_of(result),
            omitted=self.omitted,
        )

    def call(self, place: int, call: Call) -> None:
        """Draw a call, with the constants that it is given."""
        sources = [self.source(argument) for argument in call.arguments]
        node = self.add(
            _node(call.kind, call.binding, call.result, callee=call.callee, dataflow=call.dataflow)
        )
        if node is not None:
            self.calls[place] = node
            self.edges |= {(source, node): None for source in sources if source is not None}

    def source(self, argument: Argument) -> int | None:
        """Return the node that an argument comes from, None where it is unknown."""
        if argument.kind == "constant":
            return self.add(_node("constant", argument.name, argument.tensor))
        return self.place_of(argument)

    def place_of(self, argument: Argument) -> int | None:
        """Return the node of an input or of what a call has made."""
        if argument.kind == "input":
            return self.inputs.get(argument.name)
        return None if argument.source is None else self.calls.get(argument.source)

    def add(self, node: Node) -> int | None:
        """Add a node and return its place, None where there is no room for it."""
        if len(self.nodes) >= NODE_LIMIT:
            self.omitted += 1
            return None
        self.nodes.append(node)
        return len(self.nodes) - 1


def _node(
    kind: NodeKind,
    variable: str,
    tensor: TensorFacts | None,
    callee: str = "",
    *,
    dataflow: bool = False,
) -> Node:
    shape = tensor.shape if tensor is not None else None
    return Node(
        kind=kind,
        variable=_name(variable),
        callee=_name(callee),
        shape=None if shape is None else tuple(map(_extent, shape[:AXIS_LIMIT])),
        dtype=_name(tensor.dtype) if tensor is not None else "",
        dataflow=dataflow,
    )


def _extent(extent: int | str) -> int | str:
    return _name(extent) if isinstance(extent, str) else extent


def _name(text: str) -> str:
    clean = "".join(each if each.isprintable() else "?" for each in text[: NAME_LIMIT + 1])
    return clean if len(clean) <= NAME_LIMIT else f"{clean[: NAME_LIMIT - 1]}…"


WITHHELD = say("this-not-graded-this-copy-course-does")
WHO_HAS_IT = say("your-instructors-grade-with-complete-course")


def judge_case(part: PartTable, case: Case) -> Part:
    """Decide every check of a part for one candidate.

    A failed check that is `required` makes the other checks of the part worth nothing.
    """
    decided = {table.id: _decide(table, case) for table in part.check}
    outcomes = with_stop(decided, part.check, case.evidence.stopped)
    blocking = [
        table.id
        for table in part.check
        if table.required and outcomes[table.id].verdict != "passed"
    ]
    checks = tuple(
        _score(part, table, _blocked(outcomes[table.id], table, blocking, part))
        for table in part.check
    )
    evidence = case.evidence
    checks = _with_note(checks, _note_on(case.candidate))
    checks = tuple(_beside(each, evidence.diagnosis) for each in checks)
    capture = case.candidate.capture
    origin = Origin(capture.name, capture.cell)
    return replace(
        _part(part, checks, origin),
        graph=draw_graph(case.candidate.facts),
        diagnosis=evidence.diagnosis,
        sample=evidence.sample,
        scripts=evidence.replay and evidence.replay.scripts,
        sections=sections_of(case, kinds_of(part)),
    )


def _beside(check: Check, diagnosis: Diagnosis | None) -> Check:
    """Return a check that says whether its reason tells what the diagnosis does."""
    is_told = diagnosis is not None and check.reason.holds(diagnosis.message)
    return replace(check, tells_diagnosis=is_told)


def _note_on(candidate: Candidate) -> Text:
    """Say what was left out of a module because it means nothing; it costs no points."""
    if not candidate.left_out:
        return NOTHING
    name = candidate.left_out[0]
    known = [each for each in FUNCTION_ATTRIBUTES if each.startswith(("tirx.", "global_"))]
    meant = get_close_matches(name, known, n=1)
    note = say("attribute-means-nothing-tvm-and-left-out", name=shown(name))
    return join(note, say("did-you-mean", name=meant[0]) if meant else NOTHING)


def _with_note(checks: tuple[Check, ...], note: Text) -> tuple[Check, ...]:
    if not note or not checks:
        return checks
    first = checks[0]
    return (replace(first, reason=join(first.reason, note)), *checks[1:])


def judge_problem(part: PartTable, problem: Problem, origin: Origin | None = None) -> Part:
    """Give a part no points, for one reason that holds for all of its checks."""
    outcome = not_graded(problem)
    return _part(part, tuple(_score(part, table, outcome) for table in part.check), origin)


def _decide(table: CheckTable, case: Case) -> Outcome:
    if table.withheld:
        return not_graded(Problem(WITHHELD, WHO_HAS_IT, code="withheld"))
    kind = find_check(table)
    return kind.outcome(case, kind.parse(table))


def _blocked(outcome: Outcome, table: CheckTable, blocking: list[str], part: PartTable) -> Outcome:
    others = [name for name in blocking if name != table.id]
    if not others or table.points == 0:
        return outcome
    titles = {each.id: _title(part, each) for each in part.check}
    waits = say("counts-only-once-this-holds", condition=clause(titles[others[0]]))
    if outcome.code == "unfinished_cell":  # a step raised: that is another mistake, and is told
        reason = join(as_text(outcome.reason), waits)
        return not_graded(Problem(reason, as_text(outcome.hint), code="unfinished_cell"))
    return not_graded(Problem(waits, say("fix-that-first"), code="waits"))


def _title(part: PartTable, table: CheckTable) -> Text:
    """Return what a check is called; the id tells it from others of its kind in the part."""
    title = find_check(table).title
    is_alone = sum(each.kind == table.kind for each in part.check) == 1
    return title if is_alone else say("name-reason-in-parentheses", name=title, reason=table.id)


def _score(part: PartTable, table: CheckTable, outcome: Outcome) -> Check:
    return Check(
        id=table.id,
        title=_title(part, table),
        score=points_of(outcome.fraction, outcome.interval, table, outcome.above),
        max_score=table.points,
        verdict=outcome.verdict,
        reason=join(as_text(outcome.reason), certainty(outcome.interval, table.points, table)),
        hint=as_text(outcome.hint),
        visibility=part.visibility_of(table),
        kind=table.kind,
        again=outcome.again,
        code=outcome.code,
        share=outcome.fraction,
        interval=outcome.interval,
        above=outcome.above,
    )


def _part(part: PartTable, checks: tuple[Check, ...], origin: Origin | None) -> Part:
    return Part(
        id=part.id,
        title=part.named,
        score=round(sum(check.score for check in checks), 6),
        max_score=part.points,
        checks=checks,
        origin=origin,
    )


IS_GIVEN = say("cell-given-by-assignment-not-your-solution")
SOLVE_IT = say("write-yourself-students-can-read-what-notebook")
_NOT_PROVEN = say("cell-given-by-assignment-and-your-schedule")
_REPLAYABLE = say("leave-out-steps-that-cannot-replayed-steps")

_IN_VAIN = ("raised", "not_a_module", "needs_arguments")


@dataclass(frozen=True)
class Graded:
    """One candidate's result: `case` is None when the candidate could not be run.

    `fits` says that it can be called as the part asks. `contested`: under other points another
    candidate might be the better one.
    """

    part: Part
    capture: Capture | None = None
    case: Case | None = None
    fits: bool = True
    contested: bool = False

    def rank(self, part: PartTable) -> tuple[float, bool, int, bool, bool]:
        """Sort key: more points first, then what came nearer, a schedule, the name asked for.

        Where a schedule is asked for, one that was refused is still its author's answer, and an
        unscheduled module is none. Another's that does not fit is an example.
        """
        if self.capture is None:
            return (self.part.score, False, 0, False, False)
        named, scheduled = self.capture.by_name, self.capture.trace is not None
        is_answer = part.entry_kind == "schedule" and scheduled and (named or self.fits)
        return (self.part.score, is_answer, self.nearness, scheduled, named)

    @property
    def nearness(self) -> int:
        """How far it came: could be read, could be called, gave outputs."""
        if self.case is None:
            return 0
        return 1 + self.fits + isinstance(self.case.evidence.outputs, Outputs)


def select(
    assignment: Assignment,
    part: PartTable,
    graded: list[Graded],
    failures: Sequence[CaptureFailure],
) -> list[Graded]:
    """Return the candidates that count, best first; none where all are beside the point.

    An entry point that was called in vain has been tried, too.
    """
    if part.entry_kind == "schedule":
        if sum(each.entry_kind == "schedule" for each in assignment.part) > 1:
            # What has no part's name and does not fit is the schedule of another part.
            graded = [e for e in graded if e.fits or e.capture is None or e.capture.by_name]
        # `sch*` fits another part's `sch_tensorized`: of what is worth the same, that comes last.
        own_first = sorted(graded, key=lambda each: _is_claimed(assignment, part, each))
        ordered = _best_first(part, own_first)
        if any("timing" in find_check(table).needs for table in part.check):
            return ordered
        # What has the part's name is told, and not what earns no more and came nearer: of a space
        # that the notebook draws from, all schedules run.
        return sorted(ordered, key=lambda each: _comes_behind(assignment, part, each))
    named = [each for each in graded if each.capture is not None and each.capture.by_name]
    others = [each for each in graded if each not in named]
    kept = [each for each in others if not _is_beside_the_point(assignment, part, each)]
    tried = any(each.reason in _IN_VAIN for each in failures) or any(each.fits for each in named)
    if named or tried:
        kept = [each for each in kept if not _is_asked_elsewhere(assignment, part, each)]
    if tried:
        kept = [each for each in kept if computes(part, each)]
    if tried or not named:
        kept = [each for each in kept if each.part.score > 0]
    callable_ones = [each for each in kept if each.fits or is_complete(part, each.part)]
    return _best_first(part, [*named, *callable_ones])


def is_complete(part: PartTable, graded: Part) -> bool:
    """Say whether nothing is missing but what is not decided yet, or not here."""
    later = {
        table.id for table in part.check if table.withheld or "timing" in find_check(table).needs
    }
    return all(check.verdict == "passed" for check in graded.checks if check.id not in later)


def computes(part: PartTable, graded: Graded) -> bool:
    """Say whether a candidate computes what the part asks for, however it is written."""
    compared = {table.id for table in part.check if table.kind == "equivalence"}
    if not compared:
        return is_complete(part, graded.part)
    return all(check.verdict == "passed" for check in graded.part.checks if check.id in compared)


class Refused(NamedTuple):
    """A candidate that the assignment gives; `why` its schedule's steps, if any, are no proof."""

    capture: Capture
    why: Text = NOTHING


def given_problem(refused: Sequence[Refused], part: PartTable) -> Problem | None:
    """Return what is said of a part for which only something given was handed in, else None.

    Of what nobody gave the part's name, nothing is to be said.
    """
    is_schedule = part.entry_kind == "schedule"
    claimed = [each for each in refused if each.capture.by_name or is_schedule]
    if not claimed:
        return None
    latest, why = claimed[0]
    told: dict[str, str | int] = {"name": latest.name, "cell": latest.cell}
    if why:
        return Problem(say(_NOT_PROVEN, **told, reason=why), _REPLAYABLE, code="given")
    return Problem(say(IS_GIVEN, **told), SOLVE_IT, code="given")


def nothing_counts(refused: Sequence[Refused], part: PartTable, absent: Problem) -> Problem:
    """Return why a part has no candidate: only given ones, or `absent`.

    Where the cell or the function failed in which a schedule was to be made, that is the reason,
    and not that the notebook has the lecture's module, which nobody named so.
    """
    given = given_problem(refused, part)
    is_named = any(each.capture.by_name for each in refused)
    is_tried = absent.code != "absent" and not is_named
    return absent if given is None or is_tried else given


def _best_first(part: PartTable, graded: list[Graded]) -> list[Graded]:
    return sorted(graded, key=lambda each: each.rank(part), reverse=True)


def _is_beside_the_point(assignment: Assignment, part: PartTable, other: Graded) -> bool:
    """Say whether a module under another name is no answer, though it is worth something.

    It is none if it lacks something and cannot be called as the part asks (such as an example of
    the notebook's), or is what another part asks for. Then the missing entry point is what a
    student must hear of, not what the module lacks.
    """
    if other.case is None or other.capture is None:
        return True
    if is_complete(part, other.part):
        return False
    asked = _is_asked_elsewhere(assignment, part, other)
    return asked or isinstance(other.case.evidence.outputs, Problem)


def _is_asked_elsewhere(assignment: Assignment, part: PartTable, other: Graded) -> bool:
    assert other.capture is not None
    name = other.capture.name
    return any(each.asks_for(name) for each in assignment.part if each.id != part.id)


def stop_of(assignment: Assignment, part: PartTable, graded: Sequence[Graded]) -> Stop | None:
    """Return where the first of a part's candidates stops that a step of it ended.

    The schedule of another part is none: whoever's product stops was told so of a convolution.
    """
    own = (
        each.case.evidence.stopped
        for each in graded
        if each.case is not None and each.fits and not _is_claimed(assignment, part, each)
    )
    return next((each for each in own if each is not None), None)


def _is_claimed(assignment: Assignment, part: PartTable, other: Graded) -> bool:
    """Say whether another part asks for this name more closely: `sch_tensor*` than `sch*`."""
    name = "" if other.capture is None else other.capture.name
    return max(_closeness(each, name) for each in assignment.part) > _closeness(part, name)


def _comes_behind(assignment: Assignment, part: PartTable, each: Graded) -> tuple[float, bool]:
    is_own = each.capture is not None and each.capture.by_name
    return -each.part.score, not is_own or _is_claimed(assignment, part, each)


def _closeness(part: PartTable, name: str) -> tuple[bool, int]:
    """Return how closely a part asks for a name: by the name itself, or by how long a pattern."""
    fitting = [(each == name, len(each)) for each in part.entry if fnmatchcase(name, each)]
    return max(fitting, default=(False, 0))


def first_timing(timings: Sequence[Timing], assignment: Assignment) -> Timing | None:
    """Return what the report has of several parts' times: the first, which says whose it is."""
    if len(timings) < 2:
        return next(iter(timings), None)
    (part,) = (each for each in assignment.part if each.id == timings[0].part)
    note = say("several-parts-timed-these-times", title=part.named)
    return replace(timings[0], notes=(*timings[0].notes, note))
