"""What to do about errors: of limits, of Python and TVM, of steps of schedules, of blocks."""

from collections.abc import Mapping

import msgspec

from grader.assignment import Limits
from grader.environment import missing_import
from grader.execute.known_errors import ErrorKind, KnownError
from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, in_a_row, join, say
from grader.messages.kernel import LoopVariable
from grader.report import CellCode

_LIMITS: Mapping[CellCode, Text] = {
    "memory": say("submission-may-use-mb-memory-use-smaller"),
    "disk": say("submission-may-write-mb-files-write-less"),
    "file_size": say("write-at-most-256-mb-file"),
    "processes": say("submission-may-have-processes-and-threads"),
    "descriptors": say("files-may-open-at-time-close-them"),
    "no_compiler": say("tvm-needs-c-compiler-link-library"),
    "network": say("there-no-network-while-notebook-graded-use"),
}
"""What to do about an error that comes from a limit, which a report calls as it is called here."""

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
    for code, advice in _LIMITS.items():
        if code == known.kind:
            return code, say(advice, **msgspec.structs.asdict(limits))
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
    """Return what to do about a module that is not there: a package, or one's own file."""
    first = name.partition(".")[0]
    if first in _PACKAGES:
        return say("this-package-not-installed-where-notebooks-graded")
    return say("one-file-graded-if-file-yours-put", name=first)


def advice_on_import(known: KnownError, preamble: str) -> Text:
    """Return what to do about a name that the preamble would have bound; empty for other errors."""
    return missing_import(preamble, known.names[0]) if known.kind == "undefined_name" else NOTHING


REPLACE_STUB = say("replace-stub-with-your-solution")

_OF_PYTHON: Mapping[ErrorKind, Text] = {
    "resized_output": say("result-has-other-shape-than-out"),
    "of_none": say("what-stands-before-dot-none-there"),
    "truth_of_expression": say("value-is-not-known-yet-so-python-cannot"),
    "old_name_hint": say("variable-has-its-name-in-name"),
    "ellipsis": REPLACE_STUB,
    "gave_nothing": say("return-what-is-computed"),
    "not_well_formed": say("tvm-found-fault-in-module-and-does"),
}
_OF_NAMES: Mapping[ErrorKind, Text] = {
    "duplicate_symbol": say("two-functions-have-global-symbol"),
    "dotted_name": say("getattr-does-not-follow-dots"),
    "lacks_entry": say("dictionary-has-no-entry-add-one"),
    "too_many_arguments": say("leave-out-arguments-too-many"),
    "undefined_variable": say("script-does-not-know-name-there"),
    "init_inside": say("in-block-t-init-stands-inside-loop"),
}
"""What to do about what the error names."""


def advice_on_python(known: KnownError) -> Text:
    """Return what to do about such an error; empty for other ones."""
    if known.kind == "product_shapes":
        return _advice_on_product(known.numbers)
    if known.kind == "index_beyond":
        axis, size = known.numbers
        return say("axis-has-items-0-compare-which-index", axis=axis, last=size - 1)
    if known.kind in _OF_NAMES:
        return say(_OF_NAMES[known.kind], name=shown(known.names[0]))
    return _OF_PYTHON.get(known.kind, NOTHING)


def _advice_on_product(shapes: tuple[int, ...]) -> Text:
    columns, other_rows, other_columns = shapes
    if columns == other_columns:
        # `linear(x, w)` has transposed it already: there it is mostly another layer's.
        return say("transpose-second-matrix-or-another", columns=columns, rows=other_rows)
    return say("first-matrix-has-columns-and-second-rows", columns=columns, rows=other_rows)


_EXPLANATIONS: Mapping[ErrorKind, tuple[tuple[str, ...], Text, Text]] = {
    "step_on_reduction": (
        ("block",),
        say("loop-belongs-reduction-axis-block"),
        say("only-loop-spatial-axes-can-vectorized-bound"),
    ),
    "step_binds_reduction": (
        ("block", "loop"),
        say("loop-of-name-belongs-reduction-axis-block"),
        say("bind-reduction-to-threads-only"),
    ),
    "step_without_block": (
        ("block",),
        say("function-has-no-block"),
        say("print-names-blocks-with-sch-show"),
    ),
    "step_inlines_sum": (
        ("block",),
        say("block-reduction-and-reductions-cannot-inlined"),
        say("inline-only-blocks-that-compute-each-element"),
    ),
    "step_names_loop_twice": (
        ("loop",),
        say("loop-named-twice"),
        say("name-each-loop-once"),
    ),
    "step_factors_too_small": (
        ("loop",),
        say("product-factors-less-than-extent-loop"),
        say("write-none-for-one-factors-tvm-computes"),
    ),
    "step_loops_apart": (
        ("outer", "inner"),
        say("loop-does-not-stand-directly-inside-loop"),
        say("only-neighbouring-loops-can-fused-reorder-them"),
    ),
    "step_loops_with_more_inside": (
        ("inner", "outer"),
        say("loop-holds-more-than-loop"),
        say("fuse-only-loops-that-hold-nothing-else"),
    ),
    "step_not_a_sum": (
        ("block",),
        say("block-has-no-t-init-no-reduction"),
        say("call-decompose-reduction-once-for-block-sum"),
    ),
    "step_on_half_a_sum": (
        ("block",),
        say("block-neither-complete-block-nor-reduction-block"),
        say("if-decompose-reduction-stands-above-this-line"),
    ),
    "step_on_one_of_two_writers": (
        ("block",),
        say("block-shares-its-output-buffer"),
        say("let-one-block-write-each-buffer"),
    ),
    "step_moves_output": (
        ("block",),
        say("block-writes-output-function"),
        say("inline-or-move-another-block-compute-inline"),
    ),
    "step_decomposes_inside": (
        ("loop", "block"),
        say("reduction-loop-block-stands-outside-loop"),
        say("give-decompose-reduction-outermost-reduction-loops"),
    ),
    "step_loops_not_nested": (
        (),
        say("loops-do-not-stand-inside-one-another"),
        say("reorder-only-loops-one-block-get-them"),
    ),
    "step_across_loop_of_several": (
        ("loop",),
        say("loop-holds-several-blocks-or-loops"),
        join(
            say("leave-that-loop-out-or-reorder-before"),
            say("if-decompose-reduction-stands-above-this-line"),
        ),
    ),
    "step_tensorizes_other_loops": (
        (),
        say("loops-do-not-compute-what-intrinsic-describes"),
        say("compare-block-with-what-intrinsic-describes"),
    ),
    "step_on_gone": (
        ("what",),
        say("this-variable-refers-that-earlier-step-has"),
        say("use-loops-that-split-fuse-or-loop"),
    ),
    "step_on_other_schedule": (
        ("what",),
        say("variable-of-other-schedule"),
        say("ask-this-schedule-for-blocks-and-loops"),
    ),
    "step_blocks_outside": (
        ("block",),
        say("block-which-uses-same-buffer-does"),
        say("choose-loop-that-block-stands"),
    ),
}
"""Names of what the error names, why TVM refuses, what to do."""


_ANEW = say("inlined-block-is-gone-get-new-one-by-name")
_THINGS: Mapping[str, Text] = {
    "block": say("block"),
    "loop": say("loop"),
    "SBlock": say("block"),
    "Loop": say("loop"),
}


def explain_step(known: KnownError, *, is_decomposed: bool | None = None) -> tuple[Text, Text]:
    """Return why TVM refuses a step of a schedule and what to do; nothing for other errors.

    `is_decomposed` says whether the schedule has a decompose_reduction, where that is known.
    """
    if known.kind not in _EXPLANATIONS:
        return NOTHING, NOTHING
    names, why, remedy = _EXPLANATIONS[known.kind]
    if known.kind == "step_on_half_a_sum" and is_decomposed is False:
        why = say("block-neither-complete-nor-reduction")
        remedy = say("if-block-adds-up-begin-sum-in-init")
    elif known.kind == "step_on_half_a_sum" and is_decomposed:
        remedy = say("move-decompose-reduction-to-end")
    if names == ("what",):
        what = known.names[0]
        is_block = known.kind == "step_on_gone" and what == "block"
        return say(why, what=_THINGS[what]), _ANEW if is_block else remedy
    values = {name: shown(value) for name, value in zip(names, known.names, strict=True)}
    return say(why, **values), remedy


def advice_on_step(known: KnownError) -> Text:
    """Return both in a row, for an error on its own; nothing for other errors."""
    return join(*explain_step(known))


def advice_on_loop_variable(found: LoopVariable | None) -> Text:
    """Return what belongs in place of a loop's variable, and of others that were found with it.

    Nothing where it is not known.
    """
    if found is None:
        return NOTHING
    return join(*map(_advice, (found, *found.others)))


def _advice(found: LoopVariable) -> Text:
    block, function, name = map(shown, (found.block, found.function, found.name))
    if found.axis:
        return say(
            "in-block-write-in-place-loops-variable",
            block=block,
            function=function,
            name=name,
            axis=shown(found.axis),
        )
    axis = f"v{found.name}"
    declared = f"{axis} = T.axis.{found.kind}({found.extent}, {found.name})"
    return say(
        "in-block-loops-variable-and-block-has",
        block=block,
        function=function,
        name=name,
        axis=shown(axis),
        declared=shown(declared),
    )
