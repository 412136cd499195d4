"""The mounts of a sandbox, as options."""

from __future__ import annotations

import sys
from pathlib import Path

from grader.sandbox.layout import hiding_options, interpreter_folders


class TestInterpreterFolders:
    def test_the_running_interpreter_is_covered(self) -> None:
        folders = (Path("/usr"), *interpreter_folders())
        for place in (sys.prefix, sys.base_prefix, Path(sys.executable).resolve()):
            assert any(Path(place).is_relative_to(folder) for folder in folders)

    def test_no_folder_is_within_another(self) -> None:
        folders = (Path("/usr"), *interpreter_folders())
        for folder in folders:
            assert not any(folder.is_relative_to(other) for other in folders if other != folder)


class TestHidingOptions:
    def test_a_package_beside_the_libraries_is_covered(self) -> None:
        package = Path("/venv/lib/site-packages/grader")
        options = hiding_options(package, (Path("/venv"),))
        assert options[-4:] == ["--tmpfs", str(package), "--remount-ro", str(package)]

    def test_a_package_in_the_system_s_folder_is_covered(self) -> None:
        assert hiding_options(Path("/usr/lib/python3/dist-packages/grader"), ())

    def test_a_package_elsewhere_is_not_there_anyway(self) -> None:
        assert hiding_options(Path("/home/me/grader"), (Path("/venv"),)) == []
