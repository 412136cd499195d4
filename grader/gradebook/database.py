"""Finding, opening and making a gradebook: a file of SQLite, or a database of PostgreSQL.

Whatever is written is one transaction, in which nobody else writes: whoever comes second waits. So
a process that is killed leaves either all of a change or nothing of it, also where it brings the
tables up to date.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, event, exc, make_url

from grader.errors import GradebookError, UsageError
from grader.language import say

VARIABLE: Final = "GRADER_GRADEBOOK"
"""The environment variable that names a gradebook: a file, or the URL of a database."""

FILE: Final = "gradebook.sqlite"
"""The gradebook of a course, in its folder."""

NEWEST: Final = "0006"
"""The version of the tables that this grader reads and writes."""

_VERSIONS = Path(__file__).parent / "versions"
_VERSION_TABLE = "grader_version"
_WAIT = 60.0
"""Seconds for which one waits for others who write, and for a server that has gone away."""

_PAUSE = 0.5
"""Seconds after which a server that has gone away is tried again."""

_WRITER = 0x67726164
"""The lock of PostgreSQL that whoever writes has: a number that nobody else is likely to use."""

_WRITES = "grader_writes"
_MAKE = say("make-one-grader-course-init")


class LostError(GradebookError):
    """Raised when a server went away in the midst of something: nobody knows what it has kept."""


class Database:
    """An open database. `where` is what people are told of it, without its password.

    A server that has answered once is waited for when it goes away. Who has waited in vain waits
    no more until it answers again: a batch has many to write.
    """

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self._patience = 0.0
        self._hurried = threading.Event()
        self._writer = engine.execution_options(**{_WRITES: True})
        self._reader = engine
        if engine.dialect.name == "postgresql":
            self._reader = engine.execution_options(isolation_level="REPEATABLE READ")
        self.where = where

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read in the body of a with statement, all of it as it is at one moment."""
        with self._told(), self._connect(self._reader) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Write in the body of a with statement: all of it is there afterwards, or nothing."""
        with self._told(), self._connect(self._writer) as connection, connection.begin():
            if self._writer.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_WRITER)))
            yield connection

    def sweep(self) -> None:
        """Let nothing remain of what was deleted, as far as this is the database's to say."""
        with self._told(), closing(self._engine.raw_connection()) as connection:
            if self._engine.dialect.name == "sqlite":
                connection.cursor().execute("VACUUM")

    def hurry(self) -> None:
        """Wait no longer for a server that has gone away."""
        self._hurried.set()

    def close(self) -> None:
        """Close it."""
        self._engine.dispose()

    def _connect(self, engine: Engine) -> Connection:
        """Connect, and wait for a server that has been there before."""
        deadline = time.monotonic() + self._patience
        while (connection := self._try_to_connect(engine, deadline)) is None:
            self._hurried.wait(_PAUSE)
        return connection

    def _try_to_connect(self, engine: Engine, deadline: float) -> Connection | None:
        """Connect; return None where that cannot be done yet, and there is time left."""
        try:
            connection = engine.connect()
        except exc.OperationalError:
            if time.monotonic() < deadline and not self._hurried.is_set():
                return None
            self._patience = 0.0
            raise
        self._patience = _WAIT if engine.dialect.name == "postgresql" else 0.0
        return connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except exc.DBAPIError as error:
            raise _refusal(self.where, error) from error


def locate(course: Path, environment: Mapping[str, str]) -> str:
    """Return the URL of the gradebook: the environment says which, else it is the course's own."""
    named = environment.get(VARIABLE, "").strip()
    if "://" in named:
        return named
    path = Path(named) if named else course / FILE
    return f"sqlite:///{path.absolute()}"


def file_of(url: str) -> Path | None:
    """Return the file of a gradebook, None where it has none here. Raises UsageError."""
    parsed = _parsed(url)
    if parsed.get_backend_name() != "sqlite":
        return None
    if not parsed.database or parsed.query:
        raise UsageError(
            say("names-no-file", variable=VARIABLE), say("write-sqlite-folder-gradebook-sqlite")
        )
    return Path(parsed.database)


def exists(url: str) -> bool:
    """Say whether there may be a gradebook: a server is asked when it is opened."""
    path = file_of(url)
    return path is None or path.exists()


def open_database(url: str, *, make: bool = False) -> Database:
    """Open a gradebook and bring its tables up to date; `make` one where there is none.

    Raises GradebookError, UsageError for a URL that is none.
    """
    path = file_of(url)
    if path is not None and not path.exists():
        if not make:
            raise GradebookError(say("there-no-gradebook", path=str(path)), _MAKE)
        _make_file(path)
    database = Database(_engine(url), str(path) if path is not None else _without_password(url))
    try:
        _bring_up_to_date(database, make=make)
    except BaseException:
        database.close()
        raise
    return database


def migrate(connection: Connection, version: str = NEWEST) -> None:
    """Bring the tables to a version, in the transaction of a connection."""
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(str(_VERSIONS.parent), version_locations=[str(_VERSIONS)])
    with EnvironmentContext(
        Config(),
        scripts,
        fn=lambda found, _: scripts._upgrade_revs(version, found),
        destination_rev=version,
    ) as context:
        context.configure(
            connection=connection,
            version_table=_VERSION_TABLE,
            transactional_ddl=True,  # SQLite can, as we begin transactions ourselves
        )
        context.run_migrations()


def version_of(connection: Connection) -> str | None:
    """Return the version of the tables, None where there are none."""
    if not sa.inspect(connection).has_table(_VERSION_TABLE):
        return None
    table = sa.table(_VERSION_TABLE, sa.column("version_num", sa.Text))
    found = connection.execute(sa.select(table.c.version_num)).scalar()
    return None if found is None else str(found)


def _bring_up_to_date(database: Database, *, make: bool) -> None:
    with database.reading() as connection:
        version = version_of(connection)
        foreign = version is None and sa.inspect(connection).get_table_names()
    if version == NEWEST:
        return
    if foreign:
        raise GradebookError(
            say("database-but-not-gradebook", where=database.where),
            say("name-another-one-or-empty-one"),
        )
    if version is None and not make:
        raise GradebookError(say("there-no-gradebook-in-yet", where=database.where), _MAKE)
    if version is not None and version > NEWEST:
        raise GradebookError(
            say(
                "gradebook-has-version-written-by-later-grader",
                where=database.where,
                version=version,
                newest=NEWEST,
            ),
            say("use-that-grader-or-later-one-nothing"),
        )
    with database.writing() as connection:
        if version_of(connection) != NEWEST:  # somebody else may have been quicker
            migrate(connection)


def _make_file(path: Path) -> None:
    """Make an empty file that nobody else may read: SQLite gives its journal the same mode."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:  # somebody else was quicker
        return
    except OSError as error:
        raise GradebookError(
            say("cannot-make-gradebook", path=str(path), reason=str(error.strerror)),
            say("folder-must-exist-and-you-must-able"),
        ) from None
    os.close(descriptor)


def _parsed(url: str) -> sa.URL:
    try:
        parsed = make_url(url)
    except exc.ArgumentError:
        raise UsageError(
            say("neither-file-nor-database-url", variable=VARIABLE),
            say("write-path-or-postgresql-name-password-host"),
        ) from None
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise UsageError(
            say("gradebook-cannot-use", driver=parsed.drivername),
            say("sqlite-and-postgresql-served"),
        )
    return parsed


def _without_password(url: str) -> str:
    parsed = _parsed(url)
    return f"{parsed.database} on {parsed.host or parsed.query.get('host', 'this machine')}"


def _engine(url: str) -> Engine:
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        engine = sa.create_engine(parsed, connect_args={"timeout": _WAIT})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        return sa.create_engine(
            parsed,
            pool_pre_ping=True,  # a server may have been started anew
            connect_args=_PATIENCE,
        )
    except ModuleNotFoundError as error:
        raise GradebookError(
            say("gradebook-on-server-postgresql-needs", package=str(error.name)),
            say("pip-install-psycopg-binary"),
        ) from None


_PATIENCE: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,  # milliseconds, as none of the others
}
"""After how long a server counts as gone that says nothing: unless told, systems wait for hours."""


def _prepare_sqlite(connection: Any, record: object) -> None:
    """Begin transactions ourselves: the module of Python begins them late, and not for tables."""
    del record
    connection.isolation_level = None
    for pragma in ("foreign_keys = ON", "secure_delete = ON", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _refusal(where: str, error: exc.DBAPIError) -> GradebookError:
    said = str(error.orig).strip().splitlines() or [""]
    for words, message, hint in _REASONS:
        if any(word in said[0] for word in words) and isinstance(error.orig, sqlite3.Error):
            return GradebookError(say(message, where=where), hint)
    if getattr(error.orig, "sqlstate", None) == _NO_ROOM:
        return GradebookError(say(_FULL, where=where), _MAKE_ROOM)
    if not isinstance(error.orig, sqlite3.Error) and isinstance(error, exc.OperationalError):
        kind = LostError if error.connection_invalidated else GradebookError
        return kind(
            say("gradebook-cannot-reached", where=where, error=said[0]),
            say("reported-work-kept-check-that-server-runs"),
        )
    return GradebookError(
        say("gradebook-refused", where=where, error=said[0]), say("nothing-changed")
    )


_FULL = say("gradebook-cannot-written-disk-full-or-fails")
_MAKE_ROOM = say("free-some-space-there-and-run-same")
_NO_ROOM = "53100"
"""What PostgreSQL calls a full disk."""

_REASONS = (
    (
        ("not a database", "malformed", "file is encrypted"),
        say("gradebook-damaged"),
        say("replace-with-copy-recover-what-readable-sqlite3"),
    ),
    (
        ("locked",),
        say("another-process-has-been-writing-gradebook"),
        say("wait-until-other-command-ends-and-run"),
    ),
    (("disk is full", "disk I/O"), _FULL, _MAKE_ROOM),
    (
        ("readonly", "unable to open"),
        say("you-cannot-read-or-write-gradebook"),
        say("check-permissions-file-and-folder"),
    ),
)
