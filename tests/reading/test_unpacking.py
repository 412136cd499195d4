"""What the process tells that unpacks, where it has no time left."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from grader.reading.messages import FolderSkipped, FromUnpacker, Skipped, UnpackLimits
from grader.reading.unpacking import unpack_archive
from tests.lms.archives import zipped
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
    end, *members = told(tar_of(FILES), shared=True)
    assert ("all", FolderSkipped("ada/hw.ipynb", False, "unread")) == (end, members[-1])
