"""How learning management systems lay out what a class handed in, told by its names.

| layout | what is in the folder |
|---|---|
| canvas | `lovelaceada_LATE_1234_5678_hw.ipynb`: name, whether late, user, attachment, file |
| moodle | `Ada Lovelace_12_assignsubmission_file_/hw.ipynb`: name, participant; or no folders |
| gradescope | `submission_1234/hw.ipynb`, and `submission_metadata.yml`, which says whose it is |
| brightspace | `12-34 - Ada Lovelace - Nov 3, 2026 1205 PM/hw.ipynb`, or the same before a file |
| blackboard | `Lab 1_ada_attempt_2026-11-03-12-05-00_hw.ipynb`: assignment, user, time, file |
| classroom | clones of repositories of Classroom 50: `mlc-hw-adalovelace/.git` |
| nbgrader | `submitted/ada/hw/hw.ipynb`, with `timestamp.txt` |
| folders | a folder for each student, or a notebook |

The names are those of Canvas' `ContentZipper` and of Moodle's `assign` plug-in, of Gradescope's
export of submissions, and of downloads of Brightspace and Blackboard. Nothing here opens a
notebook.

A student writes the names of files and of all that is within them, and often a display name. So
only the part of a name that the system has added says whose something is: a name that can be read
as two students' is nobody's.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

import msgspec
import yaml

from grader.batch.collect import FOREIGN_ARCHIVES
from grader.batch.collect import SUFFIXES as NOTEBOOKS
from grader.decoding import prepared
from grader.errors import UsageError
from grader.language import say
from grader.lms.archives import SUFFIXES as ARCHIVES
from grader.lms.archives import LeftOut, is_archive, is_left_behind
from grader.lms.choices import ENDINGS, LAYOUTS, Key, Layout
from grader.lms.delivery import Delivery, FolderContents, told_when
from grader.lms.nbgrader import NOTES, choose_assignment, read_note
from grader.lms.times import read_timestamp, read_words

# The few texts of a YAML file that are needed are read, and all else is passed over. Gradescope
# writes what a class's programs have printed into the file that says whose a submission is. To
# build all of 16 MB took 50 seconds and more memory than there is.


EVERY = "*"
"""Stands for every key of a mapping."""

TEXT = "text"
"""Stands for a text: numbers and times are texts, too, so the number 0012 keeps its zeros."""

Wanted = str | list["Wanted"] | Mapping[str, "Wanted"]
"""The texts to read: one, those of a list whose items are alike, or of some keys of a mapping."""

MOST_EVENTS = 2_000_000
"""So many pieces may a file have; each takes some microseconds."""

_ANCHORS, _LONGEST_ANCHORED = 10_000, 1000
_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # where libyaml is, it is quick
_BEGINS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class TooManyTextsError(Exception):
    """Raised for a file of more pieces than are read."""


def read_texts(text: str, wanted: Wanted) -> object:
    """Return what is wanted of the first document, None where it is of another kind.

    Raises yaml.YAMLError for what is no YAML, and TooManyTextsError.
    """
    return _Texts(text).read(wanted)


class _Texts:
    def __init__(self, text: str) -> None:
        self._events = self._bounded(text)
        self._anchored: dict[str, object] = {}

    def _bounded(self, text: str) -> Iterator[yaml.Event]:
        for count, event in enumerate(yaml.parse(text, Loader=_Loader)):
            if count > MOST_EVENTS:
                raise TooManyTextsError
            yield event

    def read(self, wanted: Wanted) -> object:
        """Return what is wanted of the first document."""
        for event in self._events:
            if isinstance(event, (*_BEGINS, yaml.ScalarEvent)):
                return self._node(event, wanted)
        return None

    def _node(self, event: yaml.Event, wanted: Wanted | None) -> object:
        """Return what is wanted of the node that begins with an event, and read it to its end."""
        if isinstance(event, yaml.AliasEvent):
            return self._anchored.get(event.anchor)
        found: object = None
        if isinstance(event, yaml.ScalarEvent):
            found = event.value
        elif isinstance(event, yaml.MappingStartEvent) and isinstance(wanted, Mapping):
            found = dict(self._pairs(wanted))
        elif isinstance(event, yaml.SequenceStartEvent) and isinstance(wanted, list):
            found = [self._node(each, wanted[0]) for each in self._until(yaml.SequenceEndEvent)]
        else:
            self._pass_over()
        self._remember(event, found, is_wanted=wanted is not None)
        return found

    def _pairs(self, wanted: Mapping[str, Wanted]) -> Iterator[tuple[str, object]]:
        for event in self._until(yaml.MappingEndEvent):
            key = self._node(event, None)
            below = wanted.get(EVERY, wanted.get(key)) if isinstance(key, str) else None
            value = self._node(next(self._events), below)
            if isinstance(key, str) and below is not None:
                yield key, value

    def _until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

    def _pass_over(self) -> None:
        """Read to the end of a mapping or a list, however deep it is."""
        depth = 1
        while depth:
            event = next(self._events)
            depth += isinstance(event, _BEGINS) - isinstance(event, _ENDS)
            if isinstance(event, yaml.ScalarEvent):
                self._remember(event, event.value, is_wanted=False)

    def _remember(self, event: yaml.Event, found: object, *, is_wanted: bool) -> None:
        """Keep what an alias may stand for: Ruby writes a text that it has written as one."""
        anchor = getattr(event, "anchor", None)
        is_short = isinstance(found, str) and len(found) <= _LONGEST_ANCHORED
        if anchor and (is_wanted or is_short) and len(self._anchored) < _ANCHORS:
            self._anchored[anchor] = found


_METADATA = "submission_metadata.yml"
_METADATA_LIMIT = 16 * 2**20
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML has none of: colours of a terminal, say, in a student's output."""

_TIMESTAMP = "timestamp.txt"


def _nobody(_: str) -> bool:
    return False


def read_layout(
    folder: Path,
    demanded: Layout | None = None,
    assignment: str | None = None,
    is_student: Callable[[str], bool] = _nobody,
) -> FolderContents:
    """Read what a class handed in, by the layout that is demanded or the one that is recognised.

    A layout is recognised where it explains more than half of the names; what it does not explain
    is among the strangers. `assignment` is a folder of nbgrader's, or what clones are called
    before the login. A folder that `is_student` knows is not looked through for a layout. Raises
    UsageError where a layout is demanded that explains nothing, and where there are several
    assignments, or not that one.
    """
    tried: tuple[Layout, ...] = LAYOUTS[:-1] if demanded is None else (demanded,)
    places = _places(_Place(folder), is_student)
    for place in places:
        for layout in tried:
            found = _READERS[layout](place, assignment)
            if found is not None and _is_recognised(found, demanded):
                return found
    if demanded is None:
        found = _folders(places[0], None)
        if found.handed_in:
            return found
        raise UsageError(
            say("contains-no-submissions", name=folder.name),
            say("name-archive-or-folder-that-contains-students"),
        )
    raise UsageError(
        say("nothing-in-has-layout", name=folder.name, layout=demanded),
        say("leave-out-from-or-name-folder"),
    )


def _places(place: _Place, is_student: Callable[[str], bool]) -> list[_Place]:
    """Return the folder, and the only one in it: many programs pack one folder around all.

    A student's own folder is none of these: what is in it, the student has named.
    """
    inside = place.entries
    is_around = len(inside) == 1 and inside[0].is_dir() and not is_student(inside[0].name)
    return [place, *(map(_Place, inside) if is_around else ())]


def _is_recognised(found: FolderContents, demanded: Layout | None) -> bool:
    # a name that is nobody's is the layout's all the same
    explained = len(found.handed_in) + len(found.left_out)
    is_most = found.certain or explained > len(found.strangers)
    return explained > 0 and (demanded is not None or is_most)


class _Place:
    """A folder that is looked at by one layout after the other: it is listed once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @functools.cached_property
    def entries(self) -> list[Path]:
        """The folder's contents, sorted and filtered by `_entries`."""
        return _entries(self.path)

    @functools.cached_property
    def folders(self) -> frozenset[Path]:
        """Which of its entries are folders."""
        return frozenset(each for each in self.entries if each.is_dir())


def _entries(folder: Path) -> list[Path]:
    """Return what is in a folder, by name, without what programs leave behind, and no links."""
    found = sorted(folder.iterdir(), key=lambda each: each.name)
    return [each for each in found if not is_left_behind(each.name) and not each.is_symlink()]


_Files = tuple[tuple[Path, str], ...]


def _all_files(folder: Path) -> _Files:
    found: list[tuple[tuple[str, ...], str]] = []
    pending: list[tuple[tuple[str, ...], str]] = [((), str(folder))]
    while pending:
        parts, place = pending.pop()
        with os.scandir(place) as entries:
            for each in entries:
                if is_left_behind(each.name) or each.is_symlink():
                    continue
                if each.is_dir():
                    pending.append(((*parts, each.name), each.path))
                elif each.is_file():
                    found.append(((*parts, each.name), each.path))
    return tuple((Path(path), "/".join(parts)) for parts, path in sorted(found))


# Digits are ASCII's throughout: systems write no others, and a number that somebody spelt with
# full-width ones would be taken for another student's, who then had two hand-ins and no row.
# What a student writes may hold any character, line ends too: `.` is DOTALL's.

# --- Canvas ---------------------------------------------------------------------------------------

# Ruby's letters have marks, as Devanagari and Thai do between theirs; Python's `\w` has none.
_CANVAS_WHO = r"(?P<name>[^\s!-/:-@\[-^`{-~]+?)_(?P<late>LATE_)?(?P<user>[0-9]+)"
_CANVAS = re.compile(rf"{_CANVAS_WHO}_(?P<file>[0-9]+)_(?P<rest>.+)", re.DOTALL)
_CANVAS_ANONYMOUS = re.compile(
    r"(?P<late>LATE_)?anon_(?P<user>\w+?)_(?P<file>[0-9]+)_(?P<rest>.+)", re.DOTALL
)
_CANVAS_TEXT = re.compile(rf"{_CANVAS_WHO}_(?P<rest>text|link)\.html")
_CANVAS_LATER = re.compile(r"_(?P<user>[0-9]+)_(?P<file>[0-9]+)_(?=.)", re.DOTALL)


def _canvas(place: _Place, _: str | None) -> FolderContents:
    """Read Canvas' names. Files of one user belong together."""
    entries = place.entries
    read = [(path, _CANVAS_ANONYMOUS.fullmatch(path.name)) for path in entries]
    if not all(match for _, match in read):  # Canvas hides all names, or none
        read = [(path, _canvas_match(path.name)) for path in entries]
    digits = sorted(len(m["file"]) for _, m in read if m is not None and m.re is not _CANVAS_TEXT)
    usual = digits[len(digits) // 2] if digits else 0
    found: dict[str, list[tuple[Path, str]]] = {}
    told: dict[str, re.Match[str]] = {}
    strangers, unclear = [], []
    for path, match in read:
        if match is None or not path.is_file():
            strangers.append(path.name)
            continue
        if match.re is _CANVAS and _is_anothers(path.name, match, usual):
            unclear.append(LeftOut(path.name, "unclear"))
            continue
        told.setdefault(match["user"], match)
        name = f"{match['rest']}.html" if match.re is _CANVAS_TEXT else match["rest"]
        found.setdefault(match["user"], []).append((path, name))
    handed_in = tuple(
        Delivery(
            name=told[user].groupdict().get("name", ""),
            keys={"canvas": user},
            files=tuple(files),
            late=told[user]["late"] is not None,
            given=files[0][0].name,
        )
        for user, files in found.items()
    )
    return FolderContents("canvas", handed_in, tuple(strangers), tuple(unclear))


def _canvas_match(name: str) -> re.Match[str] | None:
    return _CANVAS.fullmatch(name) or _CANVAS_TEXT.fullmatch(name)


def _is_anothers(name: str, first: re.Match[str], usual: int) -> bool:
    """Say whether a name may be a student's who is called like the beginning of another's.

    Canvas takes `_77_` out of display names, but not `_7-7_`, which becomes that. The attachment's
    number is Canvas' own, so a later one that is as long as the others may be the true one; the
    `1_2` of a file called `hw_1_2.ipynb` is not.
    """
    start = first.start("user") + 1
    later = (_CANVAS_LATER.match(name, at) for at in range(start, len(name)))
    if any(match is not None and len(match["file"]) >= usual - 1 for match in later):
        return True
    text = _CANVAS_TEXT.fullmatch(name)
    return text is not None and text["user"] != first["user"]


# --- Moodle and Brightspace -----------------------------------------------------------------------


def _read_names(
    place: _Place, folder: re.Pattern[str], file: re.Pattern[str], once: re.Pattern[str]
) -> tuple[list[tuple[re.Match[str], _Files]], list[str], list[LeftOut]]:
    """Return what names say of their files, which are strangers, and which are nobody's.

    Of a folder's name the end is the system's. In a file's both what comes before and what comes
    after is a student's: of one with the system's part in it twice it is not known which counts.
    """
    found: list[tuple[re.Match[str], _Files]] = []
    strangers, unclear = [], []
    for path in place.entries:
        is_folder = path in place.folders
        match = (folder if is_folder else file).fullmatch(path.name)
        if match is None:
            strangers.append(path.name)
        elif not is_folder and len(once.findall(path.name)) > 1:
            unclear.append(LeftOut(path.name, "unclear"))
        else:
            files = _all_files(path) if is_folder else ((path, match["rest"] or path.name),)
            found.append((match, files))
    return found, strangers, unclear


_MOODLE_PART = r"_(?P<participant>[0-9]+)_assignsubmission_(?P<kind>file|onlinetext)"
_MOODLE_FOLDER = re.compile(rf"(?P<name>.+){_MOODLE_PART}_?", re.DOTALL)
_MOODLE_FILE = re.compile(rf"(?P<name>.+?){_MOODLE_PART}_?(?P<rest>.*)", re.DOTALL)
_MOODLE_PARTS = re.compile(rf"{_MOODLE_PART}(?=_|$)")


def _moodle(place: _Place, _: str | None) -> FolderContents:
    """Read Moodle's names. Files and the text typed online belong together."""
    found: dict[str, list[tuple[Path, str]]] = {}
    names: dict[str, str] = {}
    read, strangers, unclear = _read_names(place, _MOODLE_FOLDER, _MOODLE_FILE, _MOODLE_PARTS)
    for match, files in read:
        names.setdefault(match["participant"], match["name"])
        found.setdefault(match["participant"], []).extend(files)
    handed_in = tuple(
        Delivery(
            names[participant],
            {"moodle": participant},
            tuple(files),
            given=f"{names[participant]}_{participant}",
        )
        for participant, files in found.items()
    )
    return FolderContents("moodle", handed_in, tuple(strangers), tuple(unclear))


# --- Gradescope -----------------------------------------------------------------------------------


class _Submitter(msgspec.Struct, rename=lambda name: f":{name}"):
    name: str | None = None
    sid: str | None = None
    email: str | None = None


_WANTED: Wanted = {
    EVERY: {
        ":submitters": [{":name": TEXT, ":sid": TEXT, ":email": TEXT}],
        ":created_at": TEXT,
    }
}


class _Metadata(msgspec.Struct, rename=lambda name: f":{name}"):
    submitters: list[_Submitter] = []
    created_at: str | None = None


def _gradescope(place: _Place, _: str | None) -> FolderContents | None:
    """Read Gradescope's export. What a group handed in is handed in by each of it."""
    metadata = place.path / _METADATA
    if not metadata.is_file() or metadata.is_symlink():
        return None
    told = _read_metadata(metadata)
    handed_in: list[Delivery] = []
    strangers = []
    for path in place.entries:
        if path == metadata:
            continue
        submission = told.get(path.name)
        if submission is None or not submission.submitters:
            strangers.append(path.name)
            continue
        files = _all_files(path) if path.is_dir() else ((path, path.name),)
        handed_in += [
            _of_submitter(submitter, files, submission.created_at, path.name)
            for submitter in submission.submitters
        ]
    here = {path.name for path in place.entries}
    missing = (name for name, each in told.items() if each.submitters and name not in here)
    left_out = tuple(LeftOut(name, "missing") for name in missing)
    return FolderContents("gradescope", tuple(handed_in), tuple(strangers), left_out, certain=True)


def _read_metadata(path: Path) -> dict[str, _Metadata]:
    """Return what is said of submissions. Raises UsageError where it is not what is expected.

    All scalars are texts: a tag of Ruby's or a 30th of February in a field that is not needed here
    does no harm, and the number 0012 keeps its zeros.
    """
    with path.open("rb") as file:
        content = file.read(_METADATA_LIMIT + 1)
    if len(content) > _METADATA_LIMIT:
        raise _too_large()
    try:
        text = _UNPRINTABLE.sub("\ufffd", content.decode(errors="replace"))
        return msgspec.convert(read_texts(text, _WANTED), type=prepared(dict[str, _Metadata]))
    except TooManyTextsError:
        raise _too_large() from None
    except (msgspec.MsgspecError, yaml.YAMLError, ValueError, TypeError, RecursionError):
        raise UsageError(
            say("not-what-gradescope-writes", file=_METADATA), say("export-submissions-again")
        ) from None


def _too_large() -> UsageError:
    return UsageError(
        say("too-large-read", file=_METADATA), say("name-submissions-folders-by-roster-ids")
    )


def _of_submitter(
    submitter: _Submitter,
    files: _Files,
    created_at: str | None,
    submission: str,
) -> Delivery:
    given = {"sid": submitter.sid, "email": submitter.email, "gradescope": submission}
    keys = {key: str(value) for key, value in given.items() if value not in (None, "")}
    at = told_when(created_at or "", read_timestamp)
    return Delivery(submitter.name or "", cast("Mapping[Key, str]", keys), files, **at)


_WORD = r"[^\W\d_][^\s\d]{0,11}"
_BRIGHTSPACE_DATE = (
    rf"(?:(?:{_WORD} [0-9]{{1,2}},?|[0-9]{{1,2}}\.? (?:de )?{_WORD}) (?:de )?[0-9]{{4}}"
    r"|[0-9]{4}(?: ?[年년] ?[0-9]{1,2} ?[月월] ?[0-9]{1,2} ?[日일]|(?:-[0-9]{2}){2}))"
)
_BRIGHTSPACE_CLOCK = rf"(?:{_WORD} ?)?[0-9]{{1,2}}(?:(?: ?h ?|[.:_])?[0-9]{{2}})?(?: {_WORD})?"
_BRIGHTSPACE_TIME = rf" - (?P<at>{_BRIGHTSPACE_DATE},? {_BRIGHTSPACE_CLOCK})"
"""Dates of the site's language, as "Mar 29, 2018 1205 PM" and "29 mars 2018 12 h 05"."""

_BRIGHTSPACE_TIMES = re.compile(_BRIGHTSPACE_TIME)
_BRIGHTSPACE_WHO = r"(?P<user>[0-9]+)-(?P<folder>[0-9]+) - (?P<name>.+"
_BRIGHTSPACE_FOLDER = re.compile(rf"{_BRIGHTSPACE_WHO}){_BRIGHTSPACE_TIME}", re.DOTALL)
_BRIGHTSPACE_FILE = re.compile(
    rf"{_BRIGHTSPACE_WHO}?){_BRIGHTSPACE_TIME} - (?P<rest>.+)", re.DOTALL
)
_BRIGHTSPACE_PAGE = "index.html"


def _brightspace(place: _Place, _: str | None) -> FolderContents:
    """Read Brightspace's names. What one student handed in at one time belongs together."""
    found: dict[tuple[str, str], list[tuple[Path, str]]] = {}
    names: dict[str, str] = {}
    read, strangers, unclear = _read_names(
        place, _BRIGHTSPACE_FOLDER, _BRIGHTSPACE_FILE, _BRIGHTSPACE_TIMES
    )
    strangers = [each for each in strangers if each != _BRIGHTSPACE_PAGE]
    for match, files in read:
        names.setdefault(match["user"], match["name"])
        found.setdefault((match["user"], match["at"]), []).extend(files)
    handed_in = tuple(
        Delivery(names[user], {"brightspace": user}, tuple(files), **told_when(words, read_words))
        for (user, words), files in found.items()
    )
    return FolderContents("brightspace", handed_in, tuple(strangers), tuple(unclear))


# --- Blackboard -----------------------------------------------------------------------------------


_BLACKBOARD_TIME = r"_attempt_(?P<day>[0-9]{4}(?:-[0-9]{2}){2})-(?P<clock>[0-9]{2}(?:-[0-9]{2}){2})"
_BLACKBOARD_TIMES = re.compile(_BLACKBOARD_TIME)
# Behind another system's part of a name, a student has written it: `x_bob_attempt_...` in Moodle.
_BLACKBOARD_WHO = rf"(?P<who>(?:(?!{_MOODLE_PART}|{_BRIGHTSPACE_TIME}).)+?)"
_BLACKBOARD = re.compile(rf"{_BLACKBOARD_WHO}{_BLACKBOARD_TIME}(?:_(?P<rest>.+)|\.txt)", re.DOTALL)


def _blackboard(place: _Place, assignment: str | None) -> FolderContents:
    """Read Blackboard's names. Both an assignment and a user's name may have underscores."""
    found: dict[tuple[str, str], list[tuple[Path, str]]] = {}
    read, strangers, unclear = _read_names(place, _BLACKBOARD, _BLACKBOARD, _BLACKBOARD_TIMES)
    for match, files in read:
        at = f"{match['day']} {match['clock'].replace('-', ':')}"
        found.setdefault((match["who"], at), []).extend(files)
    handed_in = tuple(
        Delivery(
            "",
            _ending_keys(who, assignment, "blackboard"),
            tuple(files),
            **told_when(at, read_timestamp),
        )
        for (who, at), files in found.items()
    )
    return FolderContents("blackboard", handed_in, tuple(strangers), tuple(unclear))


# --- Classroom 50, and GitHub Classroom before it -------------------------------------------------


def _classroom(place: _Place, assignment: str | None) -> FolderContents:
    """Read clones of repositories. Git is not run in them: their settings may name programs.

    A clone is named after the assignment and the student's login, which may both have hyphens.
    Where the `assignment` is not told, a roster shows where it ends (`clone_prefix`).
    """
    entries = place.entries
    clones = [each for each in entries if each in place.folders and (each / ".git").exists()]
    known = set(clones)
    return FolderContents(
        "classroom",
        tuple(
            Delivery("", _ending_keys(each.name, assignment, "classroom"), _all_files(each))
            for each in clones
        ),
        tuple(each.name for each in entries if each not in known),
    )


def _ending_keys(name: str, assignment: str | None, layout: Layout) -> dict[Key, str]:
    hyphen, key = ENDINGS[layout]
    prefix = f"{assignment}{hyphen}"
    login = name.removeprefix(prefix) if assignment and name.startswith(prefix) else ""
    return {"folder": name, key: login} if login else {"folder": name}


# --- nbgrader -------------------------------------------------------------------------------------


_OF_NBGRADER = frozenset({"source", "release", "autograded", "feedback", "exchange"})


def _nbgrader(place: _Place, assignment: str | None) -> FolderContents | None:
    """Read nbgrader's folder of what was submitted. Raises UsageError for no certain assignment.

    nbgrader makes a folder for each student, in it one for each assignment, and nothing beside
    these. One student's folder that looks so is no class's.
    """
    beside = [each for each in place.entries if each.name != "submitted"]
    submitted = place.path / "submitted"
    is_course = submitted.is_dir() and not submitted.is_symlink()
    if is_course and any(each.is_dir() and each.name not in _OF_NBGRADER for each in beside):
        return None
    students = _entries(submitted) if is_course else place.entries
    works = {each: _works_of(each) for each in students}
    stamped = sum(any((e / _TIMESTAMP).is_file() for e in inner) for inner in works.values())
    if not is_course and 2 * stamped <= len(students):
        return None
    known = sorted({inner.name for inners in works.values() for inner in inners})
    wanted = choose_assignment(known, assignment)
    handed_in = tuple(
        _submitted(student.name, inner)
        for student, inners in works.items()
        for inner in inners
        if inner.name == wanted
    )
    strangers = tuple(student.name for student, inners in works.items() if not inners)
    explained = {*(each.keys["folder"] for each in handed_in), *strangers}
    others = (each.name for each in students if each.name not in explained)
    left_out = tuple(LeftOut(name, "unsubmitted") for name in others)
    return FolderContents("nbgrader", handed_in, strangers, left_out, certain=is_course)


def _works_of(student: Path) -> list[Path]:
    """Return the assignments in a student's folder; none where it is not as nbgrader makes it."""
    inside = _entries(student) if student.is_dir() else []
    return inside if all(each.is_dir() for each in inside) else []


def _submitted(student: str, folder: Path) -> Delivery:
    note = read_note(folder, folder.name)
    return Delivery(
        "",
        {"folder": student},
        tuple(each for each in _all_files(folder) if each[1] not in NOTES),
        **told_when(note.timestamp, read_timestamp),
        given=note.given,
    )


# --- folders --------------------------------------------------------------------------------------


def _folders(place: _Place, _: str | None) -> FolderContents:
    """Read a folder for each student; a notebook or an archive beside them is somebody's, too."""
    entries = place.entries
    theirs = [each for each in entries if each.is_dir() or _is_handed_in(each.name)]
    known = set(theirs)
    return FolderContents(
        "folders",
        tuple(
            Delivery(
                "",
                {"folder": each.name if each.is_dir() else _stem(each.name)},
                _all_files(each) if each.is_dir() else ((each, each.name),),
                entry=each.name,
            )
            for each in theirs
        ),
        tuple(each.name for each in entries if each not in known),
    )


def _is_handed_in(name: str) -> bool:
    return name.lower().endswith((*NOTEBOOKS, *FOREIGN_ARCHIVES)) or is_archive(name)


def _stem(name: str) -> str:
    ends = sorted((*NOTEBOOKS, *FOREIGN_ARCHIVES, *ARCHIVES), key=len, reverse=True)
    end = next((each for each in ends if name.lower().endswith(each)), "")
    return name[: len(name) - len(end)]


_READERS: Mapping[Layout, Callable[[_Place, str | None], FolderContents | None]] = {
    "canvas": _canvas,
    "moodle": _moodle,
    "gradescope": _gradescope,
    "brightspace": _brightspace,
    "blackboard": _blackboard,
    "classroom": _classroom,
    "nbgrader": _nbgrader,
    "folders": _folders,
}
