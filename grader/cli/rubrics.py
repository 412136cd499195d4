"""`grader rubric`: rubrics out of an assignment into a file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.cli.options import SETTINGS, CommandGroup, CommandWithExamples, CourseOption

rubric_app = typer.Typer(
    cls=CommandGroup,
    context_settings=SETTINGS,
    help="Export and import the rubrics of parts that a person marks.",
    no_args_is_help=True,
)

SlugArgument = Annotated[str, typer.Argument(metavar="SLUG", help="Assignment.")]


@rubric_app.command(
    "export",
    cls=CommandWithExamples,
    epilog="""
    grader rubric export e2e-mlp -o rubric.toml
    grader rubric export e2e-mlp -o rubric.csv
    """,
)
def export(
    slug: SlugArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Output file: .csv is a table of items, others TOML (default: print TOML).",
        ),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Write an assignment's rubrics to a file."""
    from grader.cli.rubric_files import run_export_rubric

    run_export_rubric(slug, output, course, Console(emoji=False))


@rubric_app.command(
    "import",
    cls=CommandWithExamples,
    epilog="""
    grader rubric import e2e-mlp rubric.toml --dry-run
    grader rubric import e2e-mlp rubric.csv
    """,
)
def import_(
    slug: SlugArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File as `grader rubric export` writes it.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the file, and change nothing.")
    ] = False,
    course: CourseOption = None,
) -> None:
    """Put rubrics into assignment.toml; its other tables stay as they are."""
    from grader.cli.rubric_files import run_import_rubric

    run_import_rubric(slug, file, course, Console(emoji=False), only_plan=dry_run)
