"""Names of members in encodings of Windows, found from all names of an archive together."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence

import pytest

from grader.reading.member_names import ENCODINGS, guess, read_names


def entries(names: Sequence[bytes], extra: bytes = b"") -> list[zipfile.ZipInfo]:
    """Return the entries of an archive whose names are these bytes and say nothing of them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for at, name in enumerate(names):
            entry = zipfile.ZipInfo("x" * (len(name) - 3) + f"{at:03}")
            entry.extra = extra
            archive.writestr(entry, "")
    content = buffer.getvalue()
    for at, name in enumerate(names):
        content = content.replace(b"x" * (len(name) - 3) + f"{at:03}".encode(), name)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.infolist()


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("gbk", ["孙悟空/作业.ipynb", "林黛玉/作业.ipynb"]),
        ("gbk", ["诸葛亮/hw.ipynb", "曹操/hw.ipynb"]),
        ("cp949", ["홍길동/과제.ipynb", "성춘향/과제.ipynb"]),
        ("cp949", ["봉준호/hw.ipynb"]),
        ("cp932", ["夏目漱石/課題.ipynb", "ヨシダ/hw.ipynb"]),
        ("cp932", ["織田信長/hw.ipynb"]),
        ("big5", ["蔡英文/作業.ipynb", "賴清德/作業.ipynb"]),
        ("utf-8", ["孙悟空/作业.ipynb", "홍길동/x"]),
    ],
)
def test_the_encoding_of_a_country_is_found(encoding: str, names: list[str]) -> None:
    assert (names, encoding) == read_names(entries([each.encode(encoding) for each in names]))


def test_short_names_are_told_apart_by_the_others() -> None:
    """Alone, these two bytes are a frequent character of Chinese and a syllable of Korean."""
    assert "gbk" == guess(["雷.ipynb".encode("gbk"), "韩梅梅/作业.ipynb".encode("gbk")])


def test_names_in_ascii_have_no_encoding() -> None:
    assert (["ada/hw.ipynb"], "") == read_names(entries([b"ada/hw.ipynb"]))


def test_the_encoding_that_is_demanded_counts() -> None:
    raw = "Łukasz/hw.ipynb".encode("cp852")
    assert (["Łukasz/hw.ipynb"], "cp852") == read_names(entries([raw]), "cp852")
    assert "cp437" == read_names(entries([raw]))[1]


@pytest.mark.parametrize("is_of_this_name", [True, False])
def test_the_unicode_extra_field_counts_while_the_name_is_the_one_it_was_made_for(
    is_of_this_name: bool,
) -> None:
    raw = "李雷/x".encode("gbk")
    checksum = zlib.crc32(raw if is_of_this_name else b"renamed")
    field = struct.pack("<BI", 1, checksum) + "王五/y".encode()
    extra = struct.pack("<HH", 0x7075, len(field)) + field
    expected = (["王五/y"], "") if is_of_this_name else (["李雷/x"], "gbk")
    assert expected == read_names(entries([raw], extra))


@pytest.mark.parametrize("extra", [b"\x75\x70\xff\xff\x01", b"\x75\x70\x02\x00\x01\x00", b"\x75"])
def test_a_damaged_extra_field_says_nothing(extra: bytes) -> None:
    (entry,) = entries([b"ada/hw"])
    entry.extra = extra
    assert (["ada/hw"], "") == read_names([entry])


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_bytes_that_are_no_text_in_an_encoding_do_no_harm(encoding: str) -> None:
    names, _ = read_names(entries([b"\xff\xfe\x81/hw"]), encoding)
    assert names[0].endswith("/hw")
