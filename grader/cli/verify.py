"""`grader verify`: run an assignment's own notebooks and mutants, print what they got."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.authoring.kept import kept_results
from grader.authoring.mistakes import find_mistakes
from grader.authoring.subject import Notebooks
from grader.authoring.verify import Verifier
from grader.authoring.verify_result import Mutant, Verification, encode_verification
from grader.cli.lint import print_mistakes
from grader.cli.progress import LiveProgress
from grader.course import CourseAssignment, find_course
from grader.environment import usable_cores
from grader.errors import CourseError
from grader.files import try_place, write_or_rescue
from grader.grading.preparation import GradingOptions, open_settings
from grader.language import say


class VerifyOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader verify`, as they were given."""

    slug: str | None
    grading: GradingOptions
    quick: bool = False
    json: Path | None = None
    jobs: int | None = None
    everything: bool = False


def run_verify(options: VerifyOptions, output: Console, messages: Console) -> list[Verification]:
    """Verify one assignment or all; print tables to `output` and progress to `messages`.

    Raises GraderError when one cannot be verified.
    """
    course = find_course(options.grading.course, (Path.cwd(),))
    try_place(options.json, say("what is found"))
    every = [course.get(slug) for slug in sorted(course.assignments | course.variants)]
    found = []
    for chosen in every if options.slug is None else course.meant(options.slug):
        warnings = _demand_no_mistakes(chosen, course.root, messages)
        notebooks = Notebooks(course.root, chosen)
        with open_settings(options.grading, course, [chosen], ()) as settings:
            verifier = Verifier(
                chosen,
                notebooks,
                settings,
                timed=not options.quick,
                jobs=options.jobs or usable_cores(),
                kept=kept_results(
                    course.root,
                    chosen.assignment.slug,
                    settings.sandbox.level,
                    options.grading.seed,
                    is_read=not options.everything,
                ),
            )
            with LiveProgress(messages) as progress:
                verified = verifier.verify(progress)
        found.append(msgspec.structs.replace(verified, warnings=warnings))
        render_verification(found[-1], output)
    if options.json is not None:
        write_json(options.json, found)
    return found


def _demand_no_mistakes(chosen: CourseAssignment, root: Path, messages: Console) -> tuple[str, ...]:
    """Print what is wrong with the assignment's files; return what is for a person to judge.

    Raises CourseError where one of them is an error: then nothing of it can be verified.
    """
    found = find_mistakes(chosen, root)
    errors = [each for each in found if each.severity == "error"]
    if errors:
        print_mistakes(found, root, messages)
        slug = chosen.assignment.slug
        raise CourseError(
            say("{slug} cannot be verified: its files have mistakes.", slug=slug),
            say("Mend them first; `grader lint {slug}` lists them.", slug=slug),
        )
    return tuple(f"{each.path.name}: {each.problem.english} {each.hint.english}" for each in found)


def write_json(path: Path, found: list[Verification]) -> None:
    """Write one document, or a list of them where all assignments were verified."""
    document = encode_verification(found[0]) if len(found) == 1 else _all(found)
    write_or_rescue(path, document, say("what was found"))


def render_verification(found: Verification, output: Console) -> None:
    """Print the parts, the mutants, the oracle's range, and then what is wrong."""
    _say(output, f"{found.assignment}, version {found.version}, seed {found.seed}", "bold")
    output.print(_parts(found))
    output.print(_mutants(found))
    _say_inapplicable(found, output)
    for seen in found.oracles:
        _say(
            output,
            f"{seen.oracle}: {seen.inputs} inputs, outputs from {seen.low:.3g} to {seen.high:.3g},"
            f" which vary by {seen.spread:.2g}; {seen.tolerance:.2g} is allowed",
        )
    for text in found.notes:
        _say(output, text)
    if found.kept:
        _say(output, _say_kept(found))
    for text in found.warnings:
        _say(output, f"! {text}", "yellow")
    for text in found.unmeasured:
        _say(output, f"not measured: {text}", "yellow")
    for text in found.problems:
        _say(output, f"✗ {text}", "red")
    _say(output, _verdict(found), "bold green" if found.passed else "bold red")


def _say_inapplicable(found: Verification, output: Console) -> None:
    """Print each reason once, with the parts that it holds for."""
    parts: dict[tuple[str, str], list[str]] = {}
    for each in found.inapplicable:
        parts.setdefault((each.kind, each.reason), []).append(each.part)
    for (kind, reason), names in parts.items():
        _say(output, f"no {kind} in {', '.join(names)}: {reason}", "dim")


def _say_kept(found: Verification) -> str:
    return (
        f"{found.kept} of {len(found.mutants)} mutants were judged earlier, and nothing that they"
        " depend on has changed: --all judges them again."
    )


def _verdict(found: Verification) -> str:
    caught = sum(each.verdict == "caught" for each in found.mutants)
    counted = f"{caught} of {len(found.mutants)} mutants are caught, in {found.seconds:.0f} s."
    if found.problems:
        return f"{found.assignment} is weak: {len(found.problems)} problems. {counted}"
    if found.unmeasured:
        return f"{found.assignment}: what could be measured is sound. {counted}"
    return f"{found.assignment} is sound. {counted}"


def _parts(found: Verification) -> Table:
    table = Table("part", "reference", "template", "of", box=None, pad_edge=False)
    for reference, template in zip(found.reference, found.template, strict=True):
        table.add_row(
            Text(reference.part),
            f"{reference.score:g}",
            f"{template.score:g}",
            f"{reference.full:g}",
        )
    return table


def _mutants(found: Verification) -> Table:
    table = Table("mutant", "part", "got", "caught by", "what it is", box=None, pad_edge=False)
    for each in found.mutants:
        table.add_row(
            Text(each.id),
            Text(each.part),
            f"{each.score:g} of {each.full:g}",
            _outcome(each),
            Text(each.about),
        )
    return table


def _outcome(mutant: Mutant) -> Text:
    if mutant.verdict == "caught" and not mutant.advice:
        return Text(", ".join(mutant.checks), "green")
    return Text(mutant.verdict.replace("_", " "), "yellow" if not mutant.advice else "red")


def _all(found: list[Verification]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def _say(console: Console, text: str, style: str | None = None) -> None:
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
