"""Putting the kernel where Jupyter finds it, and taking it away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager

from grader.errors import UsageError
from grader.kernelspec.install import KernelspecPlace, install, remove
from tests.cli.test_batch import GRADER


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which Jupyter has nothing yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("JUPYTER_DATA_DIR", raising=False)
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "prefix/share/jupyter"))
    return tmp_path


PREFIX = "prefix"


def test_jupyter_finds_it_below_a_prefix(home: Path) -> None:
    install(KernelspecPlace(prefix=home / PREFIX), "grader", None)
    found = KernelSpecManager().get_kernel_spec("grader")
    assert ("Python 3 (grader sandbox)", "python") == (found.display_name, found.language)


def test_jupyter_finds_it_for_the_user(home: Path) -> None:
    folder = install(KernelspecPlace(user=True), "grader", None)
    assert folder.is_relative_to(home)
    assert str(folder) == KernelSpecManager().get_kernel_spec("grader").resource_dir


def test_without_a_word_it_is_for_this_environment(home: Path) -> None:
    assert Path(sys.prefix) / "share/jupyter/kernels" == KernelspecPlace().folder()


def test_it_interrupts_by_message_and_is_isolated(home: Path) -> None:
    """A signal would reach the process outside; and the working folder is the notebook's."""
    folder = install(KernelspecPlace(prefix=home / PREFIX), "grader", None)
    said = json.loads((folder / "kernel.json").read_text())
    assert ("message", [sys.executable, "-I"]) == (said["interrupt_mode"], said["argv"][:2])


def test_a_level_is_demanded_whenever_it_is_started(home: Path) -> None:
    folder = install(KernelspecPlace(prefix=home / PREFIX), "grader", "container")
    argv = json.loads((folder / "kernel.json").read_text())["argv"]
    assert ["--sandbox", "container", "{connection_file}"] == argv[-3:]


def test_it_is_replaced_where_it_is_there(home: Path) -> None:
    place = KernelspecPlace(prefix=home / PREFIX)
    install(place, "grader", "container")
    folder = install(place, "grader", None)
    assert "container" not in (folder / "kernel.json").read_text()


@pytest.mark.parametrize("content", ['{"argv": [], "metadata": {}}', "[]", "{", None])
def test_another_kernel_is_neither_replaced_nor_removed(home: Path, content: str | None) -> None:
    folder = home / PREFIX / "share/jupyter/kernels/python3"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / "kernel.json").write_text(content)
    with pytest.raises(UsageError, match="another kernel"):
        install(KernelspecPlace(prefix=home / PREFIX), "python3", None)
    with pytest.raises(UsageError, match='no sandboxed kernel "python3"'):
        remove(KernelspecPlace(prefix=home / PREFIX), "python3")
    assert folder.exists()


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/tmp/x", "A", "a b", "-a"])
def test_a_name_is_no_path(home: Path, name: str) -> None:
    for change in (
        lambda: install(KernelspecPlace(user=True), name, None),
        lambda: remove(KernelspecPlace(), name),
    ):
        with pytest.raises(UsageError, match="cannot be the name of a kernel"):
            change()


def test_it_is_removed_wherever_jupyter_finds_it(home: Path) -> None:
    folders = [install(place, "box", None) for place in _places(home)]
    assert sorted(folders) == sorted(remove(KernelspecPlace(), "box"))
    assert [] == [folder for folder in folders if folder.exists()]


def test_it_stays_where_another_place_is_named(home: Path) -> None:
    of_user, below = (install(place, "box", None) for place in _places(home))
    assert [below] == remove(KernelspecPlace(prefix=home / PREFIX), "box")
    assert of_user.exists()


def test_it_cannot_be_removed_twice(home: Path) -> None:
    install(KernelspecPlace(user=True), "box", None)
    remove(KernelspecPlace(), "box")
    with pytest.raises(UsageError, match='no sandboxed kernel "box"'):
        remove(KernelspecPlace(), "box")


def test_there_is_one_place(home: Path) -> None:
    with pytest.raises(UsageError, match="--user or --prefix"):
        install(KernelspecPlace(user=True, prefix=home), "grader", None)


def test_a_place_that_cannot_be_written_to_is_told(home: Path) -> None:
    (home / PREFIX).write_text("a file")
    with pytest.raises(UsageError, match="Not a directory"):
        install(KernelspecPlace(prefix=home / PREFIX), "grader", None)


def test_the_commands_install_and_remove(home: Path) -> None:
    where = ("--prefix", home / PREFIX)
    done = subprocess.run([GRADER, "kernelspec", "install", *where], capture_output=True, text=True)
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith(str(home / PREFIX))
    assert 0 == subprocess.run([GRADER, "kernelspec", "remove", *where]).returncode
    assert [] == list((home / PREFIX).rglob("kernel.json"))


def test_nothing_is_installed_where_no_sandbox_works(home: Path) -> None:
    """Bubblewrap and container runtimes are looked for on the path; Landlock needs no program."""
    words = ("kernelspec", "install", "--sandbox", "strong", "--prefix", home / PREFIX)
    done = subprocess.run(
        [GRADER, *words], capture_output=True, text=True, env={**os.environ, "PATH": str(home)}
    )
    assert 2 == done.returncode
    message, hint = done.stderr.splitlines()
    assert message.startswith(
        'grader: There is no sandbox of the level "strong". The program bwrap'
    )
    assert hint.strip()
    assert not (home / PREFIX).exists()


def _places(home: Path) -> tuple[KernelspecPlace, KernelspecPlace]:
    return KernelspecPlace(user=True), KernelspecPlace(prefix=home / PREFIX)
