"""Which wheel a recipe carries, and that it is whole."""

from __future__ import annotations

import io
import shutil
import subprocess
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from grader.ci.wheel import (
    Checkout,
    Wheel,
    find_installed,
    lock_files,
    own_wheel,
    pack,
    read_wheel,
)
from grader.errors import UsageError
from tests.ci.wheels import ROOT, STUB, build


def names(wheel: Wheel) -> set[str]:
    """Return the names of all files in a wheel."""
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        return set(archive.namelist())


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of this project's package, and the wheel of it."""
    wheel = build()
    shutil.copytree(ROOT / "grader", tmp_path / "grader")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / wheel.name).write_bytes(wheel.content)
    return tmp_path


@pytest.fixture
def installed(tmp_path: Path) -> metadata.Distribution:
    """The wheel, unpacked as pip does it."""
    with zipfile.ZipFile(io.BytesIO(build().content)) as archive:
        archive.extractall(tmp_path)
    (notes,) = tmp_path.glob("*.dist-info")
    (notes / "INSTALLER").write_text("pip\n")
    with (notes / "RECORD").open("a") as record:
        record.write(f"../../../bin/grader,,\n{notes.name}/INSTALLER,,\n")
        record.write("grader/__pycache__/course.cpython-311.pyc,,\n")
    return metadata.Distribution.at(notes)


def test_it_has_every_file_of_the_package() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "grader"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(listed.stdout.splitlines()) - names(build()) == set()


def test_it_has_no_file_of_a_course_and_none_of_the_tests() -> None:
    folders = {name.split("/")[0] for name in names(build())}
    assert {"grader", f"tvm_grader-{metadata.version('tvm-grader')}.dist-info"} == folders


class TestOwn:
    """The wheel of the grader that runs."""

    def test_a_checkout_gives_the_one_that_was_built(self, checkout: Path) -> None:
        assert build() == own_wheel(checkout / "grader")

    def test_what_editors_leave_does_not_matter(self, checkout: Path) -> None:
        (checkout / "grader/course.py~").touch()
        assert build() == own_wheel(checkout / "grader")

    def test_a_checkout_without_one_says_how_to_make_it(self, checkout: Path) -> None:
        shutil.rmtree(checkout / "dist")
        with pytest.raises(UsageError, match="no wheel of this version yet") as caught:
            own_wheel(checkout / "grader")
        assert "make wheel" in caught.value.hint.english

    @pytest.mark.parametrize("name", ["course.py", "ci/github.yml", "added.py"])
    def test_one_of_another_state_is_refused(self, checkout: Path, name: str) -> None:
        with (checkout / "grader" / name).open("a") as file:
            file.write("# changed\n")
        with pytest.raises(UsageError, match="it has changed since"):
            own_wheel(checkout / "grader")

    def test_what_is_installed_is_packed_again(self, installed: metadata.Distribution) -> None:
        packed = pack(installed)
        assert names(build()) == names(packed)
        assert build().name == packed.name
        assert packed == pack(installed)

    def test_what_is_packed_can_be_read_as_a_wheel(
        self, installed: metadata.Distribution, tmp_path: Path
    ) -> None:
        packed = pack(installed)
        (tmp_path / packed.name).write_bytes(packed.content)
        assert packed == read_wheel(tmp_path / packed.name)

    def test_what_was_changed_after_it_was_installed_is_refused(
        self, installed: metadata.Distribution
    ) -> None:
        Path(str(installed.locate_file("grader/course.py"))).write_text("")
        with pytest.raises(UsageError, match=r"grader/course.py differs from what was installed"):
            pack(installed)


class TestNamed:
    """What --install names."""

    @pytest.mark.parametrize(
        "name", ["grader-1.2-py3-none-any.whl", "tvm_grader-1-py3-none-any.whl"]
    )
    def test_a_wheel_of_something_else_is_refused(self, tmp_path: Path, name: str) -> None:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("tvm_grader-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: x\n")
        with pytest.raises(UsageError, match="is not a wheel of tvm-grader"):
            find_installed(tmp_path / name, tmp_path)

    @pytest.mark.parametrize(
        "notes",
        [
            "Metadata-Version: 2.1\nName: other\nVersion: 0\n\n\nName: tvm-grader\n",
            "Metadata-Version: 2.1\nName: other\nName: tvm-grader\nVersion: 0\n\n",
        ],
    )
    def test_one_that_only_tells_of_this_grader_is_refused(
        self, tmp_path: Path, notes: str
    ) -> None:
        """Its description may have a line like that of a name."""
        path = tmp_path / "tvm_grader-0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("tvm_grader-0.dist-info/METADATA", notes)
        with pytest.raises(UsageError, match="is not a wheel of"):
            read_wheel(path)

    @pytest.mark.parametrize(
        "name", ["evil.pth", "sitecustomize.py", "../grader/x.py", "tvm_grader-0.data/scripts/pip"]
    )
    def test_one_that_brings_more_than_this_grader_is_refused(
        self, tmp_path: Path, name: str
    ) -> None:
        path = tmp_path / build().name
        path.write_bytes(build().content)
        assert build() == read_wheel(path)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, "import os")
        with pytest.raises(UsageError, match="is not a wheel of"):
            read_wheel(path)

    def test_what_is_no_archive_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / STUB.name).write_bytes(STUB.content)
        with pytest.raises(UsageError, match="is not a wheel of tvm-grader"):
            find_installed(tmp_path / STUB.name, tmp_path)

    def test_a_folder_of_the_repository_may_hold_the_project(self, checkout: Path) -> None:
        assert Checkout(".") == find_installed(checkout, checkout)
        assert Checkout(checkout.name) == find_installed(checkout, checkout.parent)

    @pytest.mark.parametrize("folder", ["dist", ".."])
    def test_another_folder_is_refused(self, checkout: Path, folder: str) -> None:
        with pytest.raises(UsageError, match="is not a folder of the repository"):
            find_installed(checkout / folder, checkout)

    def test_a_checkout_outside_of_the_repository_is_refused(self, checkout: Path) -> None:
        with pytest.raises(UsageError, match="is not a folder of the repository"):
            find_installed(checkout, checkout / "grader")


def test_the_lock_names_the_wheel_by_its_place_and_hash() -> None:
    files = lock_files(STUB)
    assert {STUB.name, "requirements.txt", "torch.txt"} == files.keys()
    *_, last = files["requirements.txt"].decode().splitlines()
    assert f"./{STUB.name} --hash=sha256:{STUB.digest}" == last
