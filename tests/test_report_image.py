"""Images of a report: PNGs of bounded size, and nothing that only looks like one."""

from __future__ import annotations

import base64
import struct

import pytest

from grader.report.document import MOST_EXTENT, image_size
from tests.render.html.samples import png

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def header(width: int, height: int, signature: bytes = SIGNATURE, kind: bytes = b"IHDR") -> str:
    content = struct.pack(">8sI4sII", signature, 13, kind, width, height)
    return base64.b64encode(content).decode()


def test_it_says_how_large_one_is() -> None:
    assert (28, 20) == image_size(png(28, 20))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no base64!",
        png() + "\n",
        png()[:-1],
        png()[:20],
        "data:image/png;base64," + png(),
        png() + '" onerror="x',
        base64.b64encode(b"<svg/>").decode(),
        header(1, 1, signature=b"GIF89a\0\0"),
        header(1, 1, kind=b"IDAT"),
        header(0, 1),
        header(MOST_EXTENT + 1, 1),
        header(8000, 8000),
        "\ud800",
    ],
)
def test_anything_else_is_none(text: str) -> None:
    assert None is image_size(text)
