"""Boxes that are containers: what the runtime is told, and that nothing of one is left.

That they confine as they must is in tests/levels, at the level "container".
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.errors import SandboxError
from grader.machine.packages import how_to_install
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.container import describe, find_container, list_mounts, runtime_line, write_root
from grader.sandbox.interface import Command
from tests.missing import needs_runtime


class TestDescription:
    def test_the_runtime_runs_a_bundle_and_keeps_what_it_knows_inside(self) -> None:
        *_, bundle, runtime, root, state, run = runtime_line("/usr/bin/runc", Path("/b"))[:8]
        assert ("/b", "/usr/bin/runc", "--root", "/b/state", "run") == (
            *(bundle, runtime, root, state, run),
        )

    @pytest.mark.parametrize("as_root", [True, False])
    def test_a_holder_has_no_capability_and_a_filter(self, as_root: bool) -> None:
        found = describe(70_000, [], as_root=as_root)
        process = found["process"]
        assert process["noNewPrivileges"]
        assert not any(process["capabilities"].values())
        assert found["root"]["readonly"]
        assert "ptrace" in found["linux"]["seccomp"]["syscalls"][0]["names"]

    def test_a_user_has_a_user_namespace_with_nobody_else_in_it(self) -> None:
        isolation = describe(0, [], as_root=False)["linux"]
        assert {"type": "user"} in isolation["namespaces"]
        assert [{"containerID": 0, "hostID": os.getuid(), "size": 1}] == isolation["uidMappings"]

    def test_root_has_none_and_every_box_a_network_and_processes_of_its_own(self) -> None:
        isolation = describe(70_000, [], as_root=True)["linux"]
        kinds = {each["type"] for each in isolation["namespaces"]}
        assert {"pid", "network", "ipc", "uts", "mount"} == kinds

    def test_what_is_mounted_is_read_only_or_bounded(self) -> None:
        for mount in list_mounts(2**20, [Path("/usr/share/course")])[1:]:
            options = mount["options"]
            bounded = any(each.startswith("size=") for each in options)
            # terminals are no files, and those of the host are not among them
            assert "ro" in options or bounded or "newinstance" in options, mount
            assert "nosuid" in options

    def test_covered_folders_come_last(self) -> None:
        places = [each["destination"] for each in list_mounts(2**20, [Path("/usr/share/course")])]
        assert places.index("/usr") < places.index("/usr/share/course")

    def test_the_holder_s_copy_can_be_run_and_not_read(self, tmp_path: Path) -> None:
        write_root(tmp_path / "rootfs", b"program", 70_000)
        assert 0o111 == (tmp_path / "rootfs/run/cat").stat().st_mode & 0o777


class TestRefusal:
    def test_without_a_runtime_the_package_is_named(self) -> None:
        with pytest.raises(SandboxError, match="neither runc nor crun") as raised:
            find_container(lambda name: None, as_root=False)
        assert raised.value.hint.holds(how_to_install("runc"))

    def test_what_the_runtime_says_is_told_and_nothing_left(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        program = tmp_path / "runc"
        program.write_text("#!/bin/sh\necho 'runc: no cgroups in hybrid mode' >&2\nexit 1\n")
        program.chmod(0o755)
        (tmp_path / "boxes").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "boxes"))
        with pytest.raises(SandboxError, match="cannot make a container: runc: no") as raised:
            choose_sandbox(
                "container", find=lambda name: str(program) if name == "runc" else "/bin/cat"
            )
        assert "Use runc" in raised.value.hint.english
        assert [] == list((tmp_path / "boxes").iterdir())


@needs_runtime
def test_a_killed_grader_leaves_no_folder(tmp_path: Path) -> None:
    code = """
import time
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command
with choose_sandbox("container") as sandbox:
    process = sandbox.start(Command("python", ("-c", "import time; time.sleep(60)")))
    print("started", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"started\n"
        assert list(tmp_path.glob("grader-container-*"))
        started.kill()
    deadline = time.monotonic() + 20
    while list(tmp_path.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@needs_runtime
def test_files_arrive_and_the_folder_goes_with_the_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    inside = "import os; open('a/b', 'a').write('new'); os._exit(len(open('a/b').read()))"
    with choose_sandbox("container") as sandbox:
        process = sandbox.start(Command("python", ("-c", inside), files={"a/b": b"old"}))
        assert 6 == process.wait(30)
    assert [] == list(tmp_path.iterdir())
