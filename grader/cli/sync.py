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
from grader.lms.choices import PLATFORM_NAMES, OwnApi, Platform

NOT_ALL = 1

_FETCH: dict[OwnApi, str] = {
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
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show the table, and write nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Write without asking.")]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Also replace grades that someone else entered.")
]
CommentLanguageOption = Annotated[
    Language,
    typer.Option("--lang", metavar="CODE", help="Language of the comment: en, zh or ko."),
]
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="The --output of `fetch`.")]
SlugOption = Annotated[
    str, typer.Option("--assignment", metavar="SLUG", help="Assignment in the gradebook.")
]


def _add(platform: OwnApi) -> None:
    """Add the commands of a system."""
    name = PLATFORM_NAMES[platform]
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
        dry_run: DryRunOption = False,
        yes: YesOption = False,
        overwrite: OverwriteOption = False,
        no_pages: Annotated[
            bool, typer.Option("--no-pages", help="Attach no feedback pages.")
        ] = False,
        language: CommentLanguageOption = "en",
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


lti_app = typer.Typer(
    cls=CommandGroup,
    context_settings=SETTINGS,
    help="Push grades to any LMS by LTI 1.3 (course.toml [lti]).",
    no_args_is_help=True,
)
sync_app.add_typer(lti_app, name="lti")


@lti_app.command(
    "fetch",
    cls=CommandWithExamples,
    epilog="""
    grader sync lti fetch -o class
    grader sync lti fetch -o class --roster roster.csv
    """,
)
def fetch_students(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where roster.csv is written.")
    ],
    roster: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Your roster: add LTI user IDs to its students."),
    ] = None,
    course: CourseOption = None,
) -> None:
    """Fetch the course's students with their LTI user IDs."""
    from grader.cli.syncing import StudentsOptions, run_fetch_students

    if not run_fetch_students(StudentsOptions(output, roster, course), Console(emoji=False)):
        raise typer.Exit(NOT_ALL)


@lti_app.command(
    "push",
    cls=CommandWithExamples,
    epilog="""
    grader sync lti push class --assignment e2e-mlp --dry-run
    grader sync lti push class --assignment e2e-mlp --column Homework
    """,
)
def push_scores(
    folder: FolderArgument,
    slug: SlugOption,
    column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column in the LMS (default: the assignment's, created if missing).",
        ),
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    overwrite: OverwriteOption = False,
    no_comment: Annotated[
        bool, typer.Option("--no-comment", help="Push points without a comment.")
    ] = False,
    language: CommentLanguageOption = "en",
    course: CourseOption = None,
) -> None:
    """Push points and a comment from the gradebook to the LMS.

    It first prints a table of the changes.
    """
    from grader.cli.syncing import PushOptions, run_push

    options = PushOptions(
        "lti", folder, slug, dry_run, yes, overwrite, not no_comment, language, course, column
    )
    if not run_push(options, Console(emoji=False)):
        raise typer.Exit(NOT_ALL)


@lti_app.command(
    "public-key", cls=CommandWithExamples, epilog="""\n    grader sync lti public-key\n    """
)
def show_public_key(course: CourseOption = None) -> None:
    """Print the tool's public key as a JSON Web Key Set, for the LMS."""
    from grader.cli.syncing import print_public_key

    print_public_key(course, Console(emoji=False))
