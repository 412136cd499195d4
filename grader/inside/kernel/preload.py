"""What the launcher of student kernels imports and does once, so that no kernel has to.

It runs in the launcher, before anything is known of a submission, and starts no thread.
"""

import contextlib
import functools
import importlib
import importlib.util
import inspect
import linecache
import os
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from grader.inside.common.executables import prepare_linking
from grader.inside.launcher.linux import hidden_features

_MODULES = (
    "torch",
    "tvm",
    "tvm.relax",
    "tvm.topi",
    "tvm.s_tir",
    "tvm.script",
    "tvm.script.highlight",
    "tvm.relax.frontend.torch",
    "tvm.relax.script",
    "tvm.tirx.script",
    "numpy.ma",
    "numpy.testing",
    "cloudpickle",
    "ipykernel.ipkernel",
    "ipykernel.kernelapp",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.magics",
    "IPython.core.oinspect",
    "IPython.core.ultratb",
    "IPython.extensions.storemagic",
    "tornado.platform.asyncio",
)
"""What every notebook imports, and what the kernel would import when it starts."""

_ERRORS = (
    ImportError,
    KeyboardInterrupt,
    ModuleNotFoundError,
    NameError,
    NotImplementedError,
    RecursionError,
    UnboundLocalError,
    ZeroDivisionError,
)


_NO_MODULE = ""
"""What is in the place of a module's name for a file that belongs to none: nothing is called so."""

_PLOTTING = ("matplotlib.figure", "matplotlib.backends.backend_agg")
"""All of Matplotlib that takes time to import. `matplotlib.pyplot` looks for IPython, which a
launcher does not run."""

_INLINE = "module://matplotlib_inline.backend_inline"


def prepare() -> None:
    """Import what every submission needs, so that no cell's time pays for it."""
    leave_debugpy_out()
    for name in _MODULES:
        importlib.import_module(name)
    provide_torchvision_operators()
    detect_what_the_system_shows()
    prepare_linking()
    keep_errors_of_python()
    rehearse_colours()
    remember_files_without_module()


def leave_debugpy_out() -> None:
    """Import IPython's debugger as it is where `debugpy` is not installed: a notebook finds that.

    Nobody debugs a notebook that is graded, and every kernel imported it anew: two thirds of what a
    kernel took to start.
    """
    sys.modules["debugpy"] = cast(ModuleType, None)
    try:
        importlib.import_module("ipykernel.debugger")
    finally:
        del sys.modules["debugpy"]


def import_besides(modules: Sequence[str]) -> None:
    """Import what many submissions need: a module that is missing is missed in a notebook."""
    for name in modules:
        with contextlib.suppress(ImportError):
            import_plotting() if name == "matplotlib" else importlib.import_module(name)


def import_plotting() -> None:
    """Import Matplotlib as a kernel would: with Jupyter's backend, and a folder for its files.

    It asks for both once, while it is imported, and lists all fonts if no such folder has a list:
    in every kernel, then. Raises ImportError where it is not installed.
    """
    with tempfile.TemporaryDirectory() as folder:
        own = {"MPLCONFIGDIR": folder, "MPLBACKEND": _INLINE}
        os.environ.update(own)
        try:
            for name in _PLOTTING:
                importlib.import_module(name)
        finally:
            for key in own:
                del os.environ[key]
    for thread in set(threading.enumerate()) - {threading.current_thread()}:
        thread.join()  # the one that would have said that listing fonts takes long, cancelled


def keep_errors_of_python() -> None:
    """Let an error go through TVM as what it is, where TVM would make a RuntimeError of it.

    A pass is a Python function that TVM calls. One that is not solved yet raises
    NotImplementedError, and one that takes too long is ended by a KeyboardInterrupt: both say what
    is the matter by their class alone, without a message.
    """
    import tvm_ffi

    for error in _ERRORS:
        tvm_ffi.register_error(error.__name__, error)


def rehearse_colours() -> None:
    """Colour a line of Python, as printing a module does, and every message of an error.

    Pygments compiles the expressions of a lexer when the first one of its class is made: 50 ms of
    every notebook.
    """
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers.python import Python3Lexer

    highlight("x = 1", Python3Lexer(), HtmlFormatter())


def remember_files_without_module() -> None:
    """Have Python look only once for the module that a file belongs to.

    TVM's parser asks for the stack of callers with every function that it reads, twice. Python then
    looks through all modules, thousands, for each file that does not exist: a cell, and what a
    sandbox does not show. That was a fifth of the time of a notebook of TensorIR. Where it finds
    none, its own table says so from then on. And the table is made here, not in every kernel.
    """
    find = inspect.getmodule

    @functools.wraps(find)
    def getmodule(object: object, _filename: str | None = None) -> ModuleType | None:
        found = find(object, _filename)
        if found is None and _filename is not None and not os.path.exists(_filename):  # noqa: PTH110
            inspect.modulesbyfile.setdefault(_filename, _NO_MODULE)
        return found

    vars(inspect)["getmodule"] = getmodule
    inspect.stack()
    linecache.clearcache()  # it has read files of the grader, which a sandbox does not show


def detect_what_the_system_shows(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Make `Target.from_device("cpu")` leave out instructions that the system hides.

    TVM names the processor and LLVM takes for granted what such a processor has. On a virtual
    machine without a part of it, the first call of what is compiled so ends the notebook's kernel:
    it did for every reference on an EPYC whose AVX-512 was turned off.
    """
    import tvm

    detect: Any = tvm.target.detect_target.SUPPORTED_DEVICE["cpu"]

    def detect_shown(device: Any) -> Any:
        target = detect(device)
        promised = tvm.target.codegen.llvm_get_cpu_features(target)
        hidden = hidden_features(promised, cpuinfo)
        if not hidden:
            return target
        less = {"mattr": [f"-{feature}" for feature in hidden]}
        return tvm.target.Target({"kind": str(target.kind), **target.attrs, **less})

    tvm.target.detect_target.register_device_target_detector("cpu", detect_shown)


def provide_torchvision_operators() -> None:
    """Make `import torchvision` work with a PyTorch that its compiled operators do not fit.

    The import refers to two operators, so they have to exist; nothing calls them.
    """
    import torch

    specification = importlib.util.find_spec("torchvision")
    if specification is None or specification.origin is None:
        return
    try:
        torch.ops.load_library(str(Path(specification.origin).with_name("_C.so")))
    except OSError:
        for name in ("nms", "qnms"):
            torch.library.define(
                f"torchvision::{name}",
                "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
            )
