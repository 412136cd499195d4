"""A diagnosis on a terminal: every step with its mark, both shapes, and the scores side by side.

Small grey pictures in shades, and what is no picture of ours.
"""

from __future__ import annotations

import base64
import io
import re
import zlib
from collections.abc import Iterable

import msgspec
import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from grader.diagnosis.explain import encode_png
from grader.language import foreign
from grader.render.diagnosis import MOST_EXTENT, Picture, read_picture
from grader.report import Step
from tests import sample_reports
from tests.render.diagnoses import DIAGNOSIS, SAMPLE, STEPS, with_diagnosis
from tests.render.pages import flat, page

HOSTILE = sample_reports.HOSTILE


def rows(text: str) -> list[str]:
    """Return a page's lines, spaces that lay out taken out."""
    return [" ".join(line.split()) for line in text.splitlines()]


def many(right: int, after: int) -> list[Step]:
    return [
        *(Step(f"lv{place}", "relu", (4, 10), "right", foreign("relu")) for place in range(right)),
        Step("out", "softmax", (4, 10), "wrong"),
        *(Step(f"after{place}", "relu", (4, 10), "follows") for place in range(after)),
    ]


def shown(steps: Iterable[Step], wrong: int) -> str:
    diagnosis = msgspec.structs.replace(DIAGNOSIS, steps=tuple(steps), wrong=wrong)
    return page(with_diagnosis(diagnosis, None))


class TestSteps:
    def test_each_has_its_mark_its_shape_and_what_pytorch_has(self) -> None:
        found = rows(page(with_diagnosis(), 100))
        start = found.index("Step by step beside PyTorch:")
        assert found[start + 1 : start + 5] == [
            "~ lv = conv2d (4, 32, 26, 26)",
            "✓ lv1 = add (4, 32, 26, 26) conv2d",
            "✗ lv2 = max_pool2d (4, 32, 25, 25) PyTorch: max_pool2d (4, 32, 13, 13)",
            "– lv3 = flatten (4, 20000)",
        ]

    def test_the_marks_that_occur_are_explained(self) -> None:
        assert (
            "✓ as in PyTorch, ~ not a separate layer in PyTorch, ✗ first difference,"
            " – after it" in flat(page(with_diagnosis()))
        )
        one = msgspec.structs.replace(DIAGNOSIS, steps=STEPS[2:3], wrong=0)
        text = page(with_diagnosis(one))
        assert "✗ first difference" in text and "after it" not in text

    def test_a_console_that_knows_only_ascii_gets_ascii(self) -> None:
        text = page(with_diagnosis(), encoding="ascii")
        assert "x lv2 = max_pool2d" in text and "+ lv1 = add" in text
        assert "?" not in text

    def test_of_many_steps_those_near_the_first_to_depart_are_shown(self) -> None:
        text = shown(many(20, 10), 20)
        assert "lv11 " not in text and "lv12 = relu" in text
        assert "after3 = relu" in text and "after4" not in text
        assert ["… and 12 more", "… and 6 more"] == [
            line for line in rows(text) if line.startswith("…")
        ]

    def test_one_step_alone_is_not_left_out(self) -> None:
        assert "lv0 = relu" in shown(many(9, 0), 9)
        assert "…" not in shown(many(9, 0), 9).split("How it was graded")[0]

    @pytest.mark.parametrize(
        ("layer", "wanted", "beside"),
        [("", None, ""), ("relu", None, "PyTorch: relu"), ("", (4,), "PyTorch: (4,)")],
    )
    def test_what_is_not_known_is_left_out(
        self, layer: str, wanted: tuple[int, ...] | None, beside: str
    ) -> None:
        diagnosis = msgspec.structs.replace(DIAGNOSIS, layer=layer, wanted=wanted)
        line = next(each for each in rows(page(with_diagnosis(diagnosis))) if "✗ lv2" in each)
        assert line == f"✗ lv2 = max_pool2d (4, 32, 25, 25) {beside}".strip()

    def test_pytorchs_shape_is_told_where_it_is_another(self) -> None:
        diagnosis = msgspec.structs.replace(DIAGNOSIS, wanted=(4, 32, 25, 25))
        line = next(each for each in rows(page(with_diagnosis(diagnosis))) if "✗ lv2" in each)
        assert "✗ lv2 = max_pool2d (4, 32, 25, 25) PyTorch: max_pool2d" == line

    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_no_line_is_wider_than_the_page_and_nothing_is_lost(self, width: int) -> None:
        text = page(with_diagnosis(), width)
        assert max(cell_len(line) for line in text.splitlines()) <= width
        together = "".join(text.split())
        for step in STEPS:
            assert f"{step.variable}={step.callee}" in together
            assert "".join(str(step.shape).split()) in together


class TestSentences:
    def test_what_a_check_says_already_is_not_said_again(self) -> None:
        assert 1 == flat(page(with_diagnosis())).count(DIAGNOSIS.message.english)

    def test_what_no_check_says_is_said_here(self) -> None:
        text = flat(page(with_diagnosis(told=False)))
        assert f"{DIAGNOSIS.message.english} What to do: {DIAGNOSIS.advice.english}" in text

    def test_a_heading_of_the_notebook_is_named(self) -> None:
        assert f'Read again in the notebook: "{DIAGNOSIS.link.english}"' in flat(
            page(with_diagnosis())
        )

    def test_an_address_is_given_as_it_is(self) -> None:
        diagnosis = msgspec.structs.replace(DIAGNOSIS, link=foreign("https://example.org/conv"))
        text = flat(page(with_diagnosis(diagnosis)))
        assert "Read again: https://example.org/conv" in text

    def test_without_a_link_there_is_no_such_line(self) -> None:
        diagnosis = msgspec.structs.replace(DIAGNOSIS, link=foreign(""))
        assert "To read" not in page(with_diagnosis(diagnosis))

    def test_a_part_without_a_diagnosis_has_no_such_section(self) -> None:
        text = page(with_diagnosis(None, None))
        assert "beside PyTorch" not in text and "Test image" not in text


class TestScores:
    def test_they_stand_side_by_side_and_the_right_class_is_marked(self) -> None:
        text = page(with_diagnosis(), 60)
        lines = rows(text)
        assert "Dress 0.2000 0.7500 the right class" in lines
        assert "Trouser 0.5000 0.1200" in lines
        assert "Ankle boot 0.0000 0.0000" in lines
        assert 1 == text.count("the right class")

    def test_scores_that_are_no_numbers_or_large_ones_are_shown(self) -> None:
        lines = rows(page(with_diagnosis(), 60))
        assert "Coat not finite 0.0300" in lines
        assert "Bag 12345.7 0.0000" in lines

    def test_the_sentence_says_which_image_it_is_and_what_each_says(self) -> None:
        text = flat(page(with_diagnosis()))
        assert "1234 shows: Dress. Your model says Trouser, PyTorch Dress" in text
        alike = msgspec.structs.replace(SAMPLE, predicted=3)
        assert "both say Dress" in flat(page(with_diagnosis(sample=alike)))

    def test_the_picture_stands_beside_them_where_there_is_room(self) -> None:
        beside = [line for line in page(with_diagnosis(), 100).splitlines() if "Trouser  " in line]
        assert any("█" in line for line in beside)
        below = [line for line in page(with_diagnosis(), 60).splitlines() if "Trouser  " in line]
        assert not any("█" in line for line in below)

    def test_without_a_readable_picture_the_scores_are_there(self) -> None:
        text = page(with_diagnosis(sample=msgspec.structs.replace(SAMPLE, image="")))
        assert "Trouser" in text and "█" not in text

    @pytest.mark.parametrize("width", [40, 80])
    def test_no_class_and_no_score_is_cut(self, width: int) -> None:
        text = page(with_diagnosis(), width)
        assert max(cell_len(line) for line in text.splitlines()) <= width
        for name in SAMPLE.classes:
            assert re.search(rf"{name} +\S", text)


def test_names_of_a_notebook_steer_nothing() -> None:
    step = Step(HOSTILE, HOSTILE, (4,), "wrong", foreign(HOSTILE))
    diagnosis = msgspec.structs.replace(
        DIAGNOSIS,
        steps=(step, msgspec.structs.replace(step, status="right")),
        wrong=0,
        layer=HOSTILE,
        message=HOSTILE,
        advice=HOSTILE,
        link=HOSTILE,
    )
    sample = msgspec.structs.replace(SAMPLE, classes=(HOSTILE,) * 10)
    text = page(with_diagnosis(diagnosis, sample), 100)
    assert all(each.isprintable() or each == "\n" for each in text)
    assert "pwned" not in text and "[bold red]not" in text


PIXELS = np.array([[0, 64, 128, 192, 255]] * 2 + [[255, 0, 0, 0, 0]] * 2, np.uint8)


def in_base64(png: bytes) -> str:
    return base64.b64encode(png).decode("ascii")


def drawn(pixels: np.ndarray, encoding: str = "utf-8") -> list[str]:
    read = read_picture(in_base64(encode_png(pixels)))
    assert read is not None
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=80)
    with console.capture() as captured:
        console.print(Picture(read))
    return captured.get().splitlines()


def test_two_lines_of_pixels_are_one_of_text_and_brighter_is_denser() -> None:
    assert [" ░▒▓█", "█    "] == drawn(PIXELS)


def test_a_console_that_knows_only_ascii_gets_ascii() -> None:
    assert [" .:*#", "#    "] == drawn(PIXELS, "ascii")


def test_pixels_come_back_as_they_were() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (28, 28), np.uint8)
    assert tuple(map(bytes, pixels)) == read_picture(in_base64(encode_png(pixels)))


def test_one_pixel_more_than_the_limit_is_too_many() -> None:
    assert read_picture(in_base64(encode_png(np.zeros((MOST_EXTENT, 2), np.uint8)))) is not None
    assert read_picture(in_base64(encode_png(np.zeros((MOST_EXTENT + 1, 2), np.uint8)))) is None


def test_what_claims_to_be_small_and_is_not_is_not_unpacked() -> None:
    small = encode_png(np.zeros((4, 4), np.uint8))
    bomb = zlib.compress(bytes(10**6))
    made = small[:33] + len(bomb).to_bytes(4, "big") + b"IDAT" + bomb
    assert read_picture(in_base64(made)) == (bytes(4),) * 4  # the first lines, and no byte more


@pytest.mark.parametrize(
    "image",
    [
        "",
        "no base64!",
        "é",
        in_base64(b"GIF89a"),
        in_base64(encode_png(PIXELS)[:40]),
        in_base64(encode_png(PIXELS)[:50]),
        in_base64(encode_png(PIXELS).replace(b"\x08\x00\x00\x00\x00", b"\x08\x02\x00\x00\x00")),
        in_base64(encode_png(PIXELS)[:41] + bytes(40)),
    ],
)
def test_what_is_no_picture_of_ours_is_none(image: str) -> None:
    assert read_picture(image) is None
