"""`grader ci init`: write what a service needs to grade on push.

What writes recipes is imported by the commands here alone: it reads courses and notebooks, and was
half of what `grader --help` imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer
from rich.console import Console

from grader.cli.options import Commands, argument, flag, option
from grader.cli.telling import tell
from grader.language import Text, foreign, say

if TYPE_CHECKING:
    from grader.ci.browser import BrowserChoices, Service
    from grader.ci.recipes import BoardChoices, Choices

FOUND = 1

ci = Commands(
    help="Grade on push: GitHub, GitLab, Gradescope or Classroom 50; open notebooks in a browser."
)
init = Commands(help="Write a recipe for a service.")
ci.add_typer(init, name="init")

DirectoryOption = Annotated[Path, option("DIR", "Repository (default: this folder).")]
AssignmentOption = Annotated[str | None, option("SLUG", "Assignment (default: notebook metadata).")]
ThresholdOption = Annotated[
    float | None,
    option("POINTS", "Fail if the points shown for a submission are below POINTS.", min=0),
]
SubmissionsOption = Annotated[
    str, option("DIR", 'Folder of notebooks, or a pattern such as "hw/*.ipynb".')
]
CourseOption = Annotated[
    Path | None, option("DIR", "Folder in the repository that holds `assignments/`.")
]
InstallOption = Annotated[
    Path | None, option("WHEEL", "Wheel of grader for the recipe (default: the one in use).")
]
MinutesOption = Annotated[int, option("MINUTES", "Time limit of a grading.", "--timeout", min=1)]
ForceOption = Annotated[bool, flag("--force", "Overwrite existing files.")]


def _add_service(name: Literal["github", "gitlab"], about: str, where: Text) -> None:
    @init.command(name, help=f"{about}\n\nExamples:\ngrader ci init {name} --threshold 60")
    def write(
        directory: DirectoryOption = Path(),
        assignment: AssignmentOption = None,
        threshold: ThresholdOption = None,
        submissions: SubmissionsOption = "submissions",
        course: CourseOption = None,
        install: InstallOption = None,
        minutes: MinutesOption = 60,
        force: ForceOption = False,
    ) -> None:
        from grader.ci.recipes import Choices, github_files, gitlab_files
        from grader.ci.wheel import find_installed

        installed = find_installed(install, directory)
        choices = Choices(
            directory, installed, assignment, threshold, submissions, course, minutes, force
        )
        _write(github_files if name == "github" else gitlab_files, choices)
        _say_what_is_next(choices, where)


_add_service(
    "github",
    "Write a workflow for GitHub Actions: .github/workflows/grade.yml.",
    say("tab-actions"),
)
_add_service("gitlab", "Write a pipeline for GitLab: .gitlab-ci.yml.", foreign("Build > Pipelines"))


@init.command()
def gradescope(
    directory: DirectoryOption = Path(),
    assignment: AssignmentOption = None,
    course: CourseOption = None,
    install: InstallOption = None,
    minutes: MinutesOption = 10,
    force: ForceOption = False,
) -> None:
    """Write autograder.zip for Gradescope. It contains the oracle.

    Examples:
        grader ci init gradescope --assignment e2e-conv
    """
    from grader.ci.recipes import Choices, gradescope_files
    from grader.ci.wheel import find_installed

    choices = Choices(
        directory=directory,
        assignment=assignment,
        course=course,
        install=find_installed(install, directory),
        minutes=minutes,
        force=force,
    )
    _write(gradescope_files, choices)
    tell(
        Console(emoji=False),
        say("contains-oracle-do-not-commit-and-do"),
        say("next-upload-under-configure-autograder-choose"),
    )


@init.command()
def classroom50(
    course: Annotated[Path, option("DIR", "Release of the course: the bundle is public.")],
    directory: Annotated[
        Path, option("DIR", "Folder of the bundle (default: this folder).")
    ] = Path(),
    assignment: AssignmentOption = None,
    install: InstallOption = None,
    minutes: MinutesOption = 8,
    force: ForceOption = False,
) -> None:
    """Write an autograder for Classroom 50: autograder.py and its bundle.

    Examples:
        grader ci init classroom50 --course public --assignment e2e-conv --directory bundle
    """
    from grader.ci.recipes import Choices, classroom50_files
    from grader.ci.wheel import find_installed

    choices = Choices(
        directory=directory,
        assignment=assignment,
        course=course.absolute(),
        install=find_installed(install, directory),
        minutes=minutes,
        force=force,
    )
    _write(classroom50_files, choices)
    tell(Console(emoji=False), say("next-commit-them-your-classroom50-repository"))


@init.command()
def leaderboard(
    directory: DirectoryOption = Path(),
    reports: Annotated[Path, option("DIR", "Reports of `grader batch` in the repository.")] = Path(
        "reports"
    ),
    consent: Annotated[
        Path, option("CSV", "Students who opted in: columns student and name.")
    ] = Path("consent.csv"),
    assignment: Annotated[str | None, option("SLUG", "Assignment (default: all).")] = None,
    machine: Annotated[
        str, option("WORDS", "Kind of machine (default: the most common one).")
    ] = "",
    install: InstallOption = None,
    force: ForceOption = False,
) -> None:
    """Write a workflow for GitHub that publishes a leaderboard from your private repository.

    Examples:
        grader ci init leaderboard --machine EPYC
    """
    from grader.ci.recipes import BoardChoices, leaderboard_files
    from grader.ci.wheel import find_installed

    choices = BoardChoices(
        directory,
        find_installed(install, directory),
        reports,
        consent,
        assignment,
        machine,
        force,
    )
    _write(leaderboard_files, choices)
    tell(
        Console(emoji=False),
        say("keep-repository-private-contains-reports-and-names"),
        say("next-under-settings-pages-let-github-actions"),
    )


ReleaseOption = Annotated[Path, option("DIR", "Release of the course (default: this folder).")]
OpenedOption = Annotated[str | None, option("SLUG", "Assignment whose template opens first.")]
RepositoryOption = Annotated[
    str, option("OWNER/NAME", "The release's repository on GitHub, for a button.")
]


def _add_button(service: Service, about: str, example: str) -> None:
    @init.command(service, help=f"{about}\n\nExamples:\ngrader ci init {service} {example}")
    def write(
        directory: ReleaseOption = Path(),
        assignment: OpenedOption = None,
        repository: RepositoryOption = "OWNER/REPOSITORY",
        install: InstallOption = None,
        force: ForceOption = False,
    ) -> None:
        from grader.ci.browser import BrowserChoices
        from grader.ci.wheel import find_installed

        installed = find_installed(install, directory)
        choices = BrowserChoices(directory, installed, assignment, repository, force)
        _write_with_button(service, choices)


_add_button(
    "codespaces",
    "Write a dev container with the self-check into a release, and a button that opens it.",
    "--directory public --repository ada/course",
)
_add_button(
    "binder",
    "Write an environment for Binder into a release, and a button that opens it.",
    "--directory public --repository ada/course --assignment e2e-mlp",
)


@ci.command()
def fetch(
    output: Annotated[Path, option("DIR", "New folder for the course.", "--output", "-o")],
    course: Annotated[Path, option("DIR", "Release whose release.json has the SHA-256.")] = Path(),
    sha256: Annotated[str | None, option("DIGEST", "SHA-256, if there is no release.")] = None,
) -> None:
    """Fetch the complete course from GRADER_SECRET_URL and verify its SHA-256.

    Examples:
        grader ci fetch --output complete
    """
    from grader.release.secret import fetch, source_of, unpack  # most commands need none of it
    from grader.release.write import read_manifest

    manifest = read_manifest(course)
    declared = (manifest and manifest.secret) or ""
    unpack(fetch(source_of(os.environ, sha256 or declared)), output)
    tell(Console(emoji=False), say("complete-course-in", folder=str(output)))


@ci.command()
def solutions(
    folder: Annotated[Path, argument("DIR", "Repository.")] = Path(),
    course: Annotated[
        Path, option("DIR", "Release whose release.json identifies solutions.")
    ] = Path(),
) -> None:
    """Find solutions of the course in a student repository; exit with 1 if there are any.

    Examples:
        grader ci solutions .
    """
    from grader.release.secret import find_solutions
    from grader.release.write import read_manifest

    manifest = read_manifest(course)
    found = list(find_solutions(folder, () if manifest is None else manifest.solutions))
    for each in found:
        path = ascii(str(each.path))  # names are students'
        if each.cell is None:
            told = say("solution-course", path=path)
        else:
            told = say("code-cell-solution-course", path=path, cell=each.cell)
        tell(Console(emoji=False), told)
    if found:
        raise typer.Exit(FOUND)


Made = TypeVar("Made", "Choices", "BoardChoices", "BrowserChoices")


def _write(make: Callable[[Made], dict[Path, bytes]], choices: Made) -> None:
    from grader.ci.recipes import write_new

    files = {choices.directory / path: content for path, content in make(choices).items()}
    write_new(files, force=choices.force)
    tell(Console(emoji=False), *map(str, files))


def _write_with_button(service: Service, choices: BrowserChoices) -> None:
    """Write files and show the button that opens them: refused choices write nothing."""
    from grader.ci.browser import PLACEHOLDER, binder_files, button, codespaces_files

    shown = button(choices, service)
    _write(binder_files if service == "binder" else codespaces_files, choices)
    console = Console(emoji=False)
    tell(console, say("next-commit-and-put-button-into-readme"), shown)
    if choices.repository == PLACEHOLDER:
        tell(console, say("replace-by-your-repository", placeholder=PLACEHOLDER))
    if service == "binder":
        tell(console, say("binder-reads-public-repositories-only"))


def _say_what_is_next(choices: Choices, where: Text) -> None:
    from grader.ci.recipes import find_course_of

    console = Console(emoji=False)
    if find_course_of(choices) is None:
        tell(console, say("there-no-course-here-yet-put-assignments"))
    tell(
        console,
        say("next-commit-push-notebook-and-look", submissions=choices.submissions, where=where),
        say("everybody-who-can-read-repository-can-read"),
    )
