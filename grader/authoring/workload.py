"""`workload.py` as it is written: what a runner will ask it for, and whether that is there.

It is executed in runners alone, beside TVM, which the grader's own process never imports.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from grader.assignment import Assignment, PartTable
from grader.course import CourseAssignment
from grader.errors import CourseError, Mistake
from grader.evidence.registry import find_check
from grader.language import say
from grader.measurement.points import SpeedOptions

TAKEN = {"baseline": 2, "reference": 3, "target": 0}
"""How many arguments a runner gives the functions."""

SIGNATURES = {
    "baseline": "baseline(variant, shapes)",
    "reference": "reference(variant, shapes, threads)",
    "target": "target()",
}
LACKING = ("torch", "torchvision", "grader")
"""Packages that runners do not have."""

SEE = say("docs-assignment-md-has-what-workload-py")


def read_workload(chosen: CourseAssignment) -> list[Mistake]:
    """Return what is wrong with an assignment's `workload.py`; nothing where no check asks it."""
    asked = {
        table.kind
        for part in chosen.assignment.part
        for table in part.check
        if table.kind in ("speed", "target") and not table.withheld
    }
    path = chosen.file("workload.py")
    if not asked:
        return []
    if not path.exists():
        told = say("there-no-workload-py-which-check-needs", kind=min(asked))
        return [Mistake("file_missing", path, None, told, SEE)]
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError) as error:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        line = error.lineno if isinstance(error, SyntaxError) else None
        told = say("not-python", message=message)
        hint = say("fix-line-or-bracket-or-quotation-mark")
        return [Mistake("python_syntax", path, line, told, hint)]
    wanted = [name for kind, name in _NAMES if kind in asked]
    found = [*_functions(tree, path, wanted), *_imports(tree, path), *_scripts(tree, path)]
    if "speed" in asked:
        found += _variants(tree, path, chosen.assignment)
    return found


_NAMES = (("speed", "baseline"), ("speed", "reference"), ("target", "target"))


def _functions(tree: ast.Module, path: Path, wanted: list[str]) -> Iterator[Mistake]:
    """Yield the functions that are missing, or take something else than a runner gives."""
    defined = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    bound = {name for each in tree.body for name in _bound(each)}
    for name in wanted:
        hint = say("define-as-def", signature=SIGNATURES[name])
        if name not in defined:
            if name not in bound:
                told = say("workload-py-has-no-function-called", name=name)
                yield Mistake("function_missing", path, None, told, hint)
            continue
        taken = defined[name].args
        positional = len(taken.posonlyargs) + len(taken.args)
        least = positional - len(taken.defaults)
        needed = any(each is None for each in taken.kw_defaults)
        most = positional if taken.vararg is None else TAKEN[name]
        if not least <= TAKEN[name] <= most or needed:
            told = say(
                "called-with-arguments-and-takes-different-number", name=name, count=TAKEN[name]
            )
            yield Mistake("signature", path, defined[name].lineno, told, hint)


def _bound(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def _imports(tree: ast.Module, path: Path) -> Iterator[Mistake]:
    imports = [each for each in ast.walk(tree) if isinstance(each, ast.Import | ast.ImportFrom)]
    for node in imports:
        is_plain = isinstance(node, ast.Import)
        for name in [e.name for e in node.names] if is_plain else [_module_of(node)]:
            if name.partition(".")[0] in LACKING:
                told = say("imports-which-runner-does-not-have", name=name)
                hint = say("import-only-tvm-and-pythons-standard-library")
                yield Mistake("import_failed", path, node.lineno, told, hint)


def _module_of(node: ast.Import | ast.ImportFrom) -> str:
    return getattr(node, "module", None) or ""


def _scripts(tree: ast.Module, path: Path) -> Iterator[Mistake]:
    """Yield functions in TVMScript, which wants to read its text from a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            words = {ast.unparse(each).partition("(")[0] for each in node.decorator_list}
            if any(each.endswith(("prim_func", "ir_module", "R.function")) for each in words):
                told = say("tvmscript-whose-text-cannot-found-here", name=node.name)
                hint = say("write-tensor-expressions-te-compute-and-te")
                yield Mistake("workload_script", path, node.lineno, told, hint)


def _variants(tree: ast.Module, path: Path, assignment: Assignment) -> Iterator[Mistake]:
    """Yield what is wrong with VARIANTS, as far as it is written out."""
    node = next((each for each in tree.body if "VARIANTS" in _bound(each)), None)
    hint = say("maps-what-function-may-compute-names-arrays")
    if node is None:
        told = say("workload-py-has-no-variants")
        yield Mistake("variants", path, None, told, hint)
        return
    value = getattr(node, "value", None)
    try:
        variants = ast.literal_eval(value) if isinstance(value, ast.expr) else None
    except ValueError:  # what is computed is not known without running it
        return
    if not isinstance(variants, dict) or not variants:
        told = say("variants-no-dictionary-variants")
        yield Mistake("variants", path, node.lineno, told, hint)
        return
    for part in assignment.part:
        known = _arrays(assignment, part)
        strange = sorted({str(n) for names in variants.values() for n in names} - known)
        if known and strange:
            told = say(
                "variants-names-and-part-has-arguments",
                strange=", ".join(strange),
                part=part.id,
                known=", ".join(sorted(known)),
            )
            yield Mistake("variants", path, node.lineno, told, SEE)


def _arrays(assignment: Assignment, part: PartTable) -> set[str]:
    for table in part.check:
        if table.kind != "speed" or table.withheld:
            continue
        try:
            options = find_check(table).parse(table)
        except CourseError:  # told where checks are
            continue
        if isinstance(options, SpeedOptions) and options.weight:
            return {"data", "weight", "bias"}
        for each in assignment.computation:
            if each.id == part.computation:
                return {t.name or f"argument{i}" for i, t in enumerate(each.arguments)}
    return set()


def variants_of(text: str) -> dict[str, tuple[str, ...]]:
    """Return the variants that a workload's text writes out; none where they are computed."""
    for each in ast.parse(text).body:
        value = getattr(each, "value", None)
        if "VARIANTS" in _bound(each) and isinstance(value, ast.expr):
            try:
                found = ast.literal_eval(value)
            except ValueError:
                return {}
            return {str(name): tuple(names) for name, names in found.items()}
    return {}
