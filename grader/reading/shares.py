"""Shares of a class's archive: whose a member is, and whose members leave no room for others.

The folders that lie beside one another in an archive are its students'. Those with the fewest
members come first, so a flood of files costs only the student who made it.
"""

from typing import NamedTuple

_USUAL = 10
"""A student with more than a tenth of all files is counted to the end before more is unpacked."""

_AROUND = 5
"""So is the only folder until then with more than a fifth: it is around all, or a student's."""

_REFUSED = 100
"""So many students are known by name of whom not all could be unpacked."""

_KNOWN = 4
"""So many times the files that may be are known by name."""

_SUBMITTED = "submitted"
"""nbgrader's folder around the students'."""

Whose = tuple[str, ...]


class CrowdedError(Exception):
    """Raised for an archive that holds more students than files may be."""


def path_of(name: str) -> Whose:
    """Return the names in a member's path, as the grader's end will read them."""
    return tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


class Refused(NamedTuple):
    """A student of whom a member was not unpacked at once, and whether there is a folder."""

    whose: Whose
    is_folder: bool


class _Groups:
    """Files and bytes of students whose folders lie `depth` folders deep.

    Names are kept as hashes: 25,000 names of a kilobyte are more than a reader's memory.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self.files: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        self.waiting: set[int] = set()
        self.refused: dict[int, Refused] = {}

    def whose(self, path: Whose) -> Whose:
        """Return the folder or file of the student to whom a member belongs."""
        around = path[self._depth - 1 : self._depth] == (_SUBMITTED,)
        is_deeper = around and len(path) > self._depth + 1
        return path[: self._depth + is_deeper]

    def add(self, path: Whose, files: int, size: int, most: int) -> int:
        """Count a member, unless there are more than `most` students; return that one's files."""
        key = hash(self.whose(path))
        if key in self.files or len(self.files) <= most:
            self.files[key] = self.files.get(key, 0) + files
            self.sizes[key] = self.sizes.get(key, 0) + size
        return self.files.get(key, 0)

    def of(self, path: Whose) -> int:
        """Return how many files a student has until now."""
        return self.files.get(hash(self.whose(path)), 0)

    def refuse(self, path: Whose, *, is_folder: bool) -> None:
        """Note whose member has to wait until all are counted."""
        whose = self.whose(path)
        key = hash(whose)
        if key in self.files:
            self.waiting.add(key)
            if len(self.refused) < _REFUSED:
                is_folder = is_folder or len(path) > len(whose)
                self.refused.setdefault(key, Refused(whose, is_folder))


class _Folders:
    """Which folders and files there are already: a member makes those around it, too."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[int] = set()

    def added(self, path: Whose) -> int:
        """Return how many files and folders a member makes, at least 1.

        Where too many are known, all around it count.
        """
        count = 0
        for end in range(len(path), 0, -1):
            key = hash(path[:end])
            if key in self._known:
                break
            count += 1
            if len(self._known) < self._most:
                self._known.add(key)
        return max(count, 1)


class Shares:
    """Counts all members of an archive, and then knows who has too many or too large ones."""

    def __init__(self, files: int, size: int) -> None:
        self._most_files = files
        self._most_size = size
        self._files = 0
        self._size = 0
        self._tops: set[str] = set()
        self._flat, self._deep = _Groups(1), _Groups(2)
        self._folders = _Folders(_KNOWN * files)
        self._crowded: set[int] = set()
        self._is_full = False

    def count(self, path: Whose, size: int, *, is_folder: bool = False) -> bool:
        """Count a member. Returns whether it may be unpacked before all are counted.

        A student with unusually many has to wait, and all where there is no more room.
        """
        files = self._folders.added(path)
        if len(self._tops) < 2:
            self._tops.update(path[:1])
        flat, deep = (g.add(path, files, size, self._most_files) for g in (self._flat, self._deep))
        is_alone = len(self._tops) < 2
        own = deep if is_alone else flat
        most = self._most_files
        may_be = own <= most // _USUAL and not (is_alone and flat > most // _AROUND)
        if may_be:
            self._files += files
            self._size += size
            self._is_full |= self._files > most or self._size > self._most_size
        if not may_be or self._is_full:
            for groups in (self._flat, self._deep):
                groups.refuse(path, is_folder=is_folder)
        return may_be and not self._is_full

    @property
    def is_exceeded(self) -> bool:
        """Whether a member was refused."""
        return bool(self._flat.waiting)

    def is_past_hope(self, path: Whose) -> bool:
        """Say whether a student will be left out whatever else the archive holds.

        Where there is but one folder until now it may be around all of the others.
        """
        return self._deep.of(path) > self._most_files or (
            len(self._tops) > 1 and self._flat.of(path) > self._most_files
        )

    def divide(self) -> tuple[Refused, ...] | None:
        """Find the students who leave no room for others. Raises CrowdedError.

        Returns them where nobody else's member was refused; None where the archive has to be read
        once more.
        """
        groups = self._groups
        if len(groups.files) > self._most_files:
            raise CrowdedError
        crowded = _largest(groups.files, self._most_files)
        sizes = {key: size for key, size in groups.sizes.items() if key not in crowded}
        self._crowded = crowded | _largest(sizes, self._most_size)
        if groups.waiting <= self._crowded <= groups.refused.keys():
            return tuple(groups.refused[key] for key in groups.refused if key in self._crowded)
        return None

    @property
    def refused(self) -> tuple[Refused, ...]:
        """Those of whom not all was unpacked at once."""
        return tuple(self._groups.refused.values())

    def whose(self, path: Whose) -> Whose:
        """Return the folder or file of the student to whom a member belongs."""
        return self._groups.whose(path)

    def is_left_out(self, whose: Whose) -> bool:
        """Say whether `divide` has found a student who leaves no room for others."""
        return hash(whose) in self._crowded

    @property
    def _groups(self) -> _Groups:
        """The students' folders; many programs pack one folder around all."""
        return self._flat if len(self._tops) > 1 else self._deep


def _largest(weights: dict[int, int], most: int) -> set[int]:
    """Return those for whom nothing of `most` is left when the others come first."""
    found = set()
    for key, weight in sorted(weights.items(), key=lambda each: each[1]):
        most -= weight
        if most < 0:
            found.add(key)
    return found
