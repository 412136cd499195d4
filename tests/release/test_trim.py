"""Definitions are taken out of a file with what only they need, and with nothing else."""

from __future__ import annotations

import pytest

from grader.errors import CourseError
from grader.release.trim import named, of_kind, without_definitions, without_models

FILE = '''"""What the file is."""

from __future__ import annotations

import math
import operator

SHARED = 1
"""Of both."""

# How the secret is tuned.
SECRET_TILE = 8
"""Tried were 4 and 16."""


def helper():
    """Needed by the secret alone."""
    return SECRET_TILE + operator.add(1, 2)


def both():
    return SHARED


def public(tile=2):
    helper = tile  # a variable of its own
    return both() + helper + math.pi


@decorated
def secret():
    return helper() + both()
'''


def trimmed(text: str = FILE, *names: str, needed: tuple[str, ...] = ()) -> str:
    return without_definitions(text, "file.py", named(names or ("secret",)), needed)


class TestDefinitions:
    """Of any file."""

    def test_what_only_the_hidden_needs_goes_with_it(self) -> None:
        text = trimmed()
        assert text.endswith("    return both() + helper + math.pi\n")
        for gone in ("secret", "SECRET", "Tried", "tuned", "operator", "decorated", "def helper"):
            assert gone not in text

    def test_what_the_public_needs_too_stays(self) -> None:
        text = trimmed()
        assert 'SHARED = 1\n"""Of both."""\n' in text
        assert "def both():\n" in text
        assert "import math\n" in text
        assert "from __future__ import annotations\n" in text

    def test_what_remains_can_be_executed(self) -> None:
        space: dict[str, object] = {}
        exec(trimmed(), space)
        assert callable(space["public"])

    def test_what_the_grader_looks_up_stays(self) -> None:
        assert "def helper" in trimmed(needed=("helper",))

    def test_a_file_without_it_stays_as_it_is(self) -> None:
        assert trimmed(FILE, "nothing") == FILE

    def test_what_the_public_refers_to_cannot_be_hidden(self) -> None:
        with pytest.raises(CourseError, match="both is hidden, but public code uses it"):
            trimmed(FILE, "both")

    @pytest.mark.parametrize("use", ["secret()", "table = [secret]", "if True:\n    secret()"])
    def test_nor_what_a_statement_refers_to(self, use: str) -> None:
        with pytest.raises(CourseError, match="secret is hidden"):
            trimmed(f"{FILE}\n\n{use}\n")

    def test_what_is_hidden_stands_at_the_top_level(self) -> None:
        with pytest.raises(CourseError, match="is defined within line 1"):
            trimmed("if True:\n    def secret():\n        pass\n")

    @pytest.mark.parametrize("sign", ["\f", "\v", "\x1c", "\x85", "\u2028"])
    def test_what_only_some_take_for_a_line_end_does_not_shift_it(self, sign: str) -> None:
        """Editors divide files into pages by form feeds."""
        page = f'NAME = "of {sign * 9} a course"\n{"" if sign != chr(12) else sign}\n'
        text = trimmed(f"{page}\n\ndef public():\n    return 1\n\n\ndef secret():\n    return 42\n")
        assert "42" not in text
        assert "return 1" in text
        assert "of " in text

    def test_remarks_that_stand_apart_go_with_it(self) -> None:
        text = trimmed(
            "A = 1\n\n# The answer is 42.\n\n# Or 43.\n\n\ndef secret():\n    return 42\n"
            "    # and not 44\n\n  # nor 45\n\n# Of B.\nB = 2\n"
        )
        assert "A = 1\n\n# Of B.\nB = 2\n" == text

    def test_what_does_not_parse_is_an_error(self) -> None:
        with pytest.raises(CourseError, match="line 2 does not parse"):
            trimmed("x = 1\ndef (\n")

    def test_checks_are_known_by_their_kinds(self) -> None:
        text = '@check("a", options=X)\ndef one(): ...\n\n\n@check("b")\ndef two(): ...\n'
        kept = without_definitions(text, "checks.py", of_kind({"a"}))
        assert '@check("b")\ndef two(): ...\n' == kept


MODELS = """
from torch import nn

class Shown(nn.Module): ...

class Hidden(nn.Module): ...

def _widths(): ...

def _drawn(make): ...

MODELS: dict[str, object] = {
    "shown": lambda seed: _drawn(lambda: Shown()),
    # It has a trap.
    "hidden": lambda seed: _drawn(lambda: Hidden(_widths())),
}
"""


class TestModels:
    """Of models.py."""

    def test_a_hidden_model_goes_with_its_layers(self) -> None:
        text = without_models(MODELS, frozenset({"hidden"}))
        for gone in ("hidden", "Hidden", "_widths", "trap"):
            assert gone not in text
        assert "class Shown(nn.Module): ...\n" in text
        assert "def _drawn(make): ...\n" in text
        assert '    "shown": lambda seed: _drawn(lambda: Shown()),\n}\n' in text

    def test_without_hidden_ones_the_file_stays_as_it_is(self) -> None:
        assert MODELS == without_models(MODELS, frozenset())

    @pytest.mark.parametrize(
        "more", ['MODELS["hidden"] = Hidden', "MODELS |= others", "MODELS.update(hidden=Hidden)"]
    )
    def test_nothing_is_added_to_the_table_later(self, more: str) -> None:
        with pytest.raises(CourseError, match="MODELS is not a dictionary"):
            without_models(f"{MODELS}\n{more}\n", frozenset({"hidden"}))

    def test_a_hidden_model_is_named_in_the_table_alone(self) -> None:
        with pytest.raises(CourseError, match="'hidden' is hidden, but public code mentions it"):
            without_models(f'{MODELS}\nEASY = ("shown", "hidden")\n', frozenset({"hidden"}))

    @pytest.mark.parametrize("table", ["MODELS = make()", "MODELS = {**others}", "OTHERS = {}"])
    def test_the_table_must_be_readable(self, table: str) -> None:
        with pytest.raises(CourseError, match="MODELS is not a dictionary"):
            without_models(table, frozenset({"hidden"}))
