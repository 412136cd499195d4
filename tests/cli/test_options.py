"""What the command line says of itself."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from grader.cli.commands import app
from tests.cli.test_batch import GRADER

COMMANDS = (
    ("run",),
    ("render",),
    ("batch",),
    ("collect",),
    ("mark",),
    ("sync", "canvas", "fetch"),
    ("sync", "canvas", "push"),
    ("sync", "moodle", "fetch"),
    ("sync", "moodle", "push"),
    ("export",),
    ("feedback",),
    ("regrade",),
    ("release",),
    ("new",),
    ("verify",),
    ("doctor",),
    ("template",),
    ("lint",),
    ("migrate",),
    ("ci", "init", "github"),
    ("ci", "init", "gitlab"),
    ("ci", "init", "gradescope"),
    ("kernelspec", "install"),
    ("kernelspec", "remove"),
    ("course", "init"),
    ("roster", "import"),
    ("grades", "list"),
    ("grades", "show"),
    ("grades", "explain"),
    ("grades", "adjust"),
    ("grades", "extend"),
    ("grades", "forget"),
    ("grades", "stats"),
    ("grades", "agreement"),
    ("rubric", "export"),
    ("rubric", "import"),
    ("objections", "list"),
    ("objections", "add"),
    ("objections", "import"),
    ("objections", "answer"),
)
ODD = re.compile(r"[{<]|\.\.\.$|\[\[|Value error")


def call(*words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [GRADER, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    return done.returncode, done.stdout, done.stderr


def test_the_first_lines_say_what_to_do_first() -> None:
    code, output, _ = call("-h")
    assert 0 == code
    lines = output.splitlines()
    assert any("grader doctor" in line for line in lines[:6])
    assert {name for name, *_ in COMMANDS} <= {
        line.split()[0] for line in lines if line[:2] == "  "
    }
    assert None is ODD.search(output)
    assert call("--help")[1] == output


def test_every_command_has_an_example_and_plain_placeholders(subtests: pytest.Subtests) -> None:
    for words in COMMANDS:
        with subtests.test(" ".join(words)):
            code, output, _ = call(*words, "-h")
            assert 0 == code
            lines = output.splitlines()
            assert lines[0].startswith(f"Usage: grader {' '.join(words)}")
            example = lines[lines.index("Examples:") + 1]
            assert example.startswith(f"  grader {' '.join(words)}")
            assert lines.index("Examples:") < lines.index("Options:")
            assert "  -h, --help" in {line[:12] for line in lines}
            assert None is ODD.search(output)
            assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "hw.ipynb", "--lang", "de"), "'--lang': 'de' is not one of 'en', 'zh', 'ko'."),
        (("run", "hw.ipynb", "--fail-under", "nan"), "nan is not a number of points."),
        (("run", "hw.ipynb", "--fail-under", "x"), "'--fail-under'"),
        (("run", "hw.ipynb", "--seed", "-1"), "'--seed'"),
        (("run",), "Missing argument 'NOTEBOOK'."),
        (("batch", "class"), "Missing option '--output' / '-o'."),
        (("runn",), "Did you mean 'run'?"),
        ((), "Usage: grader"),
    ],
)
def test_what_cannot_be_understood_is_said_and_ends_with_2(
    words: tuple[str, ...], said: str
) -> None:
    code, output, messages = call(*words)
    assert (2, "") == (code, output)
    assert said in messages
    assert None is ODD.search(messages)


def test_help_and_completion_wait_for_neither_pytorch_nor_databases() -> None:
    code = (
        "import sys, grader.cli.commands;"
        " sys.exit(not {'torch', 'tvm', 'sqlalchemy', 'alembic'}.isdisjoint(sys.modules))"
    )
    assert 0 == subprocess.run([sys.executable, "-c", code]).returncode


def test_commands_do_not_wait_for_a_parser_of_addresses_that_no_notebook_has(
    tmp_path: Path,
) -> None:
    """jsonschema imports it where Jupyter's server is installed, as it is for these tests."""
    assert importlib.metadata.version("rfc3987-syntax")
    command = [sys.executable, "-X", "importtime", "-m", "grader.cli", "run", "none.ipynb"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert 2 == done.returncode, done.stderr
    assert "jsonschema._format" in done.stderr
    assert "rfc3987_syntax.syntax_helpers" not in done.stderr


def test_shells_can_complete_commands() -> None:
    done = subprocess.run(
        [GRADER],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "_GRADER_COMPLETE": "complete_bash",
            "COMP_WORDS": "grader ba",
            "COMP_CWORD": "1",
        },
    )
    assert "batch" == done.stdout.strip(), done.stderr


def test_where_something_is_written_has_the_same_short_name_everywhere() -> None:
    places = {
        name: option.opts
        for name, command in commands_below(typer.main.get_command(app))
        for option in command.params
        if "--output" in option.opts
    }
    assert {"batch", "export", "template", "ci fetch"} <= places.keys()
    assert not [name for name, called in places.items() if "-o" not in called]


def commands_below(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all commands, each by what is typed for it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_below(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "x.ipynb", "--seed", "abc"), "'--seed': it must be a whole number"),
        (("run", "x.ipynb", "--seed", "-1"), "'--seed': it must be greater than or equal to 0"),
        (("run", "x.ipynb", "--fail-under", "many"), "'--fail-under': it must be a number"),
    ],
)
def test_a_wrong_value_is_named_in_plain_words(words: tuple[str, ...], told: str) -> None:
    """The library says: Input should be a valid integer, unable to parse string as an integer."""
    code, _, errors = call(*words)
    assert 2 == code
    assert told in errors
