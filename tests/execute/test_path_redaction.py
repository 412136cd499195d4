"""Paths of the grading machine are taken out of texts, and the student's own are left."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.execute.problems import PathRedaction, own_folders

PLACES = PathRedaction(("/data/course", "/home/prof", "/usr", "/tmp"))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("in /data/course/assignments/x.toml", "in assignments/x.toml"),
        ("in '/data/course'", "in '…'"),
        ("HOME=/home/prof", "HOME=…"),
        ("/home/prof:/bin", "…:/bin"),
        ("/srv/venv/lib/python3.11/site-packages/tvm/te.py:3", "tvm/te.py:3"),
        ("File /opt/py/lib/python3.12/json/__init__.py:346", "File json/__init__.py:346"),
        (
            'File "/tmp/grader-box-ab12_xyz/tmp/ipykernel_7/123.py", line 2',
            'File "the cell", line 2',
        ),
        ("/tmp/grader-box-ab12_xyz/scratch/data.pkl", "data.pkl"),
        ("/tmp/grader-box-ab12_xyz/scratch", "…"),
        ("/tmp/mine/grader-box-58i-HWyB/scratch", "…"),
        ("/scratch/data.pkl in /scratch", "data.pkl in …"),
        ("file:///data/course/a.py", "file://a.py"),
    ],
)
def test_a_path_begins_where_it_tells_nothing_of_the_machine(text: str, left: str) -> None:
    assert left == PLACES.without(text)


@pytest.mark.parametrize(
    "text",
    [
        "/content/drive/mine.pkl",
        "/home/professor/x",
        "/data/courses",
        "my/data/course/x",
        "/tmp/out.png and /usr/bin/env",
        "/x/grader-homework/a.py",
        "1/2 and a/b",
    ],
)
def test_other_paths_stay(text: str) -> None:
    assert text == PLACES.without(text)


def test_folders_of_this_process_are_known() -> None:
    known = PathRedaction(own_folders())
    for folder in (sys.prefix, Path.cwd(), Path.home(), Path(__file__).resolve().parents[2]):
        assert "in x/y.txt" == known.without(f"in {folder}/x/y.txt")


def test_a_long_text_of_one_word_is_no_trouble() -> None:
    for text in ("a" * 10**6, "/" * 10**6, "/a" * 10**6, "/data/" * 10**5):
        assert PLACES.without(text)
