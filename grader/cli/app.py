"""The command line: arguments in, one call, exit code out.

Exit codes: 0 graded, 1 graded below `--fail-under`, 2 could not be graded, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader import __version__
from grader.cli.doctor import examine
from grader.cli.run import RunOptions, run_submission
from grader.errors import GraderError
from grader.sandbox.interface import Level

app = typer.Typer(
    name="grader",
    help="Grade notebooks in which students compile neural networks with Apache TVM.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

GRADED, BELOW, UNGRADED, INTERRUPTED = 0, 1, 2, 130


def _version(show: bool) -> None:
    if show:
        typer.echo(f"grader {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Grade notebooks in which students compile neural networks with Apache TVM."""


@app.command()
def run(
    notebook: Annotated[Path, typer.Argument(help="The notebook to grade.")],
    assignment: Annotated[
        str | None,
        typer.Option(help="Which assignment it is; otherwise the notebook says."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report as JSON to FILE.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help='Images and parameters: a folder, or "builtin" for the small set.'
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of the hidden inputs; a new secret one if not given."),
    ] = None,
    course: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder that holds `assignments/`.")
    ] = None,
    sandbox: Annotated[
        Level | None,
        typer.Option(help="Demand a level of isolation; otherwise the strongest that works here."),
    ] = None,
    fail_under: Annotated[
        float | None, typer.Option(metavar="POINTS", help="Exit with 1 below so many points.")
    ] = None,
) -> None:
    """Grade one notebook and print its report."""
    options = RunOptions(notebook, assignment, json, data, seed, course, sandbox)
    report = run_submission(options, Console(), Console(stderr=True))
    if fail_under is not None and report.score < fail_under:
        raise typer.Exit(BELOW)


@app.command()
def doctor() -> None:
    """Say what this machine offers for grading, and what is missing."""
    if not examine(Console()):
        raise typer.Exit(UNGRADED)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    console = Console(stderr=True)
    try:
        app()
    except GraderError as error:
        console.print(f"grader: {error.message}", style="bold red", markup=False, highlight=False)
        if error.hint:
            console.print(f"        {error.hint}", markup=False, highlight=False)
        sys.exit(UNGRADED)
    except Exception as error:
        if "GRADER_DEBUG" in os.environ:
            raise
        text = f"grader: it failed itself, with {type(error).__name__}. No grade was given."
        console.print(text, style="bold red", markup=False, highlight=False)
        console.print("        Run it again with GRADER_DEBUG=1 and report what it prints.")
        sys.exit(UNGRADED)
    except KeyboardInterrupt:
        console.print("grader: interrupted, nothing was written.", markup=False)
        sys.exit(INTERRUPTED)
