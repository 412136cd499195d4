"""What a course's own Python does wrong is reported as the course's mistake: file, line and remedy.

`oracle.py`, `checks.py` and `models.py` are trusted and not infallible. Whatever they raise, the
grader has not failed: `blaming` turns it into a MistakeError at the line of the course's file that
was running.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from grader.assignment import Assignment, Computation, OracleOptions
from grader.errors import GraderError, Mistake, MistakeCode, MistakeError
from grader.language import Text, foreign, join, say

LONGEST = 300
"""Most characters of an error's message that are shown."""

_NUMBERS = "biufV"
"""Kinds of NumPy's dtypes that outputs may have; V are those of small floats that it lacks."""


def fault(
    code: MistakeCode, path: Path, line: int | None, problem: Text, hint: Text
) -> MistakeError:
    """Return the error for a mistake in a file."""
    return MistakeError(Mistake(code, path, line, problem, hint))


@contextmanager
def blaming(
    path: Path, hint: Text, line: int | None = None, code: MistakeCode = "raises"
) -> Iterator[None]:
    """Turn what is raised within into a MistakeError of the file.

    Its line is the innermost one of the file, or of one beside it, that was running; `line` where
    none was. What the grader raises on purpose stays as it is.
    """
    try:
        yield
    except GraderError:
        raise
    except (Exception, SystemExit) as error:
        where, at = _place_of(error, path)
        told = say("raises", error=type(error).__name__, message=_said(error))
        raise fault(code, where, at or line, told, hint) from error


def _place_of(error: BaseException, path: Path) -> tuple[Path, int | None]:
    """Return the innermost line of a file, else of one in its folder, that an error passed."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return path, error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if each.filename == str(path)]
    beside = [each for each in frames if Path(each.filename).parent == path.parent]
    for each in [*reversed(own), *reversed(beside)]:
        return Path(each.filename), each.lineno
    return path, None


def _said(error: BaseException) -> str:
    """Return an error's message on one line, without a full stop."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    words = " ".join(str(text).split()).rstrip(".")
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def import_file(path: Path, name: str) -> ModuleType:
    """Import a Python file of a course. Raises MistakeError where it is missing or raises."""
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), path)
    if spec is None or spec.loader is None or not path.exists():
        raise fault(
            "file_missing",
            path,
            None,
            say("there-no-in", file=path.name, folder=path.parent.name),
            say("write-docs-assignment-md-describes-contents"),
        )
    module = importlib.util.module_from_spec(spec)
    try:
        hint = say("grader-imports-with-packages-fix-line", python=sys.executable)
        with blaming(path, hint, code="import_failed"):
            spec.loader.exec_module(module)
    except MistakeError as error:
        if isinstance(error.__cause__, SyntaxError):
            raise _unparsed(path, error.__cause__) from error.__cause__
        raise
    return module


def _unparsed(path: Path, error: SyntaxError) -> MistakeError:
    return fault(
        "python_syntax",
        Path(error.filename or path),
        error.lineno,
        say("not-python", message=_said(error)),
        say("fix-line-or-bracket-or-quotation-mark"),
    )


def line_of(function: Callable[..., Any]) -> int | None:
    """Return the line on which a function begins, None where it has none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_firstlineno if isinstance(code, CodeType) else None


# --- oracles --------------------------------------------------------------------------------------


def guarded_oracle(module: ModuleType, path: Path, assignment: Assignment) -> ModuleType:
    """Return an oracle whose functions, where a grading calls them, tell their own mistakes.

    Those that are missing raise MistakeError when they are asked for. Among themselves the course's
    functions call one another as they were written: with other shapes, too.
    """
    guarded = ModuleType(module.__name__, module.__doc__)
    guarded.__dict__.update(module.__dict__)
    wanted: dict[str, Computation | OracleOptions | None] = {
        each.id.replace("-", "_"): each for each in assignment.computation if not each.model
    }
    if assignment.oracle is not None:
        wanted["expected"] = assignment.oracle
    for name, table in {**wanted, "expected_workload": None}.items():
        function = getattr(module, name, None)
        if callable(function):
            setattr(guarded, name, _guarded(function, path, table))

    def missing(name: str) -> Any:
        if name in wanted or name == "expected_workload":
            told = say("oracle-py-has-no-function-called", name=name)
            hint = say("define-as-def-returns", **_form_of(name, wanted.get(name)))
            raise fault("function_missing", path, None, told, hint)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    guarded.__dict__["__getattr__"] = missing
    return guarded


def _form_of(name: str, table: Computation | OracleOptions | None) -> dict[str, Text]:
    """Return how a function of an oracle is declared, and what it returns."""
    if table is None:
        result = say("what-timed-function-gives-with-axis-over")
        return {"signature": foreign(f"{name}(variant, *arrays)"), "result": result}
    if isinstance(table, OracleOptions):
        shape = ", ".join(map(str, ("n", *table.output_shape)))
        result = say("one-array-shape", shape=shape)
        return {"signature": foreign(f"{name}(parameters, inputs)"), "result": result}
    arguments = [each.name or f"argument{i}" for i, each in enumerate(table.arguments)]
    shapes = [f"(cases, {each.spelled[1:-1]})".replace(", )", ")") for each in table.outputs]
    return {
        "signature": foreign(f"{name}({', '.join(['parameters', *arguments])})"),
        "result": say("for-each-output-array-shape", shapes=", ".join(shapes)),
    }


def _guarded(
    function: Callable[..., Any], path: Path, table: Computation | OracleOptions | None
) -> Callable[..., Any]:
    """Return a function of an oracle that says what is wrong with it, or with what it gives."""
    line, name = line_of(function), function.__name__

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        _demand_signature(function, path, table, arguments, options)
        hint = say(
            "called-with-call-with-arrays-these-shapes",
            arguments=", ".join(map(_shown, arguments)) or "nothing",
        )
        hint = hint if table is None else join(hint, say("first-axis-counts-cases"))
        with blaming(path, hint, line):
            result = function(*arguments, **options)
        fields = result if isinstance(result, tuple) else (result,)
        arrays = [_array(each, path, line, name) for each in fields]
        if table is not None:
            demand_shapes(arrays, _shapes(table, arguments), path, line, name)
        elif arrays[0].shape[:1] != arguments[1].shape[:1]:
            shape = (len(arguments[1]), *arrays[0].shape[1:])
            demand_shapes(arrays, [shape], path, line, name)
        return tuple(arrays) if isinstance(result, tuple) else arrays[0]

    return call


def _demand_signature(
    function: Callable[..., Any],
    path: Path,
    table: Computation | OracleOptions | None,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> None:
    """Raise MistakeError where a function does not take what it is called with."""
    try:
        inspect.signature(function).bind(*arguments, **options)
    except ValueError:  # of what is written in C nobody knows what it takes
        return
    except TypeError as error:
        form = _form_of(function.__name__, table)
        raise fault(
            "signature",
            path,
            line_of(function),
            say("cannot-called", name=function.__name__, message=str(error)),
            say("declare-as-def", **form),
        ) from error


def _shown(argument: Any) -> str:
    if hasattr(argument, "dtype"):
        return f"{argument.dtype}{list(argument.shape)}"
    return "the parameters" if isinstance(argument, dict) else repr(argument)[:40]


def _array(value: Any, path: Path, line: int | None, name: str) -> Any:
    """Return an output as an array of numbers. Raises MistakeError."""
    import numpy as np  # commands that run no oracle need not wait for it

    hint = say("return-array-numpys-tensor-pytorchs-tensor-detach")
    with blaming(path, hint, line, code="no_array"):
        array = np.asarray(value)
    if array.dtype.kind not in _NUMBERS:
        what = str(array.dtype) if isinstance(value, np.ndarray) else type(value).__name__
        told = say("returns-not-array-numbers", name=name, what=what)
        raise fault("no_array", path, line, told, hint)
    return array


def _shapes(
    table: Computation | OracleOptions, arguments: tuple[Any, ...]
) -> list[tuple[int, ...]]:
    """Return the shapes that outputs must have, with the axis over cases of the arguments."""
    cases = len(arguments[1]) if len(arguments) > 1 else 0
    if isinstance(table, OracleOptions):
        return [(cases, *table.output_shape)]
    extents = table.extents_of([each.shape[1:] for each in arguments[1:]]) or {}
    return [(cases, *each.shape) for each in table.at(extents).outputs]


def demand_shapes(
    arrays: list[Any], wanted: list[tuple[int, ...]], path: Path, line: int | None, name: str
) -> None:
    """Raise MistakeError where outputs have other shapes."""
    found = [each.shape for each in arrays]
    if found == wanted:
        return
    told = say(
        "returns-arrays-shapes-required",
        name=name,
        found=", ".join(map(str, found)),
        wanted=", ".join(map(str, wanted)),
    )
    if [math.prod(each) for each in found] == [math.prod(each) for each in wanted]:
        hint = say("has-right-number-elements-reshape-or-transpose")
    else:
        hint = say("first-axis-cases-others-outputs-or-output")
    raise fault("shape", path, line, told, hint)


# --- models ---------------------------------------------------------------------------------------


def find_maker(module: ModuleType, path: Path, name: str) -> Callable[[int], Any]:
    """Return the function of `models.py` that makes a model from a seed. Raises MistakeError."""
    models = getattr(module, "MODELS", None)
    known = models if isinstance(models, dict) else {}
    if not callable(known.get(name)):
        raise fault(
            "model",
            path,
            _assigned(path, "MODELS"),
            say("models-py-has-no-model-called", name=name),
            say(
                "models-dictionary-functions-seed-has",
                known=", ".join(sorted(map(str, known))) or "nothing",
            ),
        )
    make = known[name]

    def made(seed: int) -> Any:
        hint = say("called-with-number-seed-draw-weights")
        with blaming(path, hint, line_of(make)):
            model = make(seed)
        if not callable(getattr(model, "eval", None)) or not hasattr(model, "state_dict"):
            told = say(
                "function-for-returns-not-module-pytorchs", name=name, what=type(model).__name__
            )
            raise fault("model", path, line_of(make), told, say("return-torch-nn-module"))
        return model

    return made


def _assigned(path: Path, name: str) -> int | None:
    """Return the first line of a file that begins with a name."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((n for n, line in enumerate(lines, 1) if line.startswith(name)), None)
