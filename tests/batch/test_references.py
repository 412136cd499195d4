"""The reference's speed-up, held against that of other gradings of a batch."""

from __future__ import annotations

import msgspec
import pytest

from grader.batch.references import References
from grader.environment import describe_environment
from grader.language import foreign
from grader.report import Report, ungraded_report
from tests.sample_reports import TIMING


def report_of(reference_speedup: float, part: str = "schedule") -> Report:
    timing = msgspec.structs.replace(TIMING, reference_speedup=reference_speedup, part=part)
    report = ungraded_report("one.ipynb", foreign("It was timed."), describe_environment())
    return msgspec.structs.replace(report, timing=timing)


@pytest.mark.parametrize(("last", "stands_out"), [(1.55, False), (1.5, True), (1.7, True)])
def test_what_is_over_four_per_cent_off_the_others_stands_out(
    last: float, stands_out: bool
) -> None:
    references = References()
    before = [references.stands_out(report_of(each)) for each in (1.57, 1.3, 1.58)]
    assert [False] * 3 == before
    assert stands_out is references.stands_out(report_of(last))


def test_nothing_stands_out_of_two() -> None:
    references = References()
    references.stands_out(report_of(1.57))
    references.stands_out(report_of(1.58))
    assert not references.stands_out(report_of(1.3))


def test_another_part_has_another_reference() -> None:
    references = References()
    for _ in range(3):
        references.stands_out(report_of(1.57))
    assert not references.stands_out(report_of(3.0, part="other"))


def test_a_report_without_times_is_passed_by() -> None:
    report = msgspec.structs.replace(report_of(1.5), timing=None)
    assert not References().stands_out(report)
