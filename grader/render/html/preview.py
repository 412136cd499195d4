"""The pages of a preview: three frames side by side, and what two of them show.

They are shown by a server of this machine (`preview/app.py`), with a style sheet and a script of
their own. The third frame is a report's page as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace
from nbformat import NotebookNode

from grader.language import NOTHING, Text
from grader.render import wording
from grader.render.html.marking import written_cells
from grader.render.html.page import template
from grader.render.html.words import words as report_words
from grader.render.speech import speaking, spoken, tell
from grader.report import Cell, Environment, ungraded_report

STYLE, SCRIPT = "/preview.css", "/preview.js"
"""Where the pages find their style sheet and their script."""

_LANGUAGES: Final = {"en": "English", "zh": "中文", "ko": "한국어"}


def render_frames(
    languages: tuple[str, ...],
    mutants: tuple[tuple[str, str], ...],
    language: str,
    mutant: str,
    spoken_language: str,
) -> bytes:
    """Return the page with the frames: the template in `language`, and `mutant` graded.

    `mutants` are ids and what they are; without an id it is the solved notebook.
    """
    with speaking(spoken_language):
        reference = tell("the solved notebook")
        shown = [(each, f"{each}: {wording.plain(about)}") for each, about in mutants if each]
        page = template("preview.html.j2").render(
            words=_words(),
            language=spoken(),
            style=STYLE,
            script=SCRIPT,
            languages=[(each, _LANGUAGES.get(each, each)) for each in languages],
            mutants=[("", reference), *shown],
            chosen_language=language,
            chosen_mutant=mutant,
        )
        return page.encode("utf-8", "replace")


def render_notebook(notebook: NotebookNode, language: str) -> bytes:
    """Return a notebook as it would be read, without outputs."""
    return _render(_cells_of(notebook), language)


def render_files(files: Mapping[str, str], language: str) -> bytes:
    """Return files one below the other, each with its name."""
    return _render([each for pair in files.items() for each in _cells_of_file(*pair)], language)


def render_told(reason: Text, hint: Text, language: str) -> bytes:
    """Return a page with a sentence in place of what cannot be shown, and what to do next."""
    return _render((), language, reason, hint)


def preview_style() -> bytes:
    """Return the style sheet: that of reports, and its own."""
    return template("preview.css").render().encode()


def preview_script() -> bytes:
    """Return the page's script."""
    return template("preview.js").render().encode()


def _words() -> dict[str, str]:
    return report_words() | {
        "preview": tell("Preview"),
        "template": tell("Template"),
        "release": tell("Release"),
        "graded": tell("Graded"),
        "template_about": tell("what students start from"),
        "release_about": tell("the files that students may have"),
        "graded_about": tell("what a student reads"),
        "language": tell("Language"),
        "mutant": tell("Notebook"),
        "stopped": tell("The command has ended: what is shown stays as it is."),
    }


def _render(
    cells: Iterable[Cell], language: str, reason: Text = NOTHING, hint: Text = NOTHING
) -> bytes:
    nowhere = Environment(python="", cpu="", cores=0, packages={})
    report = replace(ungraded_report("", NOTHING, nowhere), cells=tuple(cells), notes=())
    with speaking(language):
        words = _words()
        page = template("preview_pane.html.j2").render(
            words=words,
            language=spoken(),
            style=STYLE,
            cells=tuple(written_cells(report, (), words)) if report.cells else (),
            reason=wording.plain(reason),
            hint=wording.plain(hint),
        )
        return page.encode("utf-8", "replace")


def _cells_of(notebook: NotebookNode) -> list[Cell]:
    number, found = 0, []
    for each in notebook.cells:
        is_code = each.cell_type == "code"
        number += is_code
        kind, count = ("code", number) if is_code else ("markdown", None)
        found.append(Cell(kind=kind, source=each.source, number=count))  # type: ignore[arg-type]
    return found


def _cells_of_file(name: str, text: str) -> list[Cell]:
    heading = Cell(kind="markdown", source=f"### `{name}`")
    if name.endswith(".py"):
        return [heading, Cell(kind="code", source=text)]
    return [heading, Cell(kind="markdown", source=f"~~~~~~toml\n{text}\n~~~~~~")]
