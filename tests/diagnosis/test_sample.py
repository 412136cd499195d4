"""The test image that is shown: a real one, the most telling one, and never a hidden input."""

from __future__ import annotations

import base64
import io
from types import SimpleNamespace

import matplotlib.image
import msgspec
import numpy as np
import pytest

from grader.assignment import OracleOptions
from grader.data.dataset import DataSet, no_data
from grader.data.drawing import CLASS_NAMES
from grader.diagnosis.sample import choose_sample, encode_png
from grader.evidence.case import Outputs
from grader.evidence.oracle import ModelOracle
from grader.language import foreign
from grader.report import Sample

IMAGES, HIDDEN, KINDS = 30, 20, 10
ALL = np.ones(IMAGES + HIDDEN, bool)


def data() -> DataSet:
    random = np.random.default_rng(5)
    images = random.integers(0, 256, (IMAGES, 28, 28), np.uint8)
    return DataSet("built-in", foreign(""), images, np.arange(IMAGES, dtype=np.uint8) % KINDS, {})


def make(seed: int = 0, images: DataSet | None = None) -> ModelOracle:
    options = OracleOptions((784,), (KINDS,), hidden_inputs=HIDDEN)
    generator = np.random.default_rng(seed)
    return ModelOracle(SimpleNamespace(), options, images or data(), generator)  # type: ignore[arg-type]


def right(oracle: ModelOracle) -> np.ndarray:
    """Scores that know every image's class: 1 for it, 0 for the others."""
    scores = np.zeros((IMAGES + HIDDEN, KINDS))
    images = oracle.from_test_set
    scores[images, oracle.data.labels[oracle.places[images]]] = 1
    return scores


def chosen(oracle: ModelOracle, actual: np.ndarray, wrong: np.ndarray = ALL) -> Sample | None:
    return choose_sample(Outputs(actual, right(oracle), oracle.from_test_set), wrong, oracle)


def row_of(oracle: ModelOracle, place: int) -> int:
    return int(np.flatnonzero(oracle.places == place)[0])


class TestChoice:
    def test_it_is_an_image_whose_class_is_another_one(self) -> None:
        oracle = make()
        actual = right(oracle)
        actual[:, 3] += 0.4  # as large a difference, the same class
        actual[row_of(oracle, 12)] = np.eye(KINDS)[7] * 0.3
        sample = chosen(oracle, actual)
        assert sample is not None
        assert (12, 2, 7, 2) == (sample.place, sample.label, sample.predicted, sample.pytorch)

    def test_an_image_that_pytorch_knows_comes_before_one_that_it_does_not(self) -> None:
        oracle = make()
        actual, desired = right(oracle), right(oracle)
        unknown, known = row_of(oracle, 4), row_of(oracle, 25)
        desired[unknown] = np.eye(KINDS)[9]
        actual[unknown] = np.eye(KINDS)[1] * 5
        actual[known] = np.eye(KINDS)[1]
        outputs = Outputs(actual, desired, oracle.from_test_set)
        sample = choose_sample(outputs, ALL, oracle)
        assert sample is not None and 25 == sample.place

    def test_where_all_classes_agree_it_is_the_largest_difference(self) -> None:
        oracle = make()
        actual = right(oracle) * 1.1
        actual[row_of(oracle, 17)] *= 1.5
        sample = chosen(oracle, actual)
        assert sample is not None and 17 == sample.place

    def test_it_is_the_same_one_in_every_order_of_the_samples(self) -> None:
        found = {chosen(oracle, right(oracle) + 1) for oracle in map(make, range(4))}
        assert 1 == len(found)

    def test_only_samples_that_are_wrong_are_shown(self) -> None:
        oracle = make()
        wrong = np.zeros_like(ALL)
        wrong[row_of(oracle, 8)] = True
        sample = chosen(oracle, right(oracle) + 1, wrong)
        assert sample is not None and 8 == sample.place

    @pytest.mark.parametrize("seed", range(4))
    def test_a_hidden_input_is_never_shown(self, seed: int) -> None:
        oracle = make(seed)
        assert chosen(oracle, right(oracle) + 9, ~oracle.from_test_set) is None


class TestContent:
    def test_it_is_the_image_of_the_test_set_with_its_scores(self) -> None:
        oracle = make()
        sample = chosen(oracle, right(oracle) + 1)
        assert sample is not None
        png = base64.b64decode(sample.image)
        shown = matplotlib.image.imread(io.BytesIO(png), format="png") * 255
        assert np.array_equal(oracle.data.images[sample.place], shown.round())
        assert CLASS_NAMES == sample.classes
        assert np.array_equal(np.eye(KINDS)[sample.label], sample.pytorch_scores)
        assert np.array_equal(np.eye(KINDS)[sample.label] + 1, sample.scores)

    def test_scores_that_are_not_finite_are_none_and_win_nothing(self) -> None:
        oracle = make()
        actual = right(oracle)
        actual[:, 0], actual[:, 1], actual[:, 6] = np.nan, np.inf, 2
        sample = chosen(oracle, actual)
        assert sample is not None
        assert ((None, None), 6) == (sample.scores[:2], sample.predicted)
        assert sample == msgspec.json.decode(msgspec.json.encode(sample), type=Sample)

    def test_images_of_which_no_score_is_finite_are_not_shown(self) -> None:
        oracle = make()
        assert chosen(oracle, np.full((IMAGES + HIDDEN, KINDS), np.nan)) is None


class TestWhereThereIsNone:
    def test_outputs_of_another_shape_are_no_scores(self) -> None:
        oracle = make()
        assert chosen(oracle, np.zeros((IMAGES + HIDDEN, 5))) is None

    def test_an_assignment_without_images_has_none(self) -> None:
        oracle = make(images=no_data())
        outputs = Outputs(np.ones((HIDDEN, KINDS)), np.zeros((HIDDEN, KINDS)), ~ALL[:HIDDEN])
        assert choose_sample(outputs, ALL[:HIDDEN], oracle) is None


def test_a_png_of_any_size_is_read_back() -> None:
    pixels = np.arange(35, dtype=np.uint8).reshape(5, 7) * 7
    shown = matplotlib.image.imread(io.BytesIO(encode_png(pixels)), format="png") * 255
    assert np.array_equal(pixels, shown.round())
