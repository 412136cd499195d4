"""The wheel that a recipe carries: the grader that wrote it, and what else pip installs.

A recipe names no package of a registry but those whose hashes are locked here: under the name of
this one, a registry may have, or get one day, what somebody else has written.
"""

import base64
import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from email import message_from_bytes
from importlib import metadata, resources
from pathlib import Path

import msgspec

import grader
from grader.environment import DISTRIBUTION
from grader.errors import UsageError
from grader.language import say

_FILE_NAME = re.compile(r"tvm_grader-[A-Za-z0-9.!+_]+-py3-none-any\.whl\Z")
_METADATA = re.compile(r"tvm_grader-[^/]+\.dist-info/METADATA\Z")
_INSTALLED = {"INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json"}
"""What installers add to a wheel's notes on itself, and the list that is made anew."""

_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that an archive can hold: the same files make the same wheel."""

MOST_BYTES = 64 * 2**20
"""A wheel that is larger is none of this project's."""


class Wheel(msgspec.Struct, frozen=True):
    """A wheel of this grader: its file name, which pip reads, and its bytes."""

    name: str
    content: bytes

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()


class Checkout(msgspec.Struct, frozen=True):
    """This project's source, in the repository that is graded: its folder, relative to the root."""

    folder: str


Installed = Wheel | Checkout
"""What a recipe installs."""


def find_installed(named: Path | None, repository: Path) -> Installed:
    """Return what a recipe for a repository installs: what was named, else this grader's wheel.

    A wheel, or a folder of the repository that holds this project. Raises UsageError for what is
    not there and for what is something else.
    """
    if named is None:
        return own_wheel()
    if named.is_dir():
        return _checkout(named, repository)
    return read_wheel(named)


def own_wheel(package: Path | None = None) -> Wheel:
    """Return the wheel of the grader that runs: as it is installed, or as `make wheel` built it.

    `package` is the folder of the package. Raises UsageError where it runs from a checkout and
    there is no wheel of it as it is now.
    """
    package = package or Path(grader.__file__).resolve().parent
    checkout = package.parent
    if not (checkout / "pyproject.toml").exists():
        return pack(metadata.distribution(DISTRIBUTION))
    path = checkout / "dist" / f"tvm_grader-{grader.__version__}-py3-none-any.whl"
    if not path.exists():
        raise UsageError(
            say("there-no-wheel-this-version-yet", path=str(path)),
            say("make-with-make-wheel-in-or-name", checkout=str(checkout)),
        )
    wheel = read_wheel(path)
    packed = _packed(wheel)
    if packed != dict(_sources(package, packed)):
        raise UsageError(
            say("differs-from-grader-in-has-changed-since", path=str(path), package=str(package)),
            say("build-wheel-again-with-make-wheel", checkout=str(checkout)),
        )
    return wheel


def read_wheel(path: Path) -> Wheel:
    """Read a wheel of this grader. Raises UsageError for what is not there, and for another one."""
    try:
        content = path.read_bytes() if path.stat().st_size <= MOST_BYTES else b""
    except OSError as error:
        raise UsageError(
            say("there-no-wheel", path=str(path), reason=str(error.strerror)),
            say("recipe-installs-wheel-grader-or-folder-repository"),
        ) from None
    if not (_FILE_NAME.match(path.name) and _is_of_the_grader(content)):
        raise UsageError(
            say("not-wheel", path=str(path), distribution=DISTRIBUTION),
            say("name-file-that-make-wheel-puts-into"),
        )
    return Wheel(path.name, content)


def pack(installed: metadata.Distribution) -> Wheel:
    """Make a wheel of a distribution that is installed. Raises UsageError where it was changed."""
    version = installed.version
    notes = f"tvm_grader-{version}.dist-info"
    files = dict(sorted(_kept(installed)))
    record = "".join(f"{name},{_hash(content)},{len(content)}\n" for name, content in files.items())
    files[f"{notes}/RECORD"] = f"{record}{notes}/RECORD,,\n".encode()
    return Wheel(f"tvm_grader-{version}-py3-none-any.whl", _zipped(files))


def lock_files(installed: Installed) -> dict[str, bytes]:
    """Return by name what stands beside each other for pip: the lock, and the wheel if it is one.

    The lock says `./NAME` of the wheel, so pip must run in their folder.
    """
    locked = _read("requirements.txt")
    files = {"torch.txt": _read("torch.txt")}
    if isinstance(installed, Wheel):
        files[installed.name] = installed.content
        locked += f"./{installed.name} --hash=sha256:{installed.digest}\n".encode()
    return {**files, "requirements.txt": locked}


def _checkout(named: Path, repository: Path) -> Checkout:
    project = named / "pyproject.toml"
    text = project.read_text(encoding="utf-8") if project.exists() else ""
    inside = named.resolve().is_relative_to(repository.resolve())
    if not inside or f'name = "{DISTRIBUTION}"' not in text:
        raise UsageError(
            say("not-folder-repository-that-contains", named=str(named), distribution=DISTRIBUTION),
            say("leave-out-install-or-name-wheel-make"),
        )
    return Checkout(named.resolve().relative_to(repository.resolve()).as_posix())


def _kept(installed: metadata.Distribution) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of what the wheel had, as far as it is unchanged."""
    for file in installed.files or ():
        name = file.as_posix()
        if ".." in file.parts or name.endswith(".pyc") or file.name in _INSTALLED:
            continue
        content = Path(str(file.locate())).read_bytes()
        if file.hash is None or f"{file.hash.mode}={file.hash.value}" != _hash(content):
            raise UsageError(
                say("differs-from-what-installed-no-wheel-can", name=name),
                say("install-grader-again-or-name-wheel"),
            )
        yield name, content


def _hash(content: bytes) -> str:
    digest = hashlib.sha256(content).digest()
    return f"sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def _zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def _is_of_the_grader(content: bytes) -> bool:
    """Say whether a wheel says that it is of this grader, and has nothing beside it.

    A `.pth` file or a script, too, would be installed and run.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            (notes,) = [name for name in names if _METADATA.match(name)]
            folders = ("grader/", notes.removesuffix("METADATA"))
            if not all(name.startswith(folders) and ".." not in name.split("/") for name in names):
                return False
            found = message_from_bytes(archive.read(notes)).get_all("Name")
    except (zipfile.BadZipFile, ValueError, RuntimeError, NotImplementedError, zlib.error):
        return False
    return found == [DISTRIBUTION]


def _packed(wheel: Wheel) -> dict[str, bytes]:
    """Return the package's files in a wheel, by their names in the package."""
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        names = [name for name in archive.namelist() if name.startswith("grader/")]
        return {name.removeprefix("grader/"): archive.read(name) for name in names}


def _sources(package: Path, packed: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the files that a wheel of the package has now: editors may leave others beside them."""
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        if path.is_file() and (path.suffix == ".py" or name in packed):
            yield name, path.read_bytes()


def _read(name: str) -> bytes:
    return resources.files(__package__).joinpath(name).read_bytes()
