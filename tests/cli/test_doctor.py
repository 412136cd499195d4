"""`grader doctor --timing`: what it says of a machine, and its exit code."""

from __future__ import annotations

import ast
import io
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from rich.console import Console

from grader.cli import app
from grader.cli.doctor import (
    DETECTION,
    ENDED,
    IMPORTED,
    UNTRIED,
    Faults,
    MachineFault,
    describe_counting,
    describe_gpu,
    find_faults,
    try_imports,
)
from grader.cli.doctor_timing import (
    SelfTestResult,
    asked_threads,
    examine_timing,
    read_self_test,
)
from grader.course import load_course
from grader.environment import FOR_GRADING, only_self_check
from grader.language import NOTHING, Text, foreign
from grader.machine.gpus import Gpu
from grader.machine.quiet import TimingLock
from grader.machine.state import MachineFacts
from grader.progress import Silent
from grader.report.parts import UNSETTLED
from grader.sandbox.groups import Groups
from tests.endtoend.examples import brisk_course
from tests.sample_reports import TIMING


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


class TestGpu:
    """`grader doctor` says whether there is a GPU that TVM can use."""

    def test_none_is_needed(self) -> None:
        assert "without one" in describe_gpu(None).english

    def test_one_is_named_and_what_it_is_for(self) -> None:
        told = describe_gpu(Gpu("cuda", "NVIDIA A100", "8.0")).english
        assert "NVIDIA A100 (sm_80)" in told
        assert "benchmarks/gpu_calibration.py" in told


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

    def examine(self, facts: MachineFacts, result: SelfTestResult | None = None) -> bool:
        """Return the verdict and keep what was printed, without line breaks."""

        def run(cpus: tuple[int, ...]) -> SelfTestResult:
            assert result is not None
            self.tested.append(cpus)
            return result

        output = io.StringIO()
        is_trusted = examine_timing(
            Console(file=output, width=80),
            Silent(),
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
        assert "times can be trusted" in doctor.text
        assert "Obstacle" not in doctor.text

    def test_an_obstacle_is_told_with_its_remedy(self, doctor: Doctor) -> None:
        assert not doctor.examine(changed(on_battery=True))
        assert "power supply" in doctor.text
        assert "times cannot be trusted" in doctor.text

    def test_what_is_only_worth_knowing_does_not_decide(self, doctor: Doctor) -> None:
        assert doctor.examine(changed(governors=("powersave",)))
        assert "Note The CPUs' clock rate" in doctor.text

    def test_another_grading_that_times_is_seen(self, doctor: Doctor, tmp_path: Path) -> None:
        with TimingLock(tmp_path / "lock").turn():
            assert not doctor.examine(GOOD)
        assert "Another grading is timing" in doctor.text
        assert doctor.examine(GOOD)

    def test_a_lock_that_cannot_be_used_is_told(self, doctor: Doctor, tmp_path: Path) -> None:
        (tmp_path / "lock").mkdir()
        assert doctor.examine(GOOD)
        assert "cannot take turns" in doctor.text

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
        assert not doctor.examine(self.MACHINE, SelfTestResult(1.2, 0.7, 1.9, is_trusted=False))
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
            "sharing a core: 0/4; 1/5",
            "quota of CPU time: 6 CPUs",
            "governor: performance; boost: yes",
            "on battery: no",
            "load: 0.25",
            "the last second: 0 1%, 1 0%, 2 0%, 3 0%",
            "0.2% in the last second, 0.0% since start",
            "virtual machine: yes; container: no",
        ):
            assert words in doctor.text


class TestSelfTest:
    def test_its_ratio_and_interval_are_printed(self, doctor: Doctor) -> None:
        assert doctor.examine(GOOD, SelfTestResult(1.0012, 0.998, 1.0031, is_trusted=True))
        assert "1.0012 times as fast, interval 0.9980 to 1.0031" in doctor.text

    def test_it_runs_on_as_many_cpus_as_schedules_have_threads(self, doctor: Doctor) -> None:
        doctor.examine(GOOD, SelfTestResult(1.0, 1.0, 1.0, is_trusted=True))
        (cpus,) = doctor.tested
        assert 1 <= len(cpus) <= 4

    def test_one_that_fails_is_an_obstacle(self, doctor: Doctor) -> None:
        result = SelfTestResult(
            1.2, 0.7, 1.9, is_trusted=False, remedy=foreign("Stop what else runs.")
        )
        assert not doctor.examine(GOOD, result)
        assert "Stop what else runs. Verdict times cannot" in doctor.text

    @pytest.mark.parametrize(
        ("speedup", "notes", "trusted"),
        [(1.001, (), True), (1.03, (), False), (1.001, (UNSETTLED,), False)],
        ids=["as fast", "faster", "shared core"],
    )
    def test_it_is_trusted_where_the_function_is_as_fast_as_itself_on_a_core_of_its_own(
        self, speedup: float, notes: tuple[Text, ...], trusted: bool
    ) -> None:
        found = read_self_test(msgspec.structs.replace(TIMING, speedup=speedup, notes=notes))
        assert trusted == found.is_trusted
        assert ("same processor core" in found.remedy.english) == bool(notes)


class TestCommand:
    def test_its_exit_code_is_its_verdict(self, tmp_path: Path) -> None:
        course = brisk_course(tmp_path, 1)
        code = "from grader.cli.app import main; main()"
        command = [sys.executable, "-c", code, "doctor", "--timing", "--course", str(course)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        trusted = "times can be trusted here." in done.stdout
        assert trusted != ("times cannot be trusted here now." in done.stdout)
        assert (0 if trusted else 2) == done.returncode
        assert "trying the isolation levels" in done.stderr


class TestThreads:
    def test_they_are_those_of_the_check_of_speed(self, tmp_path: Path) -> None:
        assert 5 == asked_threads(load_course(write_course(tmp_path, 5)))

    def test_without_such_a_check_there_is_one(self) -> None:
        assert 1 == asked_threads(load_course(ROOT / "tests/courses/small"))

    def test_the_most_of_several_assignments_count(self, tmp_path: Path) -> None:
        assert 3 == asked_threads(load_course(write_course(tmp_path, 2, 3, 1)))


# `grader doctor`: what a student's own kernel cannot import, and where only a self-check is.


PINNED = {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.14.post1"}
NO_OPERATOR = foreign("RuntimeError: operator torchvision::nms does not exist.")


def faults(alone: Faults, grading: Faults, **versions: str) -> list[MachineFault]:
    known = {**PINNED, **versions}
    return list(find_faults(alone, lambda: grading, known.__getitem__))


class TestFaults:
    """What is said of imports that fail."""

    def test_nothing_is_said_where_all_can_be_imported(self) -> None:
        assert [] == faults({}, {})

    def test_what_a_grading_makes_possible_fails_in_a_students_own_kernel(self) -> None:
        (found,) = faults({"torchvision": NO_OPERATOR}, {})
        assert f"torchvision cannot be imported: {NO_OPERATOR.english}" in found.message.english
        told = found.message.english
        assert "Grading on this machine can import it; a student's own kernel fails" in told
        wanted = version("torchvision").partition("+")[0]
        command = f"-m pip install --force-reinstall --no-deps torchvision=={wanted}"
        assert found.hint.english.endswith(command)

    def test_instructions_that_the_system_hides_end_a_students_own_kernel(self) -> None:
        (found,) = faults({DETECTION: foreign("avx512f avx512bw")}, {})
        assert "instructions that this system hides (avx512f avx512bw)" in found.message.english
        assert (
            "Grading on this machine avoids them; a student's own kernel fails"
            in found.message.english
        )
        assert "%load_ext grader" in found.hint.english

    def test_what_is_missing_altogether_fails_while_grading_too(self) -> None:
        missing = {"tvm.testing": foreign("ModuleNotFoundError: No module named 'pytest'")}
        (found,) = faults(missing, missing)
        assert "also while they are graded" in found.message.english
        assert f"{sys.executable} -m pip install pytest" == found.hint.english

    def test_what_was_not_tried_is_not_said_to_fail(self) -> None:
        (found,) = faults({"tvm": UNTRIED, "tabulate": UNTRIED}, {})
        assert "Imports of tvm, tabulate" in found.message.english

    def test_another_version_of_tvm_than_a_grading_has_is_named(self) -> None:
        (found,) = faults({}, {}, **{"apache-tvm-ffi": "0.1.15"})
        assert "apache-tvm-ffi is 0.1.15. Grading uses 0.1.14.post1" in found.message.english
        command = "-m pip install apache-tvm-ffi==0.1.14.post1"
        assert f"{sys.executable} {command}" == found.hint.english


def test_what_ends_the_interpreter_is_a_fault_and_what_follows_was_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("print('[1]')")
    (tmp_path / "torch.py").write_text("raise ValueError('no operator')")
    (tmp_path / "tvm.py").write_text("import os; os._exit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = try_imports(sys.executable, Silent(), helped=False)
    assert "numpy" not in found
    assert "ValueError: no operator" in found["torch"].english
    assert ENDED == found["tvm"]
    assert UNTRIED == found["tvm.relax"]


def test_the_module_is_told_that_is_being_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels: list[str] = []

    class Told(Silent):
        def step(self, done: int, total: int, label: Text = NOTHING) -> None:
            labels.append(label.english)

    (tmp_path / "numpy.py").write_text("import os; os._exit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    try_imports(sys.executable, Told(), helped=False)
    assert ["numpy"] == labels


def test_what_an_import_has_started_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text(
        "import os, subprocess; subprocess.Popen(['sleep', '1000']); os._exit(3)"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("grader.cli.doctor._SECONDS", 1.0)
    assert ENDED == try_imports(sys.executable, Silent(), helped=False)["numpy"]


def test_everything_that_the_courses_notebooks_import_is_tried() -> None:
    modules: set[str] = set()
    for path in (ROOT / "reference").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add((node.module or "").partition(".")[0])
    tried = {name.partition(".")[0] for name in IMPORTED}
    assert {"torch", "tvm", "matplotlib"} <= modules
    assert set() == modules - tried - set(sys.stdlib_module_names) - {"IPython"}


class TestOnlyTheSelfCheck:
    """An installation without the extra `grading`."""

    def test_a_command_that_needs_more_says_how_to_install_it(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def absent() -> None:
            raise ModuleNotFoundError("No module named 'nbclient'", name="nbclient")

        monkeypatch.setattr("grader.cli.commands.app", absent)
        monkeypatch.setattr("grader.environment.missing_for_grading", lambda: ("nbclient",))
        assert 2 == app._run(SimpleNamespace(end=lambda: None))
        said = capsys.readouterr().err
        assert "grading also needs nbclient" in said
        assert "pip install 'FILE.whl[grading]'" in said

    def test_nothing_is_graded_where_notebooks_could_not_import_what_they_do(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("grader.environment.missing_for_grading", lambda: ("torchsummary",))
        notebook = ROOT / "examples/tensorir/reference.ipynb"
        monkeypatch.setattr(sys, "argv", ["grader", "run", str(notebook), "--data", "builtin"])
        assert 2 == app._run(SimpleNamespace(end=lambda: None))
        assert "grading also needs torchsummary" in capsys.readouterr().err

    def test_each_package_is_named(self) -> None:
        assert "also needs a, b" in only_self_check(["a", "b"]).message.english
        assert FOR_GRADING["jupyter_client"] == "jupyter-client"
