"""What a box is asked of a module's memory, and what it answers."""

from typing import Annotated

import msgspec

from grader.messages.frames import Message

Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Name = Annotated[str, msgspec.Meta(max_length=200)]


class MeasurePeak(Message, frozen=True):
    """Say what a module allocates; `module` is TVM's graph JSON. Nothing of it is run."""

    module: bytes


class Holder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function that allocates memory: `bytes` is None where its size is decided at run time."""

    name: Name
    bytes: Bytes | None


class Peak(Message, frozen=True):
    """What `main` holds between its calls, and what each TIR function holds while it runs.

    The names are the student's. `main` is None where there is none.
    """

    main: Holder | None
    functions: Annotated[tuple[Holder, ...], msgspec.Meta(max_length=256)] = ()


Task = MeasurePeak
Answer = Peak
