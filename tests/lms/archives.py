"""Archives as learning management systems make them, and as nobody should."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

LINK = 0o120777 << 16


def make_zip(path: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files into an archive; the folders in which they are have entries too."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in sorted({name.rpartition("/")[0] for name in files} - {""}):
            archive.writestr(f"{folder}/", "")
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """Return an archive's bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def make_folder(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def tar_member(archive: tarfile.TarFile, name: str, content: bytes = b"", **fields: object) -> None:
    """Add a member to an archive, with whatever fields."""
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for field, value in fields.items():
        setattr(entry, field, value)
    archive.addfile(entry, io.BytesIO(content))
