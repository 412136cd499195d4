"""Downloads arrive whole, checked and counted, or leave nothing behind (a server on loopback)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

import pooch
import pytest

from grader.data.resolve import (
    Expected,
    RemoteFile,
    Sources,
    UnavailableError,
    download_files,
    image_files,
    is_cached,
    known_parameter_file,
)
from grader.errors import DataError

from .conftest import CONV, Recorder
from .server import Answer, FileServer

CONTENT = bytes(range(256)) * 1000  # four chunks, the last one not full
QUICK = Sources(connect_seconds=1.0, answer_seconds=1.0, read_seconds=1.0)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as running:
        yield running


def remote(server: FileServer, name: str = "a.bin", content: bytes = CONTENT) -> RemoteFile:
    """A file that the server should hand out with this content."""
    expected = Expected(len(content), hashlib.sha256(content).hexdigest())
    return RemoteFile(f"{server.url}{name}", Path("raw") / name, expected)


def left_behind(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def test_a_whole_file_reaches_the_cache(
    server: FileServer, tmp_path: Path, recorder: Recorder
) -> None:
    """Under its own name, and no temporary file stays beside it."""
    server.answers["/a.bin"] = Answer(CONTENT)
    file = remote(server)
    assert not is_cached(file, tmp_path)
    download_files([file], tmp_path, QUICK, recorder)
    assert is_cached(file, tmp_path)
    assert left_behind(tmp_path) == [tmp_path / "raw" / "a.bin"]
    assert (tmp_path / "raw" / "a.bin").read_bytes() == CONTENT


def test_progress_counts_the_bytes_of_all_files(
    server: FileServer, tmp_path: Path, recorder: Recorder
) -> None:
    """One bar that never goes back, from nothing to the last byte."""
    server.answers |= {"/a.bin": Answer(CONTENT), "/b.bin": Answer(b"short")}
    files = [remote(server), remote(server, "b.bin", b"short")]
    download_files(files, tmp_path, QUICK, recorder)
    assert recorder.stages == ["downloading the test data"]
    done = [step[0] for step in recorder.steps]
    assert done == sorted(done)
    assert recorder.steps[0] == (0, len(CONTENT) + 5, "a.bin")
    assert recorder.steps[-1] == (len(CONTENT) + 5, len(CONTENT) + 5, "b.bin")
    assert len(done) > 5


def test_a_redirection_is_followed(server: FileServer, tmp_path: Path, recorder: Recorder) -> None:
    """GitHub hands its files out from another place."""
    server.answers |= {
        "/a.bin": Answer(status=302, location="/b.bin"),
        "/b.bin": Answer(CONTENT),
    }
    download_files([remote(server)], tmp_path, QUICK, recorder)
    assert is_cached(remote(server), tmp_path)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(CONTENT[:-1] + b"x"),
        Answer(CONTENT + b"x"),
        Answer(CONTENT * 8),
        Answer(b"<html>Please log in.</html>"),
        Answer(CONTENT[:-1], announce=False),
    ],
    ids=["one byte", "longer", "much longer", "login page", "cut off unnoticed"],
)
def test_a_wrong_checksum_is_an_error_that_says_so(
    server: FileServer, tmp_path: Path, recorder: Recorder, answer: Answer
) -> None:
    """Whatever arrives instead of the official file, it does not stay."""
    server.answers["/a.bin"] = answer
    with pytest.raises(DataError, match=r"a\.bin .* its SHA-256 differs") as caught:
        download_files([remote(server)], tmp_path, QUICK, recorder)
    assert "--data" in caught.value.hint.english
    assert left_behind(tmp_path) == []


def test_a_download_stops_at_the_expected_length(
    server: FileServer, tmp_path: Path, recorder: Recorder
) -> None:
    """A file without end does not fill the disk."""
    server.answers["/a.bin"] = Answer(CONTENT * 100)
    with pytest.raises(DataError):
        download_files([remote(server)], tmp_path, QUICK, recorder)
    assert max(done for done, _, _ in recorder.steps) <= len(CONTENT)


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        (Answer(CONTENT, send=100_000), "broke off"),
        (Answer(CONTENT, send=100_000, pause=3.0), "broke off"),
        (Answer(status=404), "does not provide the file"),
        (Answer(CONTENT, delay=3.0), "did not answer in time"),
    ],
    ids=["cut off", "stalled", "not found", "silent"],
)
def test_a_failing_server_leaves_nothing_behind(
    server: FileServer, tmp_path: Path, recorder: Recorder, answer: Answer, phrase: str
) -> None:
    """Cut off, stalled, refused or silent: the reason is told and the cache stays clean."""
    server.answers["/a.bin"] = answer
    with pytest.raises(UnavailableError, match=phrase):
        download_files([remote(server)], tmp_path, QUICK, recorder)
    assert left_behind(tmp_path) == []


def test_no_server_at_all_is_noticed(tmp_path: Path, recorder: Recorder) -> None:
    with FileServer() as gone:
        file = remote(gone)
    with pytest.raises(UnavailableError, match="could not be reached"):
        download_files([file], tmp_path, QUICK, recorder)


def test_a_name_that_nobody_knows_is_noticed(tmp_path: Path, recorder: Recorder) -> None:
    """`.invalid` is reserved for this (RFC 2606)."""
    file = RemoteFile("http://files.invalid/a.bin", Path("a.bin"), Expected(1, "0" * 64))
    with pytest.raises(UnavailableError, match=r"could not be reached|did not answer"):
        download_files([file], tmp_path, QUICK, recorder)


def test_a_cache_that_cannot_be_written_is_noticed(
    server: FileServer, tmp_path: Path, recorder: Recorder
) -> None:
    """Here a file stands where the folder should be."""
    server.answers["/a.bin"] = Answer(CONTENT)
    (tmp_path / "raw").write_bytes(b"")
    with pytest.raises(UnavailableError, match="cache folder cannot be written"):
        download_files([remote(server)], tmp_path, QUICK, recorder)
    assert not is_cached(remote(server), tmp_path)


def test_a_damaged_file_in_the_cache_is_replaced(
    server: FileServer, tmp_path: Path, recorder: Recorder
) -> None:
    server.answers["/a.bin"] = Answer(CONTENT)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.bin").write_bytes(CONTENT[:-1])
    assert not is_cached(remote(server), tmp_path)
    download_files([remote(server)], tmp_path, QUICK, recorder)
    assert is_cached(remote(server), tmp_path)


def test_nothing_but_the_progress_is_shown(
    server: FileServer,
    tmp_path: Path,
    recorder: Recorder,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """pooch would announce each download on the terminal."""
    server.answers["/a.bin"] = Answer(CONTENT)
    download_files([remote(server)], tmp_path, QUICK, recorder)
    assert capfd.readouterr() == ("", "")
    assert pooch.get_logger().level == logging.WARNING


def test_the_official_files_are_where_torchvision_and_the_course_look() -> None:
    images, labels = image_files(Sources())
    server = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"
    assert images.url == f"{server}/t10k-images-idx3-ubyte.gz"
    assert labels.url == f"{server}/t10k-labels-idx1-ubyte.gz"
    course = "https://github.com/mlc-ai/web-data/raw/main/models"
    assert known_parameter_file(CONV, Sources()).url == f"{course}/{CONV}"
