"""Weak assignments, and what `grader verify` says of them. A sound one: test_tutorial.py."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from grader.assignment import CheckTable
from grader.authoring.kept import KeptResults, Reference, kept_results
from grader.authoring.subject import Notebooks
from grader.authoring.verify import Verifier
from grader.authoring.verify_result import (
    Verification,
    VerifiedScore,
    encode_verification,
    is_judged_untimed,
)
from grader.course import load_course
from grader.errors import CourseError
from grader.grading.preparation import Preparation, Settings
from grader.language import NOTHING, Text, foreign, say
from grader.progress import Progress, Silent
from grader.report.texts import decode_old
from grader.sandbox.interface import Level, Sandbox
from tests.authoring.small import make_small

SLUG = "layer"


class Author:
    """A new assignment in a folder, and changes of its files."""

    def __init__(self, root: Path, sandbox: Sandbox) -> None:
        self.root = root
        self.sandbox = sandbox
        make_small(root, SLUG)

    def change(self, name: str, old: str, new: str) -> None:
        path = self.root / (name if "/" in name else f"assignments/{SLUG}/{name}")
        text = path.read_text(encoding="utf-8")
        assert 1 == text.count(old)
        path.write_text(text.replace(old, new), encoding="utf-8")

    def verify(
        self, progress: Progress | None = None, kept: KeptResults | None = None
    ) -> Verification:
        chosen = load_course(self.root).get(SLUG)
        notebooks = Notebooks(self.root, chosen)
        settings = Settings(self.sandbox, seed=7)
        return Verifier(chosen, notebooks, settings, timed=True, jobs=2, kept=kept).verify(
            progress or Silent()
        )


@pytest.fixture
def author(tmp_path: Path, sandbox: Sandbox) -> Author:
    return Author(tmp_path, sandbox)


def survivors(found: Verification, part: str) -> set[str]:
    return {each.id for each in found.mutants if each.verdict == "survived" and each.part == part}


class Labels(Silent):
    """Keeps which stages there were, and what is said of the steps of the last one."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.said: list[str] = []

    def stage(self, name: Text, *, waits: bool = False) -> None:
        self.stages.append(name.english)
        self.said = []

    def step(self, done: int, total: int, label: Text = NOTHING) -> None:
        self.said.append(label.english)


def test_what_has_not_changed_is_not_run_again(author: Author, tmp_path: Path) -> None:
    """What is run tells how far it is, and how long the rest will take."""
    path, labels = tmp_path / "kept.json", Labels()
    first = author.verify(labels, KeptResults(path))
    count = len(first.mutants)
    assert ("the reference", "judging mutants") == (labels.stages[0], labels.stages[-1])
    assert f"1 of {count}" == labels.said[0]
    assert re.fullmatch(rf"2 of {count}, about \d+ (s|min) left", labels.said[1])
    assert f"{count} of {count}" == labels.said[-1]

    labels = Labels()
    again = author.verify(labels, KeptResults(path))
    assert [] == labels.stages
    assert (0, count) == (first.kept, again.kept)
    assert (first.reference, first.mutants, first.oracles) == (
        again.reference,
        again.mutants,
        again.oracles,
    )

    author.change("mutants.toml", 'id = "bias_forgotten"', 'id = "bias_left_out"')
    changed, labels = KeptResults(path), Labels()
    assert count - 1 == author.verify(labels, changed).kept
    assert ["judging mutants"] == labels.stages
    assert ["1 of 1"] == labels.said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("reference/layer.py", ("x: T.Buffer", "x : T.Buffer")),
        ("oracle.py", ("import torch\n", "import  torch\n")),
        ("assignment.toml", ("cases = 64", "cases = 65")),
    ],
)
def test_what_has_changed_counts_no_more(
    author: Author, tmp_path: Path, old: str, new: tuple[str, str]
) -> None:
    """The reference is asked for by what it depends on: its code, the oracle, the parts."""
    lost = (say("name-reason", name="speed", reason=foreign("too slow")),)
    found = Reference((VerifiedScore("kernel", 4, 5, lost),), {"kernel": 1})
    described(author, tmp_path).keep_reference(found)
    kept = described(author, tmp_path)
    kept.keep_reference(found)
    kept.write()
    assert found == described(author, tmp_path).reference()
    author.change(old, *new)
    assert described(author, tmp_path).reference() is None


def described(author: Author, folder: Path) -> KeptResults:
    """Return what is kept of the assignment as it is now."""
    chosen = load_course(author.root).get(SLUG)
    kept = KeptResults(folder / "kept.json")
    prepared = Preparation(chosen, Settings(author.sandbox, seed=7))
    kept.describe(prepared, Notebooks(author.root, chosen), timed=False)
    return kept


@pytest.mark.parametrize(("level", "expected"), [("minimal", 0), ("basic", 1)])
def test_weak_isolation_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: Level, expected: int
) -> None:
    """There a submission may write to its user's files."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept_results(tmp_path, SLUG, level, None, is_read=True).write()
    assert expected == len(list(tmp_path.rglob("*.json")))


def test_mutants_of_what_is_timed_alone_are_no_survivors(author: Author) -> None:
    (kernel, _) = load_course(author.root).get(SLUG).assignment.part
    (table,) = kernel.check
    speed = CheckTable("speed", "speed", points=5)
    required = msgspec.structs.replace(table, points=0, required=True)
    alone = msgspec.structs.replace(kernel, check=(speed,))
    beside = msgspec.structs.replace(kernel, check=(required, speed))
    assert [True, False, True] == [is_judged_untimed(each) for each in (kernel, alone, beside)]


def test_without_a_check_of_outputs_every_mutant_survives(author: Author) -> None:
    author.change(
        "assignment.toml", 'kind = "equivalence"\npoints = 5', 'kind = "pure_tir"\npoints = 5'
    )
    author.change("mutants.toml", 'replace = ""\nexpect = "equivalence"', 'replace = ""')
    found = author.verify()
    assert {"sum_not_initialised", "drop_bias-1", "off_by_one-1", "return_zeros-1"} < survivors(
        found, "kernel"
    )
    assert set() == survivors(found, "graph")
    said = [each for each in found.problems if "of part kernel" in each.english]
    assert len(said) == len(survivors(found, "kernel"))
    assert all("Add one of kind `equivalence`." in each.english for each in said)


def test_a_wide_tolerance_is_named_with_the_check_that_has_it(author: Author) -> None:
    """What remains is caught: a submission that returns zeros is still off by more."""
    author.change("assignment.toml", "atol = 1e-5", "atol = 0.05")
    found = author.verify()
    assert {"float16-1"} == survivors(found, "kernel")
    told = [each.english for each in found.problems]
    (said,) = [each for each in told if "of part kernel" in each]
    assert "check `equivalence` should have caught it" in said
    assert "tolerance is 0.05 + 0.0001 * |output|" in said


def test_a_reference_that_is_wrong_is_told_with_the_reason(author: Author) -> None:
    author.change("oracle.py", "double(bias))", "-double(bias))")
    found = author.verify()
    assert [0, 1] == [each.score for each in found.reference]
    first = found.problems[0].english
    assert "The reference loses points in part kernel, check equivalence: " in first
    assert not found.passed


def test_a_template_that_is_solved_is_told(author: Author) -> None:
    """Without marks the solution is in the template."""
    path = author.root / "reference" / f"{SLUG}.py"
    text = path.read_text(encoding="utf-8")
    before, after = text.split("# %%\nlinear.show()")
    marks = ("### BEGIN SOLUTION\n", "### END SOLUTION\n")
    for mark in marks:
        before = before.replace(mark, "")
    path.write_text(f"{before}# %%\nlinear.show(){after}", encoding="utf-8")
    found = author.verify()
    assert [5, 0] == [each.score for each in found.template]
    assert ["The empty template gets 5 points in part kernel; it should get none."] == [
        each.english.split(" Put ")[0] for each in found.problems
    ]


def test_the_check_that_was_named_must_catch_a_declared_mutant(author: Author) -> None:
    author.change(
        "mutants.toml",
        'dense, x, weight))"\nexpect = "equivalence"',
        'dense, x, weight))"\nexpect = "structure"',
    )
    (said,) = author.verify().problems
    assert said.english.startswith("Mutant bias_forgotten should be caught by check `structure`")


def test_a_mutant_that_cannot_run_shows_nothing(author: Author) -> None:
    author.change("mutants.toml", 'dense, x, weight))"', 'dense, x, nothing))"')
    found = author.verify()
    (row,) = [each for each in found.mutants if each.verdict == "broken"]
    assert ("bias_forgotten", "graph") == (row.id, row.part)
    assert "NameError" in row.advice.english


def test_a_text_that_is_not_there_is_told_before_anything_runs(author: Author) -> None:
    author.change("mutants.toml", 'find = "output = ', 'find = "input = ')
    with pytest.raises(CourseError, match="0 times, not once"):
        author.verify()


def test_an_oracle_that_says_always_the_same_is_told(author: Author) -> None:
    author.change("oracle.py", "[functional.linear(*case)", "[0 * functional.linear(*case)")
    found = author.verify()
    told = [each.english for each in found.problems]
    assert any("linear: all inputs give the same outputs" in each for each in told)


def test_the_document_says_what_was_changed_in_a_module(author: Author) -> None:
    written = encode_verification(author.verify())
    document = msgspec.json.decode(written, type=Verification, dec_hook=decode_old)
    assert document.passed
    changed = {each.id: each.mutation for each in document.mutants if each.mutation is not None}
    assert (
        "linear" == changed["off_by_one-1"].function or "dense" == changed["off_by_one-1"].function
    )
