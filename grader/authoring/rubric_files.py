"""Rubrics as files: `[[manual]]` tables apart from their assignment, as TOML or as CSV.

TOML has all of it, as `assignment.toml` does; CSV has the items, a row each, for a spreadsheet.
What is imported is checked as a whole assignment before anything is written.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import tomli_w
from msgspec.structs import replace

from grader.assignment import Assignment
from grader.assignment_files import decode_assignment, find_line
from grader.course import CourseAssignment
from grader.decoding import prepared
from grader.errors import Mistake, MistakeError, UsageError
from grader.files import read_capped, write_whole, writing
from grader.language import LANGUAGES, Text, foreign, in_a_row, say
from grader.refusals import told as told_refusal
from grader.rubric import ManualTable, RubricItem
from grader.tables import as_before_harmless, read_table, write_table

LARGEST: Final = 2**20
"""Bytes of a file of rubrics."""

_ITEMS = 200
_TRANSLATIONS = tuple(each for each in LANGUAGES if each != "en")
_COLUMNS = ("part", "id", "text", "points", "share", "group")
_DAMAGE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class RubricFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of rubrics in TOML."""

    manual: Annotated[tuple[ManualTable, ...], msgspec.Meta(min_length=1, max_length=100)]

    def __post_init__(self) -> None:
        if len({each.id for each in self.manual}) != len(self.manual):
            raise ValueError("two parts have the same `id`")
        if any(len(each.item) > _ITEMS for each in self.manual):
            raise ValueError(f"a rubric has at most {_ITEMS} items")


def export_rubrics(assignment: Assignment, *, as_csv: bool) -> bytes:
    """Return the rubrics of an assignment as a file."""
    if not as_csv:
        return rubric_tables(assignment.manual).encode()
    rows = (_row(part, item) for part in assignment.manual for item in part.item)
    header = [*_COLUMNS, *(f"text_{each}" for each in _TRANSLATIONS)]
    return write_table(header, rows)


def _row(part: ManualTable, item: RubricItem) -> list[str]:
    points, share = ("" if e is None else f"{e!r}" for e in (item.points, item.share))
    texts = (item.texts.get(each, "") for each in _TRANSLATIONS)
    return [part.id, item.id, item.text, points, share, item.group, *texts]


def rubric_tables(parts: Iterable[ManualTable]) -> str:
    """Return `[[manual]]` tables as TOML, without what is as it is by default."""
    tables = []
    for part in parts:
        tables.append(_table("manual", part, without="item"))
        tables += [_table("manual.item", each) for each in part.item]
    return "\n".join(tables)


def _table(name: str, value: msgspec.Struct, without: str = "") -> str:
    fields = ((each.encode_name, each) for each in msgspec.structs.fields(type(value)))
    told = [(key, getattr(value, each.name)) for key, each in fields if key != without]
    lines = (_line(key, content) for key, content in told if content not in ("", None, {}, ()))
    return f"[[{name}]]\n" + "".join(lines)


def _line(key: str, value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(e)} = {_scalar(text)}" for e, text in value.items())
        return f"{key} = {{ {inside} }}\n"
    if isinstance(value, tuple):
        return f"{key} = [{', '.join(map(_scalar, value))}]\n"
    return f"{key} = {_scalar(value)}\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _scalar(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return tomli_w.dumps({"x": value}).removeprefix("x = ").removesuffix("\n")


def read_rubrics(path: Path, assignment: Assignment) -> tuple[ManualTable, ...]:
    """Return the parts of an assignment that a person marks, as a file changes them.

    A part in the file takes the place of that with its id, or comes last; no other is removed.
    Raises CourseError or UsageError that names the line.
    """
    known = {each.id: each for each in assignment.manual}
    if path.suffix.lower() == ".csv":
        changed = _read_csv(path, known)
    else:
        changed = {each.id: each for each in _read_toml(path).manual}
    return tuple({**known, **changed}.values())


def _read_toml(path: Path) -> RubricFile:
    content = _read(path)
    try:
        return msgspec.toml.decode(content, type=prepared(RubricFile))
    except _DAMAGE as error:
        line = find_line(content.decode("utf-8", "replace"), str(error))
        problem = say("not-valid", error=told_refusal(error, RubricFile))
        raise MistakeError(Mistake("toml", path, line, problem, _SEE)) from None


_SEE = say("see-docs-marking-md")


def _read(path: Path) -> bytes:
    return read_capped(path, LARGEST, say("larger-than-1-mb", name=path.name), _SEE)


def _read_csv(path: Path, parts: Mapping[str, ManualTable]) -> dict[str, ManualTable]:
    """Return parts with the items of a table: the file has all items of the parts that it names."""
    _read(path)
    table = read_table(path)
    header = [each.strip().casefold() for each in table.header]
    if missing := [each for each in ("part", "id", "text") if each not in header]:
        raise UsageError(say("has-no-column", file=path.name, names=in_a_row(missing)), _SEE)
    items: dict[str, list[RubricItem]] = {}
    for line, row in zip(table.lines, table.rows, strict=True):
        told = {
            name: cell if name.startswith("text") else cell.strip()
            for name, cell in zip(header, row, strict=False)
        }
        if told["part"] not in parts:
            known = in_a_row(parts) if parts else say("none")
            raise _refused(
                path, line, say("there-no-part", part=repr(told["part"])), say("known", known=known)
            )
        items.setdefault(told["part"], []).append(_item(path, line, told))
    return {part: _with_items(path, parts[part], own) for part, own in items.items()}


def _item(path: Path, line: int, told: Mapping[str, str]) -> RubricItem:
    texts = {each: told.get(f"text_{each}", "") for each in _TRANSLATIONS}
    fields: dict[str, Any] = {
        "id": told["id"],
        "text": as_before_harmless(told["text"]),
        "texts": {each: as_before_harmless(text) for each, text in texts.items() if text},
        "group": as_before_harmless(told.get("group", "")),
    }
    try:
        fields |= {each: float(told[each]) for each in ("points", "share") if told.get(each)}
        return msgspec.convert(fields, prepared(RubricItem))
    except (ValueError, msgspec.MsgspecError) as error:
        raise _refused(path, line, told_refusal(error, RubricItem), _SEE) from None


def _with_items(path: Path, part: ManualTable, items: Sequence[RubricItem]) -> ManualTable:
    if len(items) > _ITEMS:
        told = say("rubric-has-at-most-items", count=_ITEMS)
        raise _refused(path, None, told, _SEE)
    try:
        found = replace(part, item=tuple(items))
        return msgspec.convert(msgspec.to_builtins(found), prepared(ManualTable))
    except (ValueError, msgspec.MsgspecError) as error:
        raise _refused(path, None, told_refusal(error, ManualTable), _SEE) from None


def _refused(path: Path, line: int | None, told: Text, hint: Text) -> MistakeError:
    return MistakeError(Mistake("toml", path, line, say("not-valid", error=told), hint))


def write_rubrics(
    chosen: CourseAssignment, parts: tuple[ManualTable, ...], *, only_check: bool = False
) -> None:
    """Put parts into `assignment.toml`; everything else in it stays as it is, to the byte.

    Raises CourseError where they do not fit the assignment: then nothing is written.
    """
    path = chosen.folder / "assignment.toml"
    before = _read(path)
    after = with_rubrics(before.decode(), rubric_tables(parts)).encode()
    _check(path, before, after, parts)
    if only_check:
        return
    with writing(path, say("rubrics")):
        write_whole(path, after)


def _check(path: Path, before: bytes, after: bytes, parts: tuple[ManualTable, ...]) -> None:
    """Raise an error unless a file says of manual parts what it should, and the same otherwise."""
    found = decode_assignment(path, after)
    old, new = (msgspec.toml.decode(each) for each in (before, after))
    if found.manual != parts or {**old, "manual": 0} != {**new, "manual": 0}:
        raise UsageError(
            say("manual-tables-cannot-replaced", path=str(path)),
            say("let-them-stand-together-and-write"),
        )


_HEADER = re.compile(r"\s*\[\[?\s*(?P<name>[^\].\s]+)[^\]]*\]")
_IDLE = re.compile(r"\s*(#.*)?\r?\n?")


def with_rubrics(text: str, tables: str) -> str:
    """Return an assignment's file in which these tables stand where its manual parts stood.

    They come last where it had none. Comments above the next table stay there.
    """
    lines = text.splitlines(keepends=True)
    begin, end = _block(lines)
    ended = "\r\n" if "\r\n" in text else "\n"
    head, tail = "".join(lines[:begin]), "".join(lines[end:])
    if head and not head.endswith(ended * 2):
        head = head.rstrip("\r\n") + ended * 2
    made = tables.replace("\n", ended)
    return head + made + (ended + tail.lstrip("\r\n") if tail.strip() else "")


def _block(lines: Sequence[str]) -> tuple[int, int]:
    found = ((at, _HEADER.match(line)) for at, line in enumerate(lines))
    headers = [(at, header["name"]) for at, header in found if header]
    own = [at for at, name in headers if name == "manual"]
    if not own:
        return len(lines), len(lines)
    begin = own[0]
    end = next((at for at, name in headers if at > begin and name != "manual"), len(lines))
    while end < len(lines) and _IDLE.fullmatch(lines[end - 1]):
        end -= 1
    return begin, end


def told_parts(parts: Iterable[ManualTable]) -> Iterator[Text]:
    """Yield what is in rubrics: a line for each part."""
    for each in parts:
        yield say(
            "items-points", part=foreign(each.id), count=len(each.item), points=f"{each.points:g}"
        )
