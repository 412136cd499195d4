"""Mistakes in an assignment's own files, found before anything of it is graded.

Everything that can be seen by reading comes first, then the course's checks are asked of a module
with nothing in it, and the oracle is run on a few cases. No sandbox is started.
"""

from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from grader.assignment import CheckTable, PartTable
from grader.assignment_files import find_line
from grader.authoring.master import has_master
from grader.authoring.mutants import MUTANTS_FILE, apply_declared, load_declared
from grader.authoring.subject import Notebooks
from grader.authoring.trial import SLIGHT, line_of_check, try_oracle
from grader.authoring.workload import read_workload
from grader.checks import kinds
from grader.checks.kinds.schedule import StepOptions
from grader.course import CourseAssignment
from grader.errors import CourseError, Mistake, MistakeError
from grader.evidence.case import Candidate, Case, Evidence
from grader.evidence.registry import NOT_RUN, CheckKind, find_check
from grader.ir.facts import ModuleFacts
from grader.language import Text, say
from grader.messages.kernel import Capture

assert kinds.__all__  # a course's checks come after ours, which they may not hide

GRAPH_KINDS = frozenset(
    {"calls", "call_tir_graph", "constants", "dataflow", "one_function", "pure_tir", "tensorir"}
)
"""Kinds of checks that look at a module: a function of NumPy arrays is none."""

SCHEDULE_KINDS = frozenset({"schedule_steps", "search_space", "speed", "target"})


def find_mistakes(chosen: CourseAssignment, root: Path) -> list[Mistake]:
    """Return what is wrong with the files of an assignment of the course at `root`.

    What is wrong with its master is for `lint` to say.

    The oracle is run where nothing else is wrong: errors that come of others would only hide them.
    """
    found = [*_in_checks(chosen), *read_workload(chosen), *_in_lists(chosen, root)]
    if not any(each.severity == "error" for each in found):
        found += try_oracle(chosen)
    return found


def _in_lists(chosen: CourseAssignment, root: Path) -> Iterator[Mistake]:
    path = chosen.file(MUTANTS_FILE)
    try:
        declared = load_declared(chosen)
        reference = _solved(chosen, root) if declared else None
        for each in declared if reference is not None else ():
            apply_declared(each, reference)
    except CourseError as error:
        text = path.read_bytes().decode("utf-8", "replace") if path.exists() else ""
        line = find_line(text, error.message.english)
        yield Mistake("mutant", path, line, error.message, error.hint)
    try:
        chosen.given()
    except CourseError as error:
        path = chosen.file("given.json")
        yield Mistake("given", path, None, error.message, error.hint)


def _solved(chosen: CourseAssignment, root: Path) -> NotebookNode | None:
    """Return the solved notebook; None without a master, and of one with faults of its own."""
    if not has_master(root, chosen.assignment.slug):
        return None
    try:
        return Notebooks(root, chosen).reference
    except CourseError:  # `lint` names the line of the master
        return None


def _in_checks(chosen: CourseAssignment) -> Iterator[Mistake]:
    try:
        chosen.load_checks()
    except MistakeError as error:
        yield error.mistake
        return
    for part in chosen.assignment.part:
        for table in part.check:
            if not table.withheld:
                yield from _in_check(chosen, part, table)
        yield from _at_odds(chosen, part)


def _at_odds(chosen: CourseAssignment, part: PartTable) -> Iterator[Mistake]:
    """Yield options of a kind of evidence in which two checks of a part differ: the first's count.

    Others are each check's own: of two numbers of programs the smaller one may earn half.
    """
    known: dict[tuple[type, str], tuple[str, object]] = {}
    for table in part.check:
        try:
            options = find_check(table).parse(table)
        except CourseError:  # it is told already
            continue
        owner = next(each for each in type(options).__mro__ if "shared" in vars(each))
        for name in () if table.withheld else options.shared:
            value = getattr(options, name)
            check, first = known.setdefault((owner, name), (table.id, value))
            if first != value:
                told = say(
                    "checks-of-part-differ-in-option",
                    option=name,
                    first=repr(first),
                    check=check,
                    second=repr(value),
                    other=table.id,
                    part=part.id,
                )
                path = chosen.file("assignment.toml")
                line = line_of_check(path, part, table)
                yield Mistake("part", path, line, told, say("give-option-same-value", option=name))


def _in_check(chosen: CourseAssignment, part: PartTable, table: CheckTable) -> Iterator[Mistake]:
    path = chosen.file("assignment.toml")
    line = line_of_check(path, part, table)
    try:
        kind = find_check(table)
    except CourseError as error:
        yield Mistake("check_unknown", path, line, error.message, error.hint)
        return
    try:
        options = kind.parse(table)
    except CourseError as error:
        yield Mistake("check_options", path, line, error.message, error.hint)
        return
    told = _unfit(part, table)
    if told is not None:
        yield Mistake("part", path, line, *told)
    if isinstance(options, StepOptions):
        steps = sum(options.points().values())
        if table.points and abs(steps - table.points) > SLIGHT:
            scaled = say(
                "steps-worth-other-points-than-check",
                check=table.id,
                steps=steps,
                points=table.points,
            )
            hint = say("make-steps-add-up", points=table.points)
            yield Mistake("check_options", path, line, scaled, hint, "warning")
    if kind.place is not None:
        if not (kind.decide.__doc__ or "").strip():
            yield _untitled(kind, *kind.place)
        try:
            kind.outcome(_empty_case(chosen, part, kind), options)
        except MistakeError as error:
            yield error.mistake


def _unfit(part: PartTable, table: CheckTable) -> tuple[Text, Text] | None:
    """Say why a check can never be passed in its part, and what to do; None where it may be."""
    is_python = part.entry_kind == "python"
    if (is_python and table.kind in GRAPH_KINDS | SCHEDULE_KINDS) or (
        not is_python and table.kind == "low_level"
    ):
        return (
            say(
                "check-kind-looks-at-no-part-entry",
                check=table.id,
                kind=table.kind,
                entry_kind=repr(part.entry_kind),
            ),
            say("change-entry-kind-part-or-use-different", part=part.id),
        )
    if table.kind == "extern_call" and not part.externs:
        return (
            say("check-requires-external-function-which-part-does", check=table.id),
            say("write-externs-true-in-part", part=part.id),
        )
    return None


def _untitled(kind: CheckKind, path: Path, line: int) -> Mistake:
    told = say("check-has-no-docstring-students-read-name", kind=kind.kind)
    hint = say("state-in-first-sentence-what-holds")
    return Mistake("check_untitled", path, line, told, hint, "warning")


def _empty_case(chosen: CourseAssignment, part: PartTable, kind: CheckKind) -> Case:
    """Return a case of a module with nothing in it, which could not be run either."""
    facts = ModuleFacts(False, (), None, (), {}, (), ())
    capture = Capture(part.id, part.entry[0], 1, by_name=True, module=b"")
    outputs, stubs, timed = (
        NOT_RUN if name in kind.needs else None for name in ("outputs", "stubs", "timing")
    )
    evidence = Evidence(outputs=outputs, stubs=stubs, timed=timed)
    return Case(Candidate(capture, facts), evidence, chosen.assignment.comparison(part))
