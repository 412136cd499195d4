"""The migration table: every row through its example, and against the TVM that is installed."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path

import pytest
import tvm

from grader.dialects.migration import migrate_cells
from grader.dialects.table import (
    CURRENT_TVM,
    by_id,
    describe_api,
    names_gone,
    recognise,
    rows,
)
from grader.inside.kernel.compatibility import SUPPLIED

ROOT = Path(__file__).parents[2]


def exists(dotted: str) -> bool:
    """Say whether the installed TVM has a name, as a module or in one."""
    value = importlib.import_module("tvm")
    path = "tvm"
    for part in dotted.split(".")[1:]:
        path = f"{path}.{part}"
        if not hasattr(value, part):
            try:
                importlib.import_module(path)
            except ImportError:
                return False
        value = getattr(value, part)
    return True


names = [row for row in rows() if row.kind == "name"]


def test_an_example_becomes_what_its_row_says_by_that_row_alone(subtests: pytest.Subtests) -> None:
    for row in rows():
        with subtests.test(row.id):
            migration = migrate_cells([row.before])
            assert (row.after,) == migration.sources
            assert {row.id} == {change.row for change in migration.changes}
            assert () == migration.left
            assert any(word in row.before for word in row.words)


def test_a_result_does_not_change_again(subtests: pytest.Subtests) -> None:
    for row in rows():
        with subtests.test(row.id):
            again = migrate_cells([row.after])
            assert ((row.after,), (), ()) == (again.sources, again.changes, again.left)


def test_the_installed_tvm_has_the_names_of_today() -> None:
    assert {} == {row.id: row.becomes for row in names if not exists(row.becomes)}


def test_the_installed_tvm_lacks_the_old_names() -> None:
    """But for `tvm.build`, which warns."""
    old = {row.id: row.was for row in names if row.id != "build"}
    assert {} == {id: name for id, name in old.items() if exists(name)}


def test_the_table_ends_with_the_installed_tvm() -> None:
    assert CURRENT_TVM == ".".join(tvm.__version__.split(".")[:2])


def test_any_release_of_its_version_has_that_api_and_others_have_not() -> None:
    assert describe_api(f"{CURRENT_TVM}.0.post1").english.startswith("the API")
    assert describe_api("0.2.7").english.startswith("not the API")
    assert describe_api("").english.startswith("not the API")


def test_ids_are_unique() -> None:
    assert len(rows()) == len(by_id())


def test_what_is_said_to_be_supplied_is() -> None:
    supplied = {each.name for each in SUPPLIED}
    assert {each.name for each in names_gone() if each.supplied} <= supplied


class TestRecognition:
    def test_without_a_match_a_text_is_in_todays_dialect(self) -> None:
        assert "2026" == recognise(frozenset())

    def test_what_belongs_to_several_dialects_is_in_the_newest(self) -> None:
        assert "2025" == recognise(frozenset({"block", "tir-schedule"}))

    def test_a_row_of_one_dialect_decides(self) -> None:
        assert "2022" == recognise(frozenset({"block", "tir-schedule", "vm-build"}))

    def test_the_dialect_to_which_most_rows_belong_counts(self) -> None:
        assert "2023-24" == recognise(frozenset({"out-sinfo", "nd-array", "register-func"}))

    def test_names_that_are_gone_count_too(self) -> None:
        assert "2023-24" == migrate_cells(["import tvm\ntvm.lower(f)"]).dialect


def test_the_page_about_dialects_is_fresh() -> None:
    """If it is not: python tools/make_dialects_page.py"""
    tool = runpy.run_path(str(ROOT / "tools" / "make_dialects_page.py"))
    assert tool["page"]() == (ROOT / "docs" / "dialects.md").read_text("utf-8")
