"""Drawings are the same everywhere, balanced, varied and quick."""

from __future__ import annotations

import hashlib
import time

import numpy as np
from drawing import Draws, draw_images, profile, wave
from train_builtin import TEST_COUNT, TEST_SEED

from grader.data.dataset import CLASS_NAMES, builtin_data
from grader.language import foreign

IMAGES, LABELS = draw_images(TEST_SEED, TEST_COUNT)


def test_the_built_in_images_never_change() -> None:
    """The parameters were trained for these bytes: another NumPy or machine draws the same."""
    assert (
        hashlib.sha256(IMAGES.tobytes()).hexdigest()
        == "7582396a31a868f0e50852ad7e4e8df41746c961c39936c8dd259644b1268484"
    )
    assert (
        hashlib.sha256(LABELS.tobytes()).hexdigest()
        == "f16c09cf678c9a583af50edef22fff4864dfc1e6ca4143e3b30b7740663a7b75"
    )


def test_the_package_has_these_images() -> None:
    data = builtin_data("", foreign("a test asked for it"))
    assert (data.images == IMAGES).all()
    assert (data.labels == LABELS).all()


def test_the_random_words_are_philox() -> None:
    """The first numbers of one stream, written down: a change of the generator shows here first."""
    words = (Draws(seed=1, stream=2, count=1).fractions(3) * 2.0**53).astype(np.int64)
    assert words.tolist() == [2786061037513325, 3215175950021630, 332406459331150]


def test_another_seed_gives_other_images() -> None:
    images, _ = draw_images(TEST_SEED + 1, TEST_COUNT)
    assert not (images.reshape(TEST_COUNT, -1) == IMAGES.reshape(TEST_COUNT, -1)).all(1).any()


def test_classes_are_balanced() -> None:
    counts = np.bincount(LABELS, minlength=len(CLASS_NAMES))
    assert len(CLASS_NAMES) == len(counts) == 10
    assert set(counts.tolist()) == {49, 50}


def test_classes_are_in_random_order() -> None:
    """A batch of neighbours holds different classes."""
    assert (LABELS[1:] != LABELS[:-1]).mean() > 0.8


def test_no_two_images_are_equal_and_none_is_empty() -> None:
    assert len({image.tobytes() for image in IMAGES}) == TEST_COUNT
    assert (IMAGES.reshape(TEST_COUNT, -1) > 32).sum(1).min() > 28


def test_garments_lie_on_black_and_use_all_greys() -> None:
    """As in Fashion-MNIST, the ground is 0."""
    assert (IMAGES[:, (0, -1)][:, :, (0, -1)] == 0).mean() > 0.98
    assert len(np.unique(IMAGES)) == 256


def test_any_number_of_images_can_be_drawn() -> None:
    for count in (1, 3, 10):
        images, labels = draw_images(0, count)
        assert images.shape == (count, 28, 28)
        assert labels.shape == (count,)


def test_drawing_is_quick() -> None:
    """The best of three: a seventh of a second of a processor, far below the bar."""
    times = []
    for _ in range(3):
        start = time.process_time()
        draw_images(TEST_SEED, TEST_COUNT)
        times.append(time.process_time() - start)
    assert min(times) < 2


def test_a_profile_is_constant_beyond_its_ends() -> None:
    places = np.array([[[-2.0, 0.0, 0.25, 1.0, 5.0]]])
    assert profile(places, (0.0, 3.0), (1.0, 1.0)).ravel().tolist() == [3.0, 3.0, 2.5, 1.0, 1.0]


def test_a_wave_has_period_one() -> None:
    assert wave(np.array([0.0, 0.25, 0.5, 0.75, 1.0])).tolist() == [1.0, 0.0, -1.0, 0.0, 1.0]
