"""A new assignment without its part that is timed: what tests can verify on a busy machine."""

from __future__ import annotations

from pathlib import Path

from grader.authoring.skeleton import make_assignment


def make_small(root: Path, slug: str) -> None:
    """Write a new assignment into a folder, and delete what its comments say may be deleted."""
    make_assignment(root, slug)
    folder = root / "assignments" / slug
    (folder / "workload.py").unlink()
    _cut(folder / "assignment.toml", "\n# --- speed ---", ("points = 20", "points = 10"))
    _cut(folder / "mutants.toml", '\n[[mutant]]\nid = "depth_cut_short"')
    _cut(root / "reference" / f"{slug}.py", "\n# %% [markdown]\n# ## 3. A schedule")


def _cut(path: Path, end: str, change: tuple[str, str] = ("", "")) -> None:
    text = path.read_text(encoding="utf-8")
    assert 1 == text.count(end)
    path.write_text(text[: text.index(end)].replace(*change, 1), encoding="utf-8")
