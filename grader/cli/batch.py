"""`grader batch`: grade many notebooks into a folder of reports; `grader watch`: how it stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from os.path import realpath, relpath
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
from rich.console import Console

from grader.api import answers, open_batch, refuse_later
from grader.batch.collect import Entry, collect, unknown_attempt
from grader.batch.companions import companions, with_companions, words_of_companions
from grader.batch.grading import SUMMARY, HandedInBy, Interrupted, Store, open_store
from grader.batch.recording import named_by_folder
from grader.batch.summary import (
    Row,
    Summary,
    count_rows,
    encode_summary,
    notice,
    render_overview,
    summarize,
)
from grader.batch.watching import WatchedBatch, forget
from grader.cli.ending import command_language
from grader.cli.gradebook import recording, refuse_unrecorded, secret_files, tell_recorded
from grader.cli.telling import LiveBatch, LiveProgress
from grader.course import CourseAssignment
from grader.course_folder import course_folder
from grader.course_settings import load_settings
from grader.data.resolve import FolderPictures
from grader.environment import usable_cores
from grader.errors import UsageError
from grader.grading.preparation import GradingOptions
from grader.language import ENGLISH, NOTHING, Text, say
from grader.lms.collect import CollectedFolders
from grader.lms.handback import attempt_number
from grader.render.asking import AskAddress
from grader.render.audience import shown
from grader.report import Report, decode_report, utc_now

if TYPE_CHECKING:
    from grader.cluster.jobs import ClusterOptions
    from grader.cluster.opening import OpenCluster
import time
from collections.abc import Callable, Iterator

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text as Styled

from grader.batch.watching import BatchState, Status, state_of
from grader.cli.telling import REFRESHES_PER_SECOND, can_redraw, line, tell, words
from grader.language import in_clauses
from grader.progress import duration
from grader.render.wording import one_line


class BatchOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader batch`, as they were given. `jobs` is None for one on every core."""

    submissions: tuple[Path, ...]
    output: Path
    grading: GradingOptions
    jobs: int | None = None
    again: bool = False
    html: bool = False
    handed_in: str | None = None
    cluster: ClusterOptions | None = None


def run_batch(options: BatchOptions, output: Console, messages: Console) -> Summary:
    """Grade all submissions; print the overview to `output` and progress to `messages`.

    The overview is written beside the reports too. After Ctrl-C that is done with what there is,
    and KeyboardInterrupt goes on. Raises GraderError when nothing can be graded at all.
    """
    ask_at = _ask_address(options) if options.html else ""
    collected = CollectedFolders()
    of_attempt = partial(_folder_of_attempt, collected)
    entries = collect(
        options.submissions, Path.cwd(), options.output, of_attempt, collected.class_folder
    )
    _refuse_beside(entries, options.output)
    if options.handed_in == "files":
        _refuse_times_of_unpacking(entries, collected)
    groups = companions(entries, of_attempt)
    with (
        open_store(options.output) as folder,
        recording(
            options.output,
            folder,
            options.grading.course,
            options.handed_in,
            partial(_owner_name, collected),
            words_of_companions(groups),
        ) as store,
    ):
        if not options.again:
            refuse_later(entries, store)
        forget(options.output)
        try:
            graded = _grade_all(options, entries, store, messages)
            summary = with_companions(graded, groups)
        except Interrupted as interruption:
            tell(messages, count_rows(interruption.summary))
            tell(messages, say("finished-reports-kept-same-command-continues"))
            tell_recorded(store, messages, options.grading.course)
            store.write_summary(encode_summary(interruption.summary))
            forget(options.output)
            raise KeyboardInterrupt from None
        try:  # first what is kept: nobody may be there to read what is printed
            store.write_summary(encode_summary(summary))
            if options.html:
                _write_pages(entries, store, ask_at, collected)
        finally:
            language = command_language()
            retold = with_companions(_retold(graded, options.output, language), groups)
            render_overview(retold, output, language)
            where = say("reports-overview-as-json", folder=str(options.output), summary=SUMMARY)
            tell(output, where)
            tell_recorded(store, output, options.grading.course)
            forget(options.output)
        refuse_unrecorded(store)
    return summary


def _refuse_times_of_unpacking(entries: Sequence[Entry], collected: CollectedFolders) -> None:
    """Refuse the times of files that `grader collect` wrote: all would be late by its run's time.

    Raises UsageError.
    """
    for entry in entries:
        found = collected.find(entry.path, entry.common)
        if found is not None:
            raise UsageError(
                say("file-time-is-that-of-collect", name=entry.name),
                say("give-times-of-collected-json-or-one"),
            )


def _folder_of_attempt(collected: CollectedFolders, entry: Entry) -> str:
    """Return the folder of what somebody handed in at once, below the folder of the batch."""
    found = collected.find(entry.path, entry.common)
    if found is None:
        return unknown_attempt(entry)
    folder = found.attempt
    return relpath(folder, entry.common) if folder.is_relative_to(entry.common) else ""


def _owner_name(collected: CollectedFolders, entry: Entry) -> tuple[str, ...]:
    """Return what the roster may call whose a submission is, by what was collected if it was."""
    found = collected.find(entry.path, entry.common)
    if found is None:
        return named_by_folder(entry)
    student = found.student
    name = student.id or ("" if student.doubt else student.keys.get("folder", ""))
    # `grader batch class/ada`: Ada may have written a manifest there. A class called as Ada is owns
    # nothing of those who are in no roster.
    return (name, found.root.name) if name else ()


def _retold(summary: Summary, reports: Path, language: str) -> Summary:
    """Return an overview whose notices are their reports', where they are not to be in English.

    The gradebook knows what was noticed in English alone.
    """
    if language == ENGLISH:
        return summary
    rows = (
        replace(row, noticed=notice(decode_report((reports / row.report).read_bytes())))
        if row.kept and row.report
        else row
        for row in summary.rows
    )
    return replace(summary, rows=tuple(rows))


def is_below(options: BatchOptions, summary: Summary, points: float, now: datetime) -> bool:
    """Say whether students are shown fewer points than `points` of a submission.

    An exit code is read by students too, and would tell of checks that are kept back.
    """
    reports = (decode_report((options.output / row.report).read_bytes()) for row in summary.rows)
    return any(shown(report, "student", now).score < points for report in reports)


def _refuse_beside(entries: Iterable[Entry], reports: Path) -> None:
    """Refuse a folder in which a report would lie where its submission does.

    One that is there already counts as a grade, and may have been handed in. Raises UsageError.
    """
    for entry in entries:
        if realpath(entry.path.parent) == realpath((reports / entry.name).parent):
            raise UsageError(
                say("reports-in-would-lie-beside-submissions", reports=str(reports)),
                say("choose-separate-folder-output-reports"),
            )


def _ask_address(options: BatchOptions) -> str:
    """Return where students ask, as the course says; empty where it does not."""
    root = course_folder(options.grading.course, (Path.cwd(),))
    return load_settings(root).objections.address


def _write_pages(
    entries: Iterable[Entry], store: Store, ask_at: str, collected: CollectedFolders
) -> None:
    """Write a page beside every report, also of those that were graded before."""
    from grader.render.html import render_html  # not needed to grade, and slow

    now = utc_now()
    for entry in entries:
        report = store.find(entry)
        if report is not None:
            known = _handed_in_by(entry, report, store, collected)
            slug = report.assignment.slug
            ask = AskAddress(ask_at, slug, known.student) if ask_at and slug else None
            told = (known.whose, known.attempt, known.marked, ask)
            store.write_page(entry, render_html(shown(report, "student", now), *told))


def _handed_in_by(
    entry: Entry, report: Report, store: Store, collected: CollectedFolders
) -> HandedInBy:
    """Return what the gradebook knows of a report, else what is known of what was collected."""
    known = store.handed_in_by(entry, report)
    found = None if known.attempt is not None else collected.find(entry.path, entry.common)
    if found is None:
        return known
    student = found.student
    number = attempt_number(found.root, student, report.submission.sha256)
    return HandedInBy(student.name or known.whose, number, student=student.id or student.folder)


def _grade_all(
    options: BatchOptions, entries: tuple[Entry, ...], store: Store, messages: Console
) -> Summary:
    pictures = FolderPictures()
    kept = {} if options.again else answers(store, entries, options.grading, pictures)
    waiting = [entry for entry in entries if entry.name not in kept]
    if not waiting:
        _say_kept(entries, kept, store, messages)
        return summarize([entry.name for entry in entries], kept)
    own = (*options.submissions, options.output, *secret_files(options.grading.course))
    with open_batch(options.grading, own, store, options.cluster, pictures) as opened:
        batch = opened.batch
        if opened.elsewhere is None:
            _say_if_small(opened.settings.room.capacity, opened.possible, messages)
        else:
            _say_who_grades(opened.elsewhere, messages)
        with LiveProgress(messages) as preparing:
            opened.find_data(waiting, preparing)
        if options.again:
            store.take_rules(each.assignment for each in opened.possible)
        else:
            kept |= batch.find_graded(waiting)
        _say_kept(entries, kept, store, messages)
        with LiveBatch(messages, total=len(entries), done=len(kept)) as live:
            progress = WatchedBatch(options.output, live, len(entries), kept, utc_now)
            return batch.run(entries, kept, options.jobs or usable_cores(), progress)


def _say_who_grades(cluster: OpenCluster, messages: Console) -> None:
    for reason in cluster.left_out:
        tell(messages, reason)
    count, dashboard = len(cluster.workers), cluster.dashboard
    told = say("workers-grade-what-they-do", count=count, dashboard=dashboard)
    tell(messages, told)


def _say_kept(
    entries: Sequence[Entry], kept: Mapping[str, Row], store: Store, messages: Console
) -> None:
    graded_before = sum(row.kept for row in kept.values())
    if graded_before:
        before = {"kept": graded_before, "all": len(entries)}
        tell(messages, say("graded-before", **before))
    if store.rescored:
        count = say("points-recomputed-without-run", count=store.rescored)
        tell(messages, count)


def _say_if_small(capacity: int, possible: Iterable[CourseAssignment], messages: Console) -> None:
    """Say why submissions wait for each other, where the limits of two do not fit."""
    limit = max(each.assignment.limits.resources().memory for each in possible)
    if 2 * limit > capacity:
        tell(
            messages, say("this-machine-has-mb-memory-left", left=capacity >> 20, limit=limit >> 20)
        )


# `grader watch`: how a batch stands that another process runs, until its end.


_LOOKS_PER_SECOND = 2
"""Few: schedules are being timed on the same machine."""

_ENDS: dict[Status, Text] = {
    "done": say("batch-has-finished"),
    "interrupted": say("batch-interrupted-same-command-continues"),
    "killed": say("batch-killed-while-ran-same-command-continues"),
}


def run_watch(
    folder: Path,
    console: Console,
    write: Callable[[bytes], None],
    clock: Callable[[], datetime] = utc_now,
    wait: Callable[[float], None] = time.sleep,
    *,
    once: bool = False,
    json: bool = False,
) -> None:
    """Show how a batch stands until it ends: live on a terminal, elsewhere a line for each change.

    Raises UsageError where there is no batch. After Ctrl-C the display is taken off the screen, and
    KeyboardInterrupt goes on.
    """
    seen = _seen(folder, clock, wait, once=once)
    if json:
        for state in seen:
            write(msgspec.json.encode(state, enc_hook=line) + b"\n")
    elif once or not can_redraw(console):
        last = None
        for state in seen:
            # How long the rest takes is a guess, which changes by itself.
            counts = replace(state, left=NOTHING, at_work=(), latest=())
            if counts != last:
                tell(console, _counted(state))
            last = counts
        _tell_end(console, state)
    else:
        with Live(console=console, transient=True, refresh_per_second=REFRESHES_PER_SECOND) as live:
            for state in seen:
                live.update(_display(state, clock()))
        console.print(_display(state, clock()))
        _tell_end(console, state)


def _seen(
    folder: Path, clock: Callable[[], datetime], wait: Callable[[float], None], *, once: bool
) -> Iterator[BatchState]:
    while True:
        state = state_of(folder, clock())
        yield state
        if once or state.status in _ENDS:
            return
        wait(1 / _LOOKS_PER_SECOND)


def _tell_end(console: Console, state: BatchState) -> None:
    if state.status in _ENDS:
        tell(console, _ENDS[state.status])


def _counted(state: BatchState) -> Text:
    if state.status == "preparing":
        return say("batch-starting")
    parts = [say("done-total-done", done=state.done, total=state.total)]
    counts = (
        (state.kept, say("them-before", count=state.kept)),
        (state.failed, say("could-not-graded", count=state.failed)),
        (state.put_back, say("count-graded-again", count=state.put_back)),
    )
    parts += [told for number, told in counts if number]
    if state.left:
        parts.append(say("about-left", left=state.left))
    return in_clauses(parts)


def _display(state: BatchState, now: datetime) -> Group:
    shown: list[Table | Styled] = [Styled(line(_counted(state)), style="bold")]
    if state.at_work:
        table = _table(say("graded-now"), say("what-done"), say("for"))
        for each in state.at_work:
            seconds = max((now - each.since).total_seconds(), 0.0)
            columns = one_line(each.name), line(each.stage), line(duration(seconds))
            table.add_row(*map(Styled, columns))
        shown.append(table)
    if state.latest:
        table = _table(say("done-last"), say("what-came-out"))
        for done in state.latest:
            told = Styled(line(done.outcome), style="" if done.graded else "red")
            table.add_row(Styled(one_line(done.name)), told)
        shown.append(table)
    return Group(*shown)


def _table(*titles: Text) -> Table:
    """Return a table of lines that are not broken: the second column has what room is left."""
    table = Table(
        box=None, expand=True, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim", title=" "
    )
    for place, title in enumerate(titles):
        ratio = 1 if place == 1 else None
        table.add_column(words(title), no_wrap=True, overflow="ellipsis", ratio=ratio)
    return table
