"""Archives that students made to take the class down: each costs its own student, and is told."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from grader.lms import archives, placing
from grader.lms.collect import CollectRequest, collect_class
from grader.progress import Pace, Silent
from grader.reading.messages import FromUnpacker, GoingOn, ToReader, Unpacked
from grader.reading.reader import SubmissionReader
from tests.lms.archives import tar_member, zipped
from tests.lms.collecting import collect, contents, reasons
from tests.lms.hostile import ATTACKS, HARMLESS, packed, tar_of, tarred


class CountingReader(SubmissionReader):
    """Counts the processes that were forked."""

    count = 0

    def _begin(self, process: Any, request: ToReader, file: int) -> Any:
        self.count += 1
        return super()._begin(process, request, file)


WARNINGS = pytest.mark.filterwarnings("ignore:Duplicate name")


@pytest.mark.parametrize("attack", ATTACKS)
@WARNINGS
def test_the_class_goes_on(tmp_path: Path, attack: str) -> None:
    """The neighbours have what they handed in; the student has a row, and a reason or a file."""
    name, make = ATTACKS[attack]
    files = {
        f"Mallory_12_assignsubmission_file_/{name}": make(),
        "Mallory_12_assignsubmission_file_/hw.ipynb": b"mallory",
        "Bob_99_assignsubmission_file_/hw.ipynb": b"bob",
        "Cy_100_assignsubmission_file_/all.zip": zipped({"hw.ipynb": "cy"}),
    }
    (tmp_path / "class.zip").write_bytes(zipped(files))
    before = sorted(each.name for each in tmp_path.iterdir())
    outcome = collect(tmp_path / "class.zip", tmp_path / "class")
    found = {e.folder: contents(tmp_path / "class", e) for e in outcome.collected.students}
    assert {"Bob-99", "Cy-100", "Mallory-12"} == set(found)
    assert ({"bob"}, {"cy"}) == (found["Bob-99"], found["Cy-100"])
    assert "mallory" in found["Mallory-12"]
    assert ["class", *before] == sorted(each.name for each in tmp_path.iterdir())
    size = sum(e.stat().st_size for e in (tmp_path / "class").rglob("*") if e.is_file())
    assert size < 2**30
    if attack not in HARMLESS:
        told = reasons(outcome)
        assert told
        assert all(each.startswith("Mallory-12/") for each in told)


def test_settings_of_git_in_an_archive_are_not_there(tmp_path: Path) -> None:
    """They may name programs: an editor runs these when it is shown the folder."""
    files = dict.fromkeys((".git/config", "hw/.git/HEAD", "__MACOSX/._hw.ipynb"), b"x")
    content = zipped({**files, "hw/hw.ipynb": b"{}", ".gitignore": b""})
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/hw.zip").write_bytes(content)
    outcome = collect(tmp_path / "class", tmp_path / "out")
    (ada,) = outcome.collected.students
    folder = tmp_path / "out" / ada.attempts[-1].folder / "hw.zip"
    found = {e.relative_to(folder).as_posix() for e in folder.rglob("*") if e.is_file()}
    assert {"hw/hw.ipynb", ".gitignore"} == found


def flooded(tmp_path: Path, count: int) -> Path:
    members = [(f"mallory/{each}.py", b"") for each in range(count)]
    path = tmp_path / "class.zip"
    path.write_bytes(packed(*members, ("bob/hw.ipynb", b"bob"), method=zipfile.ZIP_STORED))
    return path


def test_a_student_with_more_files_than_a_class_may_have_is_told_and_nobody_else_loses(
    tmp_path: Path,
) -> None:
    outcome = collect(flooded(tmp_path, 50_000), tmp_path / "class")
    found = {e.folder: contents(tmp_path / "class", e) for e in outcome.collected.students}
    assert {"bob": {"bob"}, "mallory": set()} == found
    assert {"mallory": "budget"} == reasons(outcome)


@pytest.mark.parametrize("pack", [zipped, tar_of], ids=["zip", "tar"])
def test_folders_of_a_class_count_as_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[dict[str, bytes]], bytes]
) -> None:
    """24,000 files with two folders each took 17 seconds of a processor."""
    monkeypatch.setattr(archives, "CLASS_FILES", 60)
    files = {"bob/hw.ipynb": b"bob", "cy/hw/hw.ipynb": b"cy"}
    flood = {f"mallory/{each}/hw/hw.ipynb": b"mallory" for each in range(30)}
    (tmp_path / "class.zip").write_bytes(pack({**flood, **files}))
    outcome = collect(tmp_path / "class.zip", tmp_path / "class")
    found = {e.folder: contents(tmp_path / "class", e) for e in outcome.collected.students}
    assert {"bob": {"bob"}, "cy": {"cy"}, "mallory": set()} == found
    assert "budget" == reasons(outcome)["mallory"]


def test_a_zip_at_the_end_of_a_tar_does_not_stand_for_the_class(tmp_path: Path) -> None:
    """A zip is looked for from the end of a file, where the last student's file is."""
    path = tmp_path / "class.tar"
    with tarfile.open(path, "w") as archive:
        tar_member(archive, "ada/hw.ipynb", b"ada")
        tar_member(archive, "mallory/hw.zip", zipped({"ada/hw.ipynb": b"mallory"}))
    outcome = collect(path, tmp_path / "class")
    found = {each.folder: contents(tmp_path / "class", each) for each in outcome.collected.students}
    assert {"ada": {"ada"}, "mallory": {"mallory"}} == found


def with_sum(block: bytes) -> bytes:
    """Return a block of which a part says the sum of the others, as a header of a tar does."""
    blank = block[:148] + b" " * 8 + block[156:]
    return blank[:148] + b"%06o\0 " % sum(blank) + blank[156:]


def test_a_zip_whose_first_file_makes_it_a_header_of_a_tar_is_a_zip(tmp_path: Path) -> None:
    """The whole class was told to be damaged."""
    names = ["Mallory_12_assignsubmission_file_/hw.bin", "Bob_99_assignsubmission_file_/hw.ipynb"]
    begin = 30 + len(names[0])
    field = b"0" * (156 - begin) + b"0" * 400
    content = bytearray(packed((names[0], field), (names[1], b"bob"), method=zipfile.ZIP_STORED))
    content[124:136] = b"%011o\0" % 0
    content[:512] = with_sum(bytes(content[:512]))
    # Of its own checksum it is known beforehand when that is handed in; here it may be wrong.
    tarfile.TarInfo.frombuf(bytes(content[:512]), "utf-8", "surrogateescape")
    (tmp_path / "class.zip").write_bytes(content)
    outcome = collect(tmp_path / "class.zip", tmp_path / "class")
    found = {e.folder: contents(tmp_path / "class", e) for e in outcome.collected.students}
    assert {"Bob-99": {"bob"}, "Mallory-12": set()} == found


def test_a_tar_whose_first_name_begins_as_a_zip_is_a_tar(tmp_path: Path) -> None:
    path = tmp_path / "class.tar"
    with tarfile.open(path, "w") as archive:
        tar_member(archive, "PK\3\4\x14.ipynb", b"mallory")
        tar_member(archive, "ada/hw.ipynb", b"ada")
        tar_member(archive, "mallory/hw.zip", zipped({"ada/hw.ipynb": b"mallory"}))
    outcome = collect(path, tmp_path / "class")
    found = {each.folder: contents(tmp_path / "class", each) for each in outcome.collected.students}
    assert ({"ada"}, {"mallory"}) == (found["ada"], found["mallory"])


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("around", ["", "class/submitted/", "submitted/", "./"])
def test_in_a_tar_a_flood_costs_the_student_who_made_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, around: str
) -> None:
    """Some files of the flood are written before its end is known, and removed then."""
    monkeypatch.setattr(archives, "CLASS_FILES", 60)

    def build(archive: tarfile.TarFile) -> None:
        tar_member(archive, f"{around}ada/hw/hw.ipynb", b"ada")
        for each in range(70):
            tar_member(archive, f"{around}mallory/hw/{each}.ipynb", b"mallory")
        tar_member(archive, f"{around}zoe/hw/hw.ipynb", b"zoe")

    (tmp_path / "class.tar").write_bytes(tarred(build, mode))
    outcome = collect(tmp_path / "class.tar", tmp_path / "class")
    found = {e.folder: contents(tmp_path / "class", e) for e in outcome.collected.students}
    assert ({"ada"}, {"zoe"}) == (found["ada"], found["zoe"])
    assert not found.get("mallory")
    told = reasons(outcome)
    assert [("mallory", "budget")] == [
        (Path(e).name, why) for e, why in told.items() if why == "budget"
    ]


def gnu_sparse(name: str, size: int) -> bytes:
    """Return a member as GNU tar packs a file with holes, of which `size` bytes are none."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = tarfile.GNUTYPE_SPARSE, size
    header = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"%011o\0%011o\0" % (0, size)
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(size)


def member(name: str, kind: bytes, size: int) -> bytes:
    """Return the header of a member."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = kind, size
    return entry.tobuf()


def one_file(student: str) -> bytes:
    """Return a member of a tar without what ends the archive."""
    content = student.encode()
    return member(f"{student}/hw.ipynb", tarfile.REGTYPE, len(content)) + content.ljust(512, b"\0")


UNREAD_CONTENT = {
    "sparse": gnu_sparse("mallory/hw.bin", 3 * 2**20),
    "of a type that nobody knows": member("mallory/hw.bin", b"Z", 3 * 2**20) + bytes(3 * 2**20),
}


@pytest.mark.parametrize("kind", UNREAD_CONTENT)
def test_content_that_is_not_unpacked_is_no_header_of_the_next_member(
    tmp_path: Path, kind: str
) -> None:
    """A class's tar was refused for 2 MB that nobody had asked for."""
    packed = one_file("ada") + UNREAD_CONTENT[kind] + one_file("zoe")
    (tmp_path / "class.tar").write_bytes(packed)
    outcome = collect(tmp_path / "class.tar", tmp_path / "class")
    found = {e.folder: contents(tmp_path / "class", e) for e in outcome.collected.students}
    assert ({"ada"}, {"zoe"}) == (found["ada"], found["zoe"])
    assert {"mallory/hw.bin": "special"} == reasons(outcome)


ENDLESS: dict[str, Callable[[], bytes]] = {
    "headers": lambda: gzip.compress(member("mallory/x", b"Z", 0) * 300_000, 1),
    "content": lambda: (
        gzip.compress(member("mallory/x", tarfile.REGTYPE, 2**32))
        + gzip.compress(bytes(2**26)) * 64
    ),
}
"""What takes more than a second to read, and is small where it is packed."""


@pytest.mark.parametrize("kind", ENDLESS)
def test_of_a_tar_that_takes_too_long_those_are_collected_who_come_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Where nobody knows who comes behind, that is told."""
    monkeypatch.setattr(archives, "_SECONDS", 1)
    monkeypatch.setattr(archives, "_BYTES_A_SECOND", 2**40)
    ada, zoe = (gzip.compress(one_file(each), 1) for each in ("ada", "zoe"))
    (tmp_path / "class.tgz").write_bytes(ada + ENDLESS[kind]() + zoe)
    outcome = collect(tmp_path / "class.tgz", tmp_path / "class")
    found = {e.folder: contents(tmp_path / "class", e) for e in outcome.collected.students}
    assert {"ada": {"ada"}, "mallory": set()} == found
    assert "unread" == reasons(outcome)["mallory"]


def test_students_with_many_files_take_no_room_from_those_with_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a class's files are shared equally; the rest is for whoever comes first."""
    monkeypatch.setattr(placing, "_CLASS_FILES", 2000)
    flood = zipped(dict.fromkeys(map(str, range(400)), b""))
    files = {f"Mallory {e}_{e}_assignsubmission_file_/a.zip": flood for e in range(9)}
    zoe = zipped({f"{each}.py": b"" for each in range(100)})
    (tmp_path / "class.zip").write_bytes(
        zipped({**files, "Zoe_99_assignsubmission_file_/a.zip": zoe})
    )
    outcome = collect(tmp_path / "class.zip", tmp_path / "class")
    told = reasons(outcome)
    assert "large" in told.values()
    assert not any("Zoe" in each for each in told)
    made = sum(each.is_file() for each in (tmp_path / "class").rglob("*"))
    assert made < 2100


def test_folders_count_as_files(tmp_path: Path) -> None:
    deep = "/".join("abcdefghijklmn")
    flood = zipped({f"{each}/{deep}/hw.py": b"" for each in range(400)})
    files = {"Mallory_1_assignsubmission_file_/a.zip": flood}
    (tmp_path / "class.zip").write_bytes(zipped(files))
    outcome = collect(tmp_path / "class.zip", tmp_path / "class")
    assert {"Mallory-1/a.zip": "large"} == reasons(outcome)


def test_sound_small_archives_share_a_process_and_a_damaged_one_has_its_own(
    tmp_path: Path,
) -> None:
    reader = CountingReader()
    with reader:
        for name, bad, most in (("sound", b"", 3), ("damaged", b"PK\3\4rubbish", 4)):
            good = zipped({"hw.ipynb": "x"})
            files = {f"A{e}_{e}_assignsubmission_file_/a.zip": good for e in range(40)}
            if bad:
                files["A20_20_assignsubmission_file_/a.zip"] = bad
            (tmp_path / f"{name}.zip").write_bytes(zipped(files))
            reader.count = 0
            wanted = CollectRequest((tmp_path / f"{name}.zip",), tmp_path / name)
            collect_class(wanted, reader=reader)
            assert reader.count <= most


def test_damaged_archives_of_one_student_share_a_process_with_nobody_else(tmp_path: Path) -> None:
    """4,500 of them were as many processes, and took 18 s."""
    bad = {f"{each}.zip": "PK\3\4rubbish" for each in range(15)}
    files = {f"Mallory_{e}_assignsubmission_file_/a.zip": zipped(bad) for e in range(4)}
    (tmp_path / "class.zip").write_bytes(zipped(files))
    with CountingReader() as reader:
        outcome = collect_class(
            CollectRequest((tmp_path / "class.zip",), tmp_path / "class"), reader=reader
        )
        assert 60 == sum(each == "damaged" for each in reasons(outcome).values())
        assert 5 >= reader.count > 4


def test_a_file_that_is_too_large_by_its_own_words_needs_no_new_process(tmp_path: Path) -> None:
    large = packed(("hw.bin", bytes(40 * 2**20)), ("hw.ipynb", b"{}"))
    files = {f"Mallory_{e}_assignsubmission_file_/a.zip": large for e in range(40)}
    (tmp_path / "class.zip").write_bytes(zipped(files))
    with CountingReader() as reader:
        outcome = collect_class(
            CollectRequest((tmp_path / "class.zip",), tmp_path / "class"), reader=reader
        )
        assert {"large"} == {*reasons(outcome).values()}
        assert 2 == reader.count


def long_header() -> bytes:
    """Return a member with a header of 10,000 entries, each of which takes 3 microseconds."""
    entry = tarfile.TarInfo("hw")
    entry.pax_headers = {f"k{each}": "v" for each in range(10_000)}
    return entry.tobuf(tarfile.PAX_FORMAT)


def test_bombs_that_take_all_time_take_nobody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of them used up the time of a class of twenty, whose archives then stayed packed."""
    monkeypatch.setattr(placing, "_CLASS_SECONDS", 0.0)
    monkeypatch.setattr(placing, "_BYTES_A_SECOND", 2**60)
    monkeypatch.setattr(placing, "_OWN_SECONDS", 0.4)
    headers = gzip.compress(long_header() * 40, 1)
    files: dict[str, str | bytes] = {
        f"M{e}_{e}_assignsubmission_file_/a.tgz": headers for e in range(3)
    }
    files["Zoe_99_assignsubmission_file_/a.zip"] = zipped({"hw.ipynb": "zoe"})
    (tmp_path / "class.zip").write_bytes(zipped(files))
    outcome = collect(tmp_path / "class.zip", tmp_path / "class")
    found = {each.folder: contents(tmp_path / "class", each) for each in outcome.collected.students}
    assert {"zoe"} == found["Zoe-99"]
    told = reasons(outcome)
    assert {f"M{each}-{each}/a.tgz": "large" for each in range(3)} == told


def test_floods_of_archives_leave_everybody_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "_CLASS_ARCHIVES", 40)
    one = zipped({"hw.ipynb": "x"})
    flood = {f"{each}.zip": one for each in range(30)}
    files = {f"M{e}_{e}_assignsubmission_file_/a.zip": zipped(flood) for e in range(4)}
    files["Zoe_99_assignsubmission_file_/a.zip"] = zipped({"hw.zip": one})
    (tmp_path / "class.zip").write_bytes(zipped(files))
    outcome = collect(tmp_path / "class.zip", tmp_path / "class")
    told = reasons(outcome)
    assert "budget" in told.values()
    assert not any("Zoe" in each for each in told)
    unpacked = sum(each.is_dir() and each.name.endswith(".zip") for each in tmp_path.rglob("*"))
    assert unpacked <= 40


class GoingOnReader:
    """Tells only that it goes on."""

    def unpack(self, *_: object) -> Iterator[FromUnpacker]:
        yield from [GoingOn()] * 3
        yield Unpacked("all", 1.0)


def test_progress_is_shown_while_there_is_nothing_to_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pace, "seconds", 0.0)
    (tmp_path / "class.tar").write_bytes(b"")
    (tmp_path / "class").mkdir()
    steps: list[int] = []

    class Listening(Silent):
        def step(self, done: int, total: int, label: object = None) -> None:
            del total, label
            steps.append(done)

    archives.unpack(
        tmp_path / "class.tar",
        tmp_path / "class",
        cast("SubmissionReader", GoingOnReader()),
        progress=Listening(),
    )
    assert [0, 0, 0] == steps
