"""Archives of classes, hostile ones among them, for the benchmarks of collecting.

Each kind is made for a size in bytes and a number of students. The hostile archive is that of one
student, of every student, or of the class itself.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_RANDOM = random.Random(39)
_MEGABYTE = 2**20

Made = Iterator[tuple[str, bytes]]
"""Names of members, and what is in them."""


class Kind(NamedTuple):
    """A kind of archive: what is in it for a size in bytes and a number of students."""

    name: str
    members: Callable[[int, int], Made]
    pack: Callable[[Path, Made], None]


def _name(student: int, file: str) -> str:
    return f"student{student:05}_{student + 100}_{student + 500000}_{file}"


def _zip(path: Path, made: Made) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in made:
            archive.writestr(zipfile.ZipInfo(name), content)


def _deflated(path: Path, made: Made) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in made:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


_QUICK = {"w:xz": {"preset": 0}, "w:gz": {"compresslevel": 1}, "w:bz2": {"compresslevel": 9}}


def _tar(mode: str) -> Callable[[Path, Made], None]:
    def pack(path: Path, made: Made) -> None:
        with tarfile.open(path, mode, **_QUICK[mode]) as archive:  # type: ignore[call-overload]
            for name, content in made:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))

    return pack


def _raw(path: Path, made: Made) -> None:
    with path.open("wb") as file:
        for _, content in made:
            file.write(content)


def _packed(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def _notebooks(size: int, students: int) -> Made:
    for student in range(students):
        yield _name(student, "hw.ipynb"), _RANDOM.randbytes(size // students)


def _zips(size: int, students: int) -> Made:
    for student in range(students):
        content = _RANDOM.randbytes(size // students)
        yield _name(student, "hw.zip"), _packed({"hw.ipynb": content, "notes.txt": b"x"})


def _small_zips(_: int, students: int) -> Made:
    yield from _zips(20_000 * students, students)


def _many_files(size: int, students: int) -> Made:
    count = max(1, min(1000, size // 150 // students))
    packed = _packed({f"d{at // 50}/{at}.py": b"x" for at in range(count)})
    for student in range(students):
        yield _name(student, "hw.zip"), packed


def _zip_bombs(size: int, students: int) -> Made:
    bomb = _packed({"hw.ipynb": bytes(size // students * 1000)})
    for student in range(students):
        yield _name(student, "hw.zip"), bomb


def _tar_bombs(size: int, students: int) -> Made:
    stream = io.BytesIO()
    with lzma.open(stream, "wb", preset=0) as packed:
        content = bytes(size // students * 1000)
        with tarfile.open(fileobj=packed, mode="w|") as archive:
            entry = tarfile.TarInfo("hw.ipynb")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    for student in range(students):
        yield _name(student, "hw.tar.xz"), stream.getvalue()


def _in_one_another(size: int, students: int) -> Made:
    for student in range(students):
        content = _packed({"hw.ipynb": _RANDOM.randbytes(size // students)})
        yield _name(student, "hw.zip"), _packed({"inner.zip": content}, zipfile.ZIP_STORED)


def _zeros(size: int, students: int) -> Made:
    for student in range(students):
        yield _name(student, "hw.ipynb"), bytes(size // students * 1000)


def _empty_files(size: int, _: int) -> Made:
    for student in range(size // 120):
        yield _name(student, "hw.ipynb"), b""


def _flood(_: int, students: int) -> Made:
    yield from ((f"mallory/{at}.py", b"x") for at in range(60_000))
    yield from ((f"student{each}/hw.ipynb", b"{}") for each in range(students))


def _folders(size: int, students: int) -> Made:
    for student in range(students):
        for at in range(max(1, min(300, size // 600 // students))):
            yield f"student{student}/f{at}/hw{at}.py", b"x" * 50


FEW = 30
HONEST = 20


def _beside(file: str, content: bytes) -> Made:
    """Yield what one student has made to cost the others, and what these handed in."""
    yield _name(0, file), content
    for student in range(1, HONEST):
        yield _name(student, "hw.ipynb"), b"{}"


def _index(count: int, name: bytes = b"hw.ipynb") -> bytes:
    """Return a zip whose index says one name `count` times."""
    content = _packed({name.decode(): b"{}"})
    at, end = content.index(b"PK\1\2"), content.index(b"PK\5\6")
    index = content[at:end] * count
    shown = min(count, 2**16 - 1)
    tail = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, len(index), at)
    tail += b"PK\6\7" + struct.pack("<IQI", 0, at + len(index), 1)
    sizes = struct.pack("<IIH", min(len(index), 2**32 - 1), 2**32 - 1, 0)
    return (
        content[:at]
        + index
        + tail
        + b"PK\5\6"
        + bytes(4)
        + struct.pack("<HH", shown, shown)
        + sizes
    )


def _a_long_index(name: bytes) -> Callable[[int, int], Made]:
    def members(size: int, _: int) -> Made:
        most = min(10**6, size * 3 // (200 + len(name)))
        yield from _beside("hw.zip", _index(most, name))

    return members


def _a_class_with_a_long_index(size: int, _: int) -> Made:
    yield "", _index(min(10**6, size // 60))


def _methods(method: int) -> Callable[[int, int], Made]:
    def members(size: int, _: int) -> Made:
        yield from _beside("hw.zip", _packed({"hw.ipynb": bytes(size * 8)}, method))

    return members


def _stream(pack: Callable[[bytes], bytes], end: str) -> Callable[[int, int], Made]:
    """Yield a tar of one file of zeros that is packed several times as one stream."""

    def members(size: int, _: int) -> Made:
        chunk = bytes(max(min(size, 2**26), 512))
        content = pack(_header("hw.ipynb", len(chunk) * 64)) + pack(chunk) * 64
        yield from _beside(f"hw{end}", content)

    return members


def _bombs_in_one_another(size: int, students: int) -> Made:
    bomb = _packed({"z.bin": bytes(size // 2)})
    inner = _packed(
        {f"{each}.zip": _packed({"z.zip": bomb, "z.bin": bytes(size)}) for each in range(9)}
    )
    for student in range(students):
        yield _name(student, "hw.zip"), inner


def _long_names(size: int, _: int) -> Made:
    names = {f"{at}/" + "n" * 60_000: b"x" for at in range(max(1, size // 70_000 // 16))}
    yield from _beside("hw.zip", _packed(names))


def _long_paths(size: int, students: int) -> Made:
    deep = "/".join(["d" * 30] * 30)
    count = max(1, min(500, size // 2000 // students))
    packed = _packed({f"{at}/{deep}/hw.py": b"x" for at in range(count)})
    for student in range(students):
        yield _name(student, "hw.zip"), packed


def _header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT)


def _file(name: str, content: bytes) -> bytes:
    return _header(name, len(content)) + content + bytes(-len(content) % 512)


def _sparse(name: str, size: int) -> bytes:
    """Return the header of a member as GNU tar packs a file with holes."""
    header = bytearray(_header(name, size, tarfile.GNUTYPE_SPARSE))
    header[386:410] = b"%011o\0%011o\0" % (0, size)
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


Packer = Callable[[bytes], bytes]


def _around(middle: Iterable[bytes], pack: Packer = bytes) -> Made:
    """Yield a class's tar in which one student has what comes between the others'."""
    for student in range(HONEST // 2):
        yield "", pack(_file(f"ada{student}/hw.ipynb", b"{}"))
    yield from (("", each) for each in middle)
    for student in range(HONEST // 2):
        yield "", pack(_file(f"zoe{student}/hw.ipynb", b"{}"))
    yield "", pack(bytes(1024))


def _sparse_members(size: int, _: int) -> Made:
    half = max(size // 2 // 512, 1) * 512
    yield from _around([_sparse("mallory/hw.bin", half), bytes(half)] * 2)


def _sparse_members_of_zeros(size: int, _: int) -> Made:
    part = max(size // 512, 1) * 512
    zeros = gzip.compress(bytes(part), 1)
    header = gzip.compress(_sparse("mallory/hw.bin", part * 100))
    yield from _around([header, *[zeros] * 100], gzip.compress)


def _headers(name: str, kind: bytes, pack: Packer) -> Callable[[int, int], Made]:
    """Yield a class's tar with three million members of one student."""

    def members(size: int, _: int) -> Made:
        most = size if pack is bytes else min(size, 64 * _MEGABYTE) * 24
        count = max(most // 512, 1)
        some = pack(_header(name, 0, kind) * (count // 100 + 1))
        yield from _around([some] * 100, pack)

    return members


def _pax(size: int) -> bytes:
    entry = tarfile.TarInfo("mallory/x")
    entry.pax_headers = {f"k{at}": "v" for at in range(size // 12)}
    return entry.tobuf(tarfile.PAX_FORMAT)


def _pax_headers(size: int, _: int) -> Made:
    some = gzip.compress(_pax(min(size // 64, 150_000)))
    yield from _around([some] * 2000, gzip.compress)


def _submitted(_: int, students: int) -> Made:
    for at in range(50_000):
        yield f"submitted/{at}/", b""
    yield from ((f"student{each}/hw.ipynb", b"{}") for each in range(students))


def _submitted_works(_: int, students: int) -> Made:
    for at in range(24_000):
        yield f"submitted/{at}/hw/hw.ipynb", b"{}"
    yield from ((f"student{each}/hw.ipynb", b"{}") for each in range(students))


def _metadata(line: str) -> Callable[[int, int], Made]:
    """Yield Gradescope's export with a student's outputs of 15 MB in its metadata."""

    def members(size: int, students: int) -> Made:
        told = "".join(
            f"submission_{each}:\n  :submitters:\n  - :name: S{each}\n    :sid: s{each}\n"
            for each in range(students)
        )
        flood = line * (min(size // 4, 15 * _MEGABYTE) // len(line))
        yield "submission_metadata.yml", f"{told}  :results:\n{flood}".encode()
        yield from ((f"submission_{each}/hw.ipynb", b"{}") for each in range(students))

    return members


def _alike(name: str) -> Callable[[int, int], Made]:
    """Yield as many files as a class may have, with names that are nearly a system's."""

    def members(size: int, _: int) -> Made:
        for at in range(min(size // 120, 49_000)):
            yield name.format(at), b""

    return members


def _bzip2(content: bytes) -> bytes:
    return bz2.compress(content, 9)


def _xz(content: bytes) -> bytes:
    return lzma.compress(content, preset=0)


def _xz_with_much_memory(content: bytes) -> bytes:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 2**30}]
    return lzma.compress(content[:_MEGABYTE], filters=filters)


KINDS = (
    Kind("notebooks", _notebooks, _zip),
    Kind("notebooks in .tar.gz", _notebooks, _tar("w:gz")),
    Kind("notebooks in .tar.xz", _notebooks, _tar("w:xz")),
    Kind("notebooks in .tar.bz2", _notebooks, _tar("w:bz2")),
    Kind("zips", _zips, _zip),
    Kind("zips of 20 kB", _small_zips, _zip),
    Kind("3,000 zips of 20 kB", lambda size, n: _small_zips(size, 6 * n), _zip),
    Kind("zips in zips", _in_one_another, _zip),
    Kind("zips of many files", _many_files, _zip),
    Kind("folders of many files", _folders, _zip),
    Kind("zips that are bombs", _zip_bombs, _zip),
    Kind("30 zips that are bombs", lambda size, _: _zip_bombs(size, FEW), _zip),
    Kind("30 .tar.xz that are bombs", lambda size, _: _tar_bombs(min(size, 2**20), FEW), _zip),
    Kind("a bomb in each name", lambda size, _: _zeros(size // 4, FEW), _deflated),
    Kind("52,000 empty files", lambda _size, _students: _empty_files(52_000 * 120, 0), _zip),
    Kind("empty files", _empty_files, _zip),
    Kind("a flood of one student", _flood, _zip),
    Kind("a flood in .tar.gz", _flood, _tar("w:gz")),
    Kind("a flood in .tar.xz", _flood, _tar("w:xz")),
    Kind("empty files in .tar.gz", _empty_files, _tar("w:gz")),
    Kind("bombs in bombs in zips", _bombs_in_one_another, _zip),
    Kind("an index of a million", _a_long_index(b"hw.ipynb"), _deflated),
    Kind("an index of long names", _a_long_index(b"n" * 60_000), _deflated),
    Kind("a class's index of a million", _a_class_with_a_long_index, _raw),
    Kind("a bzip2 member", _methods(zipfile.ZIP_BZIP2), _zip),
    Kind("an LZMA member", _methods(zipfile.ZIP_LZMA), _zip),
    Kind("a .tar.bz2 that is a bomb", _stream(_bzip2, ".tar.bz2"), _zip),
    Kind("a .tar.xz that is a bomb", _stream(_xz, ".tar.xz"), _zip),
    Kind("a .tgz that is a bomb", _stream(gzip.compress, ".tgz"), _zip),
    Kind("a .tar.xz with 1 GB of memory", _stream(_xz_with_much_memory, ".tar.xz"), _zip),
    Kind("long names", _long_names, _zip),
    Kind("long paths", _long_paths, _zip),
    Kind("sparse members", _sparse_members, _raw),
    Kind("sparse members in .tar.gz", _sparse_members_of_zeros, _raw),
    Kind("headers in .tar", _headers("mallory/x", tarfile.SYMTYPE, bytes), _raw),
    Kind("headers in .tar.gz", _headers("mallory/x", tarfile.SYMTYPE, gzip.compress), _raw),
    Kind("headers in .tar.xz", _headers("mallory/x", tarfile.REGTYPE, _xz), _raw),
    Kind("headers in .tar.bz2", _headers("mallory/x", tarfile.REGTYPE, _bzip2), _raw),
    Kind("long headers", _pax_headers, _raw),
    Kind("a student called submitted", _submitted, _zip),
    Kind("a student called submitted, with works", _submitted_works, _zip),
    Kind("Gradescope's metadata, lines", _metadata("    - a\n"), _zip),
    Kind("Gradescope's metadata, keys", _metadata("    ? {a: b}\n    : []\n"), _zip),
    Kind("Gradescope's metadata, brackets", _metadata("    - [[[[[[]]]]]]\n"), _zip),
    Kind("names like Canvas'", _alike("_".join(["1"] * 100) + "_{}_x"), _zip),
    Kind("names like Moodle's", _alike("a_1_assignsubmission_file_" * 8 + "{}"), _zip),
    Kind("names like Brightspace's", _alike("1-1 - " * 35 + "Nov 3, 2026 12 - {}"), _zip),
    Kind("names like clones'", _alike("a-" * 100 + "{}/.git/HEAD"), _zip),
)
