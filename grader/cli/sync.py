"""`grader sync`: the arguments of its commands, the same for each system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.cli.options import Commands, CourseOption, Language, argument, flag, option
from grader.lms.choices import PLATFORM_NAMES, OwnApi

NOT_ALL = 1

_FETCH: dict[OwnApi, str] = {
    "canvas": "grader sync canvas fetch https://example.org/courses/1/assignments/2 -o class",
    "moodle": "grader sync moodle fetch 'https://example.org/mod/assign/view.php?id=3' -o hw",
}

sync_app = Commands(help="Fetch a class from an LMS by its API, and push grades back.")

UrlArgument = Annotated[str, argument("URL", "The assignment's page, as the browser shows it.")]
OutputOption = Annotated[
    Path, option("DIR", "Output folder; each student gets a folder in it.", "--output", "-o")
]
RosterOption = Annotated[
    Path | None, option("CSV", "Your roster (default: the course's students).")
]
ExtendOption = Annotated[
    str | None, option("SLUG", "Record individual due dates in the gradebook, for SLUG.")
]
DryRunOption = Annotated[bool, flag("--dry-run", "Show the table, and write nothing.")]
YesOption = Annotated[bool, flag("--yes", "Write without asking.")]
OverwriteOption = Annotated[
    bool, flag("--overwrite", "Also replace grades that someone else entered.")
]
CommentLanguageOption = Annotated[
    Language, option("CODE", "Language of the comment: en, zh or ko.", "--lang")
]
FolderArgument = Annotated[Path, argument("FOLDER", "The --output of `fetch`.")]
SlugOption = Annotated[str, option("SLUG", "Assignment in the gradebook.", "--assignment")]


def _add(platform: OwnApi) -> None:
    name = PLATFORM_NAMES[platform]
    group = Commands(help=f"Fetch a class from {name}, and push grades back.")

    @group.command(
        help=f"Fetch the latest submissions, due dates and students from {name}."
        "\n\nThe output is like that of `grader collect`."
        f"\n\nExamples:\n{_FETCH[platform]}"
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

    @group.command(
        help=f"Push grades and feedback pages from the gradebook to {name}."
        "\n\nIt first prints a table of the changes."
        f"\n\nExamples:\ngrader sync {platform} push class --assignment e2e-mlp --dry-run"
        f"\ngrader sync {platform} push class --assignment e2e-mlp --yes"
    )
    def push(
        folder: FolderArgument,
        slug: SlugOption,
        dry_run: DryRunOption = False,
        yes: YesOption = False,
        overwrite: OverwriteOption = False,
        no_pages: Annotated[bool, flag("--no-pages", "Attach no feedback pages.")] = False,
        language: CommentLanguageOption = "en",
        course: CourseOption = None,
    ) -> None:
        from grader.cli.syncing import PushOptions, run_push

        options = PushOptions(
            platform, folder, slug, dry_run, yes, overwrite, not no_pages, language, course
        )
        if not run_push(options, Console(emoji=False)):
            raise typer.Exit(NOT_ALL)

    sync_app.add_typer(group, name=platform)


_add("canvas")
_add("moodle")


lti_app = Commands(help="Push grades to any LMS by LTI 1.3 (course.toml [lti]).")
sync_app.add_typer(lti_app, name="lti")


@lti_app.command("fetch")
def fetch_students(
    output: Annotated[Path, option("DIR", "Folder for roster.csv.", "--output", "-o")],
    roster: Annotated[
        Path | None, option("CSV", "Your roster: add LTI user IDs to its students.")
    ] = None,
    course: CourseOption = None,
) -> None:
    """Fetch the course's students with their LTI user IDs.

    Examples:
        grader sync lti fetch -o class
        grader sync lti fetch -o class --roster roster.csv
    """
    from grader.cli.syncing import run_fetch_students

    if not run_fetch_students(output, roster, course, Console(emoji=False)):
        raise typer.Exit(NOT_ALL)


@lti_app.command("push")
def push_scores(
    folder: FolderArgument,
    slug: SlugOption,
    column: Annotated[
        str | None,
        option("NAME", "Column in the LMS (default: the assignment's, created if missing)."),
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    overwrite: OverwriteOption = False,
    no_comment: Annotated[bool, flag("--no-comment", "Push points without a comment.")] = False,
    language: CommentLanguageOption = "en",
    course: CourseOption = None,
) -> None:
    """Push points and a comment from the gradebook to the LMS.

    It first prints a table of the changes.

    Examples:
        grader sync lti push class --assignment e2e-mlp --dry-run
        grader sync lti push class --assignment e2e-mlp --column Homework
    """
    from grader.cli.syncing import PushOptions, run_push

    options = PushOptions(
        "lti", folder, slug, dry_run, yes, overwrite, not no_comment, language, course, column
    )
    if not run_push(options, Console(emoji=False)):
        raise typer.Exit(NOT_ALL)


@lti_app.command("public-key")
def show_public_key(course: CourseOption = None) -> None:
    """Print the tool's public key as a JSON Web Key Set, for the LMS.

    Examples:
        grader sync lti public-key
    """
    from grader.cli.syncing import print_public_key

    print_public_key(course, Console(emoji=False))
