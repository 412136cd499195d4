"""What is asked of a runner that makes mutants of a module, and what it made."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from grader.messages.frames import Message
from grader.messages.runner import RunModule

MutationKind = Literal[
    "drop_bias",
    "flip_kernel",
    "swap_layers",
    "off_by_one",
    "float16",
    "return_zeros",
    "return_input",
]


class Mutation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change of a module, and where its values first depart from the right ones.

    `function` is the TensorIR function that was changed, `binding` the variable of `main` whose
    value is the first to be another one; empty where there is none, or where every one is.
    `about` says in a clause what was done.
    """

    kind: MutationKind
    function: str
    binding: str
    about: str


class MutateModule(Message, frozen=True):
    """Make mutants of a module, and run each beside the module itself.

    `run` says which module, on which inputs it is compared with its mutants, and how it is run. At
    most `limit` mutants of each kind are returned, those in different functions first.
    """

    run: RunModule
    limit: Annotated[int, msgspec.Meta(ge=1, le=16)] = 4


class MutatedModule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mutant as graph JSON.

    `difference` is the largest absolute difference of its outputs from the module's own; infinity
    where the outputs have another form, are not finite, or where running it failed.
    """

    mutation: Mutation
    module: bytes
    difference: float


class Unmutated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of which there is no mutant, and why, in a clause without a full stop."""

    kind: MutationKind
    reason: str


class MutationResult(Message, frozen=True):
    """The mutants, and the kinds that do not apply to this module."""

    mutants: Annotated[tuple[MutatedModule, ...], msgspec.Meta(max_length=256)] = ()
    inapplicable: Annotated[tuple[Unmutated, ...], msgspec.Meta(max_length=16)] = ()
