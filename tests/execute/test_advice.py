"""What is said about errors that come from limits."""

from __future__ import annotations

import pytest

from grader.assignment import Limits
from grader.execute.advice import advice_for
from grader.execute.known_errors import recognise
from grader.language import NOTHING


@pytest.mark.parametrize(
    ("error", "message", "advice"),
    [
        ("ModuleNotFoundError", "No module named 'seaborn'", "This package is not installed"),
        ("ModuleNotFoundError", "No module named 'layers'", "put its code into the notebook"),
        ("ModuleNotFoundError", "No module named 'my.layers'", "if `my` is a file of yours"),
        ("Exception", "File `'layers.py'` not found.", "`layers.py` is not in it"),
        ("SystemExit", "2", "give each one a default"),
        ("SystemExit", "0", "Remove sys.exit()"),
    ],
)
def test_what_lies_elsewhere_is_told_apart(error: str, message: str, advice: str) -> None:
    _, said = advice_for(recognise(error, message), LIMITS)
    assert advice in said.english


@pytest.mark.parametrize("name", ["layers", "my.layers", "utils", "model", "lnumpy"])
def test_a_file_beside_the_notebook_is_never_called_a_package_that_is_missing(name: str) -> None:
    """`layers.py` lies beside the notebook at home, and one file is graded."""
    _, said = advice_for(recognise("ModuleNotFoundError", f"No module named '{name}'"), LIMITS)
    assert said.english.startswith("Only one file is graded: ")
    assert "not installed" not in said.english


LIMITS = Limits(memory_mb=100, scratch_mb=20, processes=30, open_files=40)


@pytest.mark.parametrize(
    ("error", "message", "size", "code"),
    [
        ("MemoryError", "", "100 MB of memory", "memory"),
        (
            "RuntimeError",
            "DefaultCPUAllocator: can't allocate memory",
            "100 MB of memory",
            "memory",
        ),
        ("OSError", "[Errno 12] Cannot allocate memory", "100 MB of memory", "memory"),
        ("OSError", "[Errno 28] No space left on device", "20 MB of files", "disk"),
        ("OSError", "[Errno 27] File too large", "256 MB", "file_size"),
        ("RuntimeError", "can't start new thread", "30 processes", "processes"),
        (
            "BlockingIOError",
            "[Errno 11] Resource temporarily unavailable",
            "30 processes",
            "processes",
        ),
        ("OSError", "[Errno 24] Too many open files: 'x'", "40 files", "descriptors"),
        (
            "URLError",
            "<urlopen error [Errno -3] Temporary failure in name resolution>",
            "network",
            "network",
        ),
        ("OSError", "[Errno 101] Network is unreachable", "network", "network"),
        ("PermissionError", "[Errno 13] Permission denied", "network", "network"),
    ],
)
def test_an_error_from_a_limit_names_the_limit(
    error: str, message: str, size: str, code: str
) -> None:
    found, advice = advice_for(recognise(error, message), LIMITS)
    assert code == found
    assert size in advice.english
    assert advice.english.endswith(".")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("ValueError", "shapes do not fit"),
        ("PermissionError", "[Errno 13] Permission denied: '/etc/x'"),
    ],
)
def test_any_other_error_gets_no_advice(error: str, message: str) -> None:
    assert advice_for(recognise(error, message), LIMITS) == ("error", NOTHING)
