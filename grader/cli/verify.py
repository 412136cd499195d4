"""`grader lint` and `grader verify`: what is wrong with an assignment, read and then run."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table
from rich.text import Text as Styled

from grader.authoring.lint import lint
from grader.authoring.master import find_master
from grader.authoring.mistakes import find_mistakes
from grader.authoring.subject import LintFinding, read_subject
from grader.authoring.verify_assignment import VerifyChoices, verify_assignment
from grader.authoring.verify_result import (
    Mutant,
    MutantVerdict,
    ScoreRange,
    Verification,
    encode_verification,
)
from grader.cli.course_files import choose_assignments
from grader.cli.telling import LiveProgress, tell, words
from grader.course import Course, CourseAssignment, find_course, load_course
from grader.course_folder import course_folder
from grader.errors import CourseError, Mistake, MistakeError
from grader.files import try_place, write_or_rescue
from grader.grading.preparation import GradingOptions
from grader.language import Text, counted, foreign, in_a_row, join, say

# `grader lint`: what is wrong with assignments and their master notebooks, and what to do.


STYLES = {"error": "bold red", "warning": "yellow"}


def run_lint(slug: str | None, folder: Path | None, output: Console, messages: Console) -> bool:
    """Print all findings, of all assignments without a slug. Returns whether none is an error.

    Raises GraderError.
    """
    root = course_folder(folder, (Path.cwd(),))
    _tell_own(root, folder, messages)
    try:
        course = load_course(root)
    except MistakeError as error:
        print_mistakes([error.mistake], root, output)
        return False
    errors = 0
    every = [*course.assignments.values(), *course.variants.values()]
    for chosen in every if slug is None else [course.get(slug)]:
        errors += _lint_files(course, chosen, output)
    for chosen in choose_assignments(course, slug, messages):
        errors += _lint_master(course, chosen, output)
    return errors == 0


def _tell_own(root: Path, named: Path | None, messages: Console) -> None:
    """Tell whose assignments these are: who writes the first one, and misses a file, sees them."""
    if named is None and root not in (Path.cwd(), *Path.cwd().parents):
        tell(messages, say("no-assignment-here-so-graders-own"))


def _lint_files(course: Course, chosen: CourseAssignment, output: Console) -> int:
    """Print what is wrong with an assignment's own files; return how many errors that is."""
    found = find_mistakes(chosen, course.root)
    print_mistakes(found, course.root, output)
    folder = (chosen.variant or chosen.folder).relative_to(course.root)
    return _say_counts(str(folder), found, output)


def _lint_master(course: Course, chosen: CourseAssignment, output: Console) -> int:
    path = find_master(course.root, chosen.assignment.slug)
    found = lint(read_subject(path, chosen.assignment))
    name = str(path.relative_to(course.root))
    for finding in found:
        _print(place_of(name, finding), finding, output)
    return _say_counts(name, found, output)


def _say_counts(name: str, found: Sequence[Mistake | LintFinding], output: Console) -> int:
    mistakes = sum(each.severity == "error" for each in found)
    errors = counted(mistakes, say("count-error"), say("errors"))
    others = len(found) - mistakes
    warnings = counted(others, say("count-warning"), say("warnings"))
    tell(output, say("name-errors-warnings", name=name, errors=errors, warnings=warnings))
    return mistakes


def print_mistakes(found: Iterable[Mistake], root: Path, output: Console) -> None:
    """Print mistakes of an assignment's files, each with its place and what to do."""
    for each in found:
        within = each.path.is_relative_to(root)
        path = each.path.relative_to(root) if within else each.path
        _print(foreign(replace(each, path=path).place), each, output)


def place_of(name: str, finding: LintFinding) -> Text:
    """Say where a finding is: file and line as editors read it, and the cell."""
    if not finding.number:
        return foreign(name)
    line = "" if finding.line is None else f":{finding.line}"
    return say("cell", name=f"{name}{line}", cell=finding.number)


def _print(place: Text, found: Mistake | LintFinding, output: Console) -> None:
    severity = say("error-2") if found.severity == "error" else say("warning")
    text = say("place-severity-problem", place=place, severity=severity, problem=found.problem)
    tell(output, text, style=STYLES[found.severity])
    tell(output, f"    {words(found.hint)}")


def run_verify(
    slug: str | None,
    grading: GradingOptions,
    choices: VerifyChoices,
    json: Path | None,
    output: Console,
    messages: Console,
) -> list[Verification]:
    """Verify one assignment or all, and print tables and progress. Raises GraderError."""
    course = find_course(grading.course, (Path.cwd(),))
    _tell_own(course.root, grading.course, messages)
    try_place(json, say("what-was-found"))
    every = [course.get(slug) for slug in sorted(course.assignments | course.variants)]
    found = []
    for chosen in every if slug is None else course.meant(slug):
        warnings = _demand_no_mistakes(chosen, course.root, messages)
        with LiveProgress(messages) as progress:
            verified = verify_assignment(course, chosen, grading, choices, warnings, progress)
        found.append(verified)
        render_verification(verified, output)
    if json is not None:
        document = encode_verification(found[0] if len(found) == 1 else found)
        write_or_rescue(json, document, say("what-was-found"))
    return found


def _demand_no_mistakes(chosen: CourseAssignment, root: Path, messages: Console) -> list[Mistake]:
    """Print what is wrong with the assignment's files; return what is for a person to judge.

    Raises CourseError where one of them is an error: then nothing of it can be verified.
    """
    found = find_mistakes(chosen, root)
    errors = [each for each in found if each.severity == "error"]
    if errors:
        print_mistakes(found, root, messages)
        slug = chosen.assignment.slug
        raise CourseError(
            say("cannot-verified-files-have-mistakes", slug=slug),
            say("fix-them-first-grader-lint-lists-them", slug=slug),
        )
    return found


def render_verification(found: Verification, output: Console) -> None:
    """Print the parts, the mutants, the oracle's range, and then what is wrong."""
    title = say("version-seed", assignment=found.assignment, version=found.version, seed=found.seed)
    tell(output, title, style="bold")
    output.print(_parts(found))
    output.print(_mutants(found))
    _say_inapplicable(found, output)
    for seen in found.oracles:
        tell(output, _range(seen))
    for text in found.notes:
        tell(output, text)
    if found.kept:
        tell(output, _say_kept(found))
    for text in found.warnings:
        tell(output, f"! {words(text)}", style="yellow")
    for text in found.unmeasured:
        tell(output, say("not-measured", problem=text), style="yellow")
    for text in found.problems:
        tell(output, f"✗ {words(text)}", style="red")
    tell(output, _verdict(found), style="bold green" if found.passed else "bold red")


def _range(seen: ScoreRange) -> Text:
    return say(
        "inputs-outputs-from-which-vary-by-allowed",
        oracle=seen.oracle,
        inputs=seen.inputs,
        low=seen.low,
        high=seen.high,
        spread=seen.spread,
        tolerance=seen.tolerance,
    )


def _say_inapplicable(found: Verification, output: Console) -> None:
    """Print each reason once, with the parts that it holds for."""
    parts: dict[tuple[str, Text], list[str]] = {}
    for each in found.inapplicable:
        parts.setdefault((each.kind, each.reason), []).append(each.part)
    for (kind, reason), names in parts.items():
        text = say("no-in", kind=kind, parts=in_a_row(names), reason=reason)
        tell(output, text, style="dim")


def _say_kept(found: Verification) -> Text:
    return say(
        "mutants-judged-earlier-and-nothing-that-they", kept=found.kept, all=len(found.mutants)
    )


def _verdict(found: Verification) -> Text:
    caught = say(
        "mutants-caught-in",
        caught=sum(each.verdict == "caught" for each in found.mutants),
        all=len(found.mutants),
        seconds=found.seconds,
    )
    verdict = say("sound", assignment=found.assignment)
    if found.problems:
        count = counted(len(found.problems), say("problem"), say("problems"))
        verdict = say("weak", assignment=found.assignment, told=count)
    elif found.unmeasured:
        verdict = say("what-could-measured-sound", assignment=found.assignment)
    return join(verdict, caught)


def _parts(found: Verification) -> Table:
    heads = (say("part-2"), say("solved-notebook"), say("template-2"), say("maximum"))
    table = Table(*map(words, heads), box=None, pad_edge=False)
    for reference, template in zip(found.reference, found.template, strict=True):
        table.add_row(
            Styled(reference.part),
            f"{reference.score:g}",
            f"{template.score:g}",
            f"{reference.full:g}",
        )
    return table


def _mutants(found: Verification) -> Table:
    heads = (say("mutant"), say("part-2"), say("got"), say("caught-by"), say("what-it-is"))
    table = Table(*map(words, heads), box=None, pad_edge=False)
    for each in found.mutants:
        got = say("score-full", score=each.score, full=each.full)
        table.add_row(
            Styled(each.id), Styled(each.part), words(got), _outcome(each), Styled(each.about)
        )
    return table


_VERDICTS: Mapping[MutantVerdict, Text] = {
    "caught": say("caught"),
    "survived": say("survived"),
    "broken": say("broken"),
    "not_run": say("not-run"),
}


def _outcome(mutant: Mutant) -> Styled:
    if mutant.verdict == "caught" and not mutant.advice:
        return Styled(", ".join(mutant.checks), "green")
    return Styled(words(_VERDICTS[mutant.verdict]), "yellow" if not mutant.advice else "red")
