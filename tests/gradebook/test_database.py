"""Gradebooks that are missing, damaged, somebody else's, of another version, or out of reach."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from grader.errors import GradebookError, UsageError
from grader.gradebook import database, schema
from grader.gradebook.book import Gradebook
from grader.gradebook.database import NEWEST, locate, migrate, open_database, version_of
from tests.gradebook.factory import enrol

VERSIONS = Path(database.__file__).parent / "versions"
SCRIPTS = ScriptDirectory(str(VERSIONS.parent), version_locations=[str(VERSIONS)])
REVISIONS = [each.revision for each in SCRIPTS.walk_revisions()]

FIRST = """
INSERT INTO student (login, name, email, section, github, lms, recorded)
    VALUES ('ada', 'Ada', 'a@x.org', 'A', '', '{}', '2026-12-01T00:00:00+00:00');
INSERT INTO assignment (slug, version, points, counts, parts)
    VALUES ('hw', 1, '10', 'best', '["a"]');
INSERT INTO attempt (student, assignment, sha256, name, source, content, recorded)
    VALUES (1, 1, 'ab', 'hw.ipynb', 'folder', '', '2026-12-01T00:00:00+00:00');
INSERT INTO grading (attempt, digest, basis, grader, machine, seed, score, max_score, parts,
        settled, graded, report, recorded)
    VALUES (1, 'cd', '', '0.1.0', '', '1', '7.5', '10',
        '[{"id": "a", "score": "7.5", "max_score": "10"}]', true,
        '2026-12-01T00:00:00+00:00', '', '2026-12-01T00:00:00+00:00');
INSERT INTO adjustment (attempt, part, points, reason, who, recorded)
    VALUES (1, 'a', '0.1', 'so', 'eve', '2026-12-01T00:00:00+00:00');
INSERT INTO extension (student, assignment, due, reason, who, recorded)
    VALUES (1, 1, '2026-12-05T00:00:00+00:00', 'ill', 'eve', '2026-12-01T00:00:00+00:00');
"""
MARKED = """
INSERT INTO adjustment (attempt, part, points, reason, who, recorded, marking)
    VALUES (1, 'b', '2', 'so', 'eve', '2026-12-01T00:00:00+00:00',
        '{"items": [{"id": "i", "text": "I", "points": "2"}], "comment": "so"}');
"""
KEYED = """
UPDATE grading SET rubric = 'ef', level = 'strong', dialect = 'current', seconds = '1.5',
    noticed = '', chosen_by = 'command';
"""
TOLD = "UPDATE attempt SET told_late = true, together = 'ab';\n"
ASKED = """
INSERT INTO objection (student, assignment, part, text, who, recorded)
    VALUES (1, 1, 'a', 'why?', 'eve', '2026-12-02T00:00:00+00:00');
INSERT INTO reply (objection, text, who, adjustment, recorded)
    VALUES (1, 'so', 'eve', 1, '2026-12-03T00:00:00+00:00');
"""
TWICE = """
INSERT INTO second_marking (attempt, part, points, marking, who, recorded)
    VALUES (1, 'b', '1.5', '{}', 'bob', '2026-12-01T00:00:00+00:00');
"""
ROWS = {
    "0001": FIRST,
    "0002": FIRST + MARKED,
    "0003": FIRST + MARKED + KEYED,
    "0004": FIRST + MARKED + KEYED + TOLD,
    "0005": FIRST + MARKED + KEYED + TOLD + ASKED,
    "0006": FIRST + MARKED + KEYED + TOLD + ASKED + TWICE,
}
"""What a gradebook of each version holds; a new version gets rows of its own here."""


def refusal(url: str, **options: Any) -> str:
    with pytest.raises((GradebookError, UsageError)) as caught:
        open_database(url, **options)
    return f"{caught.value} {caught.value.hint.english}"


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder / 'gradebook.sqlite'}"


def set_version(url: str, version: str) -> None:
    database = open_database(url, make=True)
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE grader_version SET version_num = :v"), {"v": version})
    database.close()


class TestVersions:
    """Every version that there has been becomes today's."""

    def test_the_newest_is_known_and_every_one_has_rows(self) -> None:
        assert NEWEST == SCRIPTS.get_current_head() == max(REVISIONS)
        assert sorted(REVISIONS) == sorted(ROWS)

    @pytest.mark.parametrize("version", REVISIONS)
    def test_what_was_written_by_a_version_is_there_in_the_newest(
        self, url: str, version: str
    ) -> None:
        open_database(url, make=True).close()
        engine = database._engine(url)
        with engine.begin() as connection:
            for table in reversed(sa.inspect(connection).get_table_names()):
                cascade = " CASCADE" if engine.dialect.name == "postgresql" else ""
                if not cascade:
                    connection.execute(sa.text("PRAGMA defer_foreign_keys = ON"))
                connection.execute(sa.text(f'DROP TABLE "{table}"{cascade}'))
        with engine.begin() as connection:
            migrate(connection, version)
            for line in ROWS[version].split(";\n")[:-1]:
                connection.exec_driver_sql(line)
            assert version == version_of(connection)
        engine.dispose()
        book = Gradebook(open_database(url))
        (student,) = book.students()
        (attempt,) = book.accounts()[student.id]["hw"].attempts
        assert ("7.5", "0.1") == (
            str(attempt.gradings[0].score),
            str(attempt.adjustments[0].points),
        )
        assert book.accounts()[student.id]["hw"].extension is not None
        book.close()

    def test_the_tables_are_as_queries_take_them(self, url: str) -> None:
        open_database(url, make=True).close()
        engine = database._engine(url)
        with engine.connect() as connection:
            options = {"version_table": "grader_version", "compare_type": True}
            context = MigrationContext.configure(connection, opts=options)
            found = compare_metadata(context, schema.metadata)
        engine.dispose()
        kinds = {each[0] for each in found if isinstance(each, tuple)}
        assert {"remove_index", "remove_constraint"} >= kinds, "only what queries need not know"

    def test_a_later_one_is_refused_and_stays_as_it_is(self, url: str) -> None:
        set_version(url, "9999")
        for options in ({}, {"make": True}):
            said = refusal(url, **options)
            assert "has version 9999, written by a later grader" in said
            assert "Nothing was changed" in said


class TestFile:
    """A gradebook in a file."""

    def test_there_is_none_until_one_is_made(self, tmp_path: Path) -> None:
        said = refusal(sqlite_url(tmp_path))
        assert "There is no gradebook" in said
        assert "grader course init" in said
        assert [] == [*tmp_path.iterdir()]

    def test_one_that_was_only_begun_is_made_anew(self, tmp_path: Path) -> None:
        (tmp_path / "gradebook.sqlite").touch()
        assert "no gradebook in" in refusal(sqlite_url(tmp_path))
        open_database(sqlite_url(tmp_path), make=True).close()
        open_database(sqlite_url(tmp_path)).close()

    @pytest.mark.parametrize("at", [0, 20, 4096, 5000])
    def test_a_damaged_one_is_a_sentence(self, tmp_path: Path, at: int) -> None:
        url, path = sqlite_url(tmp_path), tmp_path / "gradebook.sqlite"
        book = Gradebook(open_database(url, make=True))
        enrol(book, *(f"student{number}" for number in range(300)))
        book.close()
        content = bytearray(path.read_bytes())
        content[at : at + 40_000] = b"\x5a" * len(content[at : at + 40_000])
        path.write_bytes(content)
        with pytest.raises(GradebookError) as caught:
            Gradebook(open_database(url)).students()
        assert "is damaged" in str(caught.value)
        assert "backup" in caught.value.hint.english

    @pytest.mark.parametrize("content", [b"PK\x03\x04 a zip", b"a,b\n" * 2000])
    def test_what_is_no_database_is_said(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "gradebook.sqlite").write_bytes(content)
        assert "is damaged" in refusal(sqlite_url(tmp_path), make=True)
        assert content == (tmp_path / "gradebook.sqlite").read_bytes()

    def test_somebody_elses_database_is_left_alone(self, tmp_path: Path) -> None:
        with sqlite3.connect(tmp_path / "gradebook.sqlite") as connection:
            connection.execute("CREATE TABLE student (id)")
        connection.close()
        assert "is a database, but not a gradebook" in refusal(sqlite_url(tmp_path), make=True)

    def test_a_folder_that_is_not_there_is_said(self, tmp_path: Path) -> None:
        assert "Cannot make the gradebook" in refusal(sqlite_url(tmp_path / "no"), make=True)

    def test_who_waits_too_long_for_another_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "_WAIT", 0.1)
        opened = open_database(sqlite_url(tmp_path), make=True)
        other = open_database(sqlite_url(tmp_path))
        with opened.writing(), pytest.raises(GradebookError, match="Another process"):
            enrol(Gradebook(other), "ada")
        enrol(Gradebook(other), "ada")
        for each in (opened, other):
            each.close()


class TestServer:
    """A gradebook on a server."""

    def test_one_that_cannot_be_reached_is_said_without_its_password(self) -> None:
        said = refusal("postgresql://teacher:hunter2@127.0.0.1:1/class")
        assert "class on 127.0.0.1 cannot be reached" in said
        assert "hunter2" not in said

    def test_a_wrong_password_is_said(self, server: str) -> None:
        wrong = server.replace("teacher:", "teacher:x")
        said = refusal(wrong, make=True)
        assert "cannot be reached" in said
        assert "password authentication failed" in said

    def test_a_database_without_a_gradebook_is_said(self, server: str) -> None:
        assert "no gradebook in postgres on 127.0.0.1" in refusal(server)

    def test_connections_that_the_server_has_ended_are_made_anew(self, server: str) -> None:
        from tests.gradebook.postgres import new_database

        url = new_database(server)
        book = Gradebook(open_database(url, make=True))
        admin = database._engine(server)
        with admin.connect() as connection:
            name = sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname=:n"
            )
            connection.execute(name, {"n": url.rpartition("/")[2]})
        admin.dispose()
        enrol(book, "ada")
        assert ["ada"] == [each.login for each in book.students()]
        book.close()


class TestLocate:
    """Which gradebook is meant."""

    @pytest.mark.parametrize(
        ("named", "url"),
        [
            (None, "sqlite:////course/gradebook.sqlite"),
            (" ", "sqlite:////course/gradebook.sqlite"),
            ("/data/class.sqlite", "sqlite:////data/class.sqlite"),
            ("postgresql://a@b/c", "postgresql://a@b/c"),
        ],
    )
    def test_the_environment_says_and_else_it_is_the_courses(
        self, named: str | None, url: str
    ) -> None:
        environment = {} if named is None else {"GRADER_GRADEBOOK": named}
        assert url == locate(Path("/course"), environment)

    @pytest.mark.parametrize(
        "url", ["mysql://a@b/c", "http://x", "sqlite://", "nonsense://", "sqlite:///a?mode=ro"]
    )
    def test_what_cannot_be_served_is_refused(self, url: str) -> None:
        with pytest.raises(UsageError):
            open_database(url)
