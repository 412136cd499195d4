"""Grading only what changed: answered, counted anew, or planned to be run.

The reports are made here: no sandbox is there, and nothing is started.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from grader import api
from grader.batch.collect import collect
from grader.batch.regrading import Plan, Reason, Rerun, Way, count_anew, make_plan
from grader.batch.summary import make_row
from grader.cli import batch as command
from grader.errors import GradebookError, UsageError
from grader.gradebook.book import HandedIn, Recording
from grader.gradebook.entries import plan
from grader.grading.preparation import GradingOptions
from grader.report import decode_report, encode_report
from tests.gradebook.factory import enrol
from tests.gradebook.small_class import SLUG, SMALL, Class


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Class]:
    found = Class(tmp_path)
    yield found
    found.book.close()


class TestAnswers:
    """What the gradebook knows the answer to."""

    def test_an_unchanged_file_is_answered_in_any_folder(self, world: Class) -> None:
        entry = world.grade("ada", b"a")
        (row,) = world.store("other").answers([entry], world.keys()).values()
        assert (7, 10, True, "as it was", "command") == (
            row.score,
            row.max_score,
            row.kept,
            row.noticed.english,
            row.chosen_by,
        )
        document = (world.folder / "other" / "ada" / "hw.json").read_bytes()
        assert world.report(b"a") == decode_report(document)
        assert [7] == world.gradings("ada")

    def test_what_a_person_has_yet_to_give_is_told_as_when_it_was_graded(
        self, world: Class
    ) -> None:
        report = world.report(b"a")
        (part,) = report.parts
        parts = (part, replace(part, id="b", score=0.0, max_score=0.0, checks=(), open=2.5))
        entry = world.grade("ada", b"a", replace(report, parts=parts))
        store = world.store()
        (before,) = store.answers([entry], world.keys()).values()
        other = world.file("ben", b"a")
        enrol(world.book, "ben")
        (another,) = world.store().answers([other], world.keys()).values()
        assert [(7, 10, 2.5)] * 2 == [(e.score, e.max_score, e.open) for e in (before, another)]

    def test_another_students_same_file_has_the_same_answer(self, world: Class) -> None:
        world.grade("ada", b"a")
        enrol(world.book, "ben")
        entry = world.file("ben", b"a")
        assert {"ben/hw"} == {*world.store().answers([entry], world.keys())}
        assert {"ada": 7, "ben": 7} == world.points()

    def test_other_points_are_counted_anew_and_the_old_grading_stays(self, world: Class) -> None:
        entry = world.grade("ada", b"a")
        world.weigh(10)
        store = world.store()
        (row,) = store.answers([entry], world.keys()).values()
        assert (9, 14, 1) == (row.score, row.max_score, store.rescored)
        assert [7, 9] == world.gradings("ada")
        assert 9 == decode_report((world.folder / "reports/ada/hw.json").read_bytes()).score

    def test_points_that_come_back_make_the_newest_grading(self, world: Class) -> None:
        """And not the one that was first, though it says the same."""
        entry = world.grade("ada", b"a")
        world.weigh(9)
        world.store().answers([entry], world.keys())
        world.rewrite("points = 9", "points = 6")
        world.rewrite("points = 13", "points = 10")
        world.store().answers([entry], world.keys())
        assert ([7, 8.5, 7], {"ada": 7}) == (world.gradings("ada"), world.points())

    def test_what_was_answered_once_is_not_written_again(self, world: Class) -> None:
        entry = world.grade("ada", b"a")
        world.weigh(10)
        for _ in range(3):
            world.store().answers([entry], world.keys())
        assert [7, 9] == world.gradings("ada")

    @pytest.mark.parametrize(
        "options", [{"seed": 8}, {"sandbox": "basic"}, {"preamble": True}, {"assignment": "other"}]
    )
    def test_what_was_asked_for_otherwise_is_not_answered(
        self, world: Class, options: dict[str, Any]
    ) -> None:
        entry = world.grade("ada", b"a")
        assert {} == world.store().answers([entry], world.keys(**options))

    def test_what_decides_decides_whether_it_is_answered(self, world: Class) -> None:
        entry = world.grade("ada", b"a")
        world.rewrite("cell_seconds = 20", "cell_seconds = 21")
        assert {} == world.store().answers([entry], world.keys())

    def test_the_isolation_has_to_be_as_strong_as_is_asked_for(self, world: Class) -> None:
        weak = replace(world.report(b"a").sandbox, level="minimal")
        entry = world.grade("ada", b"a", world.report(b"a", sandbox=weak))
        assert {"ada/hw"} == {*world.store().answers([entry], world.keys())}
        world.rewrite('minimum = "none"', 'minimum = "strong"')
        again = world.report(b"a", sandbox=weak)
        world.grade("ada", b"a", again)
        assert {} == world.store().answers([entry], world.keys())

    def test_who_names_no_assignment_leaves_it_to_metadata_alone(self, world: Class) -> None:
        entry = world.file("ada", b"a")
        given = HandedIn(world.student("ada"), SLUG, "hw.ipynb", b"a")
        for seed, chooser in ((1, "entry points"), (2, "metadata")):
            report = world.report(b"a", seed=seed)
            world.book.record_all([Recording(given, report, "", chooser)])
            rows = world.store().answers([entry], world.keys(assignment=None))
            assert (chooser == "metadata") == bool(rows)

    def test_what_is_nobodys_is_answered_and_named(self, world: Class) -> None:
        world.grade("ada", b"a")
        store = world.store()
        assert {"zoe/hw"} == {*store.answers([world.file("zoe", b"a")], world.keys())}
        assert ["zoe/hw"] == store.strangers

    def test_a_command_starts_nothing_where_all_is_answered(
        self, world: Class, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Somebody who handed in nothing keeps nobody from it."""
        world.grade("ada", b"a")
        (world.folder / "class" / "gus").mkdir()
        monkeypatch.chdir(world.folder)
        for module in (api, command):
            monkeypatch.setattr(module, "open_batch", _never)
        options = command.BatchOptions(
            (Path("class"),), Path("reports"), GradingOptions(SLUG, course=world.folder)
        )
        with (world.folder / "said").open("w") as said:
            summary = command.run_batch(options, Console(file=said), Console(file=said))
        assert {"ada/hw": True, "gus": False} == {row.name: row.graded for row in summary.rows}
        found = api.grade_many(["class"], assignment=SLUG, course=".", gradebook="gradebook.sqlite")
        assert {"ada/hw": 7, "gus": 0} == {name: report.score for name, report in found}

    @pytest.mark.parametrize("points", [6, 9])
    def test_a_class_is_answered_from_what_is_stored(self, world: Class, points: int) -> None:
        """How long five hundred take is a figure of benchmarks/gradebook.py."""
        logins = [f"s{number}" for number in range(20)]
        enrol(world.book, *logins)
        people = {each.login: each.id for each in world.book.students()}
        report = world.report(b"")
        recordings, store = [], world.store()
        for login in logins:
            content = login.encode()
            sha256 = hashlib.sha256(content).hexdigest()
            own = replace(report, submission=replace(report.submission, sha256=sha256))
            given = HandedIn(people[login], SLUG, "hw.ipynb", content)
            recordings.append(Recording(given, own, "", "command"))
            store.path(world.file(login, content)).parent.mkdir()
            (world.folder / "reports" / login / "hw.json").write_bytes(encode_report(own))
        world.book.record_all(recordings)
        if points != 6:
            world.weigh(points)
        entries = collect([world.folder / "class"])
        answers = world.store().answers(entries, world.keys())
        assert {each.name for each in entries} == set(answers)


def _never(*_: object) -> None:
    raise AssertionError("something is started")


class TestPlan:
    """What becomes of every attempt."""

    def planned(self, world: Class, *, changed: bool = True) -> list[tuple[Way, Reason]]:
        plan = make_plan(world.book, world.keys(), SLUG, changed=changed)
        return [(each.way, each.reason) for each in plan.attempts]

    def test_what_has_not_changed_is_kept(self, world: Class) -> None:
        world.grade("ada", b"a")
        assert [("kept", "same")] == self.planned(world)

    def test_all_is_run_that_is_asked_for(self, world: Class) -> None:
        world.grade("ada", b"a")
        assert [("run", "asked")] == self.planned(world, changed=False)

    def test_other_points_are_counted_anew(self, world: Class) -> None:
        world.grade("ada", b"a")
        world.weigh(10)
        assert [("rescored", "points")] == self.planned(world)

    def test_what_decides_otherwise_is_run(self, world: Class) -> None:
        world.grade("ada", b"a")
        world.rewrite("= 64", "= 65")
        assert [("run", "changed")] == self.planned(world)

    def test_what_has_changed_is_known(self, world: Class) -> None:
        world.grade("ada", b"a")
        world.rewrite("= 64", "= 65")
        plan = make_plan(world.book, world.keys(), SLUG, changed=True)
        assert [("assignment",)] == [each.changes for each in plan.attempts]
        (world.folder / "assignments" / SLUG / "helper.py").write_text("x = 1\n")
        plan = make_plan(world.book, world.keys(), SLUG, changed=True)
        assert [("assignment", "files")] == [each.changes for each in plan.attempts]

    def test_another_isolation_is_no_change_of_the_course(self, world: Class) -> None:
        world.grade("ada", b"a")
        plan = make_plan(world.book, world.keys(seed=99), SLUG, changed=True)
        assert [("options",)] == [each.changes for each in plan.attempts]

    def test_another_candidate_that_may_count_is_run(self, world: Class) -> None:
        (part,) = world.report(b"a").parts
        world.grade("ada", b"a", world.report(b"a", parts=(replace(part, contested=True),)))
        world.weigh(10)
        assert [("run", "contested")] == self.planned(world)

    def test_what_was_left_undecided_is_run(self, world: Class) -> None:
        (part,) = world.report(b"a").parts
        checks = tuple(replace(each, again=True) for each in part.checks)
        world.grade("ada", b"a", world.report(b"a", parts=(replace(part, checks=checks),)))
        assert [("run", "undecided")] == self.planned(world)

    def test_what_was_never_graded_is_run(self, world: Class) -> None:
        given = HandedIn(world.student("ada"), SLUG, "hw.ipynb", b"a")
        world.book.record_all([Recording(given, None)])
        assert [("run", "ungraded")] == self.planned(world)

    def test_what_the_course_has_no_more_is_left(self, world: Class) -> None:
        world.grade("ada", b"a")
        shutil.copytree(SMALL / "assignments" / "trio", world.folder / "assignments" / "trio")
        shutil.rmtree(world.folder / "assignments" / SLUG)
        assert [("left", "unknown")] == self.planned(world)

    def test_who_has_withdrawn_is_left_out(self, world: Class) -> None:
        world.grade("ada", b"a")
        world.book.change_students(plan([], []), ["ada"])
        assert [] == self.planned(world)

    def test_the_cost_is_that_of_every_content_once(self, world: Class) -> None:
        long = replace(world.report(b"a").duration, total=30)
        for login, content in (("ada", b"a"), ("ben", b"a"), ("cem", b"c")):
            world.grade(login, content, world.report(content, duration=long))
        plan = make_plan(world.book, world.keys(), SLUG, changed=False)
        assert (3, 2, 60) == (len(plan.of("run")), len(plan.files("run")), plan.seconds)

    def test_what_nobody_knows_is_not_told(self, world: Class) -> None:
        given = HandedIn(world.student("ada"), SLUG, "hw.ipynb", b"a")
        world.book.record_all([Recording(given, None)])
        assert make_plan(world.book, world.keys(), SLUG, changed=True).seconds is None


class TestDoing:
    """What is planned is done."""

    def plan(self, world: Class) -> Plan:
        return make_plan(world.book, world.keys(), SLUG, changed=True)

    def test_points_are_counted_anew_for_everybody(self, world: Class) -> None:
        for login in ("ada", "ben"):
            world.grade(login, login.encode())
        world.weigh(10)
        count_anew(world.book, world.keys(), self.plan(world))
        assert {"ada": 9, "ben": 9} == world.points()
        assert [7, 9] == world.gradings("ada")
        assert {"kept"} == {each.way for each in self.plan(world).attempts}

    def test_a_run_answers_all_attempts_of_its_content(self, world: Class, tmp_path: Path) -> None:
        for login, content in (("ada", b"a"), ("ben", b"a"), ("cem", b"c")):
            given = HandedIn(world.student(login), SLUG, "hw.ipynb", content)
            world.book.record_all([Recording(given, None)])
        (tmp_path / "run").mkdir()
        store = Rerun(world.book, self.plan(world).of("run"), tmp_path / "run")
        entries = [*store.entries()]
        assert [b"a", b"c"] == [each.path.read_bytes() for each in entries]
        store.write(entries[0], world.report(b"a"))
        assert {"ada": 7, "ben": 7} == world.points()

    @pytest.mark.parametrize("chooser", ["metadata", "entry points"])
    def test_a_batch_knows_afterwards_what_was_run(
        self, world: Class, tmp_path: Path, chooser: str
    ) -> None:
        """Also one that names no assignment, and into a folder with the report of before."""
        entry, before = world.file("ada", b"a"), world.report(b"a")
        given = HandedIn(world.student("ada"), SLUG, "hw.ipynb", b"a")
        world.book.record_all([Recording(given, before, "", chooser)])
        world.store().keep(entry, before)
        world.rewrite("= 64", "= 65")
        run = Rerun(world.book, self.plan(world).of("run"), tmp_path)
        (laid,) = run.entries()
        later = before.graded + timedelta(hours=1)
        made = world.report(b"a", 1.0, graded=later)
        run.write(laid, made, make_row(laid, made, "command"))
        rows = world.store().answers([entry], world.keys(assignment=None))
        assert (chooser == "metadata") == bool(rows)
        store = world.store()
        found = store.find(entry)
        assert made.parts == found.parts
        store.keep(entry, found)
        document = (world.folder / "reports" / "ada" / "hw.json").read_bytes()
        assert made.parts == decode_report(document).parts

    def test_what_could_not_be_graded_stays_as_it_was(self, world: Class, tmp_path: Path) -> None:
        world.grade("ada", b"a")
        world.rewrite("= 64", "= 65")
        store = Rerun(world.book, self.plan(world).of("run"), tmp_path)
        (entry,) = store.entries()
        store.write(entry, world.report(b"a", parts=()))
        assert [7] == world.gradings("ada")

    def test_what_the_gradebook_refuses_is_said_as_of_any_place(
        self, world: Class, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So the report is kept elsewhere, and the others go on."""
        given = HandedIn(world.student("ada"), SLUG, "hw.ipynb", b"a")
        world.book.record_all([Recording(given, None)])
        store = Rerun(world.book, self.plan(world).of("run"), tmp_path)
        (entry,) = store.entries()
        monkeypatch.setattr(world.book, "supersede", _refuse)
        with pytest.raises(UsageError, match="It is gone"):
            store.write(entry, world.report(b"a"))


def _refuse(*_: object) -> None:
    raise GradebookError("It is gone.")
