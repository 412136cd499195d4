"""Snapshots: later changes in place do not reach them, and are noticed."""

from __future__ import annotations

from typing import Any

import pytest
import tvm

from grader.inside.kernel.modules import Snapshot, document_of
from tests.inside.kernel.conftest import Notebook


@pytest.fixture
def module(notebook: Notebook) -> Any:
    return notebook.shell.user_ns["build_model"]()


def test_it_keeps_what_update_func_replaces(module: Any) -> None:
    document = tvm.ir.save_json(module)
    snapshot = Snapshot(module)
    module.update_func(module.get_global_var("relu"), module["relu"].with_attr("a", 1))
    assert not snapshot.is_current(module)
    assert document_of(snapshot).content.decode() == document


def test_it_keeps_what_a_schedule_changes(module: Any) -> None:
    document = tvm.ir.save_json(module)
    schedule = tvm.s_tir.Schedule(module)
    snapshots = [Snapshot(schedule.mod)]
    for _ in range(2):
        loops = schedule.get_loops(schedule.get_sblock("conv2d_nchw", func_name="conv2d"))
        schedule.fuse(*loops[:2])
        assert not snapshots[-1].is_current(schedule.mod)
        snapshots.append(Snapshot(schedule.mod))
    contents = [document_of(each).content for each in snapshots]
    assert contents[0].decode() == document
    assert len(set(contents)) == 3


def test_attributes_count(module: Any) -> None:
    assert not Snapshot(module).is_current(module.with_attr("a", 1))


def test_an_unchanged_module_is_current_and_saved_once(module: Any) -> None:
    snapshot = Snapshot(module)
    assert snapshot.is_current(module)
    assert document_of(snapshot) is document_of(Snapshot(module))
