"""Bars: filled by a share, and full only where nothing is missing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from grader.render.speed import Bar


def shown(share: float, width: int = 10, columns: int = 80, encoding: str = "utf-8") -> str:
    written = io.BytesIO()
    file = io.TextIOWrapper(written, encoding=encoding)
    Console(file=file, width=columns).print(Bar(share, width))
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
