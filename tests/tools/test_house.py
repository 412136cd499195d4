"""The counts of the house: what is a short room with one door, and what the tool prints."""

from __future__ import annotations

from tools.house import (
    at_revision,
    count,
    imported_once,
    modules,
    short_rooms,
    table,
    working_tree,
)

LONG = "\n".join(f"{letter} = 1" for letter in "abcdefghijklmnopqrstuvwxyz" * 3)

FILES = {
    "grader/__init__.py": '"""Face."""\n__all__ = ["door"]\n',
    "grader/door.py": '"""Door."""\nfrom grader.deep import room, shared\nimport grader.deep.long',
    "grader/window.py": "from grader.deep.shared import Thing\n# a comment\n",
    "grader/deep/__init__.py": "",
    "grader/deep/room.py": "class Thing: pass\n",
    "grader/deep/shared.py": "class Thing: pass\n",
    "grader/deep/long.py": LONG,
    "tests/test_door.py": 'assert "It says what is wrong." == "x"\nassert "code" == "y"\n',
}


def test_a_room_with_one_door_is_found_whichever_way_it_is_imported() -> None:
    every = modules(FILES, "grader/")
    assert {"grader.deep.room": "grader.door", "grader.deep.long": "grader.door"} == imported_once(
        every
    )
    assert [("grader.deep.room", "grader.door")] == short_rooms(every)


def test_what_is_counted() -> None:
    found = count(FILES)
    wanted = {
        "packages": "1",
        "loose modules": "2",
        "modules": "7",
        "modules imported once": "2",
        "classes that share their name": "2",
        "names in `grader.__all__`": "1",
        "assertions of English sentences": "1",
    }
    assert wanted == {name: found[name] for name in wanted}


def test_a_revision_stands_beside_the_working_tree() -> None:
    found = count(FILES)
    head, _, *rows = table({"HEAD": found, "now": {**found, "lines": "7"}})
    assert "| | HEAD | now |" == head
    assert len(found) == len(rows)
    assert f"| lines | {found['lines']} | 7 |" in rows


def test_both_are_read_whole() -> None:
    assert {"grader/__init__.py", "tests/tools/test_house.py"} < working_tree().keys()
    assert "grader/__init__.py" in at_revision("HEAD")
