"""Taking definitions out of the course's Python files, and what only they need.

A file of the course is divided into its top-level statements. What is to be hidden goes, and with
it every definition that nothing else refers to then: the layers of a hidden model, the constants
of a reference schedule, with the comments above them and the strings below them.
"""

import ast
import io
import symtable
from collections.abc import Callable, Iterable, Iterator

import msgspec

from grader.errors import CourseError
from grader.language import say

MODELS = "MODELS"
"""The table of `models.py`: a literal dictionary of names to functions of a seed."""


class TrimmedStatement(msgspec.Struct, frozen=True):
    """A top-level statement with its comments: lines from `first` to `last`, counted from 0.

    `names` are what it defines, `used` what it refers to.
    """

    first: int
    last: int
    names: frozenset[str]
    used: frozenset[str]


def without_definitions(
    text: str, file: str, is_hidden: Callable[[ast.stmt], bool], needed: Iterable[str] = ()
) -> str:
    """Return a file's text without what is hidden and what only that needs.

    `file` is its name, for messages; `needed` are names that the grader looks up. Raises
    CourseError where it cannot be parsed, and where what is public refers to what is hidden.
    """
    tree = _parse(text, file)
    blocks = _blocks(tree, text)
    pairs = list(zip(blocks, _statements(tree), strict=True))
    for block, statement in pairs:
        inner = (each for each in ast.walk(statement) if isinstance(each, ast.stmt))
        if not block.names and any(map(is_hidden, inner)):
            raise CourseError(
                say(
                    "cannot-released-hidden-part-defined-within-line",
                    file=file,
                    line=block.first + 1,
                ),
                say("define-at-top-level-file-by-itself"),
            )
    hidden = {name for block, each in pairs if is_hidden(each) for name in block.names}
    public = _public(blocks, hidden, set(needed) - hidden)
    if clash := sorted(hidden & public):
        raise CourseError(
            say("cannot-released-hidden-and-public-code-refers", file=file, name=clash[0]),
            say("divide-what-they-have-in-common"),
        )
    return _cut(text, blocks, public)


def without_models(text: str, hidden: frozenset[str]) -> str:
    """Return the text of `models.py` without some models and what only they need.

    Raises CourseError where MODELS is no dictionary of literal names.
    """
    if not hidden:
        return text
    tree = _parse(text, "models.py")
    table = next((each for each in tree.body if MODELS in _defined(each)), None)
    value = getattr(table, "value", None)
    if table is None or not isinstance(value, ast.Dict) or not _is_literal(value, tree):
        raise CourseError(
            say("models-py-cannot-released-models-no-dictionary"),
            say("write-as-models-hidden-models-removed"),
        )
    used_by_hidden = {
        name
        for key, each in zip(value.keys, value.values, strict=True)
        if _key(key) in hidden
        for name in _used(each)
    }
    kept = _replaced(text, value, _entries(text, value, hidden))
    blocks = _blocks(_parse(kept, "models.py"), kept)
    public = _cut(kept, blocks, _public(blocks, used_by_hidden, {MODELS}))
    refuse_names(public, "models.py", hidden)
    return public


def refuse_names(text: str, file: str, hidden: frozenset[str]) -> None:
    """Raise CourseError where a file still has one of these names as a string.

    `MODELS["deep"] = ...` is such a one: it would bring back what was taken out.
    """
    strings = (each for each in ast.walk(_parse(text, file)) if _key(each) in hidden)
    for each in strings:
        raise CourseError(
            say("cannot-released-hidden-and-public-code-names", file=file, name=repr(_key(each))),
            say("name-in-one-place-from-which-can"),
        )


def of_kind(kinds: Iterable[str]) -> Callable[[ast.stmt], bool]:
    """Return what says whether a statement defines a check of one of these kinds."""
    known = set(kinds)

    def is_hidden(statement: ast.stmt) -> bool:
        decorators = getattr(statement, "decorator_list", [])
        calls = (each for each in decorators if isinstance(each, ast.Call))
        return any(_key(argument) in known for call in calls for argument in call.args[:1])

    return is_hidden


def named(names: Iterable[str]) -> Callable[[ast.stmt], bool]:
    """Return what says whether a statement defines one of these names."""
    known = frozenset(names)
    return lambda statement: bool(_defined(statement) & known)


def _public(blocks: list[TrimmedStatement], hidden: set[str], needed: set[str]) -> set[str]:
    """Return the names that stay: what is needed, what hidden ones do not reach, and their needs.

    What a statement without a name refers to stays as well.
    """
    every = {name for block in blocks for name in block.names}
    nameless = {name for block in blocks if not block.names for name in block.used}
    return _reached(blocks, (every - _reached(blocks, hidden)) | nameless | needed)


def _reached(blocks: list[TrimmedStatement], roots: set[str]) -> set[str]:
    """Return the roots and all that they refer to, directly or not, as far as it is defined."""
    uses = {name: block.used for block in blocks for name in block.names}
    found: set[str] = set()
    waiting = [name for name in roots if name in uses]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [each for each in uses[name] if each in uses]
    return found


def _parse(text: str, file: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise CourseError(
            say("cannot-released-line-does-not-parse", file=file, line=str(error.lineno)),
            say("fix-first"),
        ) from None


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements, without strings: they belong to what stands above them."""
    return (each for each in tree.body if not _is_string(each))


def _blocks(tree: ast.Module, text: str) -> list[TrimmedStatement]:
    lines = _lines(text)
    found: list[TrimmedStatement] = []
    for statement in tree.body:
        last = (statement.end_lineno or statement.lineno) - 1
        if _is_string(statement):
            if found:
                found[-1] = msgspec.structs.replace(found[-1], last=last)
            continue
        decorators = getattr(statement, "decorator_list", [])
        first = min(each.lineno for each in (statement, *decorators)) - 1
        while first > 0 and lines[first - 1].startswith("#"):
            first -= 1
        names = frozenset(_defined(statement))
        found.append(TrimmedStatement(first, last, names, frozenset(_used(statement))))
    return found


def _is_string(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _defined(statement: ast.stmt) -> set[str]:
    """Return what a statement binds at the top level; nothing where it does more than that.

    What is imported from `__future__` is no name of the file's.
    """
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return set()
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(each.asname or each.name).partition(".")[0] for each in statement.names}
    targets = (
        statement.targets
        if isinstance(statement, ast.Assign)
        else [statement.target]
        if isinstance(statement, ast.AnnAssign)
        else []
    )
    names = [each for target in targets for each in ast.walk(target)]
    plain = all(isinstance(each, (ast.Name, ast.Tuple, ast.Store)) for each in names)
    return {each.id for each in names if isinstance(each, ast.Name)} if plain else set()


def _used(node: ast.AST) -> set[str]:
    """Return the names of the file that a piece of it refers to: those that it does not bind.

    `tile` in a function may be a local variable, and not the function of that name.
    """
    table = symtable.symtable(ast.unparse(node), "<course>", "exec")
    found = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    waiting = table.get_children()
    while waiting:
        inner = waiting.pop()
        found |= {symbol.get_name() for symbol in inner.get_symbols() if symbol.is_global()}
        waiting += inner.get_children()
    return found


def _key(node: ast.AST | None) -> str:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else ""


def _is_literal(table: ast.Dict, tree: ast.Module) -> bool:
    """Say whether the names of all models are in the table, and no statement adds to it."""
    adding = (each for each in _statements(tree) if not _defined(each))
    names = (each for statement in adding for each in ast.walk(statement))
    is_final = all(not isinstance(each, ast.Name) or each.id != MODELS for each in names)
    return is_final and all(_key(key) for key in table.keys)


def _entries(text: str, table: ast.Dict, hidden: frozenset[str]) -> str:
    pairs = zip(table.keys, table.values, strict=True)
    kept = [(key, value) for key, value in pairs if _key(key) not in hidden]
    lines = [f'    "{_key(key)}": {ast.get_source_segment(text, value)},\n' for key, value in kept]
    return "".join(["{\n", *lines, "}"])


def _replaced(text: str, node: ast.expr, by: str) -> str:
    """Replace an expression; columns count bytes."""
    lines = [line.encode() for line in _lines(text)]
    assert node.end_lineno is not None
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    return (before + by.encode() + after).decode()


def _cut(text: str, blocks: list[TrimmedStatement], public: set[str]) -> str:
    """Take out blocks none of whose names is public, with all remarks around and the empty lines.

    A remark that stands apart may be about what goes; so may one below the last statement of a
    function, which is no part of it to a parser.
    """
    lines = _lines(text)
    ends = [0, *(block.last + 1 for block in blocks)]
    begins = [*(block.first for block in blocks[1:]), len(lines)]
    gone: set[int] = set()
    for block, above, below in zip(blocks, ends, begins, strict=False):
        if not block.names or block.names & public:
            continue
        first, end = block.first, block.last + 1
        while first > above and _is_remark(lines[first - 1]):
            first -= 1
        while end < below and _is_remark(lines[end]):
            end += 1
        while first < block.first and not lines[first].strip():
            first += 1
        is_apart = first == 0 or not lines[first - 1].strip()
        gone.update(each for each in range(first, end) if is_apart or lines[each].strip())
    return "".join(line for number, line in enumerate(lines) if number not in gone).rstrip() + "\n"


def _is_remark(line: str) -> bool:
    """Say whether there is nothing but a comment on a line, or nothing at all."""
    return not line.strip() or line.lstrip().startswith("#")


def _lines(text: str) -> list[str]:
    """Divide a text where Python does, and not at form feeds as well, as `splitlines` would."""
    return io.StringIO(text, newline="\n").readlines()
