"""The measured schedule on a page: the sentence, the roofline, and how it was measured.

Bars: filled by a share, and full only where nothing is missing.
"""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from grader.render.pieces import ShareBar
from tests import sample_reports
from tests.render.pages import flat, page, shape, with_timing


def section(report: object, width: int = 100) -> str:
    """Return the lines about speed."""
    text = page(report, width)  # type: ignore[arg-type]
    return text[text.index("Speed of your schedule") : text.index("How it was graded")]


def rows(text: str) -> list[list[str]]:
    """Return the cells of a roofline's rows."""
    names = ("unscheduled", "yours", "reference", "PyTorch")
    cells = (line.split() for line in text.splitlines())
    return [each for each in cells if each[:1] and each[0] in names and each[2:3] == ["µs"]]


class TestSentence:
    def test_it_has_the_speed_up_and_its_interval(self) -> None:
        text = flat(section(sample_reports.typical()))
        assert "conv2d is 3.11 times as fast" in text
        assert "interval 3.04 to 3.19" in text

    def test_a_speed_up_that_is_none_is_called_so(self) -> None:
        slower = flat(section(with_timing(speedup=0.8, ci_low=0.78, ci_high=0.83)))
        assert "slower than the unscheduled" in slower
        unclear = flat(section(with_timing(speedup=1.01, ci_low=0.97, ci_high=1.06)))
        assert "This difference is not measurable" in unclear
        faster = flat(section(sample_reports.typical()))
        assert "slower" not in faster
        assert "measurable" not in faster

    def test_several_batches_are_named(self) -> None:
        text = flat(section(with_timing(shapes=(shape(), shape(batch=1024)))))
        assert "the unscheduled one, over batches of 4 and 1,024 (95%" in text
        assert "over batches" not in flat(section(sample_reports.typical()))


class TestRoofline:
    def test_each_function_has_its_time_its_rate_and_its_share_of_the_limit(self) -> None:
        bars = {
            "unscheduled": "━" + "╌" * 23,
            "yours": "━" * 6 + "╌" * 18,
            "reference": "━" * 12 + "╌" * 12,
            "PyTorch": "━" * 3 + "╌" * 21,
        }
        assert rows(section(sample_reports.typical())) == [
            ["unscheduled", "1,283", "µs", "1.00", "1.2", bars["unscheduled"], "8%"],
            ["yours", "412.2", "µs", "3.11", "3.8", bars["yours"], "25%"],
            ["reference", "198.7", "µs", "6.46", "7.8", bars["reference"], "52%"],
            ["PyTorch", "640.0", "µs", "2.01", "2.4", bars["PyTorch"], "16%"],
        ]

    def test_what_was_not_measured_has_no_row(self) -> None:
        text = section(with_timing(shapes=(shape(library_us=None),)))
        assert ["unscheduled", "yours", "reference"] == [row[0] for row in rows(text)]

    def test_each_batch_has_its_own(self) -> None:
        text = section(with_timing(shapes=(shape(), shape(batch=1024))))
        assert 8 == len(rows(text))
        assert text.index("Batch of 4 ") < text.index("Batch of 1,024")

    def test_a_time_below_the_limit_does_not_burst_its_bar(self) -> None:
        row = rows(section(with_timing(shapes=(shape(floor_us=1000.0),))))[1]
        assert ["━" * 24, "243%"] == row[-2:]

    @pytest.mark.parametrize(
        ("width", "headings"),
        [
            (40, ["One call", "Speed-up", "Limit"]),
            (60, ["One call", "Speed-up", "GFLOP/s", "Limit"]),
            (80, ["One call", "Speed-up", "GFLOP/s", "Share of this machine's limit"]),
        ],
    )
    def test_a_narrow_page_has_fewer_columns_and_whole_numbers(
        self, width: int, headings: list[str]
    ) -> None:
        text = section(sample_reports.typical(), width)
        (line,) = (each for each in text.splitlines() if "One call" in each)
        assert flat(line) == " ".join(["Batch of 4", *headings])
        assert "…" not in text
        assert all(
            [name, value, "µs"] == row[:3]
            for name, value, row in zip(
                ("unscheduled", "yours", "reference", "PyTorch"),
                ("1,283", "412.2", "198.7", "640.0"),
                rows(text),
                strict=True,
            )
        )


class TestMeasured:
    def test_it_says_where_and_how_well_it_was_measured(self) -> None:
        text = flat(section(sample_reports.typical()))
        assert (
            "Measured with 2 threads on processors 2, 3 for the target llvm -mcpu=skylake-avx512, "
            "in 28 rounds of short runs; the fastest runs count. The unscheduled function "
            "and its copy differed by 0.04%. The machine's limits are 15 GFLOP/s and 22 GB/s, "
            "measured at the same time; here, arithmetic is the limit." in text
        )

    def test_one_of_each_is_singular(self) -> None:
        text = flat(section(with_timing(threads=1, cpus=(3,), pairs=1)))
        assert "Measured with 1 thread on processor 3 for" in text
        assert "in 1 round of short runs" in text

    def test_a_function_that_moves_more_than_it_computes_is_bound_by_that(self) -> None:
        text = flat(section(with_timing(shapes=(shape(flops=10, bytes=10_000_000),))))
        assert "here, moving the arrays is the limit." in text

    def test_notes_are_shown(self) -> None:
        note = "Measured with 1 instead of 2 threads: this machine has no more."
        assert note in flat(section(with_timing(notes=(note,))))


def shown(share: float, width: int = 10, columns: int = 80, encoding: str = "utf-8") -> str:
    written = io.BytesIO()
    file = io.TextIOWrapper(written, encoding=encoding)
    Console(file=file, width=columns).print(ShareBar(share, width))
    file.flush()
    return written.getvalue().decode(encoding).rstrip("\n")


@pytest.mark.parametrize(
    ("share", "filled"),
    [(-1.0, 0), (0.0, 0), (0.09, 0), (0.5, 5), (0.999, 9), (1.0, 10), (7.0, 10)],
)
def test_a_share_fills_so_much_of_it(share: float, filled: int) -> None:
    assert "━" * filled + "╌" * (10 - filled) == shown(share)


def test_it_is_no_wider_than_the_page() -> None:
    assert "━━━╌╌╌" == shown(0.5, width=50, columns=6)


def test_a_console_that_knows_only_ascii_gets_ascii() -> None:
    assert "#####-----" == shown(0.5, encoding="ascii")
