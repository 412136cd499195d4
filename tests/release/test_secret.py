"""The archive of the complete course: made, fetched, and unpacked strictly."""

from __future__ import annotations

import contextlib
import io
import shutil
import stat
import traceback
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.course import load_course
from grader.errors import DataError, GraderError, UsageError
from grader.release import secret
from grader.release.secret import ArchiveSource, digest_of, fetch, pack_course, source_of, unpack
from tests.release.server import serving

ROOT = Path(__file__).parents[2]
KINDS = ROOT / "tests/courses/kinds"
HUSH = "".join(["hu", "sh"])
GOOD = "assignments/a/assignment.toml"


def archive(*entries: tuple[str, bytes], mode: int = stat.S_IFREG | 0o600) -> bytes:
    """Return an archive of files with a mode."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in entries:
            entry = zipfile.ZipInfo(name)
            entry.create_system = 3
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(entry, content)
    return buffer.getvalue()


class TestMaking:
    """From a course."""

    def test_it_has_what_grading_needs_and_no_solutions(self, tmp_path: Path) -> None:
        unpack(pack_course(load_course(ROOT)), tmp_path / "course")
        names = {each.name for each in (tmp_path / "course").rglob("*") if each.is_file()}
        code = {"oracle.py", "models.py", "workload.py", "library.py"}
        assert {"assignment.toml", "given.json", *code} == names
        complete, unpacked = load_course(ROOT), load_course(tmp_path / "course")
        assert complete.assignments.keys() == unpacked.assignments.keys()
        assert all(
            complete.get(slug).assignment == each.assignment
            for slug, each in unpacked.assignments.items()
        )

    def test_the_same_course_makes_the_same_archive(self) -> None:
        course = load_course(KINDS)
        assert pack_course(course) == pack_course(course)

    def test_a_name_that_could_not_be_unpacked_is_refused(self, tmp_path: Path) -> None:
        shutil.copytree(KINDS, tmp_path / "course")
        (tmp_path / "course/assignments/kinds/.hidden").touch()
        with pytest.raises(UsageError, match=r"\.hidden cannot be packed"):
            pack_course(load_course(tmp_path / "course"))

    def test_what_could_not_be_unpacked_again_is_not_packed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It would be found out when the first student hands in."""
        monkeypatch.setattr(secret, "MOST_BYTES", 2000)
        with pytest.raises(UsageError, match="too large"):
            pack_course(load_course(KINDS))
        monkeypatch.undo()
        shutil.copytree(KINDS, tmp_path / "course")
        for name in ("notes.txt", "Notes.txt"):
            (tmp_path / "course/assignments/kinds" / name).touch()
        with pytest.raises(UsageError, match="two files with one name"):
            pack_course(load_course(tmp_path / "course"))


class TestUnpacking:
    """What is no course is refused, and nothing is written."""

    @pytest.mark.parametrize(
        "name",
        [
            "../assignments/a/x",
            "/assignments/a/x",
            "assignments/../x",
            "assignments/a/../../x",
            "assignments/a/..",
            "assignments/a/b/../../../x",
            "assignments\\a\\x",
            "assignments/a/.bashrc",
            "assignments/a/b:c",
            "assignments/a/line\nbreak",
            "assignments/A/x",
            "assignments/a/",
            "other/x",
            "x",
        ],
    )
    def test_paths_that_lead_elsewhere(self, tmp_path: Path, name: str) -> None:
        content = archive((GOOD, b"x"), (name, b"harm"))
        with pytest.raises(DataError, match="is not a file of an assignment"):
            unpack(content, tmp_path / "course")
        assert [] == list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        "kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFDIR]
    )
    def test_links_and_devices(self, tmp_path: Path, kind: int) -> None:
        with pytest.raises(DataError, match="is not a file of an assignment"):
            unpack(archive((GOOD, b"/etc/passwd"), mode=kind | 0o777), tmp_path / "course")

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    @pytest.mark.parametrize("second", [GOOD, GOOD.replace("assignment.", "ASSIGNMENT.")])
    def test_two_files_of_one_name(self, tmp_path: Path, second: str) -> None:
        with pytest.raises(DataError, match="two files with one name"):
            unpack(archive((GOOD, b"x"), (second, b"y")), tmp_path / "course")

    def test_a_bomb(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(secret, "MOST_BYTES", 2**20)
        with pytest.raises(DataError, match="too large"):
            unpack(archive((GOOD, bytes(2**20 + 1))), tmp_path / "course")

    def test_a_bomb_that_lies_about_its_size(self, tmp_path: Path) -> None:
        content = archive((GOOD, bytes(2**20)))
        size = (2**20).to_bytes(4, "little")
        assert 2 == content.count(size)
        with pytest.raises(DataError, match=r"damaged|larger than its header says"):
            unpack(content.replace(size, (10).to_bytes(4, "little")), tmp_path / "course")

    def test_a_file_that_is_a_folder_too(self, tmp_path: Path) -> None:
        content = archive((GOOD, b""), (f"{GOOD}/oracle.py", b""))
        with pytest.raises(UsageError, match="Cannot write"):
            unpack(content, tmp_path / "course")
        assert [] == list(tmp_path.iterdir())

    def test_too_many_files(self, tmp_path: Path) -> None:
        many = [(f"assignments/a/{number}", b"") for number in range(1001)]
        with pytest.raises(DataError, match="too large"):
            unpack(archive(*many), tmp_path / "course")

    @pytest.mark.parametrize("content", [b"", b"PK", b"<html>", archive((GOOD, b"x" * 99))[:-30]])
    def test_what_is_no_archive(self, tmp_path: Path, content: bytes) -> None:
        with pytest.raises(DataError, match="damaged"):
            unpack(content, tmp_path / "course")

    def test_a_folder_that_is_there(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="exists already"):
            unpack(archive((GOOD, b"x")), tmp_path)

    def test_others_cannot_read_what_was_unpacked(self, tmp_path: Path) -> None:
        unpack(archive((GOOD, b"x")), tmp_path / "course")
        assert 0o700 == stat.S_IMODE((tmp_path / "course").stat().st_mode)


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Serve bytes on this machine and return their address."""
    with contextlib.ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(serving(*arguments))


class TestFetching:
    """From an address that is a secret."""

    def test_what_has_the_right_digest_is_returned(self, serve: Callable[..., str]) -> None:
        address = serve(b"content", "t")
        for path in ("archive", "elsewhere"):
            got = fetch(ArchiveSource(f"{address}/{path}", "t", digest_of(b"content")))
            assert b"content" == got

    def test_another_digest_is_refused(self, serve: Callable[..., str]) -> None:
        with pytest.raises(DataError, match="has a different SHA-256"):
            fetch(ArchiveSource(f"{serve(b'changed')}/archive", "", digest_of(b"content")))

    @pytest.mark.parametrize("token", ["", "wrong"])
    def test_a_failure_does_not_tell_the_address(
        self, serve: Callable[..., str], token: str
    ) -> None:
        address = serve(b"content", "t")
        with pytest.raises(DataError, match="answered with status 404") as caught:
            fetch(ArchiveSource(f"{address}/{HUSH}", token, digest_of(b"content")))
        assert HUSH not in told(caught.value)

    def test_nobody_there_is_told_without_the_address(self, serve: Callable[..., str]) -> None:
        with pytest.raises(DataError, match="could not be reached") as caught:
            fetch(ArchiveSource(f"http://127.0.0.1:1/{HUSH}", "", digest_of(b"content")))
        assert HUSH not in told(caught.value)

    def test_a_server_that_sends_on_to_where_anybody_may_listen(
        self, serve: Callable[..., str]
    ) -> None:
        url = serve(b"content").replace("127.0.0.1", "localhost")  # may be anybody
        with serving(b"", onwards=url) as first, pytest.raises(DataError, match="unencrypted"):
            fetch(ArchiveSource(first, "", digest_of(b"content")))

    def test_what_is_too_large_is_not_read_to_its_end(
        self, serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(secret, "MOST_BYTES", 2**20)
        with pytest.raises(DataError, match="larger than 1 MB"):
            fetch(ArchiveSource(serve(bytes(2**21)), "", digest_of(bytes(2**21))))

    @pytest.mark.parametrize(
        "url",
        [
            "http://example.org/x",
            "ftp://example.org/x",
            "file:///etc/passwd",
            "http:///",
            "https://[",
        ],
    )
    def test_an_address_is_encrypted(self, url: str) -> None:
        with pytest.raises(UsageError, match="not an address that begins with https"):
            source_of({secret.URL: url}, digest_of(b""))

    @pytest.mark.parametrize("environment", [{}, {secret.URL: ""}])
    def test_an_address_that_is_not_set_is_told(self, environment: dict[str, str]) -> None:
        with pytest.raises(UsageError, match="GRADER_SECRET_URL is not set"):
            source_of(environment, digest_of(b""))

    @pytest.mark.parametrize("digest", ["", "0" * 63, "G" * 64, "A" * 64])
    def test_a_digest_is_known_before(self, digest: str) -> None:
        with pytest.raises(UsageError, match="SHA-256 was not given"):
            source_of({secret.URL: "https://example.org"}, digest)


def told(error: GraderError) -> str:
    """Return all that is printed of an error, at worst with its traceback."""
    return "".join([error.hint.english, *traceback.format_exception(error)])
