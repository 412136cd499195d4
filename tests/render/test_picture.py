"""Small grey pictures in shades, and what is no picture of ours."""

from __future__ import annotations

import base64
import io
import zlib

import numpy as np
import pytest
from rich.console import Console

from grader.diagnosis.case import encode_png
from grader.render.diagnosis import MOST_EXTENT, Picture, read_picture

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
