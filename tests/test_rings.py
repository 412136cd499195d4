"""Which tests `make test` leaves to `make test-all`."""

from __future__ import annotations

import re

import pytest

from tests.rings import LIST, ROOT, SecondRing, parts_of, read_part, read_second_ring

TEXT = """\
# A comment.
tests/benchmarks
tests/cheats/test_cheats.py::test_a_cheat  # 400 s
+ tests/cheats/test_cheats.py::test_a_cheat[escapes/ptrace]
tests/ci/test_steps.py
+ tests/ci/test_steps.py::TestGitLab
"""
RING = read_second_ring(TEXT)


@pytest.mark.parametrize(
    "node",
    [
        "tests/benchmarks/test_stages.py::test_words[a]",
        "tests/cheats/test_cheats.py::test_a_cheat[escapes/other]",
        "tests/ci/test_steps.py::TestGitHub::test_a_push",
    ],
)
def test_what_the_list_names_is_left_to_the_second_ring(node: str) -> None:
    assert RING.has(node)


@pytest.mark.parametrize(
    "node",
    [
        "tests/cheats/test_cheats.py::test_a_cheat[escapes/ptrace]",
        "tests/cheats/test_cheats.py::test_a_cheat_too",
        "tests/ci/test_steps.py::TestGitLab::test_a_push[x::y]",
        "tests/benchmarks2/test_stages.py::test_words",
    ],
)
def test_everything_else_is_in_the_first(node: str) -> None:
    assert not RING.has(node)


def test_a_file_is_not_even_imported_where_all_of_it_is_left_out() -> None:
    assert RING.has_whole("tests/benchmarks/test_stages.py")
    assert not RING.has_whole("tests/ci/test_steps.py")
    assert not RING.has_whole("tests/cheats/test_cheats.py")


def test_a_line_that_means_no_test_is_found() -> None:
    nodes = ["tests/benchmarks/test_a.py::test_b", "tests/ci/test_steps.py::TestGitLab::test_c"]
    unused = ["tests/cheats/test_cheats.py::test_a_cheat"]
    assert [*unused, f"{unused[0]}[escapes/ptrace]"] == RING.unused(nodes)


def test_a_row_s_name_is_no_path() -> None:
    assert ["t/a.py::test[x::y/z]", "t/a.py::test", "t/a.py", "t"] == [
        *parts_of("t/a.py::test[x::y/z]")
    ]


def test_every_line_names_a_file_or_folder_that_is_there() -> None:
    ring = read_second_ring(LIST.read_text(encoding="utf-8"))
    assert isinstance(ring, SecondRing)
    named = {line.split("::")[0] for line in (*ring.second, *ring.kept)}
    assert [] == [name for name in sorted(named) if not (ROOT / name).exists()]


def test_both_rings_together_are_all_tests() -> None:
    """The first ring is what is not slow; the two legs of the second select what is, once."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.findall(r'-m "((?:not )?slow[^"]*)"', text)
    legs = ["slow and (timed or hurried)", "slow and not (timed or hurried)"]
    assert ["not slow", *legs] == sorted(found)


def test_parts_have_every_test_once() -> None:
    parts = [read_part(f"{number}/3") for number in (1, 2, 3)]
    keys = [f"tests/{name}/test_{name}.py" for name in "abcdefghijklmnopqrstuvwxyz"]
    assert [1] * len(keys) == [sum(part.has(key) for part in parts) for key in keys]
    assert all(6 <= sum(part.has(key) for key in keys) <= 12 for part in parts)


@pytest.mark.parametrize("text", ["", "2", "0/3", "4/3", "1/0", "a/b", "1/3/3", "-1/3", "100/100"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="as in 2/3"):
        read_part(text)
