"""`grader sync`: the arguments of its commands, the same for each system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.cli.options import (
    SETTINGS,
    CommandGroup,
    CommandWithExamples,
    CourseOption,
    Language,
)
from grader.lms.choices import Platform

NOT_ALL = 1

_FETCH: dict[Platform, str] = {
    "canvas": """
    grader sync canvas fetch https://example.org/courses/1/assignments/2 -o class
    """,
    "moodle": """
    grader sync moodle fetch 'https://example.org/mod/assign/view.php?id=3' -o hw
    """,
}


def _push_examples(platform: Platform) -> str:
    return f"""
    grader sync {platform} push class --assignment e2e-mlp --dry-run
    grader sync {platform} push class --assignment e2e-mlp --yes
    """


sync_app = typer.Typer(
    cls=CommandGroup,
    context_settings=SETTINGS,
    help="Fetch a class from an LMS by its API, and push grades back.",
    no_args_is_help=True,
)

UrlArgument = Annotated[
    str, typer.Argument(metavar="URL", help="The assignment's page, as the browser shows it.")
]
OutputOption = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Output folder; each student gets a folder in it."
    ),
]
RosterOption = Annotated[
    Path | None,
    typer.Option(metavar="CSV", help="Your roster (default: the course's students)."),
]
ExtendOption = Annotated[
    str | None,
    typer.Option(metavar="SLUG", help="Record individual due dates in the gradebook, for SLUG."),
]
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="The --output of `fetch`.")]
SlugOption = Annotated[
    str, typer.Option("--assignment", metavar="SLUG", help="Assignment in the gradebook.")
]


def _add(platform: Platform) -> None:
    """Add the commands of a system."""
    name = platform.capitalize()
    group = typer.Typer(
        cls=CommandGroup,
        context_settings=SETTINGS,
        help=f"Fetch a class from {name}, and push grades back.",
        no_args_is_help=True,
    )

    def fetch(
        url: UrlArgument,
        output: OutputOption,
        roster: RosterOption = None,
        extend: ExtendOption = None,
        course: CourseOption = None,
    ) -> None:
        from grader.cli.syncing import FetchOptions, run_fetch

        options = FetchOptions(platform, url, output, roster, extend, course)
        if not run_fetch(options, Console(emoji=False)):
            raise typer.Exit(NOT_ALL)

    def push(
        folder: FolderArgument,
        slug: SlugOption,
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Show the table, and write nothing.")
        ] = False,
        yes: Annotated[bool, typer.Option("--yes", help="Write without asking.")] = False,
        overwrite: Annotated[
            bool,
            typer.Option("--overwrite", help="Also replace grades that someone else entered."),
        ] = False,
        no_pages: Annotated[
            bool, typer.Option("--no-pages", help="Attach no feedback pages.")
        ] = False,
        language: Annotated[
            Language,
            typer.Option("--lang", metavar="CODE", help="Language of the comment: en, zh or ko."),
        ] = "en",
        course: CourseOption = None,
    ) -> None:
        from grader.cli.syncing import PushOptions, run_push

        options = PushOptions(
            platform, folder, slug, dry_run, yes, overwrite, not no_pages, language, course
        )
        if not run_push(options, Console(emoji=False)):
            raise typer.Exit(NOT_ALL)

    group.command(
        cls=CommandWithExamples,
        epilog=_FETCH[platform],
        help=f"Fetch the latest submissions, due dates and students from {name}."
        "\n\nThe output is like that of `grader collect`.",
    )(fetch)
    group.command(
        cls=CommandWithExamples,
        epilog=_push_examples(platform),
        help=f"Push grades and feedback pages from the gradebook to {name}."
        "\n\nIt first prints a table of the changes.",
    )(push)
    sync_app.add_typer(group, name=platform)


_add("canvas")
_add("moodle")
