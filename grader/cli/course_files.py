"""Commands that write a course's files: `new`, `untranslate`, `template` and `release`."""

import shlex
from pathlib import Path

import msgspec
from rich.console import Console

from grader.authoring.languages import remove_language
from grader.authoring.master import has_master
from grader.authoring.skeleton import make_assignment
from grader.authoring.template import build_templates, find_left_over, find_stale, write_files
from grader.ci.wheel import Wheel, find_installed
from grader.cli.telling import tell
from grader.course import Course, CourseAssignment, find_course
from grader.course_folder import assignment_files
from grader.errors import UsageError
from grader.files import unwritable, write_whole
from grader.language import say
from grader.release.secret import digest_of, pack_course
from grader.release.write import MANIFEST, release_files, write_release


def run_new(slug: str, course: Path | None, languages: str, output: Console) -> list[Path]:
    """Make an assignment in a course's folder; `languages` are codes between commas."""
    root = _new_root() if course is None else course
    codes = [each.strip() for each in languages.split(",") if each.strip()]
    written = make_assignment(root, slug, codes)
    for path in written:
        tell(output, str(path.relative_to(root)))
    where = "" if course is None else f" --course {shlex.quote(str(course))}"
    tell(output, say("complete-already", command=f"grader verify {slug}{where}"))
    return written


def _new_root() -> Path:
    """Return this folder, for a new assignment. Raises UsageError in a course's own folders.

    There would be a course within the course, which commands would find from there alone.
    """
    here = Path.cwd()
    for root in here.parents:
        if assignment_files(root) and here.relative_to(root).parts[0] == "assignments":
            raise UsageError(
                say("this-folder-within-course", root=str(root)),
                say("change-and-run-command-again"),
            )
    return here


def run_untranslate(slug: str, language: str, course: Path | None, output: Console) -> list[Path]:
    """Take a language out of an assignment, and name the files. Raises GraderError."""
    found = find_course(course, (Path.cwd(),))
    changed = remove_language(found.root, found.get(slug), language)
    for path in changed:
        what = "changed" if path.exists() else "removed"
        tell(output, f"{path.relative_to(found.root)}  {what}")
    return changed


# `grader template`: make the notebooks that students start from, or say which are stale.


class TemplateOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader template`, as they were given.

    `slug` is None for all assignments that have a master, `language` None for all of its languages,
    `output` None for the course's folder `templates`.
    """

    slug: str | None = None
    language: str | None = None
    output: Path | None = None
    check: bool = False
    course: Path | None = None


def run_template(options: TemplateOptions, output: Console, messages: Console) -> bool:
    """Write templates and name them on `output`; with `check` name the stale ones alone.

    Returns whether every file is as it should be. Raises GraderError when a template cannot be
    made.
    """
    course = find_course(options.course, (Path.cwd(),))
    folder = course.root / "templates" if options.output is None else options.output
    files: dict[Path, bytes] = {}
    left_over: list[Path] = []
    for chosen in choose_assignments(course, options.slug, messages):
        made = build_templates(course.root, chosen, options.language)
        files |= {folder / name: content for name, content in made.items()}
        if options.language is None:
            left_over += find_left_over(folder, chosen.assignment.slug, made)
    stale = find_stale(files)
    if not options.check:
        write_files({path: files[path] for path in stale})
        _say_written(files, stale, output)
        stale = []
    for path in stale:
        tell(output, say("stale-or-missing", path=_shown(path)))
    for path in left_over:
        left = say("left-over-master-does-not-have", path=_shown(path))
        tell(output, left)
    if stale:
        tell(messages, say("generate-them-again", command=_command(options)))
    return not (stale or left_over)


def choose_assignments(
    course: Course, slug: str | None, messages: Console
) -> list[CourseAssignment]:
    """Return the named assignment, or all that have a master notebook; name those without one."""
    if slug is not None:
        return [course.get(slug)]
    chosen = []
    for each, assignment in course.assignments.items():
        if has_master(course.root, each):
            chosen.append(assignment)
        else:
            tell(messages, say("has-no-master-notebook-nothing-generated", slug=each))
    return chosen


def _say_written(files: dict[Path, bytes], stale: list[Path], output: Console) -> None:
    for path in files:
        done = say("written") if path in stale else say("unchanged")
        tell(output, say("path-done", path=_shown(path), done=done))


def _shown(path: Path) -> str:
    """Return the path as one would type it here."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _command(options: TemplateOptions) -> str:
    words = ["grader", "template"]
    words += [options.slug] if options.slug is not None else []
    words += ["--lang", options.language] if options.language is not None else []
    words += ["--output", str(options.output)] if options.output is not None else []
    words += ["--course", str(options.course)] if options.course is not None else []
    return shlex.join(words)


# `grader release`: write what students may have, and the archive of what is kept from them.


def run_release(
    folder: Path, secret: Path | None, named: Path | None, install: Path | None, output: Console
) -> None:
    """Write a release and say what to do with it. Raises GraderError, and writes nothing then."""
    course = find_course(named, (Path.cwd(),))
    wheel = find_installed(install, folder)
    if not isinstance(wheel, Wheel):
        raise UsageError(say("release-contains-wheel-grader"), say("make-with-make-wheel"))
    archive = None if secret is None else pack_course(course)
    digest = None if archive is None else digest_of(archive)
    if secret is not None:
        _check_secret(secret, folder)
    files = release_files(course, wheel, digest)
    try:
        if archive is not None and secret is not None:  # which the release has a digest of
            write_whole(secret, archive, mode=0o600)
        write_release(folder, files, course)
    except OSError as error:
        raise unwritable(Path(error.filename or folder), error, say("the-release")) from None
    tell(output, *(str(folder / name) for name in sorted(files)))
    tell(output, say("next-give-students-or-push-place"))
    if digest is None:
        tell(output, say("hidden-parts-and-speed-not-graded-there"))
        return
    tell(
        output,
        say("complete-course-do-not-share-or-commit", path=str(secret)),
        say("sha-256-which-says-too", digest=digest, file=MANIFEST),
        say("put-where-only-address-leads-and-address"),
    )


def _check_secret(secret: Path, folder: Path) -> None:
    if secret.resolve().is_relative_to(folder.resolve()):
        raise UsageError(
            say("in-folder-that-students-get", secret=str(secret)), say("name-file-somewhere-else")
        )
    if not secret.absolute().parent.is_dir() or secret.is_dir():
        raise UsageError(
            say("cannot-write", secret=str(secret)), say("name-file-in-folder-that-exists")
        )
