"""The terminal report: everything that a student needs is there, readable, and harmless."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import pytest
from rich.cells import cell_len

from grader.language import foreign
from grader.render.terminal import WIDEST
from grader.report import Check, Report, texts, ungraded_report
from tests import sample_reports
from tests.render.diagnoses import three_mistakes
from tests.render.pages import flat, page

WIDTHS = [40, 80, 120]


class TestWhatComesFirst:
    """Three mistakes are seen on one screen, before anything else is told of them."""

    def test_three_mistakes_are_three_lines_before_the_parts(self) -> None:
        lines = page(three_mistakes()).splitlines()
        place = lines.index("Fix this first") + 2
        assert [
            f"{n}. Part {n}: Mistake {n}. (worth up to {10 - n} points)" for n in (1, 2, 3)
        ] == lines[place : place + 3]
        assert place + 3 < 24

    def test_what_they_say_is_not_said_again(self) -> None:
        text = flat(page(three_mistakes()))
        assert [1, 1, 1] == [text.count(f"Mistake {n}.") for n in (1, 2, 3)]
        assert "See 2 at the top. 9 of 9 samples differ. What to do: Mend 2." in text

    def test_with_full_marks_there_is_nothing_to_mend(self) -> None:
        assert "Fix this first" not in page(sample_reports.full_marks())


class TestContent:
    """What the report says."""

    def test_it_opens_with_assignment_submission_and_score(self) -> None:
        top = page(sample_reports.typical()).split("Part ")[0]
        assert "A convolutional classifier, end to end" in top
        assert "homework.ipynb" in top
        assert "15 of 17 code cells ran to the end." in top
        assert "77.5 of 100 points" in top

    def test_every_part_has_a_row_with_its_points(self) -> None:
        lines = [" ".join(line.split()) for line in page(sample_reports.typical()).splitlines()]
        table = lines[lines.index("Part Points") :]
        assert table[2:5] == [
            "The model, built with emit_te 40 of 40",
            "The convolution, done by an external function 15 of 30",
            "The convolution, scheduled 22.5 of 30",
        ]

    def test_a_lost_point_has_its_reason_and_its_next_step(self) -> None:
        text = flat(page(sample_reports.typical()))
        assert (
            "✗ Same outputs as PyTorch 0 of 15 On 4,443 of 4,443 test images the output differs "
            "from PyTorch. The first layer that differs is the convolution: the largest "
            "difference is 0.83. What to do: Add the bias to the result" in text
        )

    def test_a_check_that_passed_takes_one_line(self) -> None:
        text = page(sample_reports.typical())
        assert "Seven calls" not in text
        assert re.search(r"^✓ Built of call_tir +10 of 10$", text, re.M)

    def test_neighbours_that_share_a_reason_share_its_text(self) -> None:
        text = page(sample_reports.nothing_to_grade())
        assert text.count("defines no create_model_via_emit_te") == 1
        assert len(re.findall(r"^– ", text, re.M)) == 9

    def test_equal_reasons_apart_are_told_apart(self) -> None:
        """A passed check between two failed ones must not seem to explain the first."""
        report = sample_reports.typical()
        lost = Check(
            "a", foreign("A"), 0.0, 1.0, "failed", foreign("The reason."), foreign("Mend it.")
        )
        good = Check("b", foreign("B"), 1.0, 1.0, "passed", foreign("Right."))
        part = msgspec.structs.replace(
            report.parts[0], checks=(lost, good, msgspec.structs.replace(lost, id="c"))
        )
        text = page(msgspec.structs.replace(report, parts=(part,)))
        assert text.count("The reason.") == 2

    def test_a_check_without_points_shows_none(self) -> None:
        assert re.search(r"^✓ No external functions$", page(sample_reports.typical()), re.MULTILINE)

    def test_a_failed_check_without_points_is_explained_too(self) -> None:
        report = sample_reports.typical()
        check = Check(
            "pure",
            foreign("No externs"),
            0.0,
            0.0,
            "failed",
            foreign("It calls env.f."),
            foreign("Use TIR."),
        )
        part = msgspec.structs.replace(report.parts[0], checks=(check,))
        text = flat(page(msgspec.structs.replace(report, parts=(part,))))
        assert "✗ No externs It calls env.f. What to do: Use TIR." in text

    def test_a_failed_cell_has_its_number_its_line_and_its_error(self) -> None:
        text = page(sample_reports.typical())
        assert "Code cell 7, line 3  NameError: name 'conv_w' is not defined" in text
        assert "Code cell 16         CellTimeoutError: The cell ran for more than" in text

    def test_a_long_error_message_is_cut(self) -> None:
        report = sample_reports.hostile()
        assert len(page(report).splitlines()) < 120

    def test_a_schedule_that_was_timed_has_a_section(self) -> None:
        text = page(sample_reports.typical())
        assert text.index("Failed cells") < text.index("Speed of your schedule")
        assert text.index("Speed of your schedule") < text.index("How it was graded")

    def test_it_closes_with_data_isolation_machine_versions_and_duration(self) -> None:
        text = flat(page(sample_reports.typical()))
        assert "Fashion-MNIST: 4,443 test images and 256 hidden random inputs" in text
        assert "Isolation basic. bubblewrap: no network" in text
        assert "Machine Intel(R) Xeon(R) Processor @ 2.60GHz, 4 cores" in text
        assert "Versions Python 3.11.7, apache-tvm 0.27.0.post1, torch 2.13.0+cpu" in text
        assert "Seed 42 Graded 2026-03-09 17:05 UTC Duration 18.4 s (data 0.31 s, notebook" in text

    def test_an_earlier_dialect_has_a_line_and_todays_has_none(self) -> None:
        report = msgspec.structs.replace(sample_reports.typical(), dialect="2023-24")
        text = flat(page(report))
        assert "Dialect" in text and "TVM as of 2023-24" in text
        assert "Dialect" not in page(sample_reports.typical())

    def test_what_was_a_script_is_told_by_lines_of_the_file(self) -> None:
        report = sample_reports.typical()
        starts = tuple(range(10, 180, 10))
        submission = msgspec.structs.replace(report.submission, name="hw.py", starts=starts)
        text = flat(page(msgspec.structs.replace(report, submission=submission)))
        assert "built in code cell 14, which begins on line 140" in text
        assert "Line 3" in text and "Code cell 7" not in text
        assert "Code cell 16" in text  # its line is not known

    def test_notes_stand_before_the_parts(self) -> None:
        text = page(sample_reports.nothing_to_grade())
        assert 0 < text.index("The notebook says no assignment") < text.index("Part ")

    def test_sections_that_have_nothing_to_say_are_left_out(self) -> None:
        text = page(sample_reports.full_marks())
        assert "error" not in text
        assert "What to do" not in text
        assert "Speed" not in page(
            msgspec.structs.replace(sample_reports.full_marks(), timing=None)
        ).replace("Speed of the convolution", "")

    def test_a_file_that_could_not_be_graded_has_a_page(self) -> None:
        report = ungraded_report(
            "a.ipynb", foreign("No such file."), sample_reports.typical().environment
        )
        text = page(report)
        assert "a.ipynb" in text
        assert "No such file" in text
        assert "Not graded" in text
        assert "0 of 0" not in text and "━" not in text, "it is no grade"
        assert "Isolation" not in text
        assert "Data" not in text

    @pytest.mark.parametrize(
        ("cells", "executed", "sentence"),
        [
            (0, 0, "No code cell was run."),
            (1, 1, "The code cell ran to the end."),
            (1, 0, "0 of 1 code cell ran to the end."),
            (17, 17, "All 17 code cells ran to the end."),
            (17, 1, "1 of 17 code cells ran to the end."),
        ],
    )
    def test_cells_are_counted_in_words(self, cells: int, executed: int, sentence: str) -> None:
        submission = msgspec.structs.replace(
            sample_reports.typical().submission, cells=cells, executed=executed
        )
        report = msgspec.structs.replace(sample_reports.typical(), submission=submission)
        assert sentence in page(report)


class TestLayout:
    """It reads at every width, with and without a terminal."""

    @pytest.mark.parametrize("width", WIDTHS)
    @pytest.mark.parametrize(
        "make",
        [sample_reports.typical, sample_reports.korean_and_chinese, sample_reports.hostile],
        ids=lambda make: make.__name__,
    )
    def test_no_line_is_wider_than_the_page(self, make: Callable[[], Report], width: int) -> None:
        lines = page(make(), width).splitlines()
        assert max(cell_len(line) for line in lines) <= min(width, WIDEST)

    @pytest.mark.parametrize("width", WIDTHS)
    def test_no_word_of_a_reason_is_lost(self, width: int) -> None:
        report = sample_reports.korean_and_chinese()
        text = "".join(page(report, width).split())
        check = report.parts[0].checks[2]
        for phrase in (check.title, check.reason, check.hint, report.parts[0].title):
            assert "".join(phrase.english.split()) in text

    def test_points_of_wide_titles_end_in_one_column(self) -> None:
        lines = page(sample_reports.korean_and_chinese()).splitlines()
        ends = {
            cell_len(line)
            for line in lines
            if re.search(r"\S  +\S+ of \d+$", line) and line[0] in "✓✗~"
        }
        assert ends == {80}

    def test_a_pipe_gets_no_escape_sequences_and_no_trailing_spaces(self) -> None:
        text = page(sample_reports.typical())
        assert "\x1b" not in text
        assert all(line == line.rstrip() for line in text.splitlines())

    def test_a_terminal_gets_the_same_words_with_colours(self) -> None:
        coloured = page(sample_reports.typical(), force_terminal=True, color_system="standard")
        assert "\x1b[" in coloured
        assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == page(sample_reports.typical())

    def test_a_console_that_knows_only_ascii_gets_ascii(self) -> None:
        text = page(sample_reports.typical(), encoding="ascii")
        assert "x Same outputs as PyTorch" in text
        assert "+ Built of call_tir" in text
        assert "412.2 us" in text
        assert "?" not in text

    def test_characters_that_a_console_lacks_become_question_marks(self) -> None:
        text = page(sample_reports.korean_and_chinese(), encoding="latin-1")
        assert "??? ???" in text

    def test_only_a_full_score_fills_the_bar(self) -> None:
        def top(report: Report) -> str:
            return page(report).split("Part ")[0]

        nearly = msgspec.structs.replace(sample_reports.typical(), score=99.9)
        assert "━╌ " in top(nearly)
        assert "╌" not in top(sample_reports.full_marks())
        assert "━" not in top(sample_reports.nothing_to_grade())


SHOWN = {"title", "name", "reason", "hint", "error", "message", "function", "target", "detail"}


def marked(value: object, labels: list[str]) -> object:
    """Return a report's builtins with "[b]text7[/b]" for each text that a person is shown."""
    if isinstance(value, list | tuple):
        return [marked(item, labels) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {}
    for key, item in value.items():
        hidden = key == "reason" and value["verdict"] == "passed"
        words = item["text"] if isinstance(item, dict) and "text" in item else item
        if key in SHOWN and isinstance(words, str) and words and not hidden:
            label = f"[b]text{len(labels)}[/b]"
            labels.append(label)
            changed[key] = label if isinstance(item, str) else {"text": label}
        else:
            changed[key] = marked(item, labels)
    return changed


class TestHostileText:
    """Text of a notebook is shown as it is and steers nothing."""

    def test_no_text_anywhere_is_read_as_markup(self) -> None:
        labels: list[str] = []
        builtins = msgspec.to_builtins(sample_reports.typical(), enc_hook=texts.encoder("en"))
        shown = marked(msgspec.to_builtins(builtins), labels)
        text = page(msgspec.convert(shown, Report, dec_hook=texts.decode), width=WIDEST)
        assert len(labels) > 20
        assert [label for label in labels if label not in text] == []
        parts = text.split("Part ")[1].split("Graded:")[0]
        assert parts.count("[b]") == 4  # three rows of the table, and the first heading

    def test_markup_and_emoji_codes_are_shown_and_not_obeyed(self) -> None:
        text = flat(page(sample_reports.hostile()))
        assert text.count("[bold red]not markup[/] :smile: esrever") >= 8
        assert "[link=x]" in text

    def test_no_control_character_reaches_a_pipe(self) -> None:
        text = page(sample_reports.hostile())
        assert all(each.isprintable() or each == "\n" for each in text)
        assert "pwned" not in text

    def test_a_terminal_gets_no_escape_sequence_but_colours(self) -> None:
        text = page(sample_reports.hostile(), force_terminal=True, color_system="standard")
        text = re.sub(r"\x1b\[[\d;]*m", "", text)
        assert all(each.isprintable() or each == "\n" for each in text)

    def test_hostile_text_gets_no_colours_of_its_own(self) -> None:
        tame = sample_reports.typical()
        note = "[bold red]x[/]\x1b[35my"
        report = msgspec.structs.replace(tame, notes=(foreign(note),))
        text = page(report, force_terminal=True, color_system="standard")
        assert "\x1b[35m" not in text
        assert "[bold red]x[/]y" in text
