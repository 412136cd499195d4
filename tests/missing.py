"""What a machine may lack: tests that need it are skipped, and say which command brings it.

Where the variable CI is set, as wherever changes are checked, what can be installed must be there:
a test that lacks it fails.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from grader.machine.packages import Finder, how_to_install

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
RUNTIMES = ("runc", "crun")
DATA = "GRADER_DATA"
COURSE_TEXTS = "GRADER_COURSE_TEXTS"

AS_ROOT = "sudo .venv/bin/python -m pytest tests"
NO_GROUPS = (
    "no control groups can be made here: as a user of systemd,"
    " systemd-run --user --scope -p Delegate=yes make test"
)
REAL_DATA = f"{DATA}=FOLDER make test, with the images of docs/data.md in FOLDER"


class Part(NamedTuple):
    """What may be missing: the programs of which one must be there, and the package they are in."""

    name: str
    programs: tuple[str, ...]
    package: str

    def is_here(self, find: Finder = shutil.which) -> bool:
        """Say whether one of the programs is found."""
        return any(map(find, self.programs))

    def reason(self) -> str:
        """Return what a skipped test says."""
        return f"{self.name} is missing: {how_to_install(self.package).english}"

    def need(self) -> None:
        """Skip the test that asks, or let it fail where everything should be there."""
        if not self.is_here():
            lack(self.reason())


BUBBLEWRAP = Part("bubblewrap", ("bwrap",), "bubblewrap")
CHROMIUM = Part("Chromium", BROWSERS, "chromium")
RUNTIME = Part("A container runtime", RUNTIMES, "runc")
POSTGRESQL = Part("PostgreSQL", ("pg_ctl", "initdb"), "postgresql")
BECOMING = Part("setpriv", ("setpriv",), "util-linux")


def lack(reason: str) -> NoReturn:
    """End a test for want of something that can be installed."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def needs(part: Part) -> pytest.MarkDecorator:
    """Mark a test that needs a part."""
    return pytest.mark.skipif(not part.is_here() and not os.environ.get("CI"), reason=part.reason())


needs_runtime = needs(RUNTIME)


def needs_root(why: str) -> pytest.MarkDecorator:
    """Mark a test that only root can run; `why` is half a sentence on what for."""
    return pytest.mark.skipif(os.geteuid() != 0, reason=f"{why}: {AS_ROOT}")


def needs_user(why: str) -> pytest.MarkDecorator:
    """Mark a test that says nothing where root runs it."""
    command = "python -m tests.users user .venv/bin/python -m pytest tests"
    return pytest.mark.skipif(os.geteuid() == 0, reason=f"{why}: .venv/bin/{command}")


def real_data() -> Path | None:
    """Return the folder with real images that GRADER_DATA names."""
    folder = Path(os.environ.get(DATA, ""))
    return folder if os.environ.get(DATA) and (folder / "FashionMNIST").is_dir() else None


NO_REAL_DATA = f"there are no real images: {REAL_DATA}"
needs_real_data = pytest.mark.skipif(real_data() is None, reason=NO_REAL_DATA)
needs_course_texts = pytest.mark.skipif(
    real_data() is None or not os.environ.get(COURSE_TEXTS),
    reason=f"the course's texts are no part of the repository: {COURSE_TEXTS}=FOLDER {REAL_DATA}",
)


def no_mount(said: str) -> str:
    """Return what a test says that could not mount a small file system; `said` tells why."""
    return f"nothing can be mounted here ({said.strip()}): {AS_ROOT}, outside of a container"
