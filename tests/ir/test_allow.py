"""The allow-list: what students write passes, every known way out of a module is named."""

from __future__ import annotations

import pytest

from grader.errors import IRError
from grader.ir.allow import FINDING_LIMIT
from grader.ir.read import read_module
from tests.ir.attacks import devices
from tests.ir.documents import Document
from tests.ir.modules import extern_model, save, scheduled_product

EXPECTED = {
    "call_extern": ("extern_call", "system", "main"),
    "call_pure_extern": ("extern_call", "getpid", "main"),
    "call_packed": ("packed_call", "rpc.PopenSession", "main"),
    "call_cpacked": ("packed_call", "env.f", "main"),
    "call_llvm_pure_intrin": ("intrinsic", "tirx.call_llvm_pure_intrin", "main"),
    "while": ("unbounded_loop", "while", "main"),
    "attr import_llvm": ("pragma", "pragma_import_llvm", "main"),
    "launch_thread": ("thread_binding", "tx", "main"),
    "scope": ("storage_scope", "wmma.accumulator", "main"),
    "te call_pure_extern": ("extern_call", "system", "f"),
    "te call_packed": ("packed_call", "env.f", "f"),
    "topi sort": ("packed_call", "tvm.contrib.sort.sort", "f"),
    "loop pragma_import_llvm": ("pragma", "pragma_import_llvm", "mm_relu"),
    "block pragma_import_llvm": ("pragma", "pragma_import_llvm", "mm_relu"),
    "loop pragma_import_c": ("pragma", "pragma_import_c", "mm_relu"),
    "block pragma_import_c": ("pragma", "pragma_import_c", "mm_relu"),
    "loop my_key": ("attribute", "my_key", "mm_relu"),
    "block my_key": ("attribute", "my_key", "mm_relu"),
    "bind": ("thread_binding", "i", "mm_relu"),
    "relax call_packed": ("packed_call", "rpc.PopenSession", "main"),
    "relax call_pure_packed": ("packed_call", "rpc.CreatePipeClient", "main"),
    "relax call_inplace_packed": ("packed_call", "env.f", "main"),
    "relax call_dps_packed": ("packed_call", "ffi.ModuleLoadFromFile", "main"),
    "relax print": ("operator", "relax.print", "main"),
    "relax assert_op": ("operator", "relax.assert_op", "main"),
    "relax alloc_tensor": ("operator", "relax.builtin.alloc_tensor", "main"),
    "relax extern value": ("packed_call", "rpc.Connect", "main"),
    "call_tir_inplace": ("operator", "relax.call_tir_inplace", "main"),
    "attributes": ("global_info", "dummy", ""),
    "extern function": ("extern_function", "g", "g"),
}


class TestHonestModules:
    """Nothing that a student writes, schedules or imports is refused."""

    def test_no_finding_in_any_of_them(self, honest: dict[str, bytes]) -> None:
        findings = {
            name: read_module(document, ("env.*",)).findings for name, document in honest.items()
        }
        assert len(findings) > 100
        assert {} == {name: found for name, found in findings.items() if found}


class TestAttacks:
    """Every attack gives the finding of its name."""

    def test_each_attack_has_an_expectation(self, hostile: dict[str, bytes]) -> None:
        assert EXPECTED.keys() == hostile.keys()

    def test_the_finding_names_what_is_called_and_where(
        self, hostile: dict[str, bytes], subtests: pytest.Subtests
    ) -> None:
        for name in EXPECTED:
            with subtests.test(name):
                finding = read_module(hostile[name], ("env.*",)).findings[0]
                assert EXPECTED[name] == (finding.code, finding.subject, finding.where)
                assert finding.message.english.endswith(".")
                assert f"`{finding.subject}`" in finding.message.english or name == "while"

    def test_the_message_is_a_sentence_about_the_function(self, hostile: dict[str, bytes]) -> None:
        finding = read_module(hostile["call_extern"]).findings[0]
        expected = "The function `main` calls the external function `system`, which is not allowed."
        assert expected == finding.message.english

    def test_all_attributes_of_a_module_and_its_functions_are_looked_at(
        self, hostile: dict[str, bytes]
    ) -> None:
        findings = read_module(hostile["attributes"]).findings
        assert [
            ("global_info", "dummy"),
            ("attribute", "system_lib_prefix"),
            ("attribute", "Codegen"),
        ] == [(finding.code, finding.subject) for finding in findings]

    def test_a_module_for_several_devices_is_no_graph_that_is_read(self) -> None:
        with pytest.raises(IRError, match=r"target\.Target"):
            read_module(save(devices()))


class TestExterns:
    """call_dps_packed may name what the caller permits, and nothing else may."""

    document = save(extern_model())

    @pytest.mark.parametrize("externs", [("env.*",), ("env.conv2d",), ("a.*", "env.conv2?")])
    def test_a_permitted_name_passes(self, externs: tuple[str, ...]) -> None:
        assert () == read_module(self.document, externs).findings

    @pytest.mark.parametrize("externs", [(), ("env.",), ("ENV.*",), ("conv2d",)])
    def test_any_other_name_is_found(self, externs: tuple[str, ...]) -> None:
        finding = read_module(self.document, externs).findings[0]
        assert ("packed_call", "env.conv2d") == (finding.code, finding.subject)

    @pytest.mark.parametrize("name", ["relax call_packed", "relax call_pure_packed"])
    def test_the_other_calls_of_packed_functions_are_never_permitted(
        self, name: str, hostile: dict[str, bytes]
    ) -> None:
        assert "packed_call" == read_module(hostile[name], ("*",)).findings[0].code

    def test_all_names_are_listed(self) -> None:
        assert ("env.conv2d",) == read_module(self.document).externs


class TestHiddenPlaces:
    """What the loader would touch is looked at, wherever it is."""

    def test_an_environment_function_in_an_extern_s_type_is_found(self) -> None:
        document = Document(save(extern_model()))
        derive = next(document.indices("ir.EnvFunc"))
        document.nodes[derive]["data"] = "rpc.ServerLoop"
        finding = read_module(document.encode(), ("env.*",)).findings[0]
        assert ("environment_function", "rpc.ServerLoop") == (finding.code, finding.subject)

    def test_a_call_in_a_shape_is_found(self, hostile: dict[str, bytes]) -> None:
        """The virtual machine computes symbolic shapes: they are code too."""
        document = Document(save(extern_model()))
        at = next(document.indices("relax.expr.ShapeExpr"))
        scalar = document.first("ir.IntImm")["ty"]
        shape = document.first("relax.expr.ShapeExpr")["values"]
        rest = document.target(shape)["data"][1:]
        nodes: list[dict[str, object]] = [
            {"type": "ir.Op", "data": "tirx.call_pure_extern"},
            {"type": "ffi.String", "data": "system"},
            {"type": "ir.StringType", "data": {"span": 0}},
            {"type": "ir.StringImm", "data": {"span": 0, "ty": at + 2, "value": at + 1}},
            {"type": "ffi.Array", "data": [at + 3]},
            {"type": "ffi.Array", "data": []},
            {
                "type": "ir.Call",
                "data": {
                    "span": 0, "ty": scalar, "op": at, "args": at + 4, "attrs": 0,
                    "ty_args": at + 5,
                },
            },
            {"type": "ffi.Array", "data": [at + 6, *rest]},
        ]  # fmt: skip
        document.insert(at, nodes)
        document.target(at + 8)["data"]["values"] = at + 7
        findings = read_module(document.encode(), ("env.*",)).findings
        assert ("extern_call", "system") in {(f.code, f.subject) for f in findings}

    def test_findings_are_capped(self) -> None:
        document = Document(save(scheduled_product("unroll_pragma")))
        loop = next(
            i
            for i in document.indices("tirx.For")
            if document.target(document.target(i)["data"]["annotations"])["data"]
        )
        table = document.target(document.target(loop)["data"]["annotations"])["data"]
        value = table[1]
        keys = [{"type": "ffi.String", "data": f"key{i}"} for i in range(100)]
        at = document.target(loop)["data"]["annotations"]
        document.insert(at, keys)
        table = document.target(at + 100)["data"]
        for i in range(100):
            table.extend([at + i, value])
        findings = read_module(document.encode()).findings
        assert FINDING_LIMIT == len(findings)
        assert {"attribute"} == {finding.code for finding in findings}
