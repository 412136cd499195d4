"""Records a class on a small disk of its own that fills up meanwhile, and goes on with room.

    unshare --mount python -m tests.gradebook.full_disk FOLDER

prints, as JSON, what was said and done. It mounts a file system in FOLDER, which nobody else sees
and which is gone at its end.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from grader.batch.collect import Entry
from grader.batch.recording import RecordingStore
from grader.cli import commands
from grader.cli.app import main as run_grader
from grader.errors import GraderError
from grader.gradebook.book import Gradebook
from grader.gradebook.database import open_database
from grader.language import foreign
from grader.report import Report, decode_report
from tests.gradebook.factory import enrol
from tests.gradebook.small_class import SLUG, Class, about
from tests.gradebook.victim import check_whole

assert commands

NO_MOUNT = 77
SIZE = 8 * 2**20
STUDENTS = [f"s{number:02}" for number in range(24)]
LONG = 40_000
"""Characters of a note in every report that is recorded: as an image would be."""


def main(place: str) -> None:
    """Do it all, and print what came of it."""
    disk = Path(place) / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        sys.exit(NO_MOUNT)
    small = Class(disk)
    enrol(small.book, *STUDENTS)
    found = {"recording": recording(small), "answering": answering(small, Path(place) / "reports")}
    small.book.close()
    print(json.dumps(found))


def recording(small: Class) -> dict[str, Any]:
    """Write reports as they are made, until there is no room; then all of them again."""
    base, chance = small.report(b""), random.Random(7)
    contents = {login: login.encode() for login in STUDENTS}
    reports = {
        login: replace(about(base, content), notes=(foreign(chance.randbytes(LONG // 2).hex()),))
        for login, content in contents.items()
    }
    entries = {login: small.file(login, content) for login, content in contents.items()}
    filling = fill(small.folder, LONG * len(STUDENTS) // 2)
    store = small.store()
    refused = {login: _refusal(store, each, reports[login]) for login, each in entries.items()}
    lacking = {name.split("/")[0] for name in store.unrecorded}
    done = [login for login, why in refused.items() if not why and login not in lacking]
    check_whole(small.url)
    kept = [login for login in done if _is_there(small, store, login, reports[login])]
    filling.unlink()
    again = small.store()
    for login, entry in entries.items():
        before = again.find(entry)
        if before is None:
            again.write(entry, reports[login])
        else:
            again.keep(entry, before)
    return {
        "done": done,
        "kept": kept,
        "refused": sorted({*refused.values()} - {""}),
        "troubles": sorted({f"{each} {each.hint.english}" for each in store.troubles}),
        "left": sorted({path.suffix for path in (small.folder / "reports").rglob(".*.part")}),
        "afterwards": [len(again.troubles), *_counts(small)],
    }


def answering(small: Class, reports: Path) -> dict[str, Any]:
    """Change points, and run the command on a gradebook without room, then with."""
    small.weigh(9)
    small.book.take_rules([small.assignment])  # or that is refused, before anything is done
    filling = fill(small.folder, 0)
    first = command(small, reports)
    check_whole(small.url)
    counts = _counts(small)
    filling.unlink()
    second = command(small, reports)
    return {"first": first, "counts": counts, "second": second, "afterwards": _counts(small)}


def fill(disk: Path, but: int) -> Path:
    """Fill a file system but for so many bytes."""
    path = disk / "filling"
    with path.open("wb") as file:
        room = os.statvfs(disk)
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - max(but, 4096))
    return path


def command(small: Class, reports: Path) -> tuple[int, str, str]:
    """Run `grader batch` in a child; return its exit code and what it prints."""
    words: Sequence[str | Path] = ["batch", small.folder / "class", "--output", reports]
    words = [*words, "--course", small.folder, "--assignment", SLUG]
    output, messages = (reports.with_name(name) for name in ("output", "messages"))
    child = os.fork()
    if child == 0:
        for path, number in ((output, 1), (messages, 2)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv = ["grader", *map(str, words)]
        os.environ["COLUMNS"] = "1000"
        os.environ.pop("GRADER_GRADEBOOK", None)
        try:
            run_grader()
        except SystemExit as ending:
            os._exit(int(ending.code or 0))
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), output.read_text(), messages.read_text()


def _refusal(store: RecordingStore, entry: Entry, report: Report) -> str:
    """Write a report; return why it could not be: a batch then keeps it elsewhere."""
    try:
        store.write(entry, report)
    except GraderError as error:
        return f"{error} {error.hint.english}"
    return ""


def _is_there(small: Class, store: RecordingStore, login: str, report: Report) -> bool:
    book = Gradebook(open_database(small.url))
    stored = book.find_report(report.submission.sha256)
    book.close()
    path = small.folder / "reports" / login / "hw.json"
    return stored == report == decode_report(path.read_bytes())


def _counts(small: Class) -> tuple[int, int]:
    """Return how many attempts and gradings there are."""
    return len(small.book.stored_attempts()), len(small.book.stored())


if __name__ == "__main__":
    main(*sys.argv[1:])
