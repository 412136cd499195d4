"""Archives that are unpacked: all that is theirs to give, and nothing outside of the folder."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.lms import archives
from grader.lms.archives import ArchiveError, ArchiveLimits, LeftOut
from grader.reading.reader import SubmissionReader
from tests.lms.archives import LINK, make_zip, tar_member

READER: list[SubmissionReader] = []


@pytest.fixture(autouse=True, scope="module")
def reader() -> Iterator[None]:
    """The process that unpacks for all of these tests."""
    with SubmissionReader() as found:
        READER.append(found)
        yield
    READER.clear()


def unpack(archive: Path, folder: Path, limits: ArchiveLimits | None = None) -> tuple[LeftOut, ...]:
    return archives.unpack(archive, folder, READER[0], limits).left_out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "inside"
    made.mkdir()
    return made


def names_below(folder: Path) -> list[str]:
    found = (each for each in folder.rglob("*") if not each.is_dir())
    return sorted(each.relative_to(folder).as_posix() for each in found)


def test_the_files_of_a_zip_are_there(tmp_path: Path, folder: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {"ada/hw.ipynb": "{}", "과제/名前.ipynb": "[]"})
    assert () == unpack(archive, folder)
    assert ["ada/hw.ipynb", "과제/名前.ipynb"] == names_below(folder)
    assert "[]" == (folder / "과제/名前.ipynb").read_text()


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_so_are_those_of_a_tar_however_compressed(tmp_path: Path, folder: Path, mode: str) -> None:
    with tarfile.open(tmp_path / "a.tar", mode) as archive:
        tar_member(archive, "ada/hw.ipynb", b"{}")
    assert () == unpack(tmp_path / "a.tar", folder)
    assert "{}" == (folder / "ada/hw.ipynb").read_text()


def test_a_name_in_utf_8_that_says_nothing_of_it_is_read(tmp_path: Path, folder: Path) -> None:
    """As macOS packs: the flag of UTF-8 is not set."""
    archive = make_zip(tmp_path / "a.zip", {"xxx.ipynb": "{}"})
    archive.write_bytes(archive.read_bytes().replace(b"xxx.ipynb", "课.ipynb".encode()))
    unpack(archive, folder)
    assert ["课.ipynb"] == names_below(folder)


def test_folders_may_be_separated_as_on_windows(tmp_path: Path, folder: Path) -> None:
    unpack(make_zip(tmp_path / "a.zip", {"ada\\hw.ipynb": "{}"}), folder)
    assert ["ada/hw.ipynb"] == names_below(folder)


@pytest.mark.parametrize("name", ["../hw", "a/../../hw", "/hw", "\\hw", "C:\\hw", "..\\hw"])
def test_nothing_is_written_outside(tmp_path: Path, folder: Path, name: str) -> None:
    before = names_below(tmp_path)
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr(name, "x")
        written.writestr("ok", "x")
    assert (LeftOut(name, "outside"),) == unpack(archive, folder)
    assert sorted([*before, "a.zip", "inside/ok"]) == names_below(tmp_path)


def test_a_name_in_a_tar_that_leads_outside_is_left_out(tmp_path: Path, folder: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        tar_member(archive, "../hw", b"x")
        tar_member(archive, "/hw", b"x")
    left_out = unpack(tmp_path / "a.tar", folder)
    assert ["outside", "outside"] == [each.reason for each in left_out]
    assert ["a.tar"] == names_below(tmp_path)


def test_a_link_in_a_zip_is_left_out(tmp_path: Path, folder: Path) -> None:
    entry = zipfile.ZipInfo("hw.ipynb")
    entry.external_attr = LINK
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    assert (LeftOut("hw.ipynb", "link"),) == unpack(tmp_path / "a.zip", folder)
    assert [] == names_below(folder)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (tarfile.SYMTYPE, "link"),
        (tarfile.LNKTYPE, "link"),
        (tarfile.FIFOTYPE, "special"),
        (tarfile.CHRTYPE, "special"),
    ],
)
def test_what_is_no_plain_file_of_a_tar_is_left_out(
    tmp_path: Path, folder: Path, kind: bytes, reason: str
) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        tar_member(archive, "x", type=kind, linkname="/etc/passwd")
        tar_member(archive, "hw.ipynb", b"{}")
    assert [reason] == [each.reason for each in unpack(tmp_path / "a.tar", folder)]
    assert ["hw.ipynb"] == names_below(folder)


def test_of_two_with_one_name_the_first_stays(tmp_path: Path, folder: Path) -> None:
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(tmp_path / "a.zip", "w") as archive,
    ):
        archive.writestr("hw", "first")
        archive.writestr("hw", "second")
        archive.writestr("hw/inner", "third")
    left_out = unpack(tmp_path / "a.zip", folder)
    assert (LeftOut("hw", "twice"), LeftOut("hw/inner", "twice")) == left_out
    assert "first" == (folder / "hw").read_text()


def test_an_encrypted_file_is_left_out(tmp_path: Path, folder: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {"hw": "x", "other": "y"})
    content = bytearray(archive.read_bytes())
    content[content.index(b"PK\1\2") + 8] |= 1  # the flag in the index
    archive.write_bytes(content)
    assert (LeftOut("hw", "encrypted"),) == unpack(archive, folder)
    assert ["other"] == names_below(folder)


def test_a_damaged_file_is_left_out(tmp_path: Path, folder: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {"hw": "x" * 1000 + "y", "other": "y"})
    content = bytearray(archive.read_bytes())
    content[content.index(b"hw") + 4] ^= 0xFF
    archive.write_bytes(content)
    assert (LeftOut("hw", "damaged"),) == unpack(archive, folder)
    assert ["other"] == names_below(folder)


@pytest.mark.parametrize("pack", [zipfile.ZipFile, None])
def test_a_file_that_is_too_large_is_left_out(
    tmp_path: Path, folder: Path, pack: Callable[..., zipfile.ZipFile] | None
) -> None:
    path = tmp_path / "a"
    if pack is None:
        with tarfile.open(path, "w:gz") as archive:
            tar_member(archive, "bomb", bytes(3_000_000))
            tar_member(archive, "hw", b"{}")
    else:
        make_zip(path, {"bomb": bytes(3_000_000), "hw": "{}"})
    assert (LeftOut("bomb", "large"),) == unpack(path, folder, ArchiveLimits(file_size=1_000_000))
    assert ["hw"] == names_below(folder)


def test_of_a_zip_that_is_too_large_what_fits_is_taken(tmp_path: Path, folder: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {str(each): bytes(1_000_000) for each in range(5)})
    left_out = unpack(archive, folder, ArchiveLimits(size=2 * 2**20))
    assert [("2", "large"), ("3", "large"), ("4", "large")] == [
        (e.name, e.reason) for e in left_out
    ]
    assert ["0", "1"] == names_below(folder)


def test_a_tar_that_is_too_large_is_refused(tmp_path: Path, folder: Path) -> None:
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        for each in range(5):
            tar_member(archive, str(each), bytes(1_000_000))
    with pytest.raises(ArchiveError, match="the limits for unpacking: 2 MB"):
        unpack(tmp_path / "a.tgz", folder, ArchiveLimits(size=2 * 2**20))


def test_of_a_class_each_has_a_share(tmp_path: Path, folder: Path) -> None:
    """A bomb takes no room of those who come behind it."""
    files = {f"a/{each}": bytes(4_000_000) for each in range(9)} | {"b/hw": "{}", "c/hw": "{}"}
    limits = ArchiveLimits(size=12 * 2**20, shared=True)
    left_out = unpack(make_zip(tmp_path / "a.zip", files), folder, limits)
    assert {"large"} == {each.reason for each in left_out}
    assert {"b/hw", "c/hw"} <= set(names_below(folder))


def test_so_is_one_of_too_many_files(tmp_path: Path, folder: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {f"../{each}": "" for each in range(11)})
    with pytest.raises(ArchiveError, match="unpacking: 16,384 MB, 10 files"):
        unpack(archive, folder, ArchiveLimits(files=10))


def test_headers_without_end_are_refused(tmp_path: Path, folder: Path) -> None:
    entry = tarfile.TarInfo("n" * (40 * 2**20))
    (tmp_path / "a.tar").write_bytes(entry.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(ArchiveError, match="the limits for unpacking"):
        unpack(tmp_path / "a.tar", folder)


def test_of_more_headers_than_are_read_only_the_member_is_left_out(
    tmp_path: Path, folder: Path
) -> None:
    entry = tarfile.TarInfo("hw")
    entry.pax_headers = {"comment": "x" * (40 * 2**20)}
    (tmp_path / "a.tar").write_bytes(entry.tobuf(tarfile.PAX_FORMAT) + bytes(1024))
    assert (LeftOut("hw", "budget"),) == unpack(tmp_path / "a.tar", folder)


def test_headers_of_many_files_are_not_those_of_one(tmp_path: Path, folder: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for each in range(5_000):  # 2.5 MB
            tar_member(archive, str(each), type=tarfile.SYMTYPE, linkname="x")
    left_out = unpack(tmp_path / "a.tar", folder)
    assert (20, 4_980) == (len(left_out), sum(each.more for each in left_out))


def test_folders_in_folders_have_an_end(tmp_path: Path, folder: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {"a/" * 40 + "hw": ""})
    assert ["name"] == [each.reason for each in unpack(archive, folder)]


@pytest.mark.parametrize(
    "content", [b"", b"PK\3\4junk", b"\x1f\x8bjunk", b"{}", bytes(range(256)) * 20]
)
def test_what_is_no_archive_is_refused(tmp_path: Path, folder: Path, content: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(ArchiveError, match="not an archive"):
        unpack(tmp_path / "a.zip", folder)


@pytest.mark.parametrize("cut", [False, True])
def test_a_damaged_header_is_no_end_of_a_tar(tmp_path: Path, folder: Path, cut: bool) -> None:
    """Whoever came behind it was missing without a word."""
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name in ("ada", "bob", "cy"):
            tar_member(archive, f"{name}/hw.ipynb", b"x")
    content = bytearray((tmp_path / "a.tar").read_bytes())
    content[1024 + 5] ^= 1  # in the name of the second member
    (tmp_path / "a.tar").write_bytes(content[: 1024 + 100] if cut else content)
    with pytest.raises(ArchiveError, match="is damaged"):
        unpack(tmp_path / "a.tar", folder)


def test_an_archive_that_ends_early_is_refused(tmp_path: Path, folder: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        tar_member(archive, "hw", os.urandom(100_000))
    (tmp_path / "a.tgz").write_bytes(buffer.getvalue()[:50_000])
    with pytest.raises(ArchiveError, match="not an archive"):
        unpack(tmp_path / "a.tgz", folder)
