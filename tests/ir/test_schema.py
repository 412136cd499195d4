"""The node schema is what reflection over the pinned TVM says."""

from __future__ import annotations

import runpy
from importlib.resources import files
from pathlib import Path

import tvm

from grader.ir.schema import SCHEMA_FILE, load_schema

TOOL = Path(__file__).parents[2] / "tools" / "make_ir_schema.py"


class TestLoadSchema:
    """Groups are taken apart, fields keep their rules."""

    def test_it_is_of_the_installed_tvm(self) -> None:
        assert tvm.__version__ == load_schema().tvm

    def test_groups_are_replaced_by_their_members(self) -> None:
        extent = load_schema().nodes["tirx.For"]["extent"]
        assert "ir.IntImm" in extent.types
        assert "prim.Add" in extent.types
        assert "tirx.For" not in extent.types
        assert not any(name.startswith("@") for name in extent.types)

    def test_a_loop_s_extent_is_not_optional_and_its_step_is(self) -> None:
        fields = load_schema().nodes["tirx.For"]
        assert not fields["extent"].null
        assert fields["step"].null

    def test_every_type_that_a_field_may_hold_has_rules_of_its_own(self) -> None:
        schema = load_schema()
        known = schema.nodes.keys() | schema.payloads.keys()
        for fields in schema.nodes.values():
            for rule in fields.values():
                assert rule.types <= known

    def test_nothing_that_describes_machines_or_holds_functions_is_accepted(self) -> None:
        schema = load_schema()
        known = schema.nodes.keys() | schema.payloads.keys()
        for name in ("ffi.Function", "ffi.Module", "target.Target", "relax.VDevice", "ffi.Object"):
            assert name not in known

    def test_the_committed_file_is_what_the_tool_writes(self) -> None:
        tool = runpy.run_path(str(TOOL))
        committed = files("grader.ir").joinpath(SCHEMA_FILE).read_text()
        assert committed == tool["_format"](tool["make_schema"]())
