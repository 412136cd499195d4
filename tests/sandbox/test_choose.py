"""The choice of a sandbox, with programs that stand for machines that refuse.

The trial of a sandbox, tried on boxes that are spoilt on purpose.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from grader.errors import SandboxError
from grader.language import NOTHING, Text
from grader.machine.packages import how_to_install
from grader.progress import Silent
from grader.sandbox import bubblewrap, hints
from grader.sandbox.bubblewrap import find_bubblewrap
from grader.sandbox.choose import choose_sandbox, look, survey, try_out
from grader.sandbox.hints import open_interpreter
from grader.sandbox.interface import LEVELS, Level
from grader.sandbox.process import Boxes
from grader.sandbox.start import SteppingSandbox
from tests.users import need_boxes

OPTIONS = "--args --perms --size --info-fd --ro-bind-data --seccomp --as-pid-1"


def refusing(folder: Path, message: str, options: str = OPTIONS) -> str:
    """Write a bwrap that knows `options` and fails with `message`; return its path."""
    program = folder / "bwrap"
    program.write_text(
        "#!/bin/sh\n"
        f"case $1 in --help) echo '{options}';; --version) echo bubblewrap 0.0;; "
        f'*) echo "{message}" >&2; exit 1;; esac\n'
    )
    program.chmod(0o755)
    return str(program)


def test_this_machine_has_a_strong_one() -> None:
    need_boxes()
    with choose_sandbox() as sandbox:
        assert sandbox.level == "strong"
        assert sandbox.detail.english.startswith("bubblewrap ")
        assert sandbox.detail.english.endswith(".")


def test_one_level_can_be_demanded() -> None:
    with choose_sandbox("none", minimum="none") as sandbox:
        assert sandbox.level == "none"


def test_a_level_below_the_minimum_is_refused_before_anything_is_tried() -> None:
    with pytest.raises(SandboxError) as raised:
        choose_sandbox("minimal", minimum="basic", find=lambda name: pytest.fail(name))
    assert '"basic" or stronger; "minimal" is weaker' in raised.value.message.english
    assert "minimum" in raised.value.hint.english


def test_nothing_below_the_minimum_takes_the_place_of_a_level_that_is_missing() -> None:
    with pytest.raises(SandboxError, match='no sandbox of the level "strong"'):
        choose_sandbox(minimum="strong", find=lambda name: None)


def test_the_next_weaker_level_takes_the_place_of_one_that_is_missing() -> None:
    with choose_sandbox(minimum="none", find=lambda name: None) as sandbox:
        assert sandbox.level in LEVELS[1:]


def test_the_survey_says_of_every_level_whether_it_works() -> None:
    findings = list(survey(Silent(), lambda name: None))
    assert list(LEVELS) == [each.level for each in findings]
    assert not findings[0].works
    assert findings[0].hint.holds(how_to_install("bubblewrap"))
    assert findings[-1].works
    assert findings[-1].detail.english.endswith(".")


def test_the_survey_tells_each_level_before_it_tries_it() -> None:
    class Told(Silent):
        latest = ""

        def step(self, done: int, total: int, label: Text = NOTHING) -> None:
            self.latest = label.english

    told = Told()
    for finding in survey(told, lambda name: None):
        assert finding.level == told.latest


@pytest.mark.parametrize("minimum", ["strong", "minimal"])
def test_no_level_takes_the_place_of_a_folder_that_cannot_be_kept(minimum: Level) -> None:
    with pytest.raises(SandboxError, match=r"^The folder .* cannot be hidden from submissions"):
        choose_sandbox(minimum=minimum, find=pytest.fail, protected=[Path(sys.prefix)])


def test_a_missing_program_names_the_package_to_install() -> None:
    with pytest.raises(SandboxError) as raised:
        choose_sandbox("strong", find=lambda name: None)
    assert raised.value.hint.holds(how_to_install("bubblewrap"))


def test_without_a_package_manager_the_weakest_level_says_what_mends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grader.sandbox.choose.find_manager", lambda: None)
    with pytest.raises(SandboxError) as raised:
        choose_sandbox(minimum="container", find=lambda name: None)
    assert "\nOr: Install one: " in raised.value.hint.english


def test_a_home_that_is_closed_is_named_with_the_command_that_opens_it(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "python").mkdir(mode=0o755)
    hint = open_interpreter([tmp_path / "home" / "python"]).english
    assert "chmod o+x /" in hint
    named = hint.replace('"', " ").split()  # of a user's command for root they are in quotes
    assert f"{tmp_path / 'home'}" in named
    assert f"{tmp_path / 'home' / 'python'}" not in named


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("bwrap: No permissions to create new namespace", "user namespaces"),
        ("bwrap: Creating new namespace failed: Permission denied", "user namespaces"),
        ("bwrap: setting up uid map: Permission denied", "user namespaces"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "user namespaces"),
        ("bwrap: Can't mount proc on /newroot/proc", "systempaths=unconfined"),
        ("bwrap: execvp setpriv: No such file or directory", "util-linux"),
        ("bwrap: something else", "bwrap --unshare-all"),
    ],
)
def test_a_refusal_comes_with_what_mends_it(tmp_path: Path, message: str, hint: str) -> None:
    program = refusing(tmp_path, message)
    with pytest.raises(SandboxError) as raised:
        choose_sandbox("strong", find=lambda name: program)
    assert message in raised.value.message.english
    assert hint in raised.value.hint.english


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (("1", "1", "9999"), "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
        ((None, "0", "0"), "kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000"),
        ((None, None, "96365"), "chroot"),
    ],
)
def test_only_settings_that_forbid_namespaces_here_are_to_be_changed(
    values: tuple[str | None, ...], hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in zip(hints._ALLOWING, values, strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        if value is not None:
            (tmp_path / name).write_text(f"{value}\n")
    monkeypatch.setattr(hints, "_SETTINGS", tmp_path)
    told = hints.hint_for("namespaces").english
    assert hint in told
    assert ("clone" in told) == ("clone" in hint)


def test_a_bubblewrap_that_cannot_bound_folders_is_too_old(tmp_path: Path) -> None:
    program = refusing(tmp_path, "", OPTIONS.replace("--size", ""))
    with pytest.raises(SandboxError, match="too old: it does not know --size"):
        choose_sandbox("strong", find=lambda name: program)


def test_a_program_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("")
    with pytest.raises(SandboxError, match="cannot be run"):
        choose_sandbox("strong", find=lambda name: str(program))


AS_ROOT = os.geteuid() == 0


def refusal(boxes: Boxes) -> SandboxError:
    with SteppingSandbox(boxes) as sandbox, pytest.raises(SandboxError) as raised:
        try_out(sandbox)
    return raised.value


def strong() -> bubblewrap.BubblewrapBoxes:
    need_boxes()
    return find_bubblewrap(shutil.which, as_root=AS_ROOT)


def test_every_process_of_a_box_is_looked_at(sandbox: SteppingSandbox) -> None:
    found = look(sandbox)
    assert [("cat", 1)] == [(each.name, each.number) for each in found.others]
    assert Path(sys.executable).name == found.own.name
    assert not found.uses_keys


def test_a_holder_without_a_filter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes = strong()
    options = boxes._holder_options
    monkeypatch.setattr(boxes, "_holder_options", lambda add: _without_filter(options(add)))
    assert "Process 1 (cat) in a sandbox has access that it must not have: all system calls" in (
        refusal(boxes).message.english
    )


def test_a_holder_without_limits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.sandbox.holder._LIMITS", ("--fsize=0",))
    assert "any address space" in refusal(strong()).message.english


def test_a_holder_that_the_program_can_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel asks: is it the same user's, and may its executable be read?"""
    monkeypatch.setattr(bubblewrap, "student_id", lambda: 70_000)
    monkeypatch.setattr(bubblewrap, "HOLDER_PERMISSIONS", 0o555)
    error = refusal(strong())
    assert "Process 1 (cat)" in error.message.english
    assert "its memory, accessible to other processes" in error.message.english
    assert "fs.suid_dumpable=0" in error.hint.english


def _without_filter(options: list[str]) -> list[str]:
    at = options.index("--seccomp")
    return options[:at] + options[at + 2 :]
