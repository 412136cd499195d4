"""`grader doctor --timing`: what it says of a machine, and its exit code."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from grader.cli.doctor import describe_counting
from grader.cli.doctor_timing import SelfTest, asked_threads, examine_timing
from grader.course import load_course
from grader.language import foreign
from grader.machine.quiet import TimingLock
from grader.machine.state import MachineFacts
from grader.sandbox.groups import Groups
from tests.endtoend.examples import brisk_course


class TestCounting:
    """`grader doctor` says how memory is counted."""

    def test_control_groups_are_named(self) -> None:
        groups = Groups({"memory": ROOT, "cpu": ROOT}, (), unified=True)
        text = describe_counting(groups, sockets=True).english
        assert "cgroup: the kernel counts, in control groups of version 2 (memory, cpu)" == text

    @pytest.mark.parametrize(("sockets", "words"), [(True, "pipes too"), (False, "but not")])
    def test_without_them_it_says_what_is_looked_at_and_what_mends_it(
        self, sockets: bool, words: str
    ) -> None:
        text = describe_counting(None, sockets=sockets).english
        assert text.startswith("watch: ")
        assert words in text
        assert "systemd-run" in text


ROOT = Path(__file__).resolve().parents[2]
GOOD = MachineFacts(
    cpus=(0, 1, 2, 3), busy={0: 0.01, 1: 0, 2: 0, 3: 0}, load=0.25, on_battery=False
)


def write_course(folder: Path, *threads: int) -> Path:
    """Write a course of assignments that time schedules with so many threads; return its folder."""
    for number, count in enumerate(threads):
        assignment = folder / "assignments" / f"a{number}"
        shutil.copytree(ROOT / "assignments/e2e-conv", assignment)
        path = assignment / "assignment.toml"
        text = path.read_text().replace('"e2e-conv"', f'"a{number}"')
        path.write_text(re.sub(r"\bthreads = \d+", f"threads = {count}", text))
    return folder


class Doctor:
    """Examines machines as they are described, with a lock of its own."""

    def __init__(self, folder: Path) -> None:
        self.lock = TimingLock(folder / "lock")
        self.course = write_course(folder / "course", 4)
        self.tested: list[tuple[int, ...]] = []
        self.text = ""

    def examine(self, facts: MachineFacts, result: SelfTest | None = None) -> bool:
        """Return the verdict and keep what was printed, without line breaks."""

        def run(cpus: tuple[int, ...]) -> SelfTest:
            assert result is not None
            self.tested.append(cpus)
            return result

        output = io.StringIO()
        is_trusted = examine_timing(
            Console(file=output, width=80),
            self.course,
            lock=self.lock,
            look=lambda available: facts,
            self_test=run if result else None,
        )
        self.lines = output.getvalue().splitlines()
        self.text = " ".join(output.getvalue().split())
        return is_trusted


@pytest.fixture
def doctor(tmp_path: Path) -> Doctor:
    return Doctor(tmp_path)


def changed(**changes: object) -> MachineFacts:
    values = {name: getattr(GOOD, name) for name in GOOD.__struct_fields__}
    return MachineFacts(**(values | changes))  # type: ignore[arg-type]


class TestVerdict:
    def test_a_quiet_machine_can_be_trusted(self, doctor: Doctor) -> None:
        assert doctor.examine(GOOD)
        assert doctor.text.endswith("Verdict times can be trusted here.")
        assert "Obstacle" not in doctor.text

    def test_an_obstacle_is_told_with_its_remedy(self, doctor: Doctor) -> None:
        assert not doctor.examine(changed(on_battery=True))
        assert "Connect it to its power supply." in doctor.text
        assert doctor.text.endswith("Verdict times cannot be trusted here, now.")

    def test_what_is_only_worth_knowing_does_not_decide(self, doctor: Doctor) -> None:
        assert doctor.examine(changed(governors=("powersave",)))
        assert "Note The clock rate" in doctor.text

    def test_another_grading_that_times_is_seen(self, doctor: Doctor, tmp_path: Path) -> None:
        with TimingLock(tmp_path / "lock").turn():
            assert not doctor.examine(GOOD)
        assert "Another grading is timing" in doctor.text
        assert doctor.examine(GOOD)

    def test_a_lock_that_cannot_be_used_is_told(self, doctor: Doctor, tmp_path: Path) -> None:
        (tmp_path / "lock").mkdir()
        assert doctor.examine(GOOD)
        assert "cannot wait for one another" in doctor.text

    def test_long_lines_go_on_below_their_text(self, doctor: Doctor) -> None:
        doctor.examine(changed(quota=2.5))
        labelled = [line for line in doctor.lines if not line.startswith(" " * 10)]
        words = ["Timing", "Obstacle", "Verdict"]
        assert words == [line[:10].strip() for line in labelled]


class TestLanguages:
    """What is said of a machine is in one language, but for names."""

    MACHINE = changed(quota=2.5, governors=("powersave",), shared_cores=((0, 4),), steal=0.5)

    @pytest.mark.parametrize("language", ["zh", "ko"])
    def test_no_line_is_in_english(
        self, doctor: Doctor, monkeypatch: pytest.MonkeyPatch, language: str
    ) -> None:
        monkeypatch.setenv("GRADER_LANG", language)
        assert not doctor.examine(self.MACHINE, SelfTest(1.2, 0.7, 1.9, is_trusted=False))
        assert [] == [line for line in doctor.lines if re.search("[a-z]+ [a-z]+ [a-z]+", line)]


class TestFacts:
    def test_what_is_not_known_is_unknown(self, doctor: Doctor) -> None:
        doctor.examine(MachineFacts(cpus=(0, 1, 2, 3)))
        assert "governor: unknown; boost: unknown" in doctor.text
        assert "on battery: unknown" in doctor.text
        assert "virtual machine: unknown; container: unknown" in doctor.text

    def test_what_is_known_is_said(self, doctor: Doctor) -> None:
        facts = changed(
            shared_cores=((0, 4), (1, 5)),
            governors=("performance",),
            boost=True,
            quota=6.0,
            steal=0.002,
            steal_since_boot=0.0,
            is_virtual=True,
            is_container=False,
        )
        doctor.examine(facts)
        for words in (
            "with 4 threads",
            "share a core: 0/4; 1/5",
            "quota of CPU time: 6 CPUs",
            "governor: performance; boost: yes",
            "on battery: no",
            "load: 0.25",
            "the last second: 0 1%, 1 0%, 2 0%, 3 0%",
            "0.2% in the last second, 0.0% since the start",
            "virtual machine: yes; container: no",
        ):
            assert words in doctor.text


class TestSelfTest:
    def test_its_ratio_and_interval_are_printed(self, doctor: Doctor) -> None:
        assert doctor.examine(GOOD, SelfTest(1.0012, 0.998, 1.0031, is_trusted=True))
        assert "1.0012 times as fast, interval 0.9980 to 1.0031" in doctor.text

    def test_it_runs_on_as_many_cpus_as_schedules_have_threads(self, doctor: Doctor) -> None:
        doctor.examine(GOOD, SelfTest(1.0, 1.0, 1.0, is_trusted=True))
        (cpus,) = doctor.tested
        assert 1 <= len(cpus) <= 4

    def test_one_that_fails_is_an_obstacle(self, doctor: Doctor) -> None:
        result = SelfTest(1.2, 0.7, 1.9, is_trusted=False, remedy=foreign("Stop what else runs."))
        assert not doctor.examine(GOOD, result)
        assert "Stop what else runs. Verdict times cannot" in doctor.text


class TestCommand:
    def test_its_exit_code_is_its_verdict(self, tmp_path: Path) -> None:
        course = brisk_course(tmp_path, 1)
        code = "from grader.cli.app import main; main()"
        command = [sys.executable, "-c", code, "doctor", "--timing", "--course", str(course)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        trusted = "times can be trusted here." in done.stdout
        assert trusted != ("times cannot be trusted here, now." in done.stdout)
        assert (0 if trusted else 2) == done.returncode


class TestThreads:
    def test_they_are_those_of_the_check_of_speed(self, tmp_path: Path) -> None:
        assert 5 == asked_threads(load_course(write_course(tmp_path, 5)))

    def test_without_such_a_check_there_is_one(self) -> None:
        assert 1 == asked_threads(load_course(ROOT / "tests/courses/small"))

    def test_the_most_of_several_assignments_count(self, tmp_path: Path) -> None:
        assert 3 == asked_threads(load_course(write_course(tmp_path, 2, 3, 1)))
