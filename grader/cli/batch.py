"""`grader batch`: grade many notebooks into a folder of reports."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from os.path import realpath
from pathlib import Path

import msgspec
from rich.console import Console

from grader.api import open_batch
from grader.batch.collect import Entry, collect
from grader.batch.grading import SUMMARY, Interrupted, Store, open_store
from grader.batch.summary import Row, Summary, count_rows, encode_summary, render_overview
from grader.cli.progress import LiveBatch, LiveProgress
from grader.course import CourseAssignment
from grader.environment import usable_cores
from grader.errors import UsageError
from grader.grading.preparation import GradingOptions
from grader.render.audience import shown, utc_now
from grader.report import decode_report


class BatchOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader batch`, as they were given. `jobs` is None for one on every core."""

    submissions: tuple[Path, ...]
    output: Path
    grading: GradingOptions
    jobs: int | None = None
    again: bool = False
    html: bool = False


def run_batch(options: BatchOptions, output: Console, messages: Console) -> Summary:
    """Grade all submissions; print the overview to `output` and progress to `messages`.

    The overview is written beside the reports too. After Ctrl-C that is done with what there is,
    and KeyboardInterrupt goes on. Raises GraderError when nothing can be graded at all.
    """
    entries = collect(options.submissions, Path.cwd(), options.output)
    _refuse_beside(entries, options.output)
    with open_store(options.output) as store:
        try:
            summary = _grade_all(options, entries, store, messages)
        except Interrupted as interruption:
            _say(messages, count_rows(interruption.summary))
            _say(messages, "What was graded is kept: the same command goes on from here.")
            store.write_summary(encode_summary(interruption.summary))
            raise KeyboardInterrupt from None
        try:  # first what is kept: nobody may be there to read what is printed
            store.write_summary(encode_summary(summary))
            if options.html:
                _write_pages(entries, store)
        finally:
            render_overview(summary, output)
            _say(output, f"The reports: {options.output}, the overview as JSON: {SUMMARY} in it")
    return summary


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
                f"In {reports} reports would lie beside what was handed in.",
                "Name a folder of their own: --output reports.",
            )


def _write_pages(entries: Iterable[Entry], store: Store) -> None:
    """Write a page beside every report, also of those that were graded before."""
    from grader.render.html import render_html  # not needed to grade, and slow

    now = utc_now()
    for entry in entries:
        report = store.find(entry)
        if report is not None:
            store.write_page(entry, render_html(shown(report, "student", now), entry.whose))


def _grade_all(
    options: BatchOptions, entries: tuple[Entry, ...], store: Store, messages: Console
) -> Summary:
    own = (*options.submissions, options.output)
    with open_batch(options.grading, own, store) as opened:
        batch = opened.batch
        _say_if_small(opened.settings.room.capacity, opened.possible, messages)
        if opened.demanded is not None:
            with LiveProgress(messages) as preparing:
                opened.find_data(preparing)
        kept: dict[str, Row] = {} if options.again else batch.find_graded(entries)
        if kept:
            _say(messages, f"{len(kept)} of {len(entries)} were graded before.")
        with LiveBatch(messages, total=len(entries), done=len(kept)) as progress:
            return batch.run(entries, kept, options.jobs or usable_cores(), progress)


def _say_if_small(capacity: int, possible: Iterable[CourseAssignment], messages: Console) -> None:
    """Say why submissions wait for each other, where the limits of two do not fit."""
    limit = max(each.assignment.limits.resources().memory for each in possible)
    if 2 * limit > capacity:
        _say(
            messages,
            f"This machine has {capacity >> 20} MB of memory left, and a submission may use"
            f" {limit >> 20} MB: as long as it is not known how much they do use, they are run one"
            " at a time.",
        )


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
