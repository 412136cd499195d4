"""Archives that students may hand in to take the class down, by what is wrong with them."""

from __future__ import annotations

import bz2
import functools
import io
import lzma
import os
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping

from tests.lms.archives import LINK, tar_member


def packed(
    *members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content, method)
    return buffer.getvalue()


def tarred(build: Callable[[tarfile.TarFile], None], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    level = {"compresslevel": 1} if mode == "w:gz" else {}
    with tarfile.open(fileobj=buffer, mode=mode, **level) as archive:  # type: ignore[call-overload]
        build(archive)
    return buffer.getvalue()


def tar_of(files: Mapping[str, bytes]) -> bytes:
    return tarred(lambda archive: [tar_member(archive, *each) for each in files.items()] and None)


@functools.cache
def bomb(method: int) -> bytes:
    size = 300 if method == zipfile.ZIP_DEFLATED else 10
    return packed(("hw.ipynb", bytes(size * 2**20)), method=method)


def many_entries(count: int) -> bytes:
    """Return a zip whose index says one name `count` times."""
    content = bytearray(packed(("hw.ipynb", b"{}")))
    begin = content.index(b"PK\1\2")
    end = content.index(b"PK\5\6")
    index, tail = content[begin:end], bytearray(content[end:])
    struct.pack_into("<HHI", tail, 8, count & 0xFFFF, count & 0xFFFF, len(index) * count)
    return bytes(content[:begin] + index * count + tail)


def changed(content: bytes, old: bytes, new: bytes) -> bytes:
    return content.replace(old, new)


def overlapping() -> bytes:
    content = bytearray(packed(*((str(each), os.urandom(1000)) for each in range(9))))
    at = -1
    while (at := content.find(b"PK\1\2", at + 1)) >= 0:
        struct.pack_into("<I", content, at + 42, 0)
    return bytes(content)


def nested(levels: int, content: bytes = b"{}") -> bytes:
    for _ in range(levels):
        content = packed(("inner.zip", content))
    return content


def link() -> bytes:
    entry = zipfile.ZipInfo("hw.ipynb")
    entry.external_attr = LINK
    return packed((entry, b"/etc/passwd"))


def pax(count: int) -> bytes:
    entry = tarfile.TarInfo("hw")
    entry.pax_headers = {"comment": "x" * count}
    return entry.tobuf(tarfile.PAX_FORMAT) + bytes(1024)


def sparse() -> bytes:
    entry = tarfile.TarInfo("hw")
    entry.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.map": "x,y", "GNU.sparse.size": "-1"}
    return entry.tobuf(tarfile.PAX_FORMAT) + bytes(1024)


HARMLESS = {
    "name in another code",
    "name with a null",
    "tar name that is no utf-8",
    "the draft's name",
}
DEEP = "/".join(["d" * 250] * 29) + "/hw.ipynb"
ATTACKS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "bzip2 bomb": ("a.zip", lambda: bomb(zipfile.ZIP_BZIP2)),
    "lzma member": ("a.zip", lambda: packed(("hw", b"x" * 9999), method=zipfile.ZIP_LZMA)),
    "deflate bomb": ("a.zip", lambda: bomb(zipfile.ZIP_DEFLATED)),
    "bomb in a bomb": ("a.zip", lambda: packed(*((f"{e}.zip", bomb(8)) for e in range(9)))),
    "index of 100,000": ("a.zip", lambda: many_entries(100_000)),
    "index of 9,000 of one name": ("a.zip", lambda: many_entries(9_000)),
    "10,001 files": ("a.zip", lambda: packed(*((str(e), b"") for e in range(10_001)))),
    "30 archives": ("a.zip", lambda: packed(*((f"{e}.zip", nested(1)) for e in range(30)))),
    "overlapping members": ("a.zip", overlapping),
    "packed five times": ("a.zip", lambda: nested(5)),
    "long path": ("a.zip", lambda: packed((DEEP, b"{}"))),
    "long paths in one another": (
        "a.zip",
        lambda: packed(("/".join(["d" * 200] * 4) + "/b.zip", packed((DEEP[:900], b"{}")))),
    ),
    "long name": ("a.zip", lambda: packed(("n" * 300, b"{}"))),
    "name with a null": ("a.zip", lambda: changed(packed(("hwx", b"{}")), b"hwx", b"h\0x")),
    "name in another code": (
        "a.zip",
        lambda: changed(packed(("hwxx", b"{}")), b"hwxx", b"\xd7\xf7\xd2\xb5"),
    ),
    "name that says utf-8 and is not": (
        "a.zip",
        lambda: changed(packed(("hé", b"{}")), "é".encode(), b"\xff\xfe"),
    ),
    "another local name": ("a.zip", lambda: packed(("hw", b"{}")).replace(b"hw", b"\xff\xff", 1)),
    "offset outside": (
        "a.zip",
        lambda: changed(packed(("hw", b"{}")), b"PK\5\6", b"PK\5\6")[:-6] + b"\xf0\xff\xff\x7f\0\0",
    ),
    "damaged stream": (
        "a.zip",
        lambda: changed(packed(("hw", b"ab" * 99)), b"hwKLJ", b"hw\xff\xff\xff"),
    ),
    "encrypted": (
        "a.zip",
        lambda: changed(packed(("hw", b"{}")), b"\x14\0\0\0\x08", b"\x14\0\1\0\x08"),
    ),
    "link": ("a.zip", link),
    "outside": ("a.zip", lambda: packed(("../../../bob-99/hw.ipynb", b"mallory"))),
    "drive": ("a.zip", lambda: packed(("C:\\x", b"mallory"))),
    "the draft's name": ("a.zip", lambda: packed((".draft-x", b""), (".unpacked-0", b""))),
    "not an archive": ("a.zip", lambda: b"PK\3\4rubbish"),
    "empty": ("a.zip", lambda: b""),
    "bz2 rubbish": ("a.tar.bz2", lambda: b"BZh9" + os.urandom(1400)),
    "bz2 cut off": ("a.tar.bz2", lambda: bz2.compress(bytes(99999))[:40]),
    "xz of a large dictionary": (
        "a.tar.xz",
        lambda: lzma.compress(
            bytes(2**20), filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 2**29}]
        ),
    ),
    "gz bomb": ("a.tgz", lambda: tarred(lambda a: tar_member(a, "hw", bytes(300 * 2**20)))),
    "bz2 bomb": ("a.tar.bz2", lambda: bz2.compress(bytes(30 * 2**20))),
    "tar that is cut off": (
        "a.tgz",
        lambda: tarred(lambda a: tar_member(a, "hw", b"x" * 9999))[:-9],
    ),
    "tar name that is no utf-8": (
        "a.tar",
        lambda: tarred(lambda a: tar_member(a, "\udcff\udcfe", b"{}"), "w:"),
    ),
    "tar device": (
        "a.tar",
        lambda: tarred(lambda a: tar_member(a, "x", type=tarfile.CHRTYPE), "w:"),
    ),
    "tar link": (
        "a.tar",
        lambda: tarred(lambda a: tar_member(a, "x", type=tarfile.SYMTYPE, linkname="/etc"), "w:"),
    ),
    "tar of a negative size": (
        "a.tar",
        lambda: tarfile.TarInfo("x").tobuf()[:124] + b"-1" + bytes(900),
    ),
    "pax headers without end": ("a.tar", lambda: pax(2_000_000)),
    "long pax headers": ("a.tar", lambda: pax(500_000)),
    "sparse of nonsense": ("a.tar", sparse),
    "12,000 links": (
        "a.tgz",
        lambda: tarred(
            lambda a: [tar_member(a, str(e), type=tarfile.SYMTYPE) for e in range(12_000)] and None
        ),
    ),
}
