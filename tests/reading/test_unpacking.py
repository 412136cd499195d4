"""What the process tells that unpacks: where it has no time left, and of floods."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from grader.reading import unpacking
from grader.reading.messages import (
    Began,
    FolderSkipped,
    FromUnpacker,
    GoingOn,
    Piece,
    Skipped,
    UnpackLimits,
)
from grader.reading.unpacking import unpack_archive
from tests.lms.archives import tar_member, zipped
from tests.lms.hostile import tar_of

FILES = {"ada/hw.ipynb": b"ada", "bob/hw.ipynb": b"bob"}


def told(content: bytes, *, shared: bool) -> Iterator[FromUnpacker | str]:
    limits = UnpackLimits(file_size=99, size=99, files=99, index=9999, shared=shared)
    found: list[FromUnpacker] = []
    yield unpack_archive(io.BytesIO(content), limits, 0.0, found.append)
    yield from found


@pytest.mark.parametrize("shared", [False, True])
def test_each_member_of_a_zip_is_told(*, shared: bool) -> None:
    """The whole archive was called damaged."""
    end, *members = told(zipped(FILES), shared=shared)
    assert ("all", [Skipped(name, "budget") for name in FILES]) == (end, members)


def test_a_students_tar_is_too_large() -> None:
    end, *_ = told(tar_of(FILES), shared=False)
    assert "large" == end


def test_of_a_classs_tar_it_is_told_where_it_ended() -> None:
    end, *members = told(plain_tar(FILES), shared=True)
    assert ("all", FolderSkipped("ada/hw.ipynb", False, "unread")) == (end, members[-1])


class CountingFile(io.BytesIO):
    """Counts the bytes that are read."""

    count = 0

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(size)
        self.count += len(found)
        return found


LIMITS = UnpackLimits(file_size=99, size=9999, files=100, index=9999, shared=True)


def of_class(file: io.BytesIO, limits: UnpackLimits = LIMITS) -> tuple[str, list[FromUnpacker]]:
    found: list[FromUnpacker] = []
    return unpack_archive(file, limits, 60.0, found.append), found


def names(told: list[FromUnpacker]) -> list[str]:
    return [each.name for each in told if isinstance(each, Began)]


def flood(count: int, folder: str = "mallory") -> dict[str, bytes]:
    return {f"{folder}/{at}.py": b"x" for at in range(count)}


def plain_tar(files: dict[str, bytes]) -> bytes:
    return gzip.decompress(tar_of(files))


@pytest.mark.parametrize("before", [{}, {"ada/hw.ipynb": b"ada"}], ids=["first", "second"])
def test_of_a_flood_little_is_told_and_those_behind_it_are(before: dict[str, bytes]) -> None:
    """A flood that came first was told until there was no more room, for it might be the class."""
    end, told = of_class(io.BytesIO(plain_tar({**before, **flood(2000), "zoe/hw.ipynb": b"zoe"})))
    assert "all" == end
    assert [*before, "zoe/hw.ipynb"] == [e for e in names(told) if not e.startswith("mallory")]
    assert 21 >= sum(each.startswith("mallory") for each in names(told))
    assert [FolderSkipped("mallory", True)] == [e for e in told if isinstance(e, FolderSkipped)]


def test_a_class_with_a_flood_is_read_once() -> None:
    content = plain_tar({"ada/hw.ipynb": b"ada", **flood(2000), "zoe/hw.ipynb": b"zoe"})
    file = CountingFile(content)
    assert "all" == of_class(file)[0]
    assert len(content) + 2**16 > file.count


def link(name: str) -> bytes:
    """Return a member as GNU tar packs a link."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, "x"
    return entry.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("around", ["", "./"])
@pytest.mark.parametrize("long", ["", "n" * 100])
def test_headers_of_a_flood_are_skipped_at_once(
    monkeypatch: pytest.MonkeyPatch, around: str, long: str
) -> None:
    """Three million of them took all the time that there was, and those behind lost their files.

    Where the folder was packed as ".", two million did, and a million of long names.
    """
    read = []
    true = unpacking._Entry.frombuf

    def frombuf(*given: Any) -> Any:
        read.append(given)
        return true(*given)

    monkeypatch.setattr(unpacking._Entry, "frombuf", frombuf)
    links = b"".join(link(f"{around}mallory/{long}{at}") for at in range(5000))
    files = [f"{around}{each}/hw.ipynb" for each in ("ada", "zoe")]
    ada, zoe = (plain_tar({each: b"{}"})[:1024] for each in files)
    end, told = of_class(io.BytesIO(ada + links + zoe + bytes(1024)))
    assert ("all", files) == (end, names(told))
    assert 600 > len(read)


def test_a_student_whose_name_begins_like_a_flood_is_none_of_it() -> None:
    others = {"mallory2/hw.ipynb": b"{}", "mallory": b"{}", "malloryx.ipynb": b"{}"}
    files = {"ada/hw.ipynb": b"", **flood(300), **others, "mallory/last": b"", "zoe/x": b""}
    end, told = of_class(io.BytesIO(plain_tar(files)))
    found = {each for each in names(told) if not each.startswith("mallory/")}
    assert ("all", {"ada/hw.ipynb", "mallory2/hw.ipynb", "malloryx.ipynb", "zoe/x"}) == (
        end,
        found - {"mallory"},
    )


@pytest.mark.parametrize("damage", ["", "sum", "kind", "empty", "cut off"])
def test_what_is_skipped_at_once_is_what_is_skipped_one_by_one(
    monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    odd = bytearray(link("mallory/" + "n" * 150))
    if damage == "sum":
        odd[0] ^= 2
    if damage == "kind":
        odd[512 * 2 + 156] = ord("g")
    if damage == "empty":
        odd[124:136] = b"%011o\0" % 0
    if damage == "cut off":
        del odd[512:]
    ada, zoe = (plain_tar({f"{each}/hw.ipynb": b"{}"})[:1024] for each in ("ada", "zoe"))
    flood = b"".join(link(f"mallory/{'n' * 100}{at}") for at in range(200))
    content = ada + flood + odd + flood + zoe + bytes(1024)
    at_once = of_class(io.BytesIO(content))
    monkeypatch.setattr(unpacking, "_size_alike", lambda *_: -1)
    assert of_class(io.BytesIO(content)) == at_once
    assert ("damaged" if damage else "all") == at_once[0]


def test_the_same_header_many_times_ends_where_another_comes() -> None:
    link, zero = tarfile.TarInfo("mallory/x"), tarfile.TarInfo("mallory/y")
    link.type = tarfile.SYMTYPE
    flood = (link.tobuf() * 300 + zero.tobuf() * 300) * 3 + plain_tar({"mallory/z": b"x"})[:1024]
    ada, zoe = (plain_tar({f"{each}/hw.ipynb": b"{}"})[:1024] for each in ("ada", "zoe"))
    for end in (bytes(1024), b""):
        ended, told = of_class(io.BytesIO(ada + flood * 2 + zoe + end))
        assert ("all", ["ada/hw.ipynb", "zoe/hw.ipynb"]) == (
            ended,
            [each for each in names(told) if not each.startswith("mallory")],
        )


@pytest.mark.parametrize("at", [0, 124, 148, 156])
def test_a_damaged_header_within_a_flood_is_told(at: int) -> None:
    content = bytearray(plain_tar({"ada/hw.ipynb": b"{}", **flood(500), "zoe/x": b""}))
    content[1024 * 400 + at] ^= 2
    assert "damaged" == of_class(io.BytesIO(bytes(content)))[0]


def test_a_class_that_is_cut_off_within_a_flood_is_damaged() -> None:
    content = plain_tar({"ada/hw.ipynb": b"{}", **flood(500), "zoe/x": b""})
    assert "damaged" == of_class(io.BytesIO(content[: 1024 * 400 + 512]))[0]


def test_who_has_unusually_many_and_takes_nobodys_room_is_told_whole() -> None:
    files = {"ada/hw": b"", **flood(15, "bob"), **flood(30, "eve"), "zoe/hw": b""}
    end, told = of_class(io.BytesIO(plain_tar(files)))
    assert ("all", sorted(files)) == (end, sorted(names(told)))
    assert not [each for each in told if isinstance(each, FolderSkipped)]


def test_of_several_floods_each_is_left_out_once_and_nobody_is_told_twice() -> None:
    files = {
        "ada/hw": b"",
        **flood(80, "bob"),
        **flood(9, "cy"),
        **flood(70, "eve"),
        **flood(40, "fay"),
        "zoe/hw": b"",
    }
    end, told = of_class(io.BytesIO(plain_tar(files)))
    left_out = [each.name for each in told if isinstance(each, FolderSkipped)]
    kept = [each for each in names(told) if each.partition("/")[0] not in left_out]
    assert ("all", ["bob", "eve"]) == (end, sorted(left_out))
    whole = [each for each in files if each.partition("/")[0] not in left_out]
    assert sorted(whole) == sorted(kept)


def test_that_it_goes_on_is_told_where_there_is_nothing_else_to_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unpacking, "_GOING_SECONDS", 0.0)
    content = plain_tar({"ada/hw": b"", **flood(500), "zoe/hw": b""})
    _, told = of_class(io.BytesIO(content))
    assert GoingOn() in told


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT])
def test_headers_say_what_tarfile_reads_in_them(form: int) -> None:
    """The short parser skips fields that nobody needs; in all others it agrees with `tarfile`."""
    for name in ("hw", "d/", "é/ü", "n" * 99 + "/x", "d" * 100 + "/" + "n" * 90, "x/" * 60):
        for kind in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, b"Z"):
            for size in (0, 1, 511, 8**11 - 1, 8**11, 2**40):
                entry = tarfile.TarInfo(name)
                entry.type, entry.size = kind, size
                with contextlib.suppress(ValueError):  # of what a form has no room for
                    content = entry.tobuf(form)
                for at in range(0, len(content), 512):
                    header = content[at : at + 512]
                    with contextlib.suppress(tarfile.HeaderError):
                        true = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
                        read = unpacking._Entry.frombuf(header, "utf-8", "surrogateescape")
                        said = [(e.name, e.size, e.type, e.isdir()) for e in (true, read)]
                        assert said[0] == said[1]


def test_long_headers_are_read_until_there_were_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 members with 128 KB each took a minute, before which those behind were not read."""
    monkeypatch.setattr(unpacking._Opened, "pax_left", 50_000)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        tar_member(archive, "ada/é.ipynb", b"{}", pax_headers={"comment": "x" * 2000})
        for at in range(8):
            tar_member(archive, f"mallory/{at}", b"{}", pax_headers={"comment": "x" * 9999})
        tar_member(archive, "zoe/é.ipynb", b"{}", pax_headers={"comment": "x" * 2000})
    end, told = of_class(io.BytesIO(buffer.getvalue()))
    kept = ["ada/é.ipynb", *(f"mallory/{at}" for at in range(4)), "zoe/é.ipynb"]
    assert ("all", kept) == (end, names(told))
    skipped = [Skipped(f"mallory/{at}", "budget") for at in range(4, 8)]
    assert skipped == [each for each in told if isinstance(each, Skipped)]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("end", [b"", bytes(8)], ids=["streams", "padding"])
def test_streams_of_nothing_end_with_the_time(pack: Callable[[bytes], bytes], end: bytes) -> None:
    """64 MB of them were one read of half a minute: the process was killed, and begun again."""
    nothing = (end or pack(b"")) * 50_000
    file = CountingFile(pack(plain_tar(FILES)[:1024]) + nothing)
    limits = UnpackLimits(file_size=99, size=99, files=99, index=9999, shared=False)
    unpack_archive(file, limits, 0.0, [].append)
    assert 2**16 > file.count


@pytest.mark.parametrize("shared", [False, True])
def test_large_content_is_told_whole(*, shared: bool) -> None:
    content = bytes(range(256)) * 5000 + b"x"
    files = {"ada/a": content, "zoe/b": content}
    limits = UnpackLimits(file_size=2**21, size=2**23, files=9, index=9, shared=shared)
    end, told = of_class(io.BytesIO(plain_tar(files)), limits)
    pieces = b"".join(each.content for each in told if isinstance(each, Piece))
    assert ("all", [*files], content * 2) == (end, names(told), pieces)


def test_a_file_that_is_too_large_for_a_class_costs_its_student_alone() -> None:
    """A gigabyte of zeros in a class's tar was more than all others might have had."""
    files = {"ada/a": b"ada", "mallory/x": bytes(100_000), "zoe/b": b"zoe"}
    end, told = of_class(io.BytesIO(plain_tar(files)))
    assert ("all", ["ada/a", "zoe/b"]) == (end, names(told))
    assert [Skipped("mallory/x", "large")] == [e for e in told if isinstance(e, Skipped)]


def test_a_longer_name_than_any_is_not_read() -> None:
    content = plain_tar({"n" * 2_000_000: b""})
    file = CountingFile(content)
    assert "large" == of_class(file)[0]
    assert 2**18 > file.count
