"""Looking at objects: names in the right order, types that do not lie, files of one's own."""

from __future__ import annotations

import random
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import tvm

from grader.inside.kernel.objects import (
    is_a,
    is_local_file,
    is_module,
    public_values,
    ranked,
    type_name,
)


def test_exact_names_come_first_wherever_they_stand() -> None:
    assert ranked(["sch_b", "sch", "mod"], ("sch*", "sch")) == ["sch", "sch_b"]


def test_patterns_count_in_their_order_and_names_in_theirs() -> None:
    assert ranked(["b2", "a2", "b1"], ("a*", "b*")) == ["a2", "b2", "b1"]


def test_public_names_are_identifiers_without_an_underscore() -> None:
    namespace = {"a": 1, "_b": 2, "c d": 3, "\ud800": 4, "e": 5}
    assert public_values(namespace) == {"a": 1, "e": 5}


def test_a_class_that_pretends_is_seen_through() -> None:
    class Pretender:
        __class__ = tvm.IRModule  # type: ignore[assignment]

    assert isinstance(Pretender(), tvm.IRModule)
    assert not is_a(Pretender(), tvm.IRModule)
    assert type_name(Pretender()) == "Pretender"


def test_an_object_without_content_is_no_module() -> None:
    assert not is_module(tvm.IRModule.__new__(tvm.IRModule))


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("/notebook/helper.py", True),
        ("/notebook/package/helper.py", True),
        ("/notebook2/helper.py", False),
        ("/notebook/.venv/lib/site-packages/numpy/core.py", False),
        (None, False),
        (3, False),
    ],
)
def test_files_beside_the_notebook_are_its_own(path: object, local: bool) -> None:
    assert is_local_file(path, ("/notebook",)) is local


@pytest.mark.parametrize("module", [np, random])
def test_files_of_the_environment_are_not(module: ModuleType) -> None:
    path = str(module.__file__)
    assert not is_local_file(path, (str(Path(path).parent),))
