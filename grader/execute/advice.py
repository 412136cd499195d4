"""What a student can do about an error that comes from a limit of the sandbox."""

from collections.abc import Callable, Mapping

import msgspec

from grader.assignment import Limits
from grader.environment import missing_import
from grader.execute.known_errors import ErrorKind, KnownError
from grader.execute.python_errors import advice_on_python
from grader.execute.schedule_errors import advice_on_step
from grader.language import NOTHING, Text, in_a_row, say
from grader.report import CellCode

_LIMITS: Mapping[ErrorKind, tuple[CellCode, Callable[[Limits], Text]]] = {
    "memory": (
        "memory",
        lambda limits: say("submission-may-use-mb-memory-use-smaller", memory_mb=limits.memory_mb),
    ),
    "disk": (
        "disk",
        lambda limits: say(
            "submission-may-write-mb-files-write-less", scratch_mb=limits.scratch_mb
        ),
    ),
    "file_size": (
        "file_size",
        lambda _: say("write-at-most-256-mb-file"),
    ),
    "processes": (
        "processes",
        lambda limits: say("submission-may-have-processes-and-threads", processes=limits.processes),
    ),
    "descriptors": (
        "descriptors",
        lambda limits: say("files-may-open-at-time-close-them", open_files=limits.open_files),
    ),
    "no_compiler": (
        "no_compiler",
        lambda _: say("tvm-needs-c-compiler-link-library"),
    ),
    "network": (
        "network",
        lambda _: say("there-no-network-while-notebook-graded-use"),
    ),
}
"""What a report calls an error that comes from a limit, and what to do about it."""

_PACKAGES = frozenset({
    *("IPython", "altair", "bokeh", "cv2", "cupy", "datasets", "einops", "google", "graphviz"),
    *("huggingface_hub", "ipywidgets", "jax", "jaxlib", "kaggle", "keras", "mlc_llm", "netron"),
    *("numba", "onnx", "onnxruntime", "pandas", "paddle", "PIL", "plotly", "pycuda", "pydot"),
    *("safetensors", "scipy", "seaborn", "skimage", "sklearn", "sympy", "tensorboard"),
    *("tensorflow", "thop", "timm", "torchaudio", "torchinfo", "torchtext", "torchviz"),
    *("tqdm", "transformers", "triton", "wandb", "xgboost"),
})  # fmt: skip
"""Packages that notebooks import; any other name may be a file of the student's own."""

_ELSEWHERE: Mapping[ErrorKind, Text] = {
    "missing_script": say("one-file-graded-and-not-in-put"),
    "lacks_arguments": say("program-asks-for-arguments-on-command-line"),
    "type_parameters": say("write-parenthesis-behind-functions-name-symbols"),
    "exits": say("remove-sys-exit-here-what-comes-after"),
}
"""What to do about what a notebook or a script has elsewhere, and not where it is graded."""


class Given(msgspec.Struct, frozen=True):
    """What a notebook is given: `files` by their paths in the working folder, and the imports that
    the assignment's own notebook begins with."""

    files: tuple[str, ...] = ()
    preamble: str = ""

    @property
    def shown(self) -> Text:
        """The files in a row; of a folder only its name."""
        names = dict.fromkeys("/".join(file.split("/")[:-1][:2]) or file for file in self.files)
        return in_a_row(f"`{name}`" for name in names)


NOTHING_GIVEN = Given()


def advice_for(
    known: KnownError, limits: Limits, given: Given = NOTHING_GIVEN
) -> tuple[CellCode, Text]:
    """Return what an error of a cell has to do with, and what to do about it.

    The text says nothing where nothing here is at work.
    """
    if known.kind in _LIMITS:
        code, advice = _LIMITS[known.kind]
        return code, advice(limits)
    if known.kind == "missing_package":
        return "missing_import", _advice_on_package(known.names[0])
    if known.kind in _ELSEWHERE:
        return "error", say(_ELSEWHERE[known.kind], name=known.names[0] if known.names else "")
    cause = advice_on_step(known) or advice_on_python(known)
    if cause:
        return "error", cause
    missing = advice_on_import(known, given.preamble)
    if missing:
        return "missing_import", missing
    if not given.files or known.kind != "not_found":
        return "error", NOTHING
    return "given_files", say(
        "assignments-given-values-in-notebooks-working-folder", files=given.shown
    )


def _advice_on_package(name: str) -> Text:
    """Return what to do about a module that is not there: a package, or a file of one's own."""
    first = name.partition(".")[0]
    if first in _PACKAGES:
        return say("this-package-not-installed-where-notebooks-graded")
    return say("one-file-graded-if-file-yours-put", name=first)


def advice_on_import(known: KnownError, preamble: str) -> Text:
    """Return what to do about a name that the preamble would have bound; empty for other errors."""
    return missing_import(preamble, known.names[0]) if known.kind == "undefined_name" else NOTHING
