"""Whether the pages of a class tell what is in it: mistakes, errors and copies that were planted.

    python benchmarks/planted_class.py --students 200 --output class

makes the class (tools/plant_class.py), grades it, which takes some seconds for each student, writes
all pages, opens them in Chromium, and prints what agrees with what was planted. It goes on where it
was stopped: what is graded is kept.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

GRADER = Path(sys.executable).with_name("grader")
Planted = list[dict[str, str]]


def main() -> int:
    """Make, grade and look at a class; return 1 where it is not told as it is."""
    from plant_class import make_class, write_class

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--copies", type=int, default=60)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    folder: Path = options.output
    write_class(make_class(options.students, options.copies), folder)
    grade(folder)
    planted: Planted = json.loads((folder / "planted.json").read_text("utf-8"))
    told = json.loads((folder / "pages" / "e2e-conv.json").read_text("utf-8"))
    alike = json.loads((folder / "pages" / "e2e-conv-similar.json").read_text("utf-8"))
    found = [*of_mistakes(planted, told), *of_errors(planted, told), *of_copies(planted, alike)]
    found += of_pages(sorted((folder / "pages").rglob("*.html")))
    for right, line in found:
        print(f"{'ok ' if right else 'BAD'} {line}")
    return 0 if all(right for right, _ in found) else 1


def grade(folder: Path) -> None:
    """Grade the class, and write the pages about it."""
    reports, pages = folder / "reports", folder / "pages"
    run("batch", folder / "submissions", "--output", reports, "--data", "builtin")
    run("insights", "--reports", reports, "--pass", "50", "--output", pages)
    run("similar", "--reports", reports, "--output", pages)
    consent = ("--consent", folder / "consent.csv")
    run("leaderboard", "--reports", reports, *consent, "--output", pages)


def run(*words: str | Path) -> None:
    """Run a command of the grader on this repository's course."""
    subprocess.run([GRADER, *words, "--course", ROOT], check=True, stdout=subprocess.DEVNULL)


def of_mistakes(planted: Planted, told: Any) -> Iterator[tuple[bool, str]]:
    """Compare who made which mistake, and how many."""
    made = {(each["student"], each["mistake"]) for each in planted if each["mistake"]}
    seen = {(who, row["mistake"]) for row in told["mistakes"] for who in row["students"]}
    yield agree("mistakes", made, seen)
    counts = Counter(mistake for _, mistake in made)
    counted = Counter(mistake for _, mistake in seen)
    for name in sorted({*counts, *counted}):
        yield True, f"    {name or 'not recognised'}: {counts[name]} planted, {counted[name]} told"


def of_errors(planted: Planted, told: Any) -> Iterator[tuple[bool, str]]:
    """Compare whose notebook fails by which error."""
    made = {(each["student"], each["error"]) for each in planted if each["error"]}
    seen = {(who, row["error"]) for row in told["failures"] for who in row["students"]}
    yield agree("errors", made, seen)


def agree(what: str, made: set[tuple[str, str]], seen: set[tuple[str, str]]) -> tuple[bool, str]:
    """Say whether 95% of what was planted or told is both."""
    share = len(made & seen) / max(len(made | seen), 1)
    line = f"{what}: {len(made)} planted, {len(made & seen)} told, {len(seen - made)} others"
    return share >= 0.95, f"{line}: {share:.1%} agree"


def of_copies(planted: Planted, alike: Any) -> Iterator[tuple[bool, str]]:
    """Compare who copied from whom: nine of ten of each kind, and none false of the first ten."""
    kinds: dict[str, set[frozenset[str]]] = defaultdict(set)
    for each in planted:
        if each["source"]:
            kinds[each["how"]].add(frozenset((each["student"], each["source"])))
    pairs = [frozenset((each["one"], each["other"])) for each in alike["pairs"]]
    for kind, made in kinds.items():
        hits = len(made.intersection(pairs))
        yield hits >= 0.9 * len(made), f"copies, {kind}: {hits} of {len(made)} found"
    true = set().union(*kinds.values())
    false = [pair not in true for pair in pairs]
    yield (
        not any(false[:10]),
        f"false pairs: {sum(false[:10])} of the first ten, {sum(false)} in all",
    )


def of_pages(paths: list[Path]) -> Iterator[tuple[bool, str]]:
    """Open every page, and say whether one is large, asks for anything, or says anything."""
    from tests.browser import Browser, visit
    from tests.missing import CHROMIUM

    largest = max(path.stat().st_size for path in paths)
    yield largest < 3_000_000, f"pages: {len(paths)}, the largest has {largest / 1e6:.2f} MB"
    executable = next(filter(None, map(shutil.which, CHROMIUM.programs)))
    events = []
    with closing(Browser(executable)) as browser:
        for path in paths:
            events += visit(browser, path).events
            browser.close_pages()
    yield not events, f"pages: {len(events)} messages, requests and dialogs in Chromium"


if __name__ == "__main__":
    sys.exit(main())
