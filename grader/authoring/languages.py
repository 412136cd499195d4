"""Taking a language out of an assignment: its translations in the master, its titles, its template.

It is work on text, so that what remains stays as it was, to the last space.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from grader.authoring.master import ENGLISH, find_master, master_languages, read_master
from grader.authoring.template import template_name, write_files
from grader.course import CourseAssignment
from grader.errors import UsageError
from grader.language import say

_CELL = re.compile(r"# %%")
_INLINE = re.compile(r"\s*(?:titles|headings)\s*=\s*\{")
_HEADER = re.compile(r"\s*\[+\s*(?P<name>[^\]#]+?)\s*\]+")
_STRING = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*')"""


def remove_language(root: Path, chosen: CourseAssignment, language: str) -> list[Path]:
    """Take a language out of an assignment's files; return those that were changed or removed.

    Raises UsageError for English, and for a language that the master does not have.
    """
    slug = chosen.assignment.slug
    master = find_master(root, slug)
    known = [each for each in master_languages(read_master(master)) if each != ENGLISH]
    if language not in known:
        raise UsageError(
            say("not-translated-into", master=master.name, language=language),
            say("translated-into", known=", ".join(known) or "nothing"),
        )
    changed: dict[Path, bytes] = {}
    for path in (master, chosen.folder / "assignment.toml"):
        text = path.read_text(encoding="utf-8")
        without = without_language(text, path.name, language)
        if without != text:
            changed[path] = without.encode()
    write_files(changed)
    template = root / "templates" / template_name(slug, language)
    template.unlink(missing_ok=True)
    return [*changed, template]


def without_language(text: str, name: str, language: str) -> str:
    """Return the text of a file without a language. The end of its name says what it is."""
    remove = {".py": _from_script, ".md": _from_markdown, ".toml": _from_toml}
    if name.endswith(".ipynb"):
        return _from_notebook(text, language)
    lines = remove[Path(name).suffix](text.split("\n"), language)
    return "\n".join(lines)


def _from_script(lines: list[str], language: str) -> Iterator[str]:
    """Leave out the cells of a language, and lines `# zh: ...` below comments."""
    own = re.compile(rf"""# %%.*\blang\s*=\s*["']{re.escape(language)}["']""")
    comment = re.compile(rf"\s*#\s*{re.escape(language)}:\s")
    is_own = is_text = False
    for line in lines:
        if _CELL.match(line):
            is_own, is_text = bool(own.match(line)), "[markdown]" in line
        if not is_own and (is_text or not comment.match(line)):
            yield line


def _from_markdown(lines: list[str], language: str) -> Iterator[str]:
    """Leave out the regions of a language, and its comments within blocks of code."""
    own = re.compile(rf"""<!-- #region .*\blang\s*=\s*["']{re.escape(language)}["']""")
    comment = re.compile(rf"\s*#\s*{re.escape(language)}:\s")
    is_own = is_code = False
    for line in lines:
        is_own = is_own or bool(own.match(line))
        is_code ^= line.startswith("```")
        if not is_own and not (is_code and comment.match(line)):
            yield line
        if is_own and line.startswith("<!-- #endregion"):
            is_own = False


def _from_toml(lines: list[str], language: str) -> Iterator[str]:
    """Leave out what is in a language of titles and headings."""
    entry = re.compile(rf"\s*\b{re.escape(language)}\s*=\s*{_STRING}\s*(?:,(?!\s*\}})|(?=\}}))")
    alone = re.compile(rf"\s*{re.escape(language)}\s*=")
    is_titles = False
    for line in lines:
        header = _HEADER.match(line)
        if header:
            is_titles = header["name"].split(".")[-1].strip() in ("titles", "headings")
        if _INLINE.match(line):
            line = re.sub(r",\s*\}", " }", entry.sub("", line))
            if re.search(r"\{\s*\}", line):
                continue
        elif is_titles and alone.match(line):
            continue
        yield line


def _from_notebook(text: str, language: str) -> str:
    notebook = json.loads(text)
    cells = [e for e in notebook["cells"] if e.get("metadata", {}).get("lang") != language]
    for cell in cells:
        if cell.get("cell_type") == "code":
            source = cell["source"]
            whole = source if isinstance(source, str) else "".join(source)
            cell["source"] = "\n".join(_from_script(whole.split("\n"), language))
    return json.dumps({**notebook, "cells": cells}, indent=1, ensure_ascii=False) + "\n"
