"""Write the notebooks that are made from something else: templates, references, examples.

    python tools/build_notebooks.py            write them
    python tools/build_notebooks.py --check    write nothing; exit 1 and name those that are stale

For each master `reference/<slug>.py` that has an `assignments/<slug>/assignment.toml`:

    templates/<slug>.ipynb              what students start from
    examples/<slug>/reference.ipynb     the solved notebook, as a submission
    examples/<slug>/<name>.ipynb        the examples of `tools/examples_<slug>.py`, if there is one
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from pathlib import Path

import nbformat

from grader.assignment import load_assignment
from grader.authoring.template import (
    make_notebook,
    make_reference,
    make_template,
    notebook_bytes,
    read_master,
)

ROOT = Path(__file__).resolve().parent.parent


def build(root: Path = ROOT) -> dict[Path, bytes]:
    """Return all generated notebooks of a course: path relative to `root`, content."""
    files: dict[Path, bytes] = {}
    for master in sorted((root / "reference").glob("*.py")):
        table = root / "assignments" / master.stem / "assignment.toml"
        if table.exists():
            assignment = load_assignment(table)
            files |= build_assignment(master, assignment.slug, assignment.version)
    return files


def build_assignment(master_path: Path, slug: str, version: int) -> dict[Path, bytes]:
    """Return the notebooks of one assignment: path relative to the course's folder, content."""
    master = read_master(master_path)
    examples = Path("examples") / slug
    notebooks = {
        Path("templates") / f"{slug}.ipynb": make_template(master, slug, version),
        examples / "reference.ipynb": make_reference(master, slug, version),
    }
    for name, sources in example_cells(slug).items():
        cells = [nbformat.v4.new_code_cell(source.rstrip("\n")) for source in sources]
        notebooks[examples / f"{name}.ipynb"] = make_notebook(cells, slug, version)
    return {path: notebook_bytes(notebook) for path, notebook in notebooks.items()}


def example_cells(slug: str) -> Mapping[str, tuple[str, ...]]:
    """Return the code cells of an assignment's examples by name; empty if it has none."""
    module = f"examples_{slug.replace('-', '_')}"
    if not (ROOT / "tools" / f"{module}.py").exists():
        return {}
    examples: Mapping[str, tuple[str, ...]] = importlib.import_module(module).EXAMPLES
    return examples


def stale(files: Mapping[Path, bytes], root: Path = ROOT) -> list[Path]:
    """Return the paths whose file is missing or differs from what is made now."""
    return [
        path
        for path, content in files.items()
        if not (root / path).exists() or (root / path).read_bytes() != content
    ]


def write(files: Mapping[Path, bytes], root: Path = ROOT) -> None:
    """Write the files, making folders as needed."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


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
