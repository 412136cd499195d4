"""What the process beside the kernel does, without a kernel.

Which data a live notebook is compared on.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax, topi
from tvm.script import relax as R  # noqa: N812

from grader.assignment import DataNeeds
from grader.data.dataset import IMAGES, LABELS, builtin_data, builtin_parameters, write_idx
from grader.data.parameters import pickle_arrays
from grader.errors import DataError, SandboxError, UsageError
from grader.language import NOTHING, foreign
from grader.messages.kernel import Capture, CaptureFailure
from grader.progress import Silent
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.start import SteppingSandbox
from grader.selfcheck.checker import MOST_IMAGES, Checker, notebook_data
from grader.selfcheck.messages import Checked, CheckParts, FindAssignment
from tests.selfcheck.kernels import COURSE, ROOT, write_notebook

NO_SANDBOX = SandboxError(foreign("The sandbox needs Linux."), foreign("Use Linux."))


def no_sandbox() -> SteppingSandbox:
    raise NO_SANDBOX


def real_sandbox() -> SteppingSandbox:
    return choose_sandbox(None, "none")


@pytest.fixture
def checker() -> Iterator[Checker]:
    """A checker on a machine without a sandbox: enough to find assignments."""
    with Checker(no_sandbox, {"GRADER_COURSE": str(COURSE)}) as checker:
        yield checker


def request(folder: Path, **options: str) -> FindAssignment:
    return FindAssignment(folder=str(folder), names=("create_model", "np"), **options)


def model(scale: float = 1.0) -> Capture:
    """The layer of the small course as the kernel would hand it over, right if `scale` is 1."""
    rows, columns = np.arange(16)[:, None], np.arange(8)
    weight = (scale * ((rows * 7 + columns * 3) % 11 - 5) / 8).astype("float32")
    bias = ((np.arange(16) * 5 % 7 - 3) / 4).astype("float32")
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            hidden = builder.emit_te(topi.nn.dense, x, relax.const(weight), relax.const(bias))
            output = builder.emit_output(builder.emit_te(topi.nn.relu, hidden))
        builder.emit_func_output(output)
    document = tvm.ir.save_json(builder.get()).encode()
    return Capture("model", "create_model", 3, True, document)


def check(checker: Checker, part: str, *captures: Capture | CaptureFailure) -> Checked:
    return checker.check(CheckParts((part,), captures, "en"))


class TestFinding:
    def test_the_assignment_that_was_named(self, checker: Checker, tmp_path: Path) -> None:
        assert "tight" == checker.find(request(tmp_path, slug="tight")).slug

    def test_a_name_that_there_is_not(self, checker: Checker, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no assignment called 'huge'"):
            checker.find(request(tmp_path, slug="huge"))

    def test_the_one_that_the_notebooks_metadata_name(
        self, checker: Checker, tmp_path: Path
    ) -> None:
        write_notebook(tmp_path / "hw.ipynb", "1", grader={"assignment": "tight"})
        assert "tight" == checker.find(request(tmp_path, notebook="hw.ipynb")).slug

    def test_what_was_named_counts_more_than_metadata(
        self, checker: Checker, tmp_path: Path
    ) -> None:
        write_notebook(tmp_path / "hw.ipynb", "1", grader={"assignment": "tight"})
        assert "small" == checker.find(request(tmp_path, slug="small", notebook="hw.ipynb")).slug

    def test_a_notebook_that_is_not_there_says_nothing(
        self, checker: Checker, tmp_path: Path
    ) -> None:
        card = checker.find(request(tmp_path, part="extern", notebook="gone.ipynb"))
        assert "trio" == card.slug

    def test_the_only_one_with_a_part_of_that_name(self, checker: Checker, tmp_path: Path) -> None:
        assert "trio" == checker.find(request(tmp_path, part="schedule")).slug

    def test_the_one_most_of_whose_parts_are_in_the_notebook(
        self, checker: Checker, tmp_path: Path
    ) -> None:
        names = ("create_model", "create_extern_model")
        assert "trio" == checker.find(FindAssignment(folder=str(tmp_path), names=names)).slug

    def test_where_several_fit_it_asks(self, checker: Checker, tmp_path: Path) -> None:
        with pytest.raises(UsageError) as caught:
            checker.find(request(tmp_path))
        assert "small, tight, trio" in caught.value.hint.english

    def test_a_course_may_be_named_beside_the_notebook(
        self, checker: Checker, tmp_path: Path
    ) -> None:
        shutil.copytree(COURSE / "assignments" / "small", tmp_path / "ours/assignments/small")
        assert "small" == checker.find(request(tmp_path, course="ours")).slug

    def test_without_a_name_it_is_looked_for_above_the_notebook(self, tmp_path: Path) -> None:
        shutil.copytree(COURSE / "assignments" / "small", tmp_path / "assignments/small")
        (tmp_path / "mine").mkdir()
        with Checker(no_sandbox, {}) as checker:
            assert "small" == checker.find(request(tmp_path / "mine")).slug

    def test_the_language_is_the_notebooks(self, checker: Checker, tmp_path: Path) -> None:
        write_notebook(tmp_path / "hw.ipynb", "1", grader={"assignment": "tight", "language": "ko"})
        assert "ko" == checker.find(request(tmp_path, notebook="hw.ipynb")).language
        found = checker.find(request(tmp_path, notebook="hw.ipynb", language="zh"))
        assert "zh" == found.language


def test_modules_are_run_on_inputs_of_this_check(tmp_path: Path) -> None:
    with Checker(real_sandbox, {"GRADER_COURSE": str(COURSE)}) as checker:
        checker.find(request(tmp_path, slug="small"))
        right, wrong = check(checker, "model", model()), check(checker, "model", model(1.01))
    assert [4, 6] == [each.score for each in right.parts[0].checks]
    assert [4, 0] == [each.score for each in wrong.parts[0].checks]
    assert 0 == right.undecided
    assert "the hidden inputs of the grading" in right.left_out[0].english
    assert any(sentence.english.startswith("Isolation: ") for sentence in right.compared)


def test_without_a_sandbox_modules_are_read_and_not_run(checker: Checker, tmp_path: Path) -> None:
    checker.find(request(tmp_path, slug="small"))
    checked = check(checker, "model", model())
    structure, equivalence = checked.parts[0].checks
    assert "passed" == structure.verdict
    assert "not_graded" == equivalence.verdict
    assert "needs Linux" in equivalence.reason.english
    assert (4, 10, 6) == (checked.parts[0].score, checked.parts[0].max_score, checked.undecided)
    assert () == checked.compared


def test_what_a_course_publishes_is_enough(tmp_path: Path) -> None:
    """docs/selfcheck.md says which files; the reference schedule is not among them."""
    published = tmp_path / "assignments" / "e2e-conv"
    published.mkdir(parents=True)
    for name in ("assignment.toml", "oracle.py"):
        shutil.copy(ROOT / "assignments" / "e2e-conv" / name, published)
    with Checker(no_sandbox, {"GRADER_DATA": "builtin"}) as checker:
        card = checker.find(request(tmp_path, slug="e2e-conv"))
        checked = checker.check(CheckParts(tuple(part.id for part in card.parts), (), "en"))
    assert 3 == len(checked.parts)
    assert [0, 0, 0] == [part.score for part in checked.parts]


def test_hidden_parts_are_neither_listed_nor_needed(tmp_path: Path) -> None:
    """Their models may be missing from what students are given."""
    given = tmp_path / "assignments" / "from-torch"
    given.mkdir(parents=True)
    for name in ("assignment.toml", "oracle.py"):
        shutil.copy(ROOT / "assignments" / "from-torch" / name, given)
    models = "from torch import nn\nMODELS = {'mlp': lambda seed: nn.Linear(784, 10)}\n"
    (given / "models.py").write_text(models, encoding="utf-8")
    with Checker(no_sandbox, {}) as checker:
        card = checker.find(request(tmp_path, slug="from-torch"))
        checked = checker.check(CheckParts(tuple(part.id for part in card.parts), (), "en"))
    assert not [part.title for part in card.parts if "Hidden" in part.title]
    assert "hidden parts, worth 40 points" in checked.left_out[-1].english


class TestData:
    @pytest.fixture
    def notebook_folder(self, tmp_path: Path) -> Path:
        """A folder as the notebook of e2e-conv leaves it, with more images than are compared."""
        data = builtin_data(
            "fasionmnist_mlp_assignment_params.pkl", foreign("the test asks for it")
        )
        many = np.concatenate([data.images, data.images])
        staged = type(data)(
            "Fashion-MNIST", NOTHING, many, np.zeros(len(many), np.uint8), data.parameters,
            data.parameter_file,
        )  # fmt: skip
        for name, content in staged.staged_files().items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return tmp_path

    def test_not_all_images_are_compared_and_that_is_said(self, notebook_folder: Path) -> None:
        with Checker(no_sandbox, {"GRADER_COURSE": str(ROOT)}) as checker:
            checker.find(request(notebook_folder, slug="e2e-conv"))
            assert checker.prepared is not None
            data = checker.prepared.data(Silent())
            left_out = checker.prepared.left_out()
        assert MOST_IMAGES == len(data.images) == len(data.labels)
        assert "300 more test images" in left_out[1].english


NAME = "fasionmnist_mlp_assignment_params.pkl"
NEEDS = DataNeeds(parameters=NAME)
OFFLINE = {"GRADER_OFFLINE": "1", "GRADER_DATA": ""}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a notebook, on a machine without downloaded data."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine"


def put_images(folder: Path, count: int) -> None:
    for path, content in (
        (IMAGES, np.full((count, 28, 28), 7, np.uint8)),
        (LABELS, np.zeros(count, np.uint8)),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(write_idx(content))


def put_parameters(folder: Path, scale: float) -> None:
    arrays = {name: scale * array for name, array in builtin_parameters(NAME).items()}
    np.savez(folder / NAME.replace(".pkl", ".npz"), **arrays)


def test_an_assignment_without_data_has_none(folder: Path) -> None:
    assert "none" == notebook_data(DataNeeds("none"), folder, OFFLINE).name


def test_images_and_parameters_of_the_notebook_are_used(folder: Path) -> None:
    put_images(folder / "data", 5)
    put_parameters(folder, 2.0)
    data = notebook_data(NEEDS, folder, OFFLINE)
    assert (5, 28, 28) == data.images.shape
    doubled = 2 * builtin_parameters(NAME)["conv2d_bias"]
    assert np.array_equal(doubled, data.parameters["conv2d_bias"])
    assert NAME == data.parameter_file


def test_images_may_lie_beside_the_notebook(folder: Path) -> None:
    put_images(folder, 3)
    assert 3 == len(notebook_data(DataNeeds(), folder, OFFLINE).images)


def test_parameters_of_the_notebook_count_with_other_images_too(folder: Path) -> None:
    put_parameters(folder, 3.0)
    data = notebook_data(NEEDS, folder, OFFLINE)
    assert "built-in" == data.name
    tripled = 3 * builtin_parameters(NAME)["linear1_bias"]
    assert np.array_equal(tripled, data.parameters["linear1_bias"])


def test_images_without_the_parameters_are_not_enough(folder: Path) -> None:
    put_images(folder / "data", 5)
    assert "built-in" == notebook_data(NEEDS, folder, OFFLINE).name


def test_the_built_in_parameters_are_known_as_a_pickle(folder: Path) -> None:
    (folder / NAME).write_bytes(pickle_arrays(builtin_parameters(NAME)))
    data = notebook_data(NEEDS, folder, OFFLINE)
    assert builtin_parameters(NAME).keys() == data.parameters.keys()


def test_an_unknown_pickle_is_not_opened(folder: Path) -> None:
    (folder / NAME).write_bytes(pickle_arrays({"w": np.zeros(3, np.float32)}))
    with pytest.raises(DataError, match="unknown SHA-256"):
        notebook_data(NEEDS, folder, OFFLINE)


def test_a_folder_that_was_named_counts_more(folder: Path) -> None:
    put_images(folder / "data", 5)
    put_parameters(folder, 2.0)
    data = notebook_data(NEEDS, folder, {"GRADER_DATA": "builtin"})
    assert len(builtin_data(NAME, NOTHING).images) == len(data.images)
