"""What a system hides of its processor is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.inside.launcher.linux import hidden_features


@pytest.mark.parametrize(
    ("cpuinfo", "hidden"),
    [
        ("flags\t: fma avx avx2", ["avx512f"]),
        ("flags : avx avx2 fma avx512f", []),
        ("Features : asimd", []),
    ],
)
def test_features_that_the_system_does_not_show_are_found(
    cpuinfo: str, hidden: list[str], tmp_path: Path
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor : 0\n{cpuinfo}\n")
    promised = {"avx", "avx2", "fma", "avx512f", "sse2"}
    assert hidden_features(promised, tmp_path / "cpuinfo") == hidden
