"""Check the subjects of commits: imperative, at most 72 characters (CONTRIBUTING.md).

    python tools/check_subjects.py

Commits before the rule are left alone. A shallow clone has only some of the others.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
BEFORE_THE_RULE = "b03fce39"
LONGEST = 72
# "Adds", "Added", "Adding", but not "Pass" and "Proceed".
NOT_IMPERATIVE = re.compile(r"(?:\w+[^s\W]s|\w+[^e\W]ed|\w+ing)\b")
IMPERATIVE = frozenset({"Bring", "Embed", "Focus", "Shed", "String"})
MADE_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ")


def fault_of(subject: str) -> str | None:
    """Return what is wrong with a subject."""
    if subject.startswith(MADE_BY_GIT):
        return None
    if len(subject) > LONGEST:
        return f"{len(subject)} characters, {LONGEST} are allowed"
    first = subject.split()[0] if subject.split() else ""
    if not first[:1].isupper():
        return "begin with a capital letter"
    if NOT_IMPERATIVE.fullmatch(first) and first not in IMPERATIVE:
        return f'begin with an imperative, as in "Add", not "{first}"'
    return None


def subjects(root: Path) -> list[tuple[str, str]]:
    """Return the commits since the rule, as far as the clone has them, with their subjects."""
    known = _git(root, "cat-file", "-e", f"{BEFORE_THE_RULE}^{{commit}}").returncode == 0
    span = f"{BEFORE_THE_RULE}..HEAD" if known else "-1"
    listed = _git(root, "log", "--format=%h %s", span)
    lines = (
        listed.stdout.splitlines()
    )  # none outside of a repository, as in an archive of the sources
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def faults(commits: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each commit whose subject is wrong."""
    return [f"{name} {text!r}: {fault}" for name, text in commits if (fault := fault_of(text))]


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)


def main() -> int:
    """Print what is wrong; return 1 if anything is."""
    found = faults(subjects(ROOT))
    for line in found:
        print(line, file=sys.stderr)
    if found:
        print("Reword them with `git commit --amend` or `git rebase -i`.", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
