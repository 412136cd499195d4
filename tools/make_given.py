"""Write `given.json` of assignments: forms of what each of them gives, which is never paid for.

    python tools/make_given.py SLUG [--course DIR] [--handout FILE ...] [--check]

Read are the assignment's template, the targets of its `workload.py`, and handouts: notebooks,
scripts or Markdown that students are given besides. They are run in a sandbox as if they were
submissions. What a handout shows that computes a part is an answer where somebody hands it in under
the name asked for, since the exercise is to do it again; everything else is none under any name.

What a file says already stays in it: handouts need not be at hand again. With `--check` nothing is
written, and the exit code is 1 where something of the template or a target is not in the file.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import tvm
from rich.console import Console

from grader.assignment_files import GIVEN_FILE, GivenForms, encode_given, load_given
from grader.authoring.given import collect_given
from grader.course import CourseAssignment, load_course
from grader.grading.preparation import GradingOptions, open_settings

ROOT = Path(__file__).resolve().parent.parent


def targets_of(chosen: CourseAssignment) -> list[bytes]:
    """Return the target of an assignment's `workload.py`, the course's own code, as graph JSON."""
    names: dict[str, Any] = {}
    exec(compile(chosen.workload(), "workload.py", "exec"), names)
    return [tvm.ir.save_json(names["target"]()).encode()] if "target" in names else []


def main() -> int:
    """Write the file or compare it; return the exit code."""
    parser = argparse.ArgumentParser(description="Write given.json of an assignment.")
    parser.add_argument("slug")
    parser.add_argument("--course", type=Path, default=ROOT)
    parser.add_argument("--handout", type=Path, action="append", default=[])
    parser.add_argument("--check", action="store_true", help="only say whether all of it is there")
    arguments = parser.parse_args()
    course = load_course(arguments.course)
    chosen = course.get(arguments.slug)
    options = GradingOptions(data="builtin", seed=0, course=arguments.course)
    with open_settings(options, course, [chosen], ()) as settings:
        found = collect_given(
            course.root,
            chosen,
            settings,
            handouts=arguments.handout,
            targets=targets_of(chosen),
        )
    known = load_given(chosen.folder)
    whole = GivenForms(known.given | found.given, known.shown | found.shown)
    if arguments.check:
        missing = found.given - known.given
        Console().print(f"{arguments.slug}: {len(missing)} of {len(found.given)} are missing")
        return 1 if missing else 0
    (chosen.folder / GIVEN_FILE).write_bytes(encode_given(whole))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
