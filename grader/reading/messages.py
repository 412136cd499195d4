"""What the reading process is asked, and answers: the cells of one file, or why there are none.

A request is trusted. An answer is decoded strictly, with caps: its writer has met a submission.
"""

import math
import struct
from typing import Annotated, Literal

import msgspec

from grader.dialects.respelling import Respelling

NAME_LENGTH = 100
"""Longest name that is taken from a notebook's metadata, in characters."""

ANSWER_LIMIT = 40 * 2**20
"""Longest answer in bytes: the code as it is and in today's spelling, and the text that is kept."""

REQUEST_LIMIT = 4096
"""Longest request in bytes."""

CELL_LIMIT = 2000
"""Most cells that are read."""

_Name = Annotated[str, msgspec.Meta(max_length=NAME_LENGTH)]
_Text = Annotated[str, msgspec.Meta(max_length=500, pattern=r"^([^{}]|\{\w{1,20}\})*$")]
"""A sentence with names of values and nothing else: `{a:999999999}` would be a gigabyte."""

_Line = Annotated[int, msgspec.Meta(ge=1)]


class ReaderBounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What reading a file may take: memory above the idle process, in bytes, and processor time.

    Time is whole seconds, which is what the kernel counts in.
    """

    memory: int = 300 * 2**20
    seconds: int = 5


class ReadRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Read the file whose descriptor comes with this, and answer on the socket that does.

    `suffix` is how the file's name ends.
    """

    suffix: str
    bounds: ReaderBounds


class UnpackLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an archive may hold: bytes in one file and in all, files, bytes of a zip's index.

    `shared` says that it is a class's, so that each student in it has a part of that. `encoding` is
    that of a zip's names, where it is not to be found from them. `seconds` of a processor are less
    than those of the bounds, which are whole ones.
    """

    file_size: int
    size: int
    files: int
    index: int
    shared: bool = False
    encoding: str = ""
    seconds: float = math.inf


class UnpackRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Unpack the archive whose descriptor comes with this, and answer on the socket that does.

    Who `stays` waits on that socket for another such request, whose descriptor is the archive's
    alone.
    """

    limits: UnpackLimits
    bounds: ReaderBounds
    stays: bool = False


PID = struct.Struct("<i")
"""What a process says first: its number. It goes on when it is answered by a byte."""

STAYING_SECONDS = 20
"""So long a processor may be used by all archives but one that one process unpacks."""


ToReader = ReadRequest | UnpackRequest

CELL_NAMES = 8
"""Most names of a cell that are kept: its id, and tags."""


class CellText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cell: its text, and the line of the file on which that begins, None if it is not known.

    `names` are its id and its tags, by which the answers are found that a person marks.
    """

    kind: Literal["code", "markdown"]
    source: str
    line: _Line | None = None
    names: Annotated[tuple[_Name, ...], msgspec.Meta(max_length=CELL_NAMES)] = ()

    @property
    def is_run(self) -> bool:
        """Whether it is one of the code cells that are run and counted: blank ones are not."""
        return self.kind == "code" and bool(self.source.strip())


class SentText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sentence for the student, as `say` makes it: English, and the values in it."""

    text: _Text
    values: dict[str, int | _Name] = {}


class Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cells of a file and what its metadata name. `divided` says that it was no notebook.

    `notes` are to be told of it, whatever it computes.
    """

    cells: Annotated[tuple[CellText, ...], msgspec.Meta(max_length=CELL_LIMIT)]
    divided: bool = False
    assignment: _Name | None = None
    language: _Name | None = None
    notes: tuple[SentText, ...] = ()


class Cost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What reading took: processor time in seconds, and bytes of memory above the idle process."""

    seconds: float
    memory: int


class ReaderMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Base of the answers."""


class Read(ReaderMessage, frozen=True):
    """A file that was read: what is in it, and its code cells in today's spelling of TVM."""

    sha256: str
    content: Content
    respelling: Respelling
    cost: Cost


class Unreadable(ReaderMessage, frozen=True):
    """A file that is no submission: why, and what to do."""

    sha256: str
    problem: SentText
    hint: SentText
    cost: Cost


class Overwhelmed(ReaderMessage, frozen=True):
    """A file that takes more memory than there is."""


class Broken(ReaderMessage, frozen=True):
    """The reading process itself failed: the traceback."""

    traceback: str


FromReader = Read | Unreadable | Overwhelmed | Broken


# What comes of an archive: frames, one after the other, as much as there is.

ARCHIVE_NAME = 1000
"""Longest name of a member, in characters."""

PIECE = 2**18
"""Longest piece of a member, in bytes."""

PIECE_FRAME = PIECE + 2**14
"""Longest frame of an answer, in bytes: a piece, or a name."""

LeaveReason = Literal[
    "link", "special", "large", "encrypted", "unsupported", "damaged", "budget", "unread"
]
"""Why a member cannot be told; `unread` are a class's last one that was read and all behind it."""

UnpackEnd = Literal["all", "large", "damaged"]

_Told = Annotated[str, msgspec.Meta(max_length=ARCHIVE_NAME + 1)]


class Began(ReaderMessage, frozen=True):
    """A file, whose pieces come next."""

    name: _Told


class FolderTold(ReaderMessage, frozen=True):
    """A folder."""

    name: _Told


class Piece(ReaderMessage, frozen=True):
    """What comes next in the file."""

    content: Annotated[bytes, msgspec.Meta(max_length=PIECE)]


class Skipped(ReaderMessage, frozen=True):
    """A member that cannot be told, or not to its end: `begun` if pieces of it may have been."""

    name: _Told
    reason: LeaveReason
    begun: bool = False


class FolderSkipped(ReaderMessage, frozen=True):
    """A student's folder or file that is left out: whatever was told of it does not count."""

    name: _Told
    is_folder: bool
    reason: LeaveReason = "budget"


class NamesRead(ReaderMessage, frozen=True):
    """In which encoding names of a zip were read that do not say theirs."""

    encoding: Annotated[str, msgspec.Meta(max_length=20)]


class GoingOn(ReaderMessage, frozen=True):
    """It goes on: there is nothing to tell of what is read at the moment."""


class Unpacked(ReaderMessage, frozen=True):
    """There are no more members: how it ended, and the processor time that it took, in seconds."""

    end: UnpackEnd
    seconds: Annotated[float, msgspec.Meta(ge=0)]


FromUnpacker = Began | FolderTold | Piece | Skipped | FolderSkipped | NamesRead | GoingOn | Unpacked


_HEADER = struct.Struct("<Q")


def framed(message: FromUnpacker) -> bytes:
    """Return a message as a frame, which `grader.messages.read_frame` reads.

    A reader does not import that: it would bring NumPy into a process with 300 MB.
    """
    payload = msgspec.msgpack.encode(message)
    return _HEADER.pack(len(payload)) + payload
