"""Which data is used: what was named first, then the cache, then the net, then the built-in set."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from grader.assignment import DataNeeds
from grader.data import resolve_data
from grader.data.dataset import IMAGES, LABELS, write_idx
from grader.data.resolve import Expected, FolderPictures, Sources, check_folder
from grader.errors import DataError
from grader.progress import Silent

from .conftest import CONV, Recorder
from .server import Answer, FileServer

IMAGES_GZ = gzip.compress(write_idx(np.full((7, 28, 28), 200, np.uint8)), mtime=0)
LABELS_GZ = gzip.compress(write_idx(np.arange(7, dtype=np.uint8)), mtime=0)
PLAIN = DataNeeds()
"""An assignment without parameters: the official files of the others are not at hand for a test."""


def expected(content: bytes) -> Expected:
    return Expected(len(content), hashlib.sha256(content).hexdigest())


def sources_at(url: str) -> Sources:
    """Sources that expect the small files above, on a server of the test."""
    return Sources(
        images=url,
        parameters=url,
        connect_seconds=1.0,
        answer_seconds=1.0,
        read_seconds=1.0,
        test_images=expected(IMAGES_GZ),
        test_labels=expected(LABELS_GZ),
    )


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as running:
        running.answers["/t10k-images-idx3-ubyte.gz"] = Answer(IMAGES_GZ)
        running.answers["/t10k-labels-idx1-ubyte.gz"] = Answer(LABELS_GZ)
        yield running


@pytest.fixture
def nowhere() -> Sources:
    """Sources on a port where nothing listens any more."""
    with FileServer() as gone:
        return sources_at(gone.url)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A cache that holds the images and labels."""
    cache = tmp_path / "filled"
    (cache / IMAGES).parent.mkdir(parents=True)
    (cache / IMAGES).with_suffix(".gz").write_bytes(IMAGES_GZ)
    (cache / LABELS).with_suffix(".gz").write_bytes(LABELS_GZ)
    return cache


class TestNamed:
    """A folder that was named is used or is an error, and nothing else is tried."""

    def test_the_argument_goes_before_the_environment(self, needs: DataNeeds, tiny: Path) -> None:
        found = resolve_data(
            needs, directory=tiny, environment={"GRADER_DATA": "builtin"}, progress=Silent()
        )
        assert (found.name, len(found.images)) == ("Fashion-MNIST", 5)

    def test_the_environment_goes_before_the_cache(
        self, tiny: Path, filled: Path, nowhere: Sources
    ) -> None:
        found = resolve_data(
            PLAIN,
            directory=None,
            environment={"GRADER_DATA": str(tiny)},
            progress=Silent(),
            cache=filled,
            sources=nowhere,
        )
        assert len(found.images) == 5

    @pytest.mark.parametrize(
        ("directory", "environment"),
        [("builtin", {}), (None, {"GRADER_DATA": "builtin"})],
        ids=["argument", "environment"],
    )
    def test_the_built_in_set_can_be_demanded(
        self, needs: DataNeeds, filled: Path, directory: str | None, environment: dict[str, str]
    ) -> None:
        found = resolve_data(
            needs, directory=directory, environment=environment, progress=Silent(), cache=filled
        )
        assert found.name == "built-in"
        assert found.detail.english.endswith(", because the built-in set was requested.")

    def test_a_folder_that_is_not_there_is_an_error(self, needs: DataNeeds, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="There is no data folder") as caught:
            resolve_data(needs, directory=tmp_path / "none", environment={}, progress=Silent())
        assert "--data" in caught.value.hint.english

    def test_a_folder_that_lacks_files_is_an_error(self, needs: DataNeeds, tiny: Path) -> None:
        """No silent step to other data, neither for the argument nor for the variable."""
        (tiny / LABELS).unlink()
        for directory, environment in ((tiny, {}), (None, {"GRADER_DATA": str(tiny)})):
            with pytest.raises(DataError, match=r"lacks .*t10k-labels"):
                resolve_data(needs, directory=directory, environment=environment, progress=Silent())

    def test_a_folder_with_a_damaged_file_is_an_error(self, needs: DataNeeds, tiny: Path) -> None:
        (tiny / IMAGES).write_bytes((tiny / IMAGES).read_bytes()[:-1])
        with pytest.raises(DataError, match="t10k-images-idx3-ubyte should hold"):
            resolve_data(needs, directory=tiny, environment={}, progress=Silent())

    def test_its_images_are_read_once_for_all_who_share_them(
        self, needs: DataNeeds, tiny: Path
    ) -> None:
        shared = FolderPictures()
        check_folder(None, {"GRADER_DATA": str(tiny)}, shared)
        (tiny / IMAGES).write_bytes(b"gone since then")
        given = {"directory": tiny, "environment": {}, "progress": Silent()}
        one, other = (resolve_data(each, pictures=shared, **given) for each in (PLAIN, needs))
        assert (5, True) == (len(one.images), one.images is other.images)
        assert one.parameters != other.parameters
        with pytest.raises(DataError):
            resolve_data(PLAIN, **given)

    def test_images_that_cannot_be_read_may_be_later(self, tiny: Path) -> None:
        shared, whole = FolderPictures(), (tiny / IMAGES).read_bytes()
        (tiny / IMAGES).write_bytes(whole[:-1])
        with pytest.raises(DataError):
            check_folder(tiny, {}, shared)
        (tiny / IMAGES).write_bytes(whole)
        check_folder(tiny, {}, shared)

    def test_an_empty_variable_names_nothing(self, filled: Path, nowhere: Sources) -> None:
        found = resolve_data(
            PLAIN,
            directory=None,
            environment={"GRADER_DATA": ""},
            progress=Silent(),
            cache=filled,
            sources=nowhere,
        )
        assert len(found.images) == 7


class TestOfficial:
    """Without a folder, the official files come from the cache or the net, checked either way."""

    def test_a_full_cache_needs_no_network(
        self, server: FileServer, filled: Path, recorder: Recorder
    ) -> None:
        found = resolve_data(
            PLAIN,
            directory=None,
            environment={},
            progress=recorder,
            cache=filled,
            sources=sources_at(server.url),
        )
        assert found.labels.tolist() == list(range(7))
        assert "checked by SHA-256" in found.detail.english
        assert server.requests == []
        assert recorder.stages == []

    def test_an_empty_cache_is_filled(
        self, server: FileServer, tmp_path: Path, recorder: Recorder
    ) -> None:
        """And the next run finds it full."""
        for stages in (1, 1):
            found = resolve_data(
                PLAIN,
                directory=None,
                environment={},
                progress=recorder,
                cache=tmp_path / "cache",
                sources=sources_at(server.url),
            )
            assert (found.name, len(found.images)) == ("Fashion-MNIST", 7)
            assert len(recorder.stages) == stages

    def test_only_what_is_missing_is_downloaded(self, server: FileServer, filled: Path) -> None:
        """A damaged file counts as missing."""
        (filled / LABELS).with_suffix(".gz").write_bytes(b"damaged")
        resolve_data(
            PLAIN,
            directory=None,
            environment={},
            progress=Silent(),
            cache=filled,
            sources=sources_at(server.url),
        )
        assert {request.split("/")[-1] for request in server.requests} == {
            "t10k-labels-idx1-ubyte.gz"
        }

    def test_files_that_nobody_checked_are_not_read_from_the_cache(
        self, tiny: Path, filled: Path, nowhere: Sources
    ) -> None:
        """A plain file beside the checked one would be preferred in a folder that was named."""
        shutil.copy(tiny / IMAGES, filled / IMAGES)
        shutil.copy(tiny / LABELS, filled / LABELS)
        found = resolve_data(
            PLAIN,
            directory=None,
            environment={},
            progress=Silent(),
            cache=filled,
            sources=nowhere,
        )
        assert len(found.images) == 7

    def test_a_wrong_checksum_is_an_error(self, server: FileServer, tmp_path: Path) -> None:
        """Somebody has changed the file on its way: that is not passed over in silence."""
        server.answers["/t10k-labels-idx1-ubyte.gz"] = Answer(LABELS_GZ[:-1] + b"x")
        with pytest.raises(DataError, match="SHA-256 differs"):
            resolve_data(
                PLAIN,
                directory=None,
                environment={},
                progress=Silent(),
                cache=tmp_path,
                sources=sources_at(server.url),
            )

    def test_the_real_parameters_are_downloaded_and_opened(
        self, needs: DataNeeds, server: FileServer, filled: Path, real: Path
    ) -> None:
        """The course's own file, served by the test, passes the checksum that the grader knows."""
        server.answers[f"/{CONV}"] = Answer((real / "params" / CONV).read_bytes())
        found = resolve_data(
            needs,
            directory=None,
            environment={},
            progress=Silent(),
            cache=filled,
            sources=sources_at(server.url),
        )
        assert found.parameters["linear0_weight"].shape == (100, 5408)
        assert (filled / "params" / CONV).is_file()


class TestFallback:
    """Where the official files cannot be had, the built-in set is used, and says why."""

    def test_no_network_leads_to_the_built_in_set(
        self, needs: DataNeeds, nowhere: Sources, tmp_path: Path, recorder: Recorder
    ) -> None:
        """Within seconds, and leaving no file."""
        start = time.monotonic()
        found = resolve_data(
            needs,
            directory=None,
            environment={},
            progress=recorder,
            cache=tmp_path / "cache",
            sources=nowhere,
        )
        assert time.monotonic() - start < 20
        assert (found.name, len(found.images)) == ("built-in", 499)
        assert found.detail.english.endswith(", because the download server could not be reached.")
        assert recorder.stages == ["downloading the test data"]
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]

    def test_a_silent_firewall_costs_the_time_for_one_answer(
        self, needs: DataNeeds, server: FileServer, tmp_path: Path
    ) -> None:
        server.answers["/t10k-images-idx3-ubyte.gz"] = Answer(IMAGES_GZ, delay=30.0)
        start = time.monotonic()
        found = resolve_data(
            needs,
            directory=None,
            environment={},
            progress=Silent(),
            cache=tmp_path,
            sources=sources_at(server.url),
        )
        assert time.monotonic() - start < 20  # of the 30 that it is silent
        assert found.name == "built-in"

    @pytest.mark.parametrize(
        ("offline", "environment"),
        [(True, {}), (False, {"GRADER_OFFLINE": "1"})],
        ids=["argument", "environment"],
    )
    def test_offline_asks_no_server(
        self,
        needs: DataNeeds,
        server: FileServer,
        tmp_path: Path,
        offline: bool,
        environment: dict[str, str],
    ) -> None:
        found = resolve_data(
            needs,
            directory=None,
            environment=environment,
            progress=Silent(),
            offline=offline,
            cache=tmp_path,
            sources=sources_at(server.url),
        )
        assert found.name == "built-in"
        assert found.detail.english.endswith("downloads are switched off.")
        assert server.requests == []

    def test_offline_still_uses_a_full_cache(self, filled: Path, nowhere: Sources) -> None:
        found = resolve_data(
            PLAIN,
            directory=None,
            environment={"GRADER_OFFLINE": "1"},
            progress=Silent(),
            cache=filled,
            sources=nowhere,
        )
        assert found.name == "Fashion-MNIST"

    def test_offline_zero_means_online(self, server: FileServer, tmp_path: Path) -> None:
        found = resolve_data(
            PLAIN,
            directory=None,
            environment={"GRADER_OFFLINE": "0"},
            progress=Silent(),
            cache=tmp_path,
            sources=sources_at(server.url),
        )
        assert found.name == "Fashion-MNIST"

    def test_parameters_of_ones_own_need_a_folder(self, server: FileServer, tmp_path: Path) -> None:
        """Neither the net nor the built-in set has them."""
        with pytest.raises(DataError, match=r"no parameters called mine\.pkl"):
            resolve_data(
                DataNeeds(parameters="mine.pkl"),
                directory=None,
                environment={},
                progress=Silent(),
                cache=tmp_path,
                sources=sources_at(server.url),
            )


@pytest.mark.parametrize("name", ["../params.pkl", "a/b.pkl", "/etc/params.pkl", ".."])
def test_a_parameter_file_is_a_plain_name(name: str) -> None:
    """It becomes a file in the notebook's working folder, and never leaves it."""
    with pytest.raises(DataError, match="not a plain file name"):
        resolve_data(
            DataNeeds(parameters=name), directory="builtin", environment={}, progress=Silent()
        )
