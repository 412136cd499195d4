"""Which data a run uses: a folder, the cache, a download that is checked, or the built-in set."""

import hashlib
import queue
import threading
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath

import msgspec
import platformdirs

from grader.assignment import DataNeeds
from grader.data.dataset import (
    IMAGES,
    LABELS,
    PARAMETERS,
    DataSet,
    Paths,
    Pictures,
    builtin_data,
    find_files,
    no_data,
    read_files,
    read_pictures,
)
from grader.data.parameters import KNOWN
from grader.errors import DataError, Told
from grader.language import foreign, say
from grader.progress import Progress

_CHUNK = 2**16


class Expected(msgspec.Struct, frozen=True):
    """What an official file must be: its size in bytes and its SHA-256."""

    size: int
    sha256: str


class Sources(msgspec.Struct, frozen=True):
    """Where the official files are: base URLs with a final slash. How long to wait, in seconds.

    `connect_seconds` is for one address of a server, `answer_seconds` for its first answer in all
    (look-up of its name, all of its addresses, redirections), `read_seconds` for a pause within a
    download. `test_images` and `test_labels` are what the gzipped files must be.
    """

    images: str = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
    parameters: str = "https://github.com/mlc-ai/web-data/raw/main/models/"
    connect_seconds: float = 3.0
    answer_seconds: float = 5.0
    read_seconds: float = 15.0
    test_images: Expected = Expected(
        4_422_102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"
    )
    test_labels: Expected = Expected(
        5_148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"
    )


class RemoteFile(msgspec.Struct, frozen=True):
    """An official file: where it is, its place in the cache and what it must be."""

    url: str
    path: Path
    expected: Expected


class UnavailableError(Told):
    """Raised when a download cannot be had now; `reason` is a clause for the report."""


def image_files(sources: Sources) -> tuple[RemoteFile, RemoteFile]:
    """Return the official test images and their labels."""
    images, labels = IMAGES.with_suffix(".gz"), LABELS.with_suffix(".gz")
    return (
        RemoteFile(f"{sources.images}{images.name}", images, sources.test_images),
        RemoteFile(f"{sources.images}{labels.name}", labels, sources.test_labels),
    )


def known_parameter_file(name: str, sources: Sources) -> RemoteFile:
    """Return the official parameter file of this name. Raises UnavailableError for others."""
    if name not in KNOWN:
        raise UnavailableError(say("cannot-downloaded", name=name))
    expected = Expected(KNOWN[name].size, KNOWN[name].sha256)
    return RemoteFile(f"{sources.parameters}{name}", PARAMETERS / name, expected)


def is_cached(file: RemoteFile, cache: Path) -> bool:
    """Return whether the cache holds the file, whole. A cache that cannot be read holds nothing."""
    try:
        content = (cache / file.path).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content).hexdigest() == file.expected.sha256


def download_files(
    files: list[RemoteFile], cache: Path, sources: Sources, progress: Progress
) -> None:
    """Download files into the cache; each appears there whole or not at all.

    `progress` counts bytes of all files together. Raises UnavailableError when a server cannot be
    reached or breaks off or the cache cannot be written, DataError when what arrives is not the
    expected file.
    """
    progress.stage(say("downloading-test-data"))
    total, before = sum(file.expected.size for file in files), 0
    for file in files:
        show = _bar(progress, file.path.name, before, total)
        show(0)
        _await_answer(file.url, sources)
        _download(file, cache, sources, show)
        before += file.expected.size


def _bar(progress: Progress, name: str, before: int, total: int) -> Callable[[int], None]:
    """Return what is called with the bytes received of one file, to move the bar over all files."""
    return lambda received: progress.step(before + received, total, foreign(name))


def _await_answer(url: str, sources: Sources) -> None:
    """Return once the server has answered at all. Raises UnavailableError after `answer_seconds`.

    A timeout of `requests` covers neither the look-up of a name nor all addresses of a server
    together: behind a silent firewall that is half a minute. So a thread asks, and is left alone
    when it takes long.
    """
    import requests

    answers: queue.SimpleQueue[requests.RequestException | None] = queue.SimpleQueue()

    def ask() -> None:
        try:
            timeout = (sources.connect_seconds, sources.answer_seconds)
            requests.head(url, timeout=timeout, allow_redirects=True)
            answers.put(None)
        except requests.RequestException as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        error = answers.get(timeout=sources.answer_seconds)
    except queue.Empty:
        raise UnavailableError(say("download-server-did-not-answer-in-time")) from None
    if isinstance(error, requests.ReadTimeout):
        raise UnavailableError(say("download-server-did-not-answer-in-time")) from error
    if error is not None:
        raise UnavailableError(say("download-server-could-not-reached")) from error


def _download(file: RemoteFile, cache: Path, sources: Sources, show: Callable[[int], None]) -> None:
    """Have pooch download one file: to a temporary name, renamed if the checksum is right."""
    import pooch  # here, because it takes 60 ms and most runs need no download
    import requests

    def stream(url: str, output: str, _: object) -> None:
        _stream(url, Path(output), file.expected.size, sources, show)

    pooch.get_logger().setLevel("WARNING")  # progress is shown by us
    target = cache / file.path
    try:
        pooch.retrieve(
            file.url,
            known_hash=f"sha256:{file.expected.sha256}",
            fname=target.name,
            path=target.parent,
            downloader=stream,
        )
    except requests.HTTPError as error:
        raise UnavailableError(say("download-server-does-not-hand-out-file")) from error
    except requests.RequestException as error:
        raise UnavailableError(say("download-broke-off")) from error
    except ValueError as error:
        # From pooch for a wrong checksum, from `_stream` for a file that is too long.
        raise DataError(
            say("download-not-official-file-sha-256-differs", file=target.name),
            say("proxy-may-have-replaced-try-again-later"),
        ) from error
    except OSError as error:
        raise UnavailableError(say("cache-folder-cannot-written")) from error


def _stream(
    url: str, target: Path, size: int, sources: Sources, show: Callable[[int], None]
) -> None:
    """Write what `url` holds to `target`, at most `size` bytes of it.

    pooch's own downloader counts chunks and not bytes, and has no limit.
    """
    import requests

    timeout = (sources.connect_seconds, sources.read_seconds)
    received = 0
    with (
        requests.get(url, stream=True, timeout=timeout) as response,
        target.open("wb") as output,
    ):
        response.raise_for_status()
        for chunk in response.iter_content(_CHUNK):
            received += len(chunk)
            if received > size:
                raise ValueError("longer than the official file")
            output.write(chunk)
            show(received)


class FolderPictures:
    """The images of folders that were named, each read once for all assignments of a batch."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[Path, Path], Pictures] = {}

    def read(self, paths: Paths) -> Pictures:
        """Return the images of these paths. Raises DataError; that is not remembered."""
        key = paths.images, paths.labels
        with self._lock:
            if key not in self._known:
                self._known[key] = read_pictures(paths)
            return self._known[key]


BUILTIN = "builtin"
"""What is given in place of a folder to demand the built-in set."""


def resolve_data(
    needs: DataNeeds,
    *,
    directory: str | Path | None,
    environment: Mapping[str, str],
    progress: Progress,
    offline: bool = False,
    cache: Path | None = None,
    sources: Sources | None = None,
    pictures: FolderPictures | None = None,
) -> DataSet:
    """Return the data that an assignment needs.

    The first of these decides: `directory`, the variable GRADER_DATA, the cache, a download into
    the cache (unless `offline` or GRADER_OFFLINE=1), the built-in set. `directory` and GRADER_DATA
    name a folder or are "builtin". `cache` is the user's cache folder by default, `pictures` has
    what others have read of a folder.

    Raises DataError when a folder that was named lacks files or holds damaged ones, when a download
    has the wrong checksum, or when parameters are asked for that only a folder can hold.
    """
    if needs.dataset == "none":
        return no_data()
    if PurePath(needs.parameters).name != needs.parameters or needs.parameters == "..":
        raise DataError(
            say("assignments-parameters-not-plain-file-name", parameters=str(needs.parameters)),
            say("correct-parameters-under-data-in-assignment-toml"),
        )
    named = _named(directory, environment)
    if named == BUILTIN:
        return builtin_data(needs.parameters, say("built-in-set-asked"))
    if named:
        return _named_folder(Path(named), needs.parameters, pictures)
    offline = offline or environment.get("GRADER_OFFLINE", "0") not in ("", "0")
    cache = cache or platformdirs.user_cache_path("grader", appauthor=False)
    try:
        return _official(needs.parameters, cache, sources or Sources(), progress, offline)
    except UnavailableError as error:
        return builtin_data(needs.parameters, error.reason)


def check_folder(
    directory: str | Path | None,
    environment: Mapping[str, str],
    pictures: FolderPictures | None = None,
) -> None:
    """Raise DataError where a folder was named that no images can be had from.

    Parameters are each assignment's own, and not looked for. `pictures` has the images from then.
    """
    named = _named(directory, environment)
    if named not in ("", BUILTIN):
        _named_folder(Path(named), "", pictures)


def _named(directory: str | Path | None, environment: Mapping[str, str]) -> str:
    return str(directory or environment.get("GRADER_DATA", ""))


def _named_folder(folder: Path, parameter_file: str, pictures: FolderPictures | None) -> DataSet:
    hint = say("check-data-and-variable-grader-data")
    try:
        if not folder.is_dir():
            raise DataError(say("there-no-data-folder", folder=str(folder)), hint)
        paths = find_files(folder, parameter_file)
    except PermissionError:
        raise DataError(say("data-folder-may-not-read", folder=str(folder)), hint) from None
    read = (pictures or FolderPictures()).read(paths)
    return read_files(paths, parameter_file, say("from-data-folder-that-named"), read)


def _official(
    parameter_file: str, cache: Path, sources: Sources, progress: Progress, offline: bool
) -> DataSet:
    """Return the official data set from the cache, downloading what is missing or damaged there.

    Raises UnavailableError when it cannot be had, DataError for a download of a wrong checksum.
    """
    files = list(image_files(sources))
    if parameter_file:
        files.append(known_parameter_file(parameter_file, sources))
    missing = [file for file in files if not is_cached(file, cache)]
    if missing and offline:
        raise UnavailableError(say("cache-lacks-official-data-and-downloads-switched"))
    if missing:
        download_files(missing, cache, sources, progress)
    images, labels, *parameters = [cache / file.path for file in files]
    paths = Paths(images, labels, parameters[0] if parameters else None)
    return read_files(paths, parameter_file, say("official-set-checked-by-sha-256"))
