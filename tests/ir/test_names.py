"""Strings of a module: which pass, and how they are shown."""

from __future__ import annotations

import pytest

from grader.ir.names import is_data_type, is_function_name, is_name, is_symbol, is_text, shown


class TestNames:
    """Names of variables, functions and registry entries."""

    @pytest.mark.parametrize("text", ["x", "conv2d_1", "<lambda>", "입력", "权重", "a.b", "i_0"])
    def test_names_in_any_script_pass(self, text: str) -> None:
        assert is_name(text)
        assert is_function_name(text)

    @pytest.mark.parametrize(
        "text", ["a\x00", "a\n", 'a"', "a'", "a`", "a\\", "\u202ea", "x" * 300]
    )
    def test_names_that_a_compiler_or_a_terminal_stumbles_over_do_not(self, text: str) -> None:
        assert not is_name(text)
        assert not is_function_name(text)

    def test_a_variable_may_be_without_a_name_and_a_function_may_not(self) -> None:
        assert is_name("")
        assert not is_function_name("")

    def test_a_symbol_is_plain_ascii(self) -> None:
        assert is_symbol("relax.nn.conv2d")
        assert not is_symbol("relax nn")
        assert not is_symbol("relá")
        assert not is_symbol("")


class TestDataTypes:
    """Data types as TVM writes them."""

    @pytest.mark.parametrize(
        "text", ["float32", "int64", "uint8x4", "bool", "bfloat16", "handle", "float8_e4m3fn"]
    )
    def test_a_data_type_passes(self, text: str) -> None:
        assert is_data_type(text)

    @pytest.mark.parametrize(
        "text", ["", "float", "float32 ", "complex64", "int64x", "int64x12345", "int0", "float00x3"]
    )
    def test_anything_else_does_not(self, text: str) -> None:
        assert not is_data_type(text)


class TestText:
    """Any string."""

    def test_lines_and_spaces_of_any_script_pass(self) -> None:
        assert is_text("a\n\tb\u3000c")

    def test_control_characters_and_endless_text_do_not(self) -> None:
        assert not is_text("\x00")
        assert not is_text("\x1b[2J")
        assert not is_text("a" * (2**16 + 1))


class TestShown:
    """What a message repeats."""

    def test_it_is_between_backquotes_without_any_of_its_own(self) -> None:
        assert "`ab`" == shown("a`b")

    def test_it_is_shortened(self) -> None:
        assert "`" + "x" * 60 + "…`" == shown("x" * 500)

    def test_it_is_printable(self) -> None:
        assert "`[31m`" == shown("\x1b[31m\n\u202e")
