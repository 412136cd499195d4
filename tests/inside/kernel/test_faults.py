"""What is told of an error: one line, short, of this error and of no machine."""

from __future__ import annotations

import pytest
import tvm

from grader.inside.kernel.faults import MESSAGE_LENGTH, describe_error, error_name, tidy
from tests.inside.kernel.conftest import Notebook


class TestDescribeError:
    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("plain words", "plain words"),
            ("\n\n  first\nsecond", "first"),
            ('Traceback (most recent call last):\n  File "a.py", line 3\nreason', "reason"),
            ("error: Undefined variable: x\n --> cell:7:9", "Undefined variable: x"),
            ("Check failed: (a == b) is false: sizes differ", "sizes differ"),
            ("ScheduleError: In primitive\n# IR\nError message: no such block", "no such block"),
            ("Error message: ScheduleError: it has an init", "it has an init"),
            ("InternalError: [bt] (3) frames", "[bt] (3) frames"),
            (
                "the c[0]\n# Metadata omitted. Use show_meta=True in script() method to show it."
                " has shape (3, 4).",
                "the c[0] has shape (3, 4).",
            ),
            ("T.int64(6272) vs T.int64(5408).", "6272 vs 5408."),
            (
                'In ir.Op(span=None, name="relax.add", n=2, support_level=10), bad',
                "In relax.add, bad",
            ),
            ("", ""),
        ],
    )
    def test_the_most_telling_line_is_taken(self, text: str, line: str) -> None:
        assert describe_error(ValueError(text)) == line

    def test_a_schedule_error_of_tvm_is_told_without_the_module(self, notebook: Notebook) -> None:
        schedule = tvm.s_tir.Schedule(notebook.shell.user_ns["build_model"]())
        with pytest.raises(tvm.s_tir.ScheduleError) as caught:
            schedule.get_sblock("nope", func_name="conv2d")
        assert describe_error(caught.value) == "Cannot find a block with the name: nope"


class TestTidy:
    def test_paths_of_the_machine_become_file_names(self) -> None:
        text = "[Errno 2] No such file or directory: '/home/me/x/y.pkl'"
        assert tidy(text) == "[Errno 2] No such file or directory: 'y.pkl'"

    @pytest.mark.parametrize("text", ["./data/x.pkl", "1/2/3", "a and/or b", "https://x.org/a/b"])
    def test_what_is_no_absolute_path_stays(self, text: str) -> None:
        assert tidy(text) == text

    def test_colours_control_characters_and_half_characters_go(self) -> None:
        assert tidy("\x1b[31mred\x1b[0m\x07 \ud800") == "red ?"

    def test_a_long_text_is_cut(self) -> None:
        assert len(tidy("x" * 10_000)) == MESSAGE_LENGTH


def test_an_error_goes_by_its_class() -> None:
    assert error_name(tvm.s_tir.ScheduleError("x")) == "ScheduleError"
