"""What `grader verify` need not do again: results by the digest of all that they depend on.

Only what was found sound is kept: whatever is wrong, or could not be measured, is looked at again.
The file is in the user's cache, where no sandboxed process may write; where the isolation does not
promise that, nothing is kept and nothing is believed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import platformdirs

from grader.assignment import PartTable
from grader.authoring.mutants import DeclaredMutant
from grader.authoring.verify_result import Inapplicable, Mutant, ScoreRange, VerifiedScore
from grader.decoding import prepared
from grader.environment import describe_environment
from grader.files import write_whole
from grader.grading.preparation import Preparation, common_basis
from grader.language import ENGLISH
from grader.progress import Silent
from grader.report import texts
from grader.sandbox.interface import LEVELS, Level

if TYPE_CHECKING:
    from grader.authoring.subject import Notebooks

WEAKEST: Level = "basic"
"""The weakest isolation that keeps a submission from writing to its user's files."""

_RULES = Path(__file__).parent
_OTHERS = frozenset({"assignment.toml", "mutants.toml"})
"""Files whose tables are looked at one by one."""

_TOLD = ("title", "titles", "guide", "due", "late", "counts", "version", "points", "part")
"""Fields of an assignment that change no result, or are looked at part by part."""

Found = TypeVar("Found")


class Reference(msgspec.Struct, frozen=True):
    """A reference without a problem: its scores, and the cell that each part was captured at."""

    scores: tuple[VerifiedScore, ...]
    cells: dict[str, int]


class Automatic(msgspec.Struct, frozen=True):
    """Mutants that were made of a part, and kinds of which there are none."""

    mutants: tuple[Mutant, ...]
    inapplicable: tuple[Inapplicable, ...]


class KeptResults:
    """The results of one assignment, in a file; in none for `path` None, and nothing is kept.

    `salt` is what else decides about them, such as a seed that was demanded. `is_read` says whether
    earlier results count: if not, they are replaced.
    """

    def __init__(self, path: Path | None, salt: str = "", *, is_read: bool = True) -> None:
        self._path = path
        self._salt = salt
        self._is_read = is_read
        self._found: dict[str, msgspec.Raw] = {}
        self._current: dict[str, bytes] = {}
        self._base = self._reference = self._template = ""
        self._timed = False
        self._parts: list[str] = []
        self._declared: dict[str, str] = {}
        self._counted: dict[str, int] = {}

    @property
    def used(self) -> int:
        """How many mutants' results were taken from an earlier verification."""
        return sum(self._counted.values())

    def describe(self, prepared: Preparation, notebooks: Notebooks, *, timed: bool) -> None:
        """Take down what all results depend on, and read those that there are."""
        if self._path is None:
            return
        self._base = _base(prepared, self._salt)
        self._reference = _code(notebooks.reference)
        self._template = _code(notebooks.template)
        self._timed = timed
        self._parts = [_bytes(each) for each in prepared.course_assignment.assignment.part]
        if self._is_read:
            self._found = _read(self._path)

    def reference(self) -> Reference | None:
        """Return what was known of the reference."""
        return self._find(self._reference_key(), Reference)

    def keep_reference(self, found: Reference) -> None:
        """Keep what is known of a sound reference."""
        self._keep(self._reference_key(), found)

    def _reference_key(self) -> str:
        return self._key("reference", self._reference, str(self._timed), *self._parts)

    def template(self) -> tuple[VerifiedScore, ...] | None:
        """Return the scores of the empty template."""
        return self._find(self._template_key(), tuple[VerifiedScore, ...])

    def keep_template(self, scores: tuple[VerifiedScore, ...]) -> None:
        """Keep the scores of an empty template that gets no points."""
        self._keep(self._template_key(), scores)

    def _template_key(self) -> str:
        return self._key("template", self._template, *self._parts)

    def oracles(self) -> tuple[ScoreRange, ...] | None:
        """Return what was seen of the oracles."""
        return self._find(self._key("oracles"), tuple[ScoreRange, ...])

    def keep_oracles(self, ranges: tuple[ScoreRange, ...]) -> None:
        """Keep what was seen of oracles without a finding."""
        self._keep(self._key("oracles"), ranges)

    def declared(self, part: PartTable, mutant: DeclaredMutant) -> Mutant | None:
        """Return what became of a declared mutant."""
        key = self._key("declared", self._reference, _bytes(part), _bytes(mutant))
        self._declared[mutant.id] = key
        found = self._find(key, Mutant)
        self._counted[key] = int(found is not None)
        return found

    def keep_declared(self, mutant: Mutant) -> None:
        """Keep what became of a declared mutant, if it is as it should be."""
        if mutant.verdict in ("caught", "not_run") and not mutant.advice:
            self._keep(self._declared[mutant.id], mutant)

    def automatic(self, part: PartTable) -> tuple[Mutant | Inapplicable, ...] | None:
        """Return what became of the mutants that were made of a part."""
        key = self._key("automatic", self._reference, _bytes(part))
        found = self._find(key, Automatic)
        self._counted[key] = 0 if found is None else len(found.mutants)
        return None if found is None else (*found.mutants, *found.inapplicable)

    def keep_automatic(self, part: PartTable, found: Iterable[Mutant | Inapplicable]) -> None:
        """Keep what became of a part's mutants, if all of them lost points."""
        every = tuple(found)
        mutants = tuple(each for each in every if isinstance(each, Mutant))
        missing = tuple(each for each in every if isinstance(each, Inapplicable))
        if mutants and all(each.verdict == "caught" and not each.advice for each in mutants):
            key = self._key("automatic", self._reference, _bytes(part))
            self._keep(key, Automatic(mutants, missing))

    def write(self) -> None:
        """Write all results of this verification, and none of an earlier one that was not used."""
        if self._path is None:
            return
        document = {key: msgspec.Raw(value) for key, value in self._current.items()}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(self._path, msgspec.json.encode(document))
        except OSError:  # what cannot be kept is found out again
            return

    def _key(self, *texts: str) -> str:
        return hashlib.sha256(repr((self._base, *texts)).encode()).hexdigest()

    def _find(self, key: str, kind: type[Found]) -> Found | None:
        raw = self._found.get(key)
        if raw is None:
            return None
        try:
            found = msgspec.json.decode(raw, type=prepared(kind), dec_hook=texts.decode)
        except msgspec.MsgspecError:
            return None
        self._current[key] = bytes(raw)
        return found

    def _keep(self, key: str, value: object) -> None:
        if self._path is not None:
            self._current[key] = msgspec.json.encode(value, enc_hook=texts.encoder(ENGLISH))


def kept_results(
    root: Path, slug: str, level: Level, seed: int | None, *, is_read: bool
) -> KeptResults:
    """Return the results of an assignment's last verification; none at a level that is too weak."""
    if LEVELS.index(level) > LEVELS.index(WEAKEST):
        return KeptResults(None)
    folder = platformdirs.user_cache_path("grader", appauthor=False) / "verified"
    name = hashlib.sha256(f"{root.resolve()}\n{slug}".encode()).hexdigest()[:32]
    return KeptResults(folder / f"{name}.json", f"seed {seed}", is_read=is_read)


def _read(path: Path) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=prepared(dict[str, msgspec.Raw]))
    except (OSError, msgspec.MsgspecError):
        return {}


def _base(prepared: Preparation, salt: str) -> str:
    """Return the digest of what all results depend on: grader, packages, data, oracle, limits."""
    chosen = prepared.course_assignment
    nothing = chosen.folder / "no such folder"
    basis = common_basis(prepared.data(Silent()), describe_environment())
    level = prepared.settings.sandbox.level
    own = {*chosen.folder.glob("*"), *((chosen.variant or nothing).glob("*"))}
    files = [each for each in sorted(own) if each.is_file() and each.name not in _OTHERS]
    rules = sorted(_RULES.rglob("*.py"))
    contents = [
        (each.name, hashlib.sha256(each.read_bytes()).hexdigest()) for each in (*files, *rules)
    ]
    table: dict[str, Any] = msgspec.to_builtins(chosen.assignment)
    limits = {name: value for name, value in table.items() if name not in _TOLD}
    return hashlib.sha256(repr((salt, basis, level, contents, limits)).encode()).hexdigest()


def _code(notebook: Any) -> str:
    """Return the digest of a notebook's code: text cells decide nothing."""
    cells = [each.source for each in notebook.cells if each.cell_type == "code"]
    return hashlib.sha256(repr(cells).encode()).hexdigest()


def _bytes(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
