"""`make setup`: which Python it takes, what it refuses, and what it shows while pip is silent.

Pythons, pip and PyTorch's index are stand-ins here: nothing is fetched.
"""

from __future__ import annotations

import ast
import http.server
import io
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import setup
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "setup.py"
LOCKS: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "make_lock.py"))


def python(*version: int, missing: tuple[str, ...] = (), **other: Any) -> setup.Python:
    """Return what a probe says of a Python."""
    facts = {"implementation": "cpython", "free_threaded": False, **other}
    return setup.Python("/usr/bin/python3", version, missing=missing, **facts)


class Machine:
    """A folder of programs that is the whole path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, text: str = "") -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def add_python(self, name: str, *version: int, missing: str = "") -> None:
        """Add a program that answers the probe as a Python of a version would."""
        self.add(name, f"""echo '[{list(version)}, "cpython", false, [{missing}]]'""")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return Machine(folder)


class TestScript:
    def test_a_python_of_long_ago_can_read_it(self) -> None:
        """Otherwise it would say "SyntaxError" in place of what is wrong."""
        ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 6))

    def test_it_needs_nothing_that_has_to_be_installed(self) -> None:
        command = [sys.executable, "-I", "-S", str(SCRIPT), "--help"]
        assert 0 == subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode

    def test_it_takes_the_pythons_of_the_project_and_of_the_lock(self) -> None:
        project = LOCKS["tomllib"].loads((ROOT / "pyproject.toml").read_text())["project"]
        supported = SpecifierSet(project["requires-python"])
        minors = [each for each in range(8, 20) if supported.contains(f"3.{each}")]
        assert minors == list(range(setup.OLDEST[1], setup.NEWEST[1] + 1))
        assert [f"3.{each}" for each in minors] == list(LOCKS["PYTHONS"])

    def test_this_python_is_probed_as_what_it_is(self) -> None:
        found = setup.probe(sys.executable)
        assert found is not None
        assert sys.version_info[:3] == found.version
        assert "" == setup.fault(found, has_uv=False)


class TestPython:
    @pytest.mark.parametrize(
        ("found", "fault"),
        [
            (None, "does not run"),
            (python(3, 9, 2), "is Python 3.9.2"),
            (python(3, 15, 0), "is Python 3.15.0"),
            (python(3, 11, 0, implementation="pypy"), "is pypy 3.11.0, not CPython"),
            (python(3, 12, 1, missing=("lzma",)), "has no module lzma"),
            (python(3, 10, 0), ""),
            (python(3, 14, 2), ""),
        ],
    )
    def test_only_a_complete_supported_cpython_will_do(
        self, found: setup.Python | None, fault: str
    ) -> None:
        assert fault == setup.fault(found, has_uv=False)

    def test_a_free_threaded_build_is_refused(self) -> None:
        assert "free-threaded" in setup.fault(python(3, 14, 0, free_threaded=True), has_uv=False)

    def test_with_uv_an_environment_needs_no_ensurepip(self) -> None:
        found = python(3, 11, 2, missing=("ensurepip",))
        assert "" == setup.fault(found, has_uv=True)
        assert "has no module ensurepip" == setup.fault(found, has_uv=False)

    def test_another_python_on_the_path_replaces_an_unsuitable_one_and_is_named(
        self, machine: Machine, capsys: pytest.CaptureFixture[str]
    ) -> None:
        machine.add_python("python3", 3, 9, 2)
        machine.add_python("python3.12", 3, 12, 1)
        assert (3, 12, 1) == setup.choose_python("", None).version
        assert "python3 is Python 3.9.2: using python3.12 instead.\n" == capsys.readouterr().out

    def test_a_python_that_was_asked_for_is_not_replaced(self, machine: Machine) -> None:
        machine.add_python("python3", 3, 12, 1)
        machine.add_python("python3.9", 3, 9, 2)
        with pytest.raises(setup.SetupError, match=r"^python3\.9 is Python 3\.9\.2: "):
            setup.choose_python("python3.9", None)
        with pytest.raises(setup.SetupError, match=r"^python4 is not installed: "):
            setup.choose_python("python4", None)

    @pytest.mark.parametrize(
        ("programs", "version", "missing", "command"),
        [
            (["apt-get"], (3, 11, 2), '"ensurepip"', "sudo apt-get install python3.11-venv"),
            (["apt-get"], None, "", "sudo apt-get install python3 python3-venv"),
            (["apt-get"], (3, 9, 2), "", "uv python install 3.12 && make setup"),
            (["dnf"], (3, 9, 2), "", "sudo dnf install python3.12"),
            (["zypper"], (3, 6, 1), "", "sudo zypper install python312"),
            ([], (3, 15, 0), "", 'make setup PYTHON="$(uv python find 3.12)"'),
        ],
    )
    def test_a_refusal_is_one_line_with_the_command_that_helps(
        self,
        machine: Machine,
        programs: list[str],
        version: tuple[int, ...] | None,
        missing: str,
        command: str,
    ) -> None:
        for each in programs:
            machine.add(each)
        if version:
            machine.add_python("python3", *version, missing=missing)
        with pytest.raises(setup.SetupError) as refused:
            setup.choose_python("", None)
        said = str(refused.value)
        assert command in said
        assert "\n" not in said


class TestMachine:
    @pytest.mark.parametrize(
        ("system", "processor", "said"),
        [("Darwin", "arm64", "needs Linux"), ("Linux", "riscv64", "no packages for riscv64")],
    )
    def test_other_systems_and_processors_are_refused(
        self, monkeypatch: pytest.MonkeyPatch, system: str, processor: str, said: str
    ) -> None:
        monkeypatch.setattr("platform.system", lambda: system)
        monkeypatch.setattr("platform.machine", lambda: processor)
        with pytest.raises(setup.SetupError, match=said):
            setup.check_machine()

    @pytest.mark.parametrize("version", [(), (2, 27)])
    def test_other_c_libraries_are_refused(
        self, monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...]
    ) -> None:
        monkeypatch.setattr(setup, "glibc", lambda: version)
        with pytest.raises(setup.SetupError, match=r"glibc 2\.28"):
            setup.check_machine()

    def test_too_small_a_disk_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(setup.SetupError, match=r"GB free, and the environment takes"):
            setup.check_room(tmp_path / ".venv", 10**18)


class TestIndex:
    def test_an_index_that_answers_is_used(self) -> None:
        with serving(200) as index:
            assert "" == setup.why_silent(index)

    def test_an_index_that_refuses_is_not(self) -> None:
        with serving(403) as index:
            assert "HTTP status 403" == setup.why_silent(index)

    def test_an_index_that_does_not_answer_is_given_up_in_seconds(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            began = time.monotonic()
            said = setup.why_silent(f"http://127.0.0.1:{silent.getsockname()[1]}", seconds=0.2)
        assert said
        assert time.monotonic() - began < 60

    def test_a_closed_port_is_said(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            address = closed.getsockname()[1]
        assert "refused" in setup.why_silent(f"http://127.0.0.1:{address}")

    def test_an_index_is_asked_for_pytorch_alone_and_without_its_requirements(self) -> None:
        """Other packages of that index would shadow the registry's."""
        assert [
            ("--no-deps", "--index-url", "https://index", "torch", "torchvision"),
            ("--editable", ".[dev]"),
        ] == installed_with("https://index", silent="")

    def test_without_an_index_the_sources_that_pip_knows_are_used(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        calls = installed_with("https://index", silent="no answer")
        assert [("torch", "torchvision"), ("--editable", ".[dev]")] == calls
        said = capsys.readouterr().out
        assert "https://index cannot be used: no answer." in said
        assert "3 GB more" in said


class serving:  # noqa: N801 - a context manager
    """A server that answers everything with a status."""

    def __init__(self, status: int) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.send_response(status)
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def installed_with(index: str, silent: str) -> list[tuple[str, ...]]:
    """Return what is installed when an index is silent for a reason, or answers."""
    calls: list[tuple[str, ...]] = []

    class Recorder:
        uv: str | None = "uv"

        def install(self, *words: str) -> None:
            calls.append(words)

        def compile(self) -> None:
            pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup, "why_silent", lambda index: silent)
        setup.install_all(Recorder(), index)  # type: ignore[arg-type]
    return calls


class TestProgress:
    def test_a_download_is_named_with_its_size_and_how_far_it_is(self, tmp_path: Path) -> None:
        account = setup.Account(tmp_path)
        account.read("Downloading torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl (191.8 MB)")
        assert "downloading torch (191.8 MB)" == account.text()
        account.read("Progress 50 of 200")
        assert "downloading torch (191.8 MB), 25%" == account.text()

    def test_while_pip_says_nothing_what_is_there_is_counted(self, tmp_path: Path) -> None:
        account = setup.Account(tmp_path)
        account.read("Installing collected packages: mpmath, typing-extensions, torch")
        assert "installing 1 of 3: mpmath" == account.text()
        (tmp_path / "mpmath-1.3.0.dist-info").mkdir()
        (tmp_path / "typing_extensions-4.16.0.dist-info").mkdir()
        assert "installing 3 of 3: torch" == account.text()

    def test_a_log_has_a_line_now_and_then(self) -> None:
        stream, now = io.StringIO(), iter([0.0, 5.0, 20.0, 21.0])
        display = setup.Display(stream, lambda: next(now), pause=15.0)
        for each in ("a", "b", "c"):
            display.show(each)
        assert ["  0:20  b"] == stream.getvalue().splitlines()

    def test_a_terminal_has_one_line(self) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        times = iter([0.0, 0.0, 61.0, 62.0])
        stream = Terminal()
        display = setup.Display(stream, lambda: next(times))
        display.show("too early")
        display.show("a")
        display.show("b")
        display.clear()
        assert "\r\x1b[2K  1:01  a\r\x1b[2K  1:02  b\r\x1b[2K" == stream.getvalue()

    def test_of_pips_output_its_errors_are_shown(self) -> None:
        lines = ["Collecting torch", "ERROR: No matching distribution found", "more"]
        assert "ERROR: No matching distribution found\nmore\n" == setup.errors_among(lines)

    def test_an_index_that_does_not_answer_is_the_cause(self) -> None:
        """pip goes on with other sources, and blames the versions that these do not have."""
        reason = "SSLError(SSLCertVerificationError(1, 'certificate verify failed'))"
        retry = (
            f"WARNING: Retrying (Retry(total=4)) after connection broken by '{reason}': /simple/"
        )
        lines = [retry, retry, "ERROR: Cannot install torch because of conflicting dependencies."]
        first, named, proxy, error = setup.errors_among(lines).splitlines()
        assert "could not be reached" in first
        assert reason == named.strip()
        assert "PIP_CERT" in proxy
        assert lines[2] == error


class TestWatch:
    def test_lines_are_handed_on_and_the_status_is_returned(self) -> None:
        lines: list[str] = []
        command = [sys.executable, "-c", "print('a'); print('b'); raise SystemExit(3)"]
        assert 3 == setup.watch(command, dict(os.environ), lines.append, lambda: None)
        assert ["a", "b"] == lines

    def test_a_silent_command_ticks_and_ends_with_whoever_watches(self) -> None:
        pids: list[str] = []

        def interrupt() -> None:
            if pids:
                raise KeyboardInterrupt

        program = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
        with pytest.raises(KeyboardInterrupt):
            setup.watch([sys.executable, "-c", program], dict(os.environ), pids.append, interrupt)
        with pytest.raises(ProcessLookupError):
            os.kill(int(pids[0]), 0)


class TestDamage:
    @pytest.fixture
    def package(self, tmp_path: Path) -> Path:
        """Return the metadata of a package of one file."""
        (tmp_path / "a.py").write_text("1\n")
        metadata = tmp_path / "a-1.0.dist-info"
        metadata.mkdir()
        (metadata / "RECORD").write_text("a.py,sha256=x,2\na-1.0.dist-info/RECORD,,\n")
        return metadata

    def test_a_whole_package_is_kept(self, tmp_path: Path, package: Path) -> None:
        assert [] == setup.forget_damaged(tmp_path)
        assert package.exists()

    @pytest.mark.parametrize("lost", ["a.py", "a-1.0.dist-info/RECORD"])
    def test_a_package_without_a_file_is_installed_anew(
        self, tmp_path: Path, package: Path, lost: str
    ) -> None:
        (tmp_path / lost).unlink()
        assert ["a-1.0.dist-info"] == setup.forget_damaged(tmp_path)
        assert not package.exists()

    def test_a_file_that_was_written_in_part_counts_as_lost(
        self, tmp_path: Path, package: Path
    ) -> None:
        (tmp_path / "a.py").write_text("1")
        assert ["a-1.0.dist-info"] == setup.forget_damaged(tmp_path)


class TestWholeRun:
    """The script with a Python whose venv has a stand-in for pip."""

    @pytest.fixture
    def run(self, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
        started: list[subprocess.Popen[str]] = []

        def start(pip: str) -> subprocess.Popen[str]:
            environment = tmp_path / "env"
            if not environment.exists():
                words = [sys.executable, "-m", "venv", "--without-pip", str(environment)]
                subprocess.run(words, check=True)
            (packages,) = environment.glob("lib/python*/site-packages")
            (packages / "pip").mkdir(exist_ok=True)
            (packages / "pip" / "__init__.py").touch()
            (packages / "pip" / "__main__.py").write_text(pip)
            words = [sys.executable, str(SCRIPT), "--environment", str(environment)]
            child = subprocess.Popen(
                [*words, "--python", sys.executable, "--torch-index", "http://127.0.0.1:1"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull},
            )
            started.append(child)
            return child

        yield start
        for child in started:
            with child:
                child.kill()

    def test_an_installation_is_stamped_and_the_next_call_does_nothing(
        self, tmp_path: Path, run: Callable[..., subprocess.Popen[str]]
    ) -> None:
        first = run("import sys; print(sys.argv[1:])")
        assert "cannot be used" in first.communicate()[0]
        assert 0 == first.returncode
        assert (tmp_path / "env/.installed").exists()
        second = run("raise SystemExit(1)")
        assert ("", "") == second.communicate()
        assert 0 == second.returncode

    def test_a_failure_leaves_no_stamp_and_shows_what_pip_said(
        self, tmp_path: Path, run: Callable[..., subprocess.Popen[str]]
    ) -> None:
        child = run("print('ERROR: No space left on device'); raise SystemExit(1)")
        said = child.communicate()[1]
        assert "ERROR: No space left on device\npip could not install" in said
        assert 1 == child.returncode
        assert not (tmp_path / "env/.installed").exists()

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_an_interrupted_installation_goes_on_with_the_same_command(
        self, tmp_path: Path, run: Callable[..., subprocess.Popen[str]], number: signal.Signals
    ) -> None:
        mark = tmp_path / "mark"
        child = run(
            "import pathlib, sys, time\n"
            "if 'torch' in sys.argv:\n"
            f"    pathlib.Path({str(mark)!r}).touch()\n"
            "    time.sleep(60)\n"
        )
        while not mark.exists():
            assert child.poll() is None, child.communicate()
            time.sleep(0.05)
        child.send_signal(number)
        assert "continues where it stopped" in child.communicate()[1]
        assert 130 == child.returncode
        assert not (tmp_path / "env/.installed").exists()
        again = run("")
        again.communicate()
        assert 0 == again.returncode
