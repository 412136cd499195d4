"""grader from Python: what `import grader` offers, loaded when it is first asked for.

    import grader

    report = grader.grade("hw.ipynb", course="my-course", seed=7)
    for name, report in grader.grade_many(["class/"], course="my-course", jobs=4):
        print(name, report.score)
    page = grader.load_report("hw.json").render("html")

The command line goes through the same functions. docs/api.md has examples.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from grader.batch.collect import Entry, collect
from grader.batch.grading import Batch, GradedFile, Store, open_store
from grader.batch.keys import Keys
from grader.batch.summary import Row, is_put_back, make_row
from grader.cluster.jobs import ClusterOptions
from grader.course import CourseAssignment, choose_assignment, find_course
from grader.data.resolve import FolderPictures, check_folder
from grader.decoding import prepared
from grader.environment import describe_environment, need_cluster, usable_cores
from grader.errors import DataError, UsageError
from grader.files import read_existing
from grader.grading.pipeline import grade as grade_submission
from grader.grading.preparation import GradingOptions, Preparation, Settings, open_settings
from grader.language import Text, join, say
from grader.machine.limits import demand_limits
from grader.progress import BatchProgress, Progress, Silent, SilentBatch
from grader.reading.reader import SubmissionReader
from grader.reading.submission import absolute, trusted_folder
from grader.report import READABLE, SCHEMA_VERSION, Report, decode_report, ungraded_report
from grader.sandbox.interface import Level
from grader.sandbox.start import Launcher, begin_kernels

if TYPE_CHECKING:
    from grader.cluster.opening import OpenCluster

REPORT_LIMIT = 64 * 2**20
"""Largest report that is read, in bytes. Images that a notebook drew make most of it."""

Name = str | os.PathLike[str]


def grade(
    submission: Name,
    *,
    assignment: str | None = None,
    course: Name | None = None,
    data: Name | None = None,
    seed: int | None = None,
    sandbox: Level | None = None,
    language: str | None = None,
    preamble: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Grade one submission, a notebook or a script, in a sandbox. Returns the whole report.

    `assignment` is needed where the notebook does not name it; `course` is a folder, by default the
    working folder's or the built-in course. `data` is a folder or "builtin"; `seed` draws the
    hidden inputs, by default at random. `sandbox` is the least isolation, by default the strongest
    of the machine. `language` is what students are spoken to in, by default the notebook's own.

    Whatever is wrong with the submission is in its report. Raises GraderError, with a `hint` of
    what to do next, where nothing can be graded.
    """
    options = _options(assignment, course, data, seed, sandbox, language, preamble=preamble)
    with begin_kernels() as launcher:
        return grade_file(Path(submission), options, (), progress or Silent(), launcher)


def grade_file(
    path: Path,
    options: GradingOptions,
    written: Iterable[Path],
    progress: Progress,
    launcher: Launcher | None,
) -> Report:
    """Grade one file by options, as `grade` does; submissions are kept from what is `written`.

    Its kernel is started by this launcher, which imports what kernels need until then.
    """
    demand_limits()
    working = Path.cwd()
    with SubmissionReader() as reader:
        submission = reader.read(absolute(path, working), trusted_folder(path, working))
    course = find_course(options.course, (working,))
    chosen, note = choose_assignment(course, submission, options.assignment)
    own = [path, *(each.absolute().parent for each in written)]
    with open_settings(options, course, [chosen], own, launcher) as settings:
        # beside a batch there is no processor that does nothing
        alone = msgspec.structs.replace(settings, builds_ahead=usable_cores() > 1)
        prepared = Preparation(chosen, alone)
        return grade_submission(submission, prepared, progress, (note,) if note else ())


def grade_many(
    submissions: Iterable[Name],
    *,
    assignment: str | None = None,
    course: Name | None = None,
    data: Name | None = None,
    seed: int | None = None,
    sandbox: Level | None = None,
    language: str | None = None,
    preamble: bool = False,
    jobs: int | None = None,
    reports: Name | None = None,
    gradebook: Name | None = None,
    cluster: str | None = None,
    same_machine_type: bool = False,
    insecure: bool = False,
    progress: BatchProgress | None = None,
) -> Iterator[tuple[str, Report]]:
    """Grade files, and all notebooks in folders. Yields each one's name and report when it is done.

    `jobs` of them at a time, by default one for each processor; all meet the same hidden inputs.
    With `reports`, a folder, every report is kept there as well, and what an earlier call left
    there is yielded at once where it would be graded alike. `gradebook`, a file or a URL, is
    written to as the command does, and what it knows the answer to is yielded at once as well. The
    other arguments are those of `grade`. Leaving the loop ends what is being graded.

    With `cluster`, the address of a Dask scheduler, its workers grade, as many at a time as they
    have threads: all of them, or with `same_machine_type` those of the type that most of them are.
    An address without TLS that is not this machine's is refused unless `insecure`.

    What cannot be graded has a report that says why. Raises GraderError, at the first step of the
    loop, where nothing can be; at its end, where the gradebook did not take something.
    """
    options = _options(assignment, course, data, seed, sandbox, language, preamble=preamble)
    paths = tuple(map(Path, submissions))
    with _folder_of(reports) as folder, _store_of(folder, gradebook) as (store, own):
        entries = collect(paths, Path.cwd(), folder)
        refuse_later(entries, store)
        pictures = FolderPictures()
        answered = answers(store, entries, options, pictures)
        waiting = yield from _known(store, entries, answered)
        if not waiting:
            return
        where = None if cluster is None else ClusterOptions(cluster, insecure, same_machine_type)
        with open_batch(options, (*paths, folder, *own), store, where, pictures) as opened:
            opened.find_data(waiting, Silent())
            kept = opened.batch.find_graded(waiting)
            waiting = yield from _known(store, waiting, kept)
            told = progress or SilentBatch()
            with closing(opened.batch.graded(waiting, jobs or usable_cores(), told)) as found:
                yield from _once(found)


def answers(
    store: Store,
    entries: Collection[Entry],
    options: GradingOptions,
    pictures: FolderPictures | None = None,
) -> dict[str, Row]:
    """Return the rows of submissions that a gradebook knows the answer to, by name.

    Nothing is started for it. A folder alone knows none. Where all that is left are people who
    handed in nothing that can be read, their rows are there, too. `pictures` has the images of a
    folder of data from then. Raises GraderError where there is no such course or assignment.
    """
    course = find_course(options.course, (Path.cwd(),))
    store.take_rules(each.assignment for each in course.possible(options.assignment))
    found = store.answers(entries, Keys(course, options, pictures))
    others = [each for each in entries if each.name not in found]
    if found and all(each.problem for each in others):
        for each in others:
            why = join(each.problem, each.hint)
            report = ungraded_report(each.path.name, why, describe_environment())
            store.write(each, report)
            found[each.name] = make_row(each, report)
    return found


def _known(
    store: Store, entries: Iterable[Entry], rows: Mapping[str, Row]
) -> Generator[tuple[str, Report], None, list[Entry]]:
    """Yield the reports of what has a row; return the others."""
    waiting = []
    for entry in entries:
        before = store.find(entry) if entry.name in rows else None
        if before is None:  # also where somebody has removed it in between
            waiting.append(entry)
        else:
            yield entry.name, before
    return waiting


@contextmanager
def _store_of(folder: Path, gradebook: Name | None) -> Iterator[tuple[Store, tuple[Path, ...]]]:
    """Open the folder of reports, with a gradebook if one is named; beside it stand its files."""
    with open_store(folder) as store:
        if gradebook is None:
            yield store, ()
            return
        from grader.batch.recording import open_recording  # with the library of databases
        from grader.gradebook.database import VARIABLE, file_of, locate

        url = locate(Path.cwd(), {VARIABLE: os.fspath(gradebook)})
        path = file_of(url)
        with open_recording(folder, url) as recorder:
            yield recorder, () if path is None else (path,)
            for error in recorder.troubles[:1]:
                raise error


class OpenBatch(NamedTuple):
    """A batch, its settings, and the assignments that its submissions may be of.

    `demanded` is the one that all of them are graded by, if it was asked for. `elsewhere` is what
    is known of a cluster, None where this machine grades; its workers have their own data.
    """

    batch: Batch
    settings: Settings
    possible: tuple[CourseAssignment, ...]
    demanded: CourseAssignment | None
    elsewhere: OpenCluster | None = None

    def find_data(self, entries: Iterable[Entry], progress: Progress) -> None:
        """Find the data of the one assignment: if they are missing, that concerns all submissions.

        Where they may be of several, and a folder was named that has no images, it concerns them
        as soon as one of the submissions, `entries`, needs some. Raises DataError.
        """
        if self.demanded is not None:
            self.batch.prepare(self.demanded).data(progress)
        elif self.elsewhere is None and any(map(_needs_images, self.possible)):
            self._check_folder(entries)

    def _check_folder(self, entries: Iterable[Entry]) -> None:
        settings = self.settings
        try:
            check_folder(settings.data, settings.environment, settings.pictures)
        except DataError:  # they are read for this alone: a folder that holds is the usual case
            if any(map(_needs_images, self.batch.chosen(entries))):
                raise


def _needs_images(chosen: CourseAssignment) -> bool:
    return chosen.assignment.data.dataset != "none"


@contextmanager
def open_batch(
    options: GradingOptions,
    own: Iterable[Path],
    store: Store,
    cluster: ClusterOptions | None = None,
    pictures: FolderPictures | None = None,
) -> Iterator[OpenBatch]:
    """Open what the gradings of one batch share. Raises GraderError where nothing can be graded.

    `pictures` is what was read of a folder of data before.
    """
    if cluster is not None:
        need_cluster()
        from grader.cluster.opening import open_cluster  # with Dask

        with open_cluster(options, cluster, store) as opened:
            yield OpenBatch(opened.batch, opened.settings, opened.possible, None, opened)
        return
    course, demanded = find_course(options.course, (Path.cwd(),)), options.assignment
    possible = course.possible(demanded)
    only = possible[0] if demanded is not None and len(possible) == 1 else None
    with open_settings(options, course, possible, own) as settings:
        settings = msgspec.structs.replace(settings, pictures=pictures or FolderPictures())
        batch = Batch(course, demanded, settings, store, options.seed)
        yield OpenBatch(batch, settings, possible, only)


def _once(found: Iterable[GradedFile]) -> Iterator[tuple[str, Report]]:
    """Leave out what is graded once more, as the machine spoiled it."""
    delayed = set()
    for each in found:
        if is_put_back(each.report) and each.row.name not in delayed:
            delayed.add(each.row.name)
        else:
            yield each.row.name, each.report


@contextmanager
def _folder_of(reports: Name | None) -> Iterator[Path]:
    if reports is not None:
        yield Path(reports)
        return
    with tempfile.TemporaryDirectory(prefix="grader-reports-") as folder:
        yield Path(folder)


def _options(
    assignment: str | None,
    course: Name | None,
    data: Name | None,
    seed: int | None,
    sandbox: Level | None,
    language: str | None,
    *,
    preamble: bool,
) -> GradingOptions:
    return GradingOptions(
        assignment=assignment,
        data=None if data is None else os.fspath(data),
        seed=seed,
        course=None if course is None else Path(course),
        sandbox=sandbox,
        language=language,
        preamble=preamble,
    )


def load_report(path: Name) -> Report:
    """Read a report that `grader run --json` or `grader batch` wrote. Raises UsageError."""
    path = Path(path)
    content = _read(path)
    version = _check_version(content, path)
    try:
        return decode_report(content)
    except msgspec.DecodeError as error:
        raise UsageError(
            say("not-report-version", path=str(path.name), version=str(version), error=str(error)),
            say("name-file-that-grader-run-json-or-grader"),
        ) from None


def _read(path: Path) -> bytes:
    content = read_existing(path, REPORT_LIMIT + 1)
    if len(content) > REPORT_LIMIT:
        most = REPORT_LIMIT // 2**20
        message = say("larger-than-mb", path=path.name, most=most)
        raise UsageError(message, say("grade-again"))
    return content


def _other_version(name: str, version: int) -> tuple[Text, Text]:
    values: dict[str, str | int] = {"path": name, "version": version, "current": SCHEMA_VERSION}
    if version > SCHEMA_VERSION:
        return (
            say("report-later-version", **values),
            say("use-grader-that-wrote-or-later-one"),
        )
    return (
        say("report-earlier-version", **values),
        say("grade-submission-again-or-use-grader"),
    )


class _Versioned(msgspec.Struct):
    schema_version: int
    rows: msgspec.Raw | None = None


def _check_version(content: bytes, path: Path) -> int:
    """Return the version of a report that can be read. Raises UsageError for anything else."""
    try:
        found = msgspec.json.decode(content, type=prepared(_Versioned))
    except (msgspec.DecodeError, RecursionError):
        raise UsageError(
            say("not-report", path=str(path.name)), say("name-file-that-grader-run-json")
        ) from None
    if found.rows is not None:
        raise UsageError(
            say("overview-batch-not-report", path=str(path.name)),
            say("name-one-reports-in-such-as-ada"),
        )
    return _readable(found.schema_version, path.name)


def _readable(version: int, name: str) -> int:
    if version not in READABLE:
        raise UsageError(*_other_version(name, version))
    return version


def refuse_later(entries: Iterable[Entry], store: Store) -> None:
    """Refuse to replace what a later grader wrote. Raises UsageError."""
    for path in map(store.path, entries):
        try:
            version = _version_of(path.read_bytes())
        except OSError:
            continue
        if version is not None and version > SCHEMA_VERSION:
            hint = say("use-grader-that-wrote-or-another-folder")
            raise UsageError(_other_version(str(path), version)[0], hint)


class _Graded(_Versioned, kw_only=True):
    submission: msgspec.Raw


def refuse_other_version(content: bytes, name: str) -> None:
    """Refuse a report of a version that cannot be read. Raises UsageError, for nothing else."""
    version = _version_of(content)
    if version is not None:
        _readable(version, name)


def _version_of(content: bytes) -> int | None:
    """Return the version of a report; None of what is no report."""
    try:
        return msgspec.json.decode(content, type=prepared(_Graded)).schema_version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
