"""How a value is followed from function to function."""

from __future__ import annotations

from pathlib import Path

import pytest
from walk import Package, Place, Walk

MODULES = {
    "door": """
from grader.desk import look
from grader.words import Table

def enter(options):
    look(options.name)
    table = Table(options)
    look(again(table))
    look(table)
    look("nothing")

def again(table):
    return look(table.name)
""",
    "desk": """
from grader.words import spell

def look(name):
    spell(name=name)
""",
    "words": """
class Table:
    pass

def spell(name):
    return name
""",
}


@pytest.fixture
def package(tmp_path: Path) -> Package:
    (tmp_path / "grader").mkdir()
    for name, text in MODULES.items():
        (tmp_path / "grader" / f"{name}.py").write_text(text, encoding="utf-8")
    return Package(tmp_path)


def test_a_value_is_followed_by_itself_by_attributes_and_in_what_is_made_of_it(
    package: Package,
) -> None:
    walk = Walk(package)
    walk.follow(Place("grader.door", "enter"), "options")
    assert [
        ("goes", "look"),  # options.name
        ("goes", "spell"),
        ("returns", "Table"),
        ("stays", "again"),
        ("returns", "look"),  # table.name, which is followed no second time
        ("returns", "look"),
    ] == [(kind, place.name) for kind, place in walk.steps]
