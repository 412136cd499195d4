"""Entry points: when they are called, with what, and what comes of it."""

from __future__ import annotations

import asyncio
import hashlib

import pytest
import tvm
import tvm_ffi

from grader.ir.read import read_module
from tests.inside.kernel.conftest import Notebook

EMIT_TE = "emit_te"


def entry(body: str, name: str = "create_model_via_emit_te", parameters: str = "") -> str:
    return f"def {name}({parameters}):\n    {body}"


def load(document: bytes) -> tvm.IRModule:
    return tvm.ir.load_json(document.decode())


class TestWhenAnEntryPointIsCalled:
    def test_it_is_captured_at_the_end_of_its_cell(self, notebook: Notebook) -> None:
        notebook.run(entry("return build_model()"))
        (capture,) = notebook.captures(EMIT_TE)
        assert (capture.name, capture.cell, capture.by_name) == (
            "create_model_via_emit_te",
            3,
            True,
        )
        assert "main" in load(capture.module)
        assert (capture.base, capture.trace, capture.externs) == (None, None, {})

    def test_a_coroutine_is_awaited(self, notebook: Notebook) -> None:
        notebook.run("import asyncio")
        waits = "await asyncio.sleep(0.01); return build_model()"
        notebook.run(f"async {entry(waits)}")
        (capture,) = notebook.captures(EMIT_TE)
        assert "main" in load(capture.module)

    def test_a_coroutine_is_awaited_while_the_kernel_s_own_loop_runs(
        self, notebook: Notebook
    ) -> None:
        async def cell() -> None:
            waits = "await asyncio.sleep(0.01); return build_model()"
            notebook.run(f"import asyncio\nasync {entry(waits)}")
            await asyncio.sleep(0)

        asyncio.run(cell())
        assert 1 == len(notebook.captures(EMIT_TE))

    def test_a_later_definition_of_the_same_name_is_another_candidate(
        self, notebook: Notebook
    ) -> None:
        notebook.run(entry("return build_model(1.0)"))
        notebook.run(entry("return build_model(2.0)"))
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [3, 4]
        assert len({each.module for each in notebook.captures(EMIT_TE)}) == 2

    def test_the_same_module_is_sent_once(self, notebook: Notebook) -> None:
        notebook.run(entry("return build_model()"))
        notebook.run(entry("return build_model()"))
        notebook.run(entry("return build_model()", "create_model_via_emit_te_topi"))
        assert len(notebook.captures(EMIT_TE)) == 1

    def test_a_module_that_was_sent_without_a_name_is_sent_again_with_the_one_asked_for(
        self, notebook: Notebook
    ) -> None:
        notebook.run("mod = build_model()")
        notebook.run(entry("return build_model()"))
        sent = [(each.name, each.by_name) for each in notebook.captures(EMIT_TE)]
        assert [("mod", False), ("create_model_via_emit_te", True)] == sent

    def test_a_cell_that_changes_nothing_calls_nothing(self, notebook: Notebook) -> None:
        notebook.run("calls = []")
        notebook.run(entry("calls_made.append(1); return build_model()"), fails=False)
        notebook.run("import builtins; builtins.calls_made = []")
        notebook.run(entry("calls_made.append(1); return build_model()"))
        for _ in range(3):
            notebook.run("mod = create_model_via_emit_te()")
        assert notebook.run("len(calls_made)").result == 4

    def test_a_helper_that_is_mended_later_calls_it_again(self, notebook: Notebook) -> None:
        notebook.run("def helper():\n    raise ValueError('draft')")
        notebook.run(entry("return helper()"))
        notebook.run("def helper():\n    return build_model()")
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [5]
        (failure,) = notebook.failures(EMIT_TE)
        assert (failure.error_name, failure.message) == ("ValueError", "draft")

    def test_a_name_that_is_missing_at_first_calls_it_again_once_it_is_there(
        self, notebook: Notebook
    ) -> None:
        notebook.run(entry("return build_model(weight_map['scale'])"))
        notebook.run("weight_map = {'scale': 3.0}")
        assert [each.error_name for each in notebook.failures(EMIT_TE)] == ["NameError"]
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [4]

    def test_a_dictionary_that_is_filled_later_calls_it_again(self, notebook: Notebook) -> None:
        notebook.run("weight_map = {}")
        notebook.run(entry("return build_model(weight_map['scale'])"))
        notebook.run("weight_map['scale'] = 3.0")
        assert [each.error_name for each in notebook.failures(EMIT_TE)] == ["KeyError"]
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [5]

    def test_a_failed_one_is_called_again_once_an_extern_is_registered(
        self, notebook: Notebook
    ) -> None:
        notebook.run(entry("tvm.get_global_func('env.later'); return build_model()"))
        notebook.run("tvm.register_global_func('env.later', lambda x: x)")
        tvm_ffi.registry.remove_global_func("env.later")
        assert [each.reason for each in notebook.failures(EMIT_TE)] == ["raised"]
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [4]

    def test_the_same_failure_is_told_once(self, notebook: Notebook) -> None:
        notebook.run(entry("return missing + other"))
        notebook.run("other = 1")
        assert len(notebook.failures(EMIT_TE)) == 1

    def test_a_slow_one_is_called_again_only_when_it_is_another_function(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("grader.inside.kernel.entry_points.SLOW_SECONDS", -1.0)
        notebook.run("scale = 1.0")
        notebook.run(entry("return build_model(scale)"))
        notebook.run("scale = 2.0")
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [4]
        notebook.run(entry("return build_model(scale)"))
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [4, 6]

    def test_it_is_called_after_a_cell_that_raised(self, notebook: Notebook) -> None:
        notebook.run(entry("return build_model()") + "\nraise KeyError", fails=True)
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [3]

    def test_a_syntax_error_and_an_empty_cell_do_no_harm(self, notebook: Notebook) -> None:
        notebook.run("def broken(:\n", fails=True)
        notebook.run("   \n")
        notebook.run(entry("return build_model()"))
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [4]


class TestWhichFunctionsAreEntryPoints:
    @pytest.mark.parametrize("suffix", ["", "_4", "_topi", "te2"])
    def test_names_may_carry_a_suffix(self, notebook: Notebook, suffix: str) -> None:
        name = "create_model_via_emit_te" + suffix
        notebook.run(entry("return build_model()", name))
        assert [each.name for each in notebook.captures(EMIT_TE)] == [name]

    def test_the_exact_name_comes_before_a_suffix(self, notebook: Notebook) -> None:
        notebook.run(
            entry("return build_model(1)", "create_model_via_emit_te_0")
            + "\n"
            + entry("return build_model(2)")
        )
        assert [each.name for each in notebook.captures(EMIT_TE)] == [
            "create_model_via_emit_te",
            "create_model_via_emit_te_0",
        ]

    @pytest.mark.parametrize(
        "definition",
        [
            "import functools\n@functools.lru_cache\n" + entry("return build_model()"),
            "@torch.no_grad()\n" + entry("return build_model()"),
            "import functools\ncreate_model_via_emit_te = functools.partial(build_model, 2.0)",
            "create_model_via_emit_te = lambda: build_model()",
            "class Maker:\n    def __call__(self):\n        return build_model()\n"
            "create_model_via_emit_te = Maker()",
            "class Maker:\n    def make(self):\n        return build_model()\n"
            "create_model_via_emit_te = Maker().make",
        ],
        ids=["cached", "decorated", "partial", "lambda", "object", "method"],
    )
    def test_any_callable_of_the_notebook_will_do(
        self, notebook: Notebook, definition: str
    ) -> None:
        notebook.run(definition)
        assert [each.by_name for each in notebook.captures(EMIT_TE)] == [True]

    def test_a_function_from_a_file_beside_the_notebook_will_do(self, notebook: Notebook) -> None:
        notebook.run(
            "%%writefile beside.py\ndef create_model_via_emit_te(build_model):\n"
            "    return build_model()"
        )
        notebook.run("from beside import create_model_via_emit_te")
        notebook.run("del __import__('sys').modules['beside']")
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [4]

    def test_classes_libraries_and_private_names_are_left_alone(self, notebook: Notebook) -> None:
        notebook.run("class create_model_via_emit_te_draft: pass")
        notebook.run("from numpy import zeros as create_model_via_emit_te_zeros")
        notebook.run(entry("return None", "_create_model_via_emit_te"))
        assert notebook.emitted == []


class TestArguments:
    def test_parameters_are_taken_from_the_notebook_by_name(self, notebook: Notebook) -> None:
        notebook.run("weight_map = {'scale': 2.0}; batch_size = 4")
        notebook.run(
            entry(
                "return build_model(weight_map['scale'] * batch_size)",
                parameters="batch_size, /, weight_map, *rest, scale=1, **more",
            )
        )
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [4]

    def test_what_the_notebook_lacks_is_given_by_its_name(self, given: Notebook) -> None:
        given.run(
            entry(
                "assert batch == 4 and shape == (4, 1, 8, 8) == image.shape; "
                "assert image.dtype == 'float32' and 0 <= image.min() < image.max() < 1; "
                "return build_model(weights.pop('scale'))",
                parameters="weights, batch, shape, image",
            )
        )
        (capture,) = given.captures(EMIT_TE)
        assert "main" in load(capture.module)
        given.run("def build_model(scale, again=build_model): return again(scale + 1)")
        assert 2 == len(given.captures(EMIT_TE))  # what the first call took out was its own

    def test_what_the_notebook_has_comes_first(self, given: Notebook) -> None:
        given.run("batch = 2")
        given.run(entry("return build_model() if batch == 2 else None", parameters="batch"))
        assert 1 == len(given.captures(EMIT_TE))
        given.run("batch = 3")
        assert ["not_a_module"] == [each.reason for each in given.failures(EMIT_TE)]

    def test_the_module_of_another_part_is_given_and_followed(self, given: Notebook) -> None:
        name = "create_model_with_torch_func"
        spoils = "mod.update_func(mod.get_global_var('main'), mod['main']); return mod"
        given.run(entry(spoils, name, parameters="mod"))
        assert ["mod"] == [each.message for each in given.failures("torch_extern")]
        given.run(entry("return build_model(1.0)"))
        given.run(entry("return build_model(2.0)"))
        named = [each.cell for each in given.captures("torch_extern") if each.by_name]
        assert [4, 5] == named

    def test_a_file_that_is_gone_is_the_function_s_failure(self, given: Notebook) -> None:
        given.run("import os; os.remove('weights.pkl')")
        given.run(entry("return build_model()", parameters="weights"))
        assert ["FileNotFoundError"] == [each.error_name for each in given.failures(EMIT_TE)]

    def test_what_nobody_declared_is_named(self, given: Notebook) -> None:
        given.run(entry("return build_model()", parameters="weights, shift"))
        assert ["shift"] == [each.message for each in given.failures(EMIT_TE)]

    def test_missing_ones_are_named_and_awaited(self, notebook: Notebook) -> None:
        notebook.run(entry("return build_model(scale)", parameters="scale, shift"))
        (failure,) = notebook.failures(EMIT_TE)
        assert (failure.reason, failure.message) == ("needs_arguments", "scale, shift")
        notebook.run("scale = shift = 1.5")
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [4]


class TestWhatComesBack:
    @pytest.mark.parametrize(
        "expression",
        [
            "relax.BlockBuilder(build_model())",
            "(1, build_model())",
            "[build_model()]",
            "{'mod': build_model()}",
            "tvm.s_tir.Schedule(build_model())",
        ],
    )
    def test_a_module_is_found_in_what_students_return(
        self, notebook: Notebook, expression: str
    ) -> None:
        notebook.run(entry(f"return {expression}"))
        (capture,) = notebook.captures(EMIT_TE)
        assert "main" in load(capture.module)

    @pytest.mark.parametrize(
        ("expression", "found"),
        [("print()", "None"), ("3", "int"), ("[]", "list"), ("build_model", "function")],
    )
    def test_anything_else_is_named_by_its_type(
        self, notebook: Notebook, expression: str, found: str
    ) -> None:
        notebook.run(entry(f"return {expression}"))
        (failure,) = notebook.failures(EMIT_TE)
        assert (failure.reason, failure.message, failure.cell) == ("not_a_module", found, 3)

    @pytest.mark.parametrize("body", ["...", "pass", "return None", "'TODO'; ..."])
    def test_a_function_that_does_nothing_is_unsolved(self, notebook: Notebook, body: str) -> None:
        notebook.run(entry(body))
        assert ["unsolved"] == [each.reason for each in notebook.failures(EMIT_TE)]

    def test_what_a_coroutine_returns_is_named_by_its_type(self, notebook: Notebook) -> None:
        notebook.run("async " + entry("return 3"))
        assert [each.message for each in notebook.failures(EMIT_TE)] == ["int"]

    def test_a_list_that_holds_itself_is_no_module(self, notebook: Notebook) -> None:
        notebook.run(entry("a = []; a.append(a); return a"))
        assert [each.message for each in notebook.failures(EMIT_TE)] == ["list"]

    def test_a_failed_draft_does_not_hide_the_good_answer(self, notebook: Notebook) -> None:
        notebook.run(entry("return None"))
        notebook.run(entry("return build_model()"))
        assert [each.cell for each in notebook.failures(EMIT_TE)] == [3]
        assert [each.cell for each in notebook.captures(EMIT_TE)] == [4]

    def test_a_module_that_cannot_be_saved_is_a_failure(self, notebook: Notebook) -> None:
        notebook.run(entry("return build_model().with_attr('f', tvm.runtime.convert(lambda: 0))"))
        (failure,) = notebook.failures(EMIT_TE)
        assert failure.reason == "cannot_be_saved"
        assert "ffi.Function" in failure.message

    @pytest.mark.parametrize("made", ["Mixed", "Mixed()"])
    def test_a_class_with_functions_of_python_is_captured_and_refused_as_that(
        self, notebook: Notebook, made: str
    ) -> None:
        notebook.run(MIXED)
        notebook.run(entry(f"return {made}"))
        (capture,) = notebook.captures(EMIT_TE)
        (first, *_) = read_module(capture.module).findings
        assert first.code == "python_module"


MIXED = """
from tvm.relax.base_py_module import BasePyModule
from tvm.script import ir as I, relax as R
@I.ir_module
class Mixed(BasePyModule):
    @I.pyfunc
    def twice(self, x):
        return 2 * x
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x
"""


class TestErrors:
    def test_cell_and_line_are_those_of_the_students_own_frame(self, notebook: Notebook) -> None:
        notebook.run("\n\ndef helper():\n\n    return int('x')")
        notebook.run(entry("return helper()"))
        (failure,) = notebook.failures(EMIT_TE)
        assert (failure.cell, failure.line) == (3, 5)

    @pytest.mark.parametrize(
        "error", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "RecursionError"]
    )
    def test_whatever_is_raised_is_a_failure(self, notebook: Notebook, error: str) -> None:
        notebook.run(entry(f"raise {error}"))
        (failure,) = notebook.failures(EMIT_TE)
        assert (failure.reason, failure.error_name, failure.line) == ("raised", error, 2)

    def test_an_error_of_the_script_parser_is_told(
        self, notebook: Notebook, capfd: pytest.CaptureFixture[str]
    ) -> None:
        notebook.run(
            entry(
                "@tvm.script.ir_module\n"
                "    class Module:\n"
                "        @R.function\n"
                "        def main(x: R.Tensor((1,), 'float32')):\n"
                "            return undefined_name\n"
                "    return Module"
            )
        )
        (failure,) = notebook.failures(EMIT_TE)
        assert failure.error_name == "DiagnosticError"
        assert failure.message == "Undefined variable: undefined_name"
        assert capfd.readouterr() == ("", "")

    def test_an_error_that_cannot_be_printed_is_told_by_its_class(self, notebook: Notebook) -> None:
        notebook.run(
            "class Rude(Exception):\n    def __str__(self):\n        raise SystemExit\n"
            + entry("raise Rude")
        )
        (failure,) = notebook.failures(EMIT_TE)
        assert (failure.error_name, failure.message) == ("Rude", "")


class TestWithoutAnEntryPoint:
    def test_every_module_bound_to_a_public_name_is_a_candidate(self, notebook: Notebook) -> None:
        notebook.run("mod = build_model(1.0); _hidden = build_model(9.0)")
        notebook.run("mod = build_model(2.0)")
        assert [(each.name, each.cell, each.by_name) for each in notebook.captures(EMIT_TE)] == [
            ("mod", 3, False),
            ("mod", 4, False),
        ]

    def test_an_entry_point_does_not_end_that(self, notebook: Notebook) -> None:
        """What it returns may be wrong, and the right model may have been built beside it."""
        notebook.run(entry("return build_model(1.0)"))
        notebook.run("mod = build_model(2.0)")
        found = [(each.cell, each.by_name) for each in notebook.captures(EMIT_TE)]
        assert [(3, True), (4, False)] == found
        assert [each.cell for each in notebook.captures("torch_extern")] == [4]

    def test_an_entry_point_that_was_replaced_by_its_result_counts(
        self, notebook: Notebook
    ) -> None:
        notebook.run(
            entry("return build_model()")
            + "\ncreate_model_via_emit_te = create_model_via_emit_te()"
        )
        (capture,) = notebook.captures(EMIT_TE)
        assert (capture.name, capture.by_name) == ("create_model_via_emit_te", True)

    def test_a_module_without_a_relax_main_is_none(self, notebook: Notebook) -> None:
        notebook.run("mod = tvm.IRModule({'conv2d': build_model()['conv2d']})")
        notebook.run("mod = tvm.IRModule({'main': build_model()['conv2d']})")
        assert notebook.emitted == []

    def test_a_change_in_place_makes_another_candidate(self, notebook: Notebook) -> None:
        notebook.run("mod = build_model()")
        notebook.run("mod.update_func(mod.get_global_var('relu'), mod['relu'].with_attr('a', 1))")
        first, second = notebook.captures(EMIT_TE)
        assert hashlib.sha256(first.module).digest() != hashlib.sha256(second.module).digest()
