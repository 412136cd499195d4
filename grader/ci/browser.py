"""Recipes for notebooks in a browser: what a release for students needs on GitHub and on Binder.

Students get the templates and the self-check, and what both need, installed by the release's lock.
"""

import json
import re
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import msgspec

from grader.ci.recipes import LOCK, RELEASE, fill, refuse_checkout
from grader.ci.wheel import Installed, lock_files
from grader.course import load_course
from grader.errors import UsageError
from grader.language import say

Service = Literal["codespaces", "binder"]

CODESPACES = Path(".devcontainer")
BINDER = Path(".binder")
PYTHON = "3.12"
"""The version of the image in devcontainer.json, and of Binder's environment."""

PLACEHOLDER = "OWNER/REPOSITORY"
"""Stands in a button until somebody says where the repository is."""

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")


class BrowserChoices(msgspec.Struct, frozen=True):
    """The arguments of `grader ci init codespaces` and `binder`, as they were given.

    `directory` holds a release. `assignment` is the one whose template is opened, and `repository`
    where students find the release on GitHub.
    """

    directory: Path
    install: Installed
    assignment: str | None = None
    repository: str = PLACEHOLDER
    force: bool = False


def codespaces_files(choices: BrowserChoices) -> dict[Path, bytes]:
    """Return what GitHub makes a codespace by. Raises GraderError for choices that cannot be."""
    notebook = find_template(choices)
    words = {"NAME": choices.assignment or "notebooks"}
    plain = {"NOTEBOOK": json.dumps(notebook) if notebook else ""}
    return {
        CODESPACES / "devcontainer.json": fill(
            "devcontainer.json", words, json.dumps, plain
        ).encode(),
        CODESPACES / "setup.sh": _script("codespaces"),
        **_locked(choices, "Codespaces"),
    }


def binder_files(choices: BrowserChoices) -> dict[Path, bytes]:
    """Return what Binder makes an image by. Raises GraderError for choices that cannot be."""
    find_template(choices)
    return {
        BINDER / "runtime.txt": f"python-{PYTHON}\n".encode(),
        BINDER / "postBuild": _script("binder"),
        **_locked(choices, "Binder"),
    }


def button(choices: BrowserChoices, service: Service) -> str:
    """Return a button for a README, in Markdown. Raises GraderError for choices that cannot be."""
    if not _REPOSITORY.fullmatch(choices.repository):
        raise UsageError(
            say("not-repository-on-github", repository=repr(choices.repository)),
            say("name-repository-as-owner-name"),
        )
    if service == "codespaces":
        address = f"https://codespaces.new/{choices.repository}?quickstart=1"
        badge = "[Open in GitHub Codespaces](https://github.com/codespaces/badge.svg)"
    else:
        notebook = find_template(choices)
        place = quote(f"lab/tree/{notebook}" if notebook else "lab", safe="")
        address = f"https://mybinder.org/v2/gh/{choices.repository}/HEAD?urlpath={place}"
        badge = "[Launch Binder](https://mybinder.org/badge_logo.svg)"
    return f"[!{badge}]({address})"


def find_template(choices: BrowserChoices) -> str | None:
    """Return the template that is opened first: of the assignment, or of the only one.

    Raises UsageError where the directory holds no release: students read all that is in it.
    """
    if not (choices.directory / RELEASE).is_file():
        raise UsageError(
            say("no-release-and-students-read-all", folder=str(choices.directory)),
            say("make-release-and-write-recipe-into-it"),
        )
    course = load_course(choices.directory)
    known = [choices.assignment] if choices.assignment is not None else [*course.assignments]
    if len(known) != 1:
        return None
    name = f"templates/{course.get(known[0]).assignment.slug}.ipynb"
    return name if (choices.directory / name).is_file() else None


def _script(service: Service) -> bytes:
    return fill("notebooks.sh", {}, str, {"SERVICE": service}).encode()


def _locked(choices: BrowserChoices, service: str) -> dict[Path, bytes]:
    refuse_checkout(choices.install, service)
    return {LOCK / name: content for name, content in lock_files(choices.install).items()}
