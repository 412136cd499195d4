"""`grader rubric`: rubrics out of an assignment into a file, and back."""

from pathlib import Path
from typing import Annotated

from rich.console import Console

from grader.cli.ending import write_output
from grader.cli.options import Commands, CourseOption, argument, flag, option
from grader.cli.telling import tell
from grader.errors import UsageError
from grader.language import say

rubric_app = Commands(help="Export and import the rubrics of parts that a person marks.")

SlugArgument = Annotated[str, argument("SLUG", "Assignment.")]


@rubric_app.command("export")
def export(
    slug: SlugArgument,
    output: Annotated[
        Path | None,
        option(
            "FILE",
            "Output file: .csv is a table of items, others TOML (default: print TOML).",
            "--output",
            "-o",
        ),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Write an assignment's rubrics to a file.

    Examples:
        grader rubric export e2e-mlp -o rubric.toml
        grader rubric export e2e-mlp -o rubric.csv
    """
    from grader.authoring.rubric_files import export_rubrics, told_parts
    from grader.course import find_course
    from grader.files import write_or_rescue

    assignment = find_course(course, (Path.cwd(),)).get(slug).assignment
    if not assignment.manual:
        raise UsageError(
            say("has-no-part-mark-by-hand", slug=slug),
            say("add-manual-assignment-toml-see-docs-assignment-md"),
        )
    as_csv = output is not None and output.suffix.lower() == ".csv"
    content = export_rubrics(assignment, as_csv=as_csv)
    if output is None:
        write_output(content)
        return
    write_or_rescue(output, content, say("rubrics"))
    written = say("written-title", path=str(output))
    tell(Console(emoji=False), *told_parts(assignment.manual), written)


@rubric_app.command("import")
def import_(
    slug: SlugArgument,
    file: Annotated[Path, argument("FILE", "File written by `grader rubric export`.")],
    dry_run: Annotated[bool, flag("--dry-run", "Check the file, and change nothing.")] = False,
    course: CourseOption = None,
) -> None:
    """Put rubrics into assignment.toml; its other tables stay as they are.

    Examples:
        grader rubric import e2e-mlp rubric.toml --dry-run
        grader rubric import e2e-mlp rubric.csv
    """
    from grader.authoring.rubric_files import read_rubrics, told_parts, write_rubrics
    from grader.course import find_course

    chosen = find_course(course, (Path.cwd(),)).get(slug)
    if chosen.variant is not None:
        raise UsageError(
            say("variant", slug=slug),
            say("import-into-or-write-variants-file", slug=chosen.folder.name),
        )
    parts = read_rubrics(file, chosen.assignment)
    write_rubrics(chosen, parts, only_check=dry_run)
    end = say("nothing-changed")
    if not dry_run:
        end = say("written-title", path=str(chosen.folder / "assignment.toml"))
    tell(Console(emoji=False), *told_parts(parts), end)
