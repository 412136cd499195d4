"""Which data a run uses: a folder that was named, the cache, a download, or the built-in set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath

import platformdirs

from grader.assignment import DataNeeds
from grader.data.builtin import builtin_data
from grader.data.dataset import DataSet, no_data
from grader.data.download import (
    Sources,
    UnavailableError,
    download_files,
    image_files,
    is_cached,
    known_parameter_file,
)
from grader.data.folder import Paths, find_files, read_files
from grader.errors import DataError
from grader.language import say
from grader.progress import Progress

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
) -> DataSet:
    """Return the data that an assignment needs.

    The first of these decides: `directory`, the variable GRADER_DATA, the cache, a download into
    the cache (unless `offline` or GRADER_OFFLINE=1), the built-in set. `directory` and GRADER_DATA
    name a folder or are "builtin". `cache` is the user's cache folder by default.

    Raises DataError when a folder that was named lacks files or holds damaged ones, when a download
    has the wrong checksum, or when parameters are asked for that only a folder can hold.
    """
    if needs.dataset == "none":
        return no_data()
    if PurePath(needs.parameters).name != needs.parameters or needs.parameters == "..":
        raise DataError(
            say(
                "The assignment's parameters {parameters!r} are not a plain file name.",
                parameters=str(needs.parameters),
            ),
            say("Correct `parameters` under [data] in assignment.toml."),
        )
    named = str(directory or environment.get("GRADER_DATA", ""))
    if named == BUILTIN:
        return builtin_data(needs.parameters, say("the built-in set was asked for"))
    if named:
        return _named_folder(Path(named), needs.parameters)
    offline = offline or environment.get("GRADER_OFFLINE", "0") not in ("", "0")
    cache = cache or platformdirs.user_cache_path("grader", appauthor=False)
    try:
        return _official(needs.parameters, cache, sources or Sources(), progress, offline)
    except UnavailableError as error:
        return builtin_data(needs.parameters, error.reason)


def _named_folder(folder: Path, parameter_file: str) -> DataSet:
    hint = say("Check --data and the variable GRADER_DATA, or use --data builtin.")
    try:
        if not folder.is_dir():
            raise DataError(say("There is no data folder {folder}.", folder=str(folder)), hint)
        paths = find_files(folder, parameter_file)
    except PermissionError:
        raise DataError(
            say("The data folder {folder} may not be read.", folder=str(folder)), hint
        ) from None
    return read_files(paths, parameter_file, say("from the data folder that was named"))


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
        raise UnavailableError(
            say("the cache lacks the official data and downloads are switched off")
        )
    if missing:
        download_files(missing, cache, sources, progress)
    images, labels, *parameters = [cache / file.path for file in files]
    paths = Paths(images, labels, parameters[0] if parameters else None)
    return read_files(paths, parameter_file, say("of the official set, checked by SHA-256"))
