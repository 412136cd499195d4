"""Which attempt of whose a report grades, by what was collected."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from grader.lms.collect import MANIFEST, Attempt, Collected, Student
from grader.lms.handback import attempt_number, collected_around

FILES = ("earlier/ada/1", "earlier/ada/2", "submissions/ada")
ADA = Student("ada", "ada", "Ada Lovelace", {}, tuple(Attempt(each, "", "a.zip") for each in FILES))


def collected(folder: Path, *contents: bytes) -> Path:
    """Return a folder into which these attempts of one student were collected."""
    for place, content in zip(FILES, contents, strict=True):
        path = folder / place / "week 1" / "hw.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    (folder / MANIFEST).write_bytes(msgspec.json.encode(Collected((ADA,))))
    return folder


def of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_an_attempt_is_known_by_its_file(tmp_path: Path) -> None:
    folder = collected(tmp_path, b"one", b"two", b"three")
    found = [attempt_number(folder, ADA, of(each)) for each in (b"one", b"two", b"three")]
    assert [1, 2, 3] == found


def test_of_the_same_file_it_is_the_last(tmp_path: Path) -> None:
    assert 3 == attempt_number(collected(tmp_path, b"one", b"two", b"one"), ADA, of(b"one"))


def test_another_file_is_no_attempt(tmp_path: Path) -> None:
    folder = collected(tmp_path, b"one", b"two", b"three")
    assert None is attempt_number(folder, ADA, of(b"four"))
    assert None is attempt_number(tmp_path / "elsewhere", ADA, of(b"one"))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = collected(tmp_path / "class", b"one", b"two", b"three")
    (tmp_path / "four").write_bytes(b"four")
    (folder / "submissions" / "ada" / "link").symlink_to(tmp_path / "four")
    assert None is attempt_number(folder, ADA, of(b"four"))


def test_a_collected_file_tells_where_and_whose_it_is(tmp_path: Path) -> None:
    folder = collected(tmp_path, b"one", b"two", b"three")
    file, class_folder = folder / "submissions/ada/week 1/hw.ipynb", folder / "submissions"
    for trusted in (folder, class_folder, file.parent):
        assert (folder, ADA) == collected_around(file, trusted)
    assert None is collected_around(class_folder / "ben/hw.ipynb", class_folder)


def test_a_manifest_that_was_handed_in_is_nobodys(tmp_path: Path) -> None:
    folder = collected(tmp_path / "class" / "ben", b"one", b"two", b"three")
    file = folder / "submissions/ada/week 1/hw.ipynb"
    assert None is collected_around(file, tmp_path / "class")


def test_a_damaged_manifest_tells_nothing(tmp_path: Path) -> None:
    folder = collected(tmp_path, b"one", b"two", b"three")
    (folder / MANIFEST).write_bytes(b"{")
    assert None is collected_around(folder / "submissions/ada/week 1/hw.ipynb", folder)


def test_around_any_other_file_nothing_was_collected(tmp_path: Path) -> None:
    assert None is collected_around(tmp_path / "hw.ipynb", tmp_path)
