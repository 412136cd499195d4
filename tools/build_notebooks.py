"""Write the notebooks that are made from something else: templates, references, examples.

    python tools/build_notebooks.py            write them
    python tools/build_notebooks.py --check    write nothing; exit 1 and name those that are stale

For each assignment that has a master in `reference/`:

    templates/<slug>[.<language>].ipynb    what students start from, as `grader template` makes it
    examples/<slug>/reference.ipynb        the solved notebook, as a submission
    examples/<slug>/<name>.ipynb           the examples of `tools/examples_<slug>.py`, if any
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from pathlib import Path

import nbformat

from grader.authoring.master import has_master
from grader.authoring.template import (
    build_reference,
    build_templates,
    find_stale,
    make_notebook,
    notebook_bytes,
    write_files,
)
from grader.course import CourseAssignment, load_course

ROOT = Path(__file__).resolve().parent.parent


def build(root: Path = ROOT) -> dict[Path, bytes]:
    """Return all generated notebooks of a course: path relative to `root`, content."""
    files: dict[Path, bytes] = {}
    for slug, chosen in load_course(root).assignments.items():
        if has_master(root, slug):
            files |= build_assignment(root, chosen)
    return files


def build_assignment(root: Path, chosen: CourseAssignment) -> dict[Path, bytes]:
    """Return the notebooks of one assignment: path relative to the course's folder, content."""
    slug, version = chosen.assignment.slug, chosen.assignment.version
    examples = Path("examples") / slug
    files = {Path("templates") / n: made for n, made in build_templates(root, chosen).items()}
    files[examples / "reference.ipynb"] = build_reference(root, chosen)
    for name, sources in example_cells(slug).items():
        cells = [nbformat.v4.new_code_cell(source.rstrip("\n")) for source in sources]
        files[examples / f"{name}.ipynb"] = notebook_bytes(make_notebook(cells, slug, version))
    return files


def example_cells(slug: str) -> Mapping[str, tuple[str, ...]]:
    """Return the code cells of an assignment's examples by name; empty if it has none."""
    module = f"examples_{slug.replace('-', '_')}"
    if not (ROOT / "tools" / f"{module}.py").exists():
        return {}
    examples: Mapping[str, tuple[str, ...]] = importlib.import_module(module).EXAMPLES
    return examples


def stale(files: Mapping[Path, bytes], root: Path = ROOT) -> list[Path]:
    """Return the paths, relative to `root`, that are missing or differ from what is made now."""
    return [path.relative_to(root) for path in find_stale(_below(root, files))]


def write(files: Mapping[Path, bytes], root: Path = ROOT) -> None:
    """Write the files, making folders as needed."""
    write_files(_below(root, files))


def _below(root: Path, files: Mapping[Path, bytes]) -> dict[Path, bytes]:
    return {root / path: content for path, content in files.items()}


def main() -> int:
    """Build or check; return the exit code."""
    parser = argparse.ArgumentParser(description="Write templates, references and examples.")
    parser.add_argument("--check", action="store_true", help="only say which files are stale")
    arguments = parser.parse_args()
    files = build()
    changed = stale(files)
    if not arguments.check:
        write(files)
    for path in changed:
        print(path)
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    raise SystemExit(main())
