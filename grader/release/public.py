"""The public part of an assignment: no hidden parts, no checks that are kept back."""

from __future__ import annotations

from typing import Any

import msgspec
import tomli_w

from grader.assignment import ArgumentNames, Assignment, CheckTable, PartTable
from grader.checks import kinds as registered
from grader.checks.registry import find_check

assert registered.__all__  # importing the package registers the checks

_LISTED = ("visible", "score_only")
"""What students are shown before the due date, in full or by its points."""

HEADER = "# Made by `grader release` from the complete assignment, which the instructors have.\n"


def public_assignment(assignment: Assignment) -> Assignment:
    """Return what students may read of an assignment.

    Hidden parts are left out, and so are checks that students hear of late or never. What decides
    the points of a check without its reason is withheld, and so is timing: the reference schedule
    is a solution. Raises CourseError for a check of an unknown kind, UsageError where nothing is
    public.
    """
    kept = (_public_part(part) for part in assignment.part if not part.hidden)
    parts = tuple(part for part in kept if part.check)
    hidden = (_listed(part) for part in assignment.part if part.hidden)
    used = {part.computation for part in parts}
    return msgspec.structs.replace(
        assignment,
        part=parts,
        points=sum(part.points for part in parts),
        withheld=assignment.withheld + sum(check.points for part in hidden for check in part),
        computation=tuple(each for each in assignment.computation if each.id in used),
        oracle=assignment.oracle if None in used else None,
        arguments=_public_arguments(assignment, parts, has_oracle=None in used),
        guide=tuple(
            each
            for each in assignment.guide
            if not each.part or any(each.is_for(part.id) for part in parts)
        ),
    )


def _public_arguments(
    assignment: Assignment, parts: tuple[PartTable, ...], *, has_oracle: bool
) -> ArgumentNames:
    """Return what entry points are given, as far as it is still there."""
    declared = assignment.arguments
    if not has_oracle:
        declared = msgspec.structs.replace(declared, batch_size=(), input_shape=(), image=())
    if all(part.id != declared.module_of for part in parts):
        declared = msgspec.structs.replace(declared, module_of="", module=())
    return declared


def hidden_names(assignment: Assignment, public: Assignment) -> frozenset[str]:
    """Return the functions of `oracle.py` that only what is hidden needs."""
    computations = {each.id for each in assignment.computation if not each.model}
    left = computations - {each.id for each in public.computation}
    of_model = {"expected", "model"} if assignment.oracle and not public.oracle else set()
    return frozenset({each.replace("-", "_") for each in left} | of_model)


def hidden_models(assignment: Assignment, public: Assignment) -> frozenset[str]:
    """Return the models of `models.py` that only hidden parts need."""
    kept = {each.model for each in public.computation}
    return frozenset(each.model for each in assignment.computation if each.model) - kept


def hidden_kinds(assignment: Assignment, public: Assignment) -> frozenset[str]:
    """Return the kinds of checks that only what is hidden needs."""
    every, kept = (
        {table.kind for part in each.part for table in part.check} for each in (assignment, public)
    )
    return frozenset(every - kept)


def encode_assignment(assignment: Assignment) -> bytes:
    """Return `assignment.toml` as it is made of a value: without comments, which may tell more."""
    return (HEADER + tomli_w.dumps(_plain(assignment))).encode()


def _public_part(part: PartTable) -> PartTable:
    checks = tuple(_public_check(part, table) for table in _listed(part))
    return msgspec.structs.replace(part, check=checks)


def _listed(part: PartTable) -> tuple[CheckTable, ...]:
    return tuple(table for table in part.check if part.visibility_of(table) in _LISTED)


def _public_check(part: PartTable, table: CheckTable) -> CheckTable:
    visibility = part.visibility_of(table)
    is_timed = "timing" in find_check(table).needs
    if visibility == "visible" and not is_timed:
        return table
    # A check that is withheld is not passed: were it required, it would block all others.
    options = table.options if visibility == "visible" else {}
    return msgspec.structs.replace(
        table, required=False, options=options, visibility=visibility, withheld=True
    )


def _plain(value: Any) -> Any:
    """Return a value as TOML knows it: a struct as a table of what is not its default."""
    if isinstance(value, msgspec.Struct):
        fields = {field.name: field for field in msgspec.structs.fields(value)}
        found = {name: getattr(value, name) for name in fields}
        return {
            name: _plain(each) for name, each in found.items() if each != _default(fields[name])
        }
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default
