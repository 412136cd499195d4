"""Opening what was handed in, also where it was exchanged after somebody had looked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.reading.submission import RefusedError, open_handed_in, trusted_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/hw.ipynb").write_bytes(b"mine")
    (tmp_path / "class/ben").symlink_to("ada")
    (tmp_path / "class/ada/link.ipynb").symlink_to("hw.ipynb")
    return tmp_path


def read(path: Path, trusted: Path) -> bytes:
    with open_handed_in(path, trusted) as file:
        return file.read()


def test_a_plain_file_is_read(folder: Path) -> None:
    assert b"mine" == read(folder / "class/ada/hw.ipynb", folder)


@pytest.mark.parametrize("name", ["class/ben/hw.ipynb", "class/ada/link.ipynb"])
def test_no_link_is_followed_below_the_trusted_folder(folder: Path, name: str) -> None:
    with pytest.raises(RefusedError, match="is a link, which is not followed"):
        read(folder / name, folder)


def test_those_above_it_are(folder: Path) -> None:
    assert b"mine" == read(folder / "class/ben/hw.ipynb", folder / "class/ben")


def test_what_is_no_file_is_refused_and_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for path, kind in ((folder / "pipe", "a named pipe"), (folder / "class", "a folder")):
        with pytest.raises(RefusedError, match=f"{kind}, not a file"):
            read(path, folder)


def test_what_is_missing_is_an_error_of_the_system(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(folder / "class/cem/hw.ipynb", folder)


@pytest.mark.parametrize(
    ("named", "trusted"),
    [
        ("class/ada/hw.ipynb", "/home/me"),
        ("hw.ipynb", "/home/me"),
        ("../class/ada/hw.ipynb", "/home"),
        ("/home/me/class/ada/hw.ipynb", "/home/me"),
        ("/data/class/ada/hw.ipynb", "/data/class/ada"),
        (".", "/home"),
    ],
)
def test_what_was_typed_says_what_was_handed_in(named: str, trusted: str) -> None:
    assert Path(trusted) == trusted_folder(Path(named), Path("/home/me"))
