"""Packages that are not here: stand-ins for some, and going on after their imports.

A notebook that begins on Colab or Kaggle imports what is there and nowhere else, and often in the
cell of all other imports: a missing progress bar cost everything. A package that is installed is
not replaced: Python asks here only for what it has not found. But for one: without ipywidgets,
tqdm's bars for notebooks raise ImportError, which in the student's Jupyter they did not.

In a cell of imports every statement that fails is passed over; in other cells, imports and magics
alone. The cell counts as failed all the same, by its first error: that is the root of what follows.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

_PACKAGES = ("google", "google.colab")
_QUIET = (
    "google.colab.auth",
    "google.colab.data_table",
    "google.colab.output",
    "google.colab.patches",
    "google.colab.runtime",
)
"""Modules in which every name is a function that does nothing."""


def install(find: Callable[[str], object] = importlib.util.find_spec) -> None:
    """Have imports fall back on the stand-ins in this process. `find` says what is installed."""
    sys.meta_path.append(_Finder(_is_known))
    if find("ipywidgets") is None:
        for name in _BARS:  # PyTorch has imported some
            sys.modules.pop(name, None)
        sys.meta_path.insert(0, _Finder(_BARS.__contains__))


class _Finder(MetaPathFinder, Loader):
    """Makes the stand-ins that are `wanted`."""

    def __init__(self, wanted: Callable[[str], bool]) -> None:
        self._wanted = wanted

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to make a module that there is a stand-in for."""
        del path, target
        if not self._wanted(fullname):
            return None
        return ModuleSpec(fullname, self, origin="stand-in", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        kind = _Package if spec.name in _PACKAGES else ModuleType
        return _Quiet(spec.name) if spec.name in _QUIET else kind(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(_CONTENTS.get(module.__name__, {}))


class _Package(ModuleType):
    """A package whose modules are there without being imported, as Colab's are."""

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__}.{name}"
        if _is_known(path):
            return importlib.import_module(path)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class _Quiet(ModuleType):
    """A module whose functions take anything and do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _nothing


def _nothing(*_: object, **__: object) -> None:
    """Do nothing."""


class Bar:
    """A progress bar that shows nothing: what it is given is gone through as it is."""

    def __init__(
        self,
        iterable: Any = None,
        desc: str | None = None,
        total: float | None = None,
        *_: object,
        **__: object,
    ) -> None:
        self.iterable = iterable
        self.desc = desc
        self.total = total
        self.n: float = 0

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable:
            self.n += 1
            yield item

    def __len__(self) -> int:
        return len(self.iterable) if self.iterable is not None else int(self.total or 0)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        """End without a word."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing

    def update(self, n: float = 1) -> None:
        """Count."""
        self.n += n

    @classmethod
    def write(cls, text: object, *_: object, **__: object) -> None:
        """Print a line, as the real one does above its bar."""
        print(text)

    @classmethod
    def pandas(cls, *_: object, **__: object) -> None:
        """Do nothing."""


def _range(*arguments: int, **options: Any) -> Bar:
    return Bar(range(*arguments), **options)


def _mount(mountpoint: str, *_: object, **__: object) -> None:
    print(f"Mounted at {mountpoint}")


def _upload(*_: object, **__: object) -> dict[str, bytes]:
    """Return the files of the working folder: what a student would upload lies there."""
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


def _no_secret(*_: object, **__: object) -> str:
    return ""


class UserSecretsClient:
    """Kaggle's keeper of secrets; it has none."""

    get_secret = _no_secret


_BARS = ("tqdm", "tqdm.auto", "tqdm.autonotebook", "tqdm.notebook", "tqdm.std")

_IN_BARS = {"tqdm": Bar, "tqdm_notebook": Bar, "trange": _range, "tnrange": _range}

_CONTENTS: dict[str, dict[str, Any]] = {
    "google.colab.drive": {"mount": _mount, "flush_and_unmount": _nothing},
    "google.colab.files": {"upload": _upload, "download": _nothing, "view": _nothing},
    "google.colab.userdata": {"get": _no_secret},
    "kaggle_secrets": {"UserSecretsClient": UserSecretsClient},
    **dict.fromkeys(_BARS, _IN_BARS),
}
"""The members of each module that stands in for another, by that module's name."""


def _is_known(name: str) -> bool:
    return name in _PACKAGES or name in _QUIET or name in _CONTENTS


_IMPORTS = (ast.Import, ast.ImportFrom)


def go_on_after_imports(shell: Any) -> None:
    """Have a shell run the cells that import statement by statement."""
    original = shell.run_ast_nodes

    async def run_ast_nodes(
        nodelist: list[ast.stmt],
        cell_name: str,
        interactivity: str = "last_expr",
        compiler: Any = compile,
        result: Any = None,
    ) -> bool:
        first: tuple[Any, Any] | None = None
        every = is_cell_of_imports(nodelist)
        for nodes, is_passed_over in _sections(nodelist, every):
            shown = interactivity if nodes[-1] is nodelist[-1] else "none"
            if await original(nodes, cell_name, shown, compiler, result):
                first = first or (result.error_in_exec, shell._last_traceback)
                if not (is_passed_over and _is_plain(result)):
                    break
        if first is not None and _is_plain(result):
            result.error_in_exec, shell._last_traceback = first
        return first is not None

    shell.run_ast_nodes = run_ast_nodes


def _sections(nodes: list[ast.stmt], every: bool) -> Iterator[tuple[list[ast.stmt], bool]]:
    """Divide statements, so that each that may fail is by itself; tells whether it may."""
    for may_fail, group in itertools.groupby(nodes, lambda node: every or _is_passed_over(node)):
        if may_fail:
            yield from (([node], True) for node in group)
        else:
            yield list(group), False


def _is_plain(result: Any) -> bool:
    """Say whether a cell failed by an error: no interrupt, no exit, nothing that cannot be run."""
    return result.error_before_exec is None and isinstance(result.error_in_exec, Exception)


def is_cell_of_imports(nodes: list[ast.stmt]) -> bool:
    """Say whether most statements of a cell import something."""
    imports = sum(map(_is_passed_over, nodes))
    defines = any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in nodes
    )
    return any(isinstance(node, _IMPORTS) for node in nodes) and (
        2 * imports > len(nodes) and not defines
    )


def _is_passed_over(node: ast.stmt) -> bool:
    return isinstance(node, _IMPORTS) or _is_magic(node)


def _is_magic(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    called = node.value.func
    if not isinstance(called, ast.Attribute) or called.attr not in ("run_line_magic", "system"):
        return False
    owner = called.value
    return (
        isinstance(owner, ast.Call)
        and isinstance(owner.func, ast.Name)
        and owner.func.id == "get_ipython"
    )
