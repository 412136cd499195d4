"""Attributes that mean nothing to TVM are left out of a module, and those that act stay in it."""

from __future__ import annotations

import pytest
import tvm

from grader.ir.attributes import without_idle_attributes
from grader.ir.read import read_module
from tests.ir.scripts import exercises


def document(name: str, value: object = True) -> bytes:
    module = exercises()
    variable = next(iter(module.functions))
    module.update_func(variable, module[variable].with_attr(name, value))
    return tvm.ir.save_json(module).encode()


@pytest.mark.parametrize("name", ["tir.alias", "tir_noalias", "author", "Noalias"])
def test_what_is_unknown_is_left_out_and_told(name: str) -> None:
    cleaned, names = without_idle_attributes(document(name))
    assert (name,) == names
    assert () == read_module(cleaned).findings
    assert not any(name in function.attrs for function in loaded(cleaned))


@pytest.mark.parametrize("name", ["tirx.noalias", "op_pattern"])
def test_what_is_usual_stays(name: str) -> None:
    given = document(name, 1)
    assert (given, ()) == without_idle_attributes(given)


@pytest.mark.parametrize(
    "name",
    ["Codegen", "calling_conv", "target", "target_host", "tirx.is_entry_func", "relax.rejected"],
)
def test_what_acts_stays_and_is_refused(name: str) -> None:
    cleaned, names = without_idle_attributes(document(name, "c"))
    assert () == names
    assert [("attribute", name)] == [(f.code, f.subject) for f in read_module(cleaned).findings]


def test_what_acts_beside_what_does_not_is_refused_all_the_same() -> None:
    module = tvm.ir.load_json(document("Codegen", "dnnl").decode())
    variable = next(iter(module.functions))
    module.update_func(variable, module[variable].with_attr("author", "me"))
    cleaned, names = without_idle_attributes(tvm.ir.save_json(module).encode())
    assert ("author",) == names
    assert ["Codegen"] == [finding.subject for finding in read_module(cleaned).findings]


def test_nothing_else_changes() -> None:
    cleaned, _ = without_idle_attributes(document("author", "me"))
    tvm.ir.assert_structural_equal(exercises(), tvm.ir.load_json(cleaned.decode()))


def loaded(text: bytes) -> list[tvm.tirx.PrimFunc]:
    return list(tvm.ir.load_json(text.decode()).functions.values())
