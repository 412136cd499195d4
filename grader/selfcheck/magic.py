"""`%grader` in a notebook: reads a line, captures, asks the checker, shows the answer.

Whatever happens is shown as the cell's output. Nothing is raised into the notebook, so that "Run
all" goes on, and nothing of TVM is imported before the notebook has done so.
"""

from __future__ import annotations

import linecache
import os
import re
import shlex
import sys
import traceback
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from IPython.display import display

from grader.course_folder import assignment_files, folder_of_notebook
from grader.errors import GraderError, UsageError
from grader.language import ENGLISH, LANGUAGES, NOTHING, Text, say
from grader.messages.kernel import EntrySpec
from grader.render.speech import speaking, tell
from grader.selfcheck.connection import CheckerClient, CheckError
from grader.selfcheck.messages import AssignmentCard, Checked, CheckParts, FindAssignment, PartCard
from grader.selfcheck.show import Bundle, show_checked, show_message, show_parts

if TYPE_CHECKING:
    from grader.selfcheck.watch import LiveWatcher, Taken

NAME = "grader"

HELP = say("grader-check-part-check-parts-assignment")

_OPTIONS = {"--course": "course", "--lang": "language"}
_COMMANDS = ("check", "parts", "use", "help")


class UsedAssignment(msgspec.Struct, frozen=True):
    """What the notebook has said with `%grader use`."""

    slug: str | None = None
    course: str | None = None
    language: str | None = None


class Magic:
    """`%grader` of one shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._checker = CheckerClient()
        self._choice = UsedAssignment()
        self._watcher: LiveWatcher | None = None
        self._obstacle = ""
        self._failed: FailedImport | None = None
        self._ids: tuple[str, ...] = ()
        self._language: str | None = None

    def load(self) -> None:
        """Make the magic known, and begin to watch as soon as there is TVM."""
        self._shell.register_magic_function(self.run, "line", NAME)
        self._shell.events.register("post_run_cell", self._look)
        self._shell.set_hook("complete_command", self._complete, str_key=f"%{NAME}")
        # The cell of the imports stands above the one that loads this.
        self._remember_failure(getattr(sys, "last_value", None))
        self._look(None)

    def unload(self) -> None:
        """Take everything back."""
        self._shell.magics_manager.magics["line"].pop(NAME, None)
        self._shell.events.unregister("post_run_cell", self._look)
        if self._watcher is not None:
            self._watcher.detach()
        self._checker.close()

    def run(self, line: str) -> None:
        """Do what a line of the magic says, and show what comes of it."""
        try:
            bundle = self._serve(line)
        except CheckError as error:
            bundle = self._show(error.message, error.hint, error.language)
        except GraderError as error:
            bundle = self._show(error.message, error.hint)
        except KeyboardInterrupt:
            bundle = self._show(say("check-interrupted"))
        except Exception as error:  # noqa: BLE001 - the notebook goes on, whatever is wrong with us
            name = type(error).__name__
            bundle = self._show(say("internal-error-in-check", error=name, message=str(error)))
        if bundle is not None:
            display(bundle, raw=True)

    def _show(self, message: Text, hint: Text = NOTHING, language: str | None = None) -> Bundle:
        with speaking(language or self._choice.language or self._language):
            return show_message(message, hint)

    def _serve(self, line: str) -> Bundle | None:
        command, *words = _split(line) or ["help"]
        if command == "check":
            return self._check(words)
        if command == "parts":
            return show_parts(self._find(None))
        if command == "use":
            choice = _chosen(words, self._choice)
            self._choice = msgspec.structs.replace(self._choice, language=choice.language)
            _expect(choice)
            self._choice = choice
            return None
        if command == "help":
            with speaking(self._choice.language or self._language):
                return {"text/plain": tell(HELP)}
        raise UsageError(say("grader-has-no-command", command=command), say("see-grader-help"))

    def _check(self, words: list[str]) -> Bundle:
        wanted = [self._without_slug(word) for word in words]
        card = self._find(wanted[0] if wanted else None)
        parts = _select(card, wanted)
        taken = self._watching().take(_entries(card, parts))
        request = CheckParts(tuple(part.id for part in parts), taken.captures, card.language)
        return _answer(self._checker.ask(request, Checked), taken)

    def _watching(self) -> LiveWatcher:
        self._look(None)
        if self._obstacle:
            raise UsageError(
                say("this-notebooks-tvm-cannot-inspected", error=self._obstacle),
                say("install-version-that-assignment-asks"),
            )
        if self._watcher is None:
            raise UsageError(*self._why_not_imported())
        return self._watcher

    def _why_not_imported(self) -> tuple[Text, Text]:
        if self._failed is None:
            return say("tvm-not-imported-yet"), say("run-cells-above-this-one-first")
        return (
            say(
                "tvm-not-imported-because-import-cell-failed",
                line=self._failed.line,
                error=self._failed.error,
            ),
            say("install-version-that-package-that-fits-others"),
        )

    def _without_slug(self, word: str) -> str:
        """Take the assignment out of `e2e-conv/emit_te`, and remember it."""
        slug, slash, part = word.rpartition("/")
        if slash:
            self._choice = msgspec.structs.replace(self._choice, slug=slug)
        return part

    def _find(self, part: str | None) -> AssignmentCard:
        names = self._shell.user_ns
        request = FindAssignment(
            folder=_working_folder(),
            names=tuple(name for name in list(names) if not name.startswith("_")),
            course=self._choice.course,
            slug=self._choice.slug,
            language=self._choice.language,
            part=part,
            notebook=_notebook_file(names),
        )
        card = self._checker.ask(request, AssignmentCard)
        self._ids = tuple(each.id for each in card.parts)
        self._language = card.language
        return card

    def _remember_failure(self, error: object) -> None:
        if isinstance(error, BaseException) and "tvm" not in sys.modules:
            self._failed = failed_import(error) or self._failed

    def _look(self, result: Any) -> None:
        self._remember_failure(getattr(result, "error_in_exec", None))
        if self._watcher is not None or self._obstacle or "tvm" not in sys.modules:
            return
        try:
            from grader.selfcheck.watch import LiveWatcher

            watcher = LiveWatcher(self._shell)
            watcher.attach()
            self._watcher = watcher
        except Exception as error:  # noqa: BLE001 - another TVM; told when a check is asked for
            self._obstacle = f"{type(error).__name__}: {error}"

    def _complete(self, _shell: Any, event: Any) -> list[str]:
        """Complete commands, and parts once they are known."""
        words = event.line.split()
        is_command = len(words) < 2 or (len(words) == 2 and not event.line.endswith(" "))
        return [*(_COMMANDS if is_command else self._ids)]


_loaded: dict[int, Magic] = {}


def load(shell: Any) -> None:
    """Make `%grader` known to a shell. Mend TVM, if it is there, as a grading does.

    Without that, a notebook's modules end its kernel on a machine that hides instructions, and a
    module of extern calls alone does not run on a machine without a C compiler.
    """
    if "tvm" in sys.modules:
        from grader.inside.common.executables import prepare_linking
        from grader.inside.kernel.preload import detect_what_the_system_shows

        detect_what_the_system_shows()
        prepare_linking()
    unload(shell)
    _loaded[id(shell)] = Magic(shell)
    _loaded[id(shell)].load()


def unload(shell: Any) -> None:
    """Take `%grader` back from a shell, if it is there."""
    magic = _loaded.pop(id(shell), None)
    if magic is not None:
        magic.unload()


def _answer(checked: Checked, taken: Taken) -> Bundle:
    with speaking(checked.language):
        return show_checked(checked, _notes(taken), identity=uuid.uuid4().hex[:12])


def _notes(taken: Taken) -> tuple[Text, ...]:
    unseen = (say("registered-before-load-ext-grader-so-could", name=name) for name in taken.unseen)
    faults = (say("internal-error-in-inspection", fault=fault) for fault in taken.faults)
    return (*unseen, *faults)


def _chosen(words: list[str], before: UsedAssignment) -> UsedAssignment:
    """Read what follows `%grader use`; what is not said stays. Raises UsageError."""
    said: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name = _OPTIONS.get(word, "slug")
        value = word if name == "slug" else next(rest, "")
        if name in said or not value or value.startswith("-"):
            raise UsageError(
                say("grader-use-takes-name-one-assignment"), say("for-example-grader-use-e2e-conv")
            )
        said[name] = value
    if said.get("language", ENGLISH) not in LANGUAGES:
        raise UsageError(
            say("answers-are-not-in-language", code=repr(said["language"])),
            say("known", known=", ".join(LANGUAGES)),
        )
    return msgspec.structs.replace(before, **said)


def _expect(choice: UsedAssignment) -> None:
    """Raise UsageError unless there is what was chosen: the first check is far below this cell."""
    course = folder_of_notebook(choice.course, Path(_working_folder()), os.environ)
    known = [path.parent.name for path in assignment_files(course)]
    if not known:
        raise UsageError(
            say("no-assignment-found"),
            say(
                "open-notebook-in-folder-that-you-given",
                example=f"%grader use {choice.slug or 'SLUG'} --course DIR",
            ),
        )
    if choice.slug is not None and choice.slug not in known:
        raise UsageError(
            say("there-no-assignment-called-in-this-course", slug=choice.slug),
            say("known", known=", ".join(known)),
        )


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return line.split()


def _entries(card: AssignmentCard, parts: Sequence[PartCard]) -> tuple[EntrySpec, ...]:
    """Return what is looked for: the parts that are checked, and those whose module they are of."""
    asked = {part.entry.part for part in parts}
    asked |= {each.part for part in parts for each in part.entry.arguments if each.part}
    return tuple(part.entry for part in card.parts if part.entry.part in asked)


def _select(card: AssignmentCard, wanted: list[str]) -> tuple[PartCard, ...]:
    """Return the parts with these ids or entry names, all without any. Raises UsageError."""
    for word in wanted:
        if not any(_is_meant(part, word) for part in card.parts):
            known = ", ".join(part.id for part in card.parts)
            raise UsageError(
                say("has-no-part-sentence", slug=card.slug, word=word), say("known", known=known)
            )
    return tuple(
        part for part in card.parts if not wanted or any(_is_meant(part, word) for word in wanted)
    )


def _is_meant(part: PartCard, word: str) -> bool:
    return word in (part.id, *part.entry.names)


def _working_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # the notebook removed it
        return os.path.sep


def _notebook_file(names: Mapping[str, Any]) -> str | None:
    """Return the notebook's file, where somebody has told the kernel.

    VS Code binds a name to it, Jupyter Server puts it into the environment.
    """
    for told in (names.get("__vsc_ipynb_file__"), os.environ.get("JPY_SESSION_NAME")):
        if isinstance(told, str) and told.endswith(".ipynb"):
            return told
    return None


# Why a notebook has no TVM: the cell that imports it failed before it came to that.

_TVM = re.compile(r"^[ \t]*(?:import|from)[ \t]+tvm\b", re.MULTILINE)
_IMPORT = re.compile(r"(?:import|from)\s")

_LONGEST_ERROR = 300
"""Characters of an error's message that are shown."""


class FailedImport(NamedTuple):
    """The line of the cell that failed, such as "import torchvision", and the error in a line."""

    line: str
    error: str


def failed_import(error: BaseException) -> FailedImport | None:
    """Return what failed, if the error left a cell that imports TVM at an import; None if not."""
    for frame in traceback.extract_tb(error.__traceback__):
        source = "".join(linecache.getlines(frame.filename))
        line = (frame.line or "").strip()
        if "ipykernel" in frame.filename and _TVM.search(source) and _IMPORT.match(line):
            said = " ".join(str(error).split())
            return FailedImport(line, f"{type(error).__name__}: {said}"[:_LONGEST_ERROR])
    return None
