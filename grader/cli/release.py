"""`grader release`: write what students may have, and the archive of what is kept from them."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich.console import Console

from grader.ci.wheel import Wheel, find_installed
from grader.cli.telling import tell
from grader.course import find_course
from grader.errors import UsageError
from grader.files import unwritable, write_whole
from grader.language import say
from grader.release.secret import digest_of, pack_course
from grader.release.write import MANIFEST, release_files, write_release


class ReleaseOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader release`, as they were given."""

    folder: Path
    secret: Path | None = None
    course: Path | None = None
    install: Path | None = None


def run_release(options: ReleaseOptions, output: Console) -> None:
    """Write a release and say what to do with it. Raises GraderError, and writes nothing then."""
    course = find_course(options.course, (Path.cwd(),))
    wheel = find_installed(options.install, options.folder)
    if not isinstance(wheel, Wheel):
        raise UsageError(
            say("A release holds a wheel of the grader."), say("Make it with `make wheel`.")
        )
    archive = None if options.secret is None else pack_course(course)
    digest = None if archive is None else digest_of(archive)
    if options.secret is not None:
        _check_secret(options.secret, options.folder)
    files = release_files(course, wheel, digest)
    try:
        if archive is not None and options.secret is not None:  # which the release has a digest of
            write_whole(options.secret, archive, mode=0o600)
        write_release(options.folder, files, course)
    except OSError as error:
        raise unwritable(
            Path(error.filename or options.folder), error, say("the release")
        ) from None
    tell(output, *(str(options.folder / name) for name in sorted(files)))
    tell(output, say("Next: give it to students, or push it where they can read it."))
    if digest is None:
        tell(output, say("Nothing grades hidden parts and speed there: --secret FILE is for that."))
        return
    tell(
        output,
        say(
            "{path} is the complete course: give it to nobody, commit it nowhere.",
            path=str(options.secret),
        ),
        say("SHA-256 {digest}, which {file} says too.", digest=digest, file=MANIFEST),
        say("Put it where only its address leads, and the address into GRADER_SECRET_URL."),
    )


def _check_secret(secret: Path, folder: Path) -> None:
    if secret.resolve().is_relative_to(folder.resolve()):
        raise UsageError(
            say("{secret} is in the folder that students get.", secret=str(secret)),
            say("Name a file somewhere else."),
        )
    if not secret.absolute().parent.is_dir() or secret.is_dir():
        raise UsageError(
            say("Cannot write {secret}.", secret=str(secret)),
            say("Name a file in a folder that exists."),
        )
