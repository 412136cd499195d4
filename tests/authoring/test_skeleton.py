"""`grader new`: what is written, and what is refused. That it is sound: test_tutorial.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.authoring import skeleton
from grader.authoring.languages import remove_language, without_language
from grader.authoring.lint import lint
from grader.authoring.master import scripts_in
from grader.authoring.skeleton import make_assignment
from grader.authoring.subject import read_subject
from grader.course import load_course
from grader.errors import UsageError
from grader.language import say


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_empty_folder_becomes_a_course(tmp_path: Path) -> None:
    written = make_assignment(tmp_path, "my-layer")
    assert sorted(content(tmp_path)) == sorted(written)
    assignment = load_course(tmp_path).get("my-layer").assignment
    assert ("My layer", ["kernel", "graph", "schedule"]) == (
        assignment.title,
        [part.id for part in assignment.part],
    )


def test_a_second_one_leaves_the_first_as_it_was(tmp_path: Path) -> None:
    make_assignment(tmp_path, "one")
    before = content(tmp_path)
    make_assignment(tmp_path, "two")
    assert {"one", "two"} == set(load_course(tmp_path).assignments)
    assert before.items() <= content(tmp_path).items()


@pytest.mark.parametrize(
    "taken", ["assignments/x/oracle.py", "reference/x.py", "templates/x.zh.ipynb"]
)
def test_nothing_is_written_over(tmp_path: Path, taken: str) -> None:
    path = tmp_path / taken
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        make_assignment(tmp_path, "x")
    assert {path: b"mine"} == content(tmp_path)


@pytest.mark.parametrize("slug", ["", "Layer", "1st", "../up", "a b", "a/b", "ä", "x\n"])
def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path, slug: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        make_assignment(tmp_path, slug)
    assert {} == content(tmp_path)


@pytest.mark.parametrize("error", [UsageError(say("known", known="")), KeyboardInterrupt()])
def test_what_was_written_in_part_is_made_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """After a full disk, or Ctrl-C, the assignment "exists already"."""

    def fail(*_: object) -> dict[str, bytes]:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(skeleton, "build_templates", fail)
        with pytest.raises(type(error)):
            make_assignment(tmp_path, "layer")
    assert [] == [path for path in tmp_path.rglob("*") if path.is_file()]
    assert make_assignment(tmp_path, "layer")


def test_what_cannot_be_removed_hides_no_refusal(tmp_path: Path) -> None:
    """Where `templates` is a file there are no templates to remove: it was an internal error."""
    (tmp_path / "templates").write_text("mine")
    with pytest.raises(UsageError, match="Cannot write"):
        make_assignment(tmp_path, "layer")
    assert {tmp_path / "templates": b"mine"} == content(tmp_path)


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path) -> None:
    """It was written through, and removed when the rest could not be written."""
    (tmp_path / "reference").mkdir()
    link = tmp_path / "reference" / "layer.py"
    link.symlink_to("../elsewhere.py")
    with pytest.raises(UsageError, match="exists already"):
        make_assignment(tmp_path, "layer")
    assert link.is_symlink()
    assert not (tmp_path / "elsewhere.py").exists()


def test_its_master_has_nothing_to_mend(tmp_path: Path) -> None:
    make_assignment(tmp_path, "x")
    assignment = load_course(tmp_path).get("x").assignment
    assert [] == list(lint(read_subject(tmp_path / "reference" / "x.py", assignment)))


def texts(folder: Path) -> str:
    files = [*folder.glob("assignments/x/*.toml"), *folder.glob("reference/*")]
    return "".join(path.read_text(encoding="utf-8") for path in sorted(files))


def test_it_is_written_in_the_languages_that_were_asked_for(tmp_path: Path) -> None:
    made = make_assignment(tmp_path, "x", ["en", "zh"])
    assert {"x.ipynb", "x.zh.ipynb"} == {path.name for path in made if path.suffix == ".ipynb"}
    assert {"zh"} == scripts_in(texts(tmp_path))
    assignment = load_course(tmp_path).get("x").assignment
    assert [{"zh"}] * 3 == [set(part.titles) for part in assignment.part]


def test_a_language_that_it_does_not_speak_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written in de"):
        make_assignment(tmp_path, "x", ["en", "de"])
    assert {} == content(tmp_path)


def test_a_translation_that_is_deleted_leaves_what_was_never_there(tmp_path: Path) -> None:
    """English and Chinese are then as if Korean had not been asked for."""
    make_assignment(tmp_path / "all", "x")
    chosen = load_course(tmp_path / "all").get("x")
    changed = remove_language(tmp_path / "all", chosen, "ko")
    assert {"x.py", "assignment.toml", "x.ko.ipynb"} == {path.name for path in changed}
    make_assignment(tmp_path / "two", "x", ["en", "zh"])
    files = {
        path.relative_to(tmp_path / "all"): text for path, text in content(tmp_path / "all").items()
    }
    assert files == {
        path.relative_to(tmp_path / "two"): text for path, text in content(tmp_path / "two").items()
    }
    with pytest.raises(UsageError, match="not translated into ko"):
        remove_language(tmp_path / "all", chosen, "ko")


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["Words."]},
        {"cell_type": "markdown", "metadata": {"lang": "ko"}, "source": ["말."]},
        {"cell_type": "code", "metadata": {}, "source": ["# One\n", "# ko: 하나\n", "x = 1"]},
    ]
}
MARKDOWN = """Words.

<!-- #region lang="ko" -->
말.
<!-- #endregion -->

```python
# One
# ko: 하나
x = 1
```
"""


def test_masters_of_other_forms_lose_it_too() -> None:
    left = without_language(json.dumps(NOTEBOOK), "x.ipynb", "ko")
    assert ["Words.", "# One\nx = 1"] == ["".join(e["source"]) for e in json.loads(left)["cells"]]
    assert "Words.\n\n\n```python\n# One\nx = 1\n```\n" == without_language(MARKDOWN, "x.md", "ko")
