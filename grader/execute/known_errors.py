"""What an error of a student's process is about: the one place that reads its words.

Python, the C library, PyTorch and TVM say what is wrong in English alone, without a code. Here that
becomes one of a closed set, with the names and numbers that were read; whoever advises looks at
nothing else. The text comes from a student's process: it is matched within bounds and decides about
advice, never about points.

`tests/execute/test_known_errors.py` has each of them raised by what really raises it. So it says
which of these words an upgrade has changed.
"""

import operator
import re
from typing import Literal

import msgspec

ErrorKind = Literal[
    "unknown",
    # of Python
    "not_implemented",
    "interrupted",
    "undefined_name",
    "no_attribute",
    "of_none",
    "lacks_entry",
    "too_many_arguments",
    "gave_nothing",
    "duplicate_symbol",
    "dotted_name",
    "truth_of_expression",
    "old_name_hint",
    "missing_arguments",
    "missing_package",
    "missing_script",
    "lacks_arguments",
    "exits",
    "type_parameters",
    "not_found",
    # of the system, where a limit of the sandbox is met
    "memory",
    "disk",
    "file_size",
    "processes",
    "descriptors",
    "network",
    # of the machine
    "no_compiler",
    # of NumPy, PyTorch and TVMScript
    "index_beyond",
    "product_shapes",
    "resized_output",
    "not_well_formed",
    "ellipsis",
    "init_inside",
    "undefined_variable",
    # of TVM's constructors: lengths that do not fit
    "lengths",
    "broadcast",
    "dense_order",
    # of TVM's constructors: errors with one usual cause
    "bias_of_two_axes",
    "pool_padding",
    "topi_matmul_bias",
    "relax_matmul_bias",
    "called_in_emit_te",
    "tensor_in_emit",
    "operator_in_emit_te",
    "python_function_in_emit_te",
    "reshape_size",
    "nested_tag",
    "inner_reduction",
    "convolution_order",
    "no_axis",
    # of TVM's schedules: why a step is refused
    "step_on_reduction",
    "step_binds_reduction",
    "step_without_block",
    "step_inlines_sum",
    "step_names_loop_twice",
    "step_factors_too_small",
    "step_loops_apart",
    "step_loops_with_more_inside",
    "step_not_a_sum",
    "step_on_half_a_sum",
    "step_on_one_of_two_writers",
    "step_moves_output",
    "step_decomposes_inside",
    "step_loops_not_nested",
    "step_across_loop_of_several",
    "step_tensorizes_other_loops",
    "step_blocks_outside",
    "step_on_gone",
    "step_on_other_schedule",
]

LOOKED_AT = 2_000
"""Characters of a message that are looked at: what is kept of one has 500."""


class KnownError(msgspec.Struct, frozen=True):
    """An error as a value: what it is about, and what is named in it.

    "undefined_name" and "undefined_variable": the name. "too_many_arguments": the function.
    "no_attribute": a module and what it lacks. "missing_arguments": a
    function of TOPI and its arguments as Python lists them. "lacks_entry": what was looked up in a
    dictionary, as PyTorch's text spells it. "dotted_name": the name with its dots.
    "missing_package", "missing_script" and "duplicate_symbol": its name. "lengths": the two
    lengths, found before wanted. "broadcast" and "dense_order": the length that is there, and the
    one that is added to it. "index_beyond": the axis and its extent. "product_shapes": the
    first matrix's columns, and the second's rows and columns.
    """

    kind: ErrorKind
    names: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


UNKNOWN = KnownError("unknown")


_CLASS = r"^[\w.]{1,100}: "
"""The name of an error's class, which its message follows."""


_LENGTH = r"(?:T\.int(?:32|64)\()?(\d{1,9})\b\)?"
"""A length as Relax writes it, and as a capture tells it, whose messages are tidied."""


_Form = tuple[ErrorKind, re.Pattern[str]]
"""How an error is worded: what is looked for in "Name: message"."""


def _form(kind: ErrorKind, words: str) -> _Form:
    return kind, re.compile(words)


_NAME = r"`?([\w.#]{1,100})`?"
"""A block or a loop, by its name or by the number that TVM gives it in the printed module."""


def _step(kind: ErrorKind, words: str) -> _Form:
    return _form(kind, r"^ScheduleError: (?:.{0,200} )?" + words)


_STUB = "|".join(
    (
        r"$",
        r".{0,80}\bto[ -]?do\b",
        r".{0,80}\byour (?:code|solution|implementation|answer|work)\b",
        r"(?:please |you (?:need|have) to |you (?:must|should) )?implement\b",
        r"(?:please )?(?:complete|fill|write) (?:in|this|the|your|me|it|here)\b",
        r"(?:this (?:\w{1,20} )?(?:is )?)?not (?:yet )?implemented(?: yet)?\W{0,5}$",
        r".{0,40}请.{0,40}(?:实现|完成|填写|补全|编写)",
        r"待(?:实现|完成)|尚?未(?:实现|完成)\W{0,5}$",
        r".{0,60}(?:구현|완성|작성)(?:하세요|하십시오|해 ?주세요)",
    )
)
"""What a stub says that is to be replaced. PyTorch has `"softmax" not implemented for 'Int'`, and
students say so of what their own code leaves out."""


_FORMS = (
    # Limits. The words behind "[Errno N]" are strerror's of the C library, which libraries repeat.
    _form("memory", r"^(?:_Array)?MemoryError\b|Cannot allocate memory"),
    _form("memory", r"can't allocate memory|std::bad_alloc"),  # PyTorch's allocator; C++'s new
    _form("disk", r"No space left on device"),
    _form("file_size", r"File too large"),
    _form("processes", r"can't start new thread|Resource temporarily unavailable"),
    _form("missing_package", r"^ModuleNotFoundError: No module named '([\w.]{1,100})'"),
    _form("missing_script", r"^Exception: File `'([\w./-]{1,100})'` not found"),  # %run
    _form("lacks_arguments", r"^SystemExit: 2\b"),  # argparse, click
    _form("exits", r"^SystemExit\b"),
    _form("type_parameters", r"^SyntaxError: expected '\('"),  # `def main[n](x)` before 3.12
    _form("descriptors", r"Too many open files"),
    _form("network", r"Network is unreachable|Temporary failure in name resolution"),
    _form("network", r"Name or service not known|^(?:HTTP|URL)Error\b|^ConnectionError\b"),
    _form("network", r"\[Errno 13\] Permission denied\Z"),  # of a socket: of a file there is a name
    _form("network", r"No matching distribution found"),  # pip
    # `inside/common/executables.py`, where TVM's own words do not say it
    _form("no_compiler", r"^FileNotFoundError: TVM found no C compiler: "),
    # Python's own
    _form("not_implemented", rf"^NotImplementedError: \s{{0,20}}(?i:{_STUB})"),
    _form("interrupted", r"^KeyboardInterrupt\b"),
    _form("undefined_name", r"^NameError: .{0,100}?name '(\w{1,100})' is not defined"),
    _form(
        "no_attribute",
        r"^AttributeError: .{0,100}?module '([\w.]{1,100})' has no attribute '(\w{1,100})'",
    ),
    _form("of_none", r"^AttributeError: 'NoneType' object has no attribute '\w{1,100}'"),
    _form(
        "too_many_arguments",
        r"^TypeError: (?:.{0,200}\bTypeError: )?(\w{1,100})\(\) takes \d{1,3} positional arguments?"
        r" but \d{1,3} w(?:as|ere) given",
    ),
    # `inside/evaluator/entry.py`
    _form("gave_nothing", r"\bit returned NoneType where an array of shape "),
    _form("duplicate_symbol", r"IRModule contains duplicate global symbol: ([\w.]{1,100}\b)"),
    _form(
        "dotted_name",
        r"^AttributeError: .{1,200} has no attribute '(\w{1,100}(?:\.\w{1,100}){1,20})'",
    ),
    _form("truth_of_expression", r"^ValueError: Cannot use and / or / not operator to Expr"),
    # a function or a layer in place of a name: what an importer looks up is a node's target
    _form(
        "lacks_entry",
        r"^KeyError: <(?:class 'torch\.nn\.(?:\w{1,40}\.){0,4}(?P<nn>\w{1,60})'>"
        r"|built-in method (?P<torch>\w{1,60}) of type object"
        r"|built-in function (?P<builtin>\w{1,60})>|function (?P<plain>\w{1,60}) at )",
    ),
    _form("old_name_hint", r"^AttributeError: .{0,60}?Var\b.{0,40} has no attribute 'name_hint'"),
    _form(
        "index_beyond",
        r"^IndexError: (?:.{0,200}: )?index -?\d{1,9} is out of bounds for (?:axis|dimension)"
        r" (\d{1,3}) with size ([1-9]\d{0,8})\b",
    ),
    _form(
        "product_shapes",
        r"mat1 and mat2 shapes cannot be multiplied"
        r" \(\d{1,9}x(\d{1,9}) and (\d{1,9})x(\d{1,9})\)",
    ),
    _form("resized_output", r"Trying to resize storage that is not resizable"),  # torch.f(out=)
    _form("not_well_formed", r"^DiagnosticError: (?:error: )?Program is not well-formed"),
    _form("undefined_variable", r"^DiagnosticError: (?:error: )?Undefined variable: (\w{1,100})\b"),
    _form("ellipsis", r"^DiagnosticError: .{0,100}unexpected type <class 'ellipsis'>"),
    _form(
        "init_inside",
        r"^DiagnosticError: .{0,60}T\.init must be called at the top of a T\.sblock\(\)\."
        r" +While T\.init did occur within the block \"([\w.]{1,100})\"",
    ),
    _form(
        "missing_arguments",
        r"^TypeError: .{0,100}?(conv2d|pool2d)\w{0,20}\(\)"
        r" missing \d{1,3} required positional arguments?: (.{1,300})",
    ),
    # topi.nn.dense, topi.matmul; relax.op.matmul and relax.op.linear
    _form("lengths", r"Reduction dimensions of \w{1,40} do not match\. (\d{1,9}) vs (\d{1,9})"),
    _form("lengths", rf"The reduction dimensions of {_LENGTH} and {_LENGTH} are not equal"),
    # topi's broadcast, of which the first is of a matrix and a vector as long as its rows are many
    _form(
        "dense_order",
        r"broadcast dims: (\d{1,9}) and (?P<given>\d{1,9}) in: \((?P=given), \d{1,9}\)"
        r" and \((?P=given),\)",
    ),
    _form("broadcast", r"Incompatible broadcast dims: (\d{1,9}) and (\d{1,9}) in"),
    _form(
        "broadcast",
        rf"at dim \d{{1,3}} is {_LENGTH} and .{{1,60}} is {_LENGTH}, which are not broadcastable",
    ),
    # topi.nn: an assertion without words, of which the line is told; pool2d; matmul
    _form("bias_of_two_axes", _CLASS + r"assert len\(bias\.shape\) == 1"),
    _form("pool_padding", r"Pooling padding_size must has double elements of kernel"),
    _form("topi_matmul_bias", _CLASS + r"Cannot convert from type `te\.Tensor` to `bool`"),
    # relax.op.matmul, bb.emit_te, bb.emit
    _form(
        "relax_matmul_bias",
        _CLASS + r"Mismatched type on argument #2 when calling: `relax\.op\.matmul\(",
    ),
    _form("called_in_emit_te", _CLASS + r"shape is only available on a Var with BufferType"),
    _form(
        "tensor_in_emit",
        _CLASS + r"Mismatched type on argument #2 when calling: `relax\.BlockBuilderEmit\(",
    ),
    _form(
        "operator_in_emit_te",
        _CLASS + r"only support te\.tensor or tuple/list/Array of te\.tensor as function output",
    ),
    _form(
        "python_function_in_emit_te",
        _CLASS + r"not supported type in emit_te: <class 'builtin_function",
    ),
    _form(
        "reshape_size",
        _CLASS + r"Reshape expects the new shape to be convertible from the old shape",
    ),
    _form("nested_tag", _CLASS + r"nested op_tag is not allowed"),
    _form("inner_reduction", r"Reductions are only allowed at the top level of compute"),
    _form("convolution_order", _CLASS + r"Invalid conv parameters: lead to negative output shape"),
    _form("no_axis", r"Index out of range\. size: \d{1,9}, got index \d{1,9}"),  # topi
    _form("no_axis", r"the input axis -?\d{1,9} is out of range"),  # relax.op
    # s_tir.schedule, with names of blocks and loops in place of numbers (printed_modules.py)
    _step(
        "step_on_reduction", rf"with regard to block {_NAME} because some block iter whose block"
    ),
    _step(
        "step_binds_reduction",
        rf"with regard to block {_NAME}\. This is because some of its block iter whose block"
        r" binding contains (\w{1,100}) does not meet",
    ),
    _step("step_without_block", r"Cannot find a block with the name: ([\w.]{1,100})"),
    _step("step_inlines_sum", rf"The block has init statement: {_NAME}"),
    _step("step_names_loop_twice", rf"Loop {_NAME} appears in the input array for multiple times"),
    _step(
        "step_factors_too_small",
        rf"product of factors is not larger than or equal to the extent of loop {_NAME}",
    ),
    _step(
        "step_loops_apart",
        rf"can't be fused because the outer loop {_NAME} is not the parent of the inner loop"
        rf" {_NAME}",
    ),
    _step(
        "step_loops_with_more_inside",
        rf"can't be fused because the inner loop {_NAME} is not the only child of outer loop"
        rf" {_NAME}",
    ),
    _step(
        "step_not_a_sum", rf"The block {_NAME} is not a reduction block - it violates condition #1"
    ),
    _step(
        "step_on_one_of_two_writers",
        rf"The block {_NAME} is not a (?:complete block - it violates condition #2"
        r"|reduction block - it violates condition #4)",
    ),
    _step("step_on_half_a_sum", rf"The block {_NAME} is not a complete block\b"),
    _step("step_on_half_a_sum", rf"The block {_NAME} is not a complete or reduction block\b"),
    _step("step_on_half_a_sum", rf"child block {_NAME} on SRef tree is neither a local complete"),
    _step("step_moves_output", rf"The block {_NAME} is an output block"),
    _step(
        "step_decomposes_inside",
        rf"expect the loop {_NAME} to be higher than all the loops related to reduce block var of"
        rf" block {_NAME}",
    ),
    _step(
        "step_across_loop_of_several", rf"not in a chain because .{{1,60}}Problematic stmt: {_NAME}"
    ),
    _step("step_loops_not_nested", r"The loops are not in a chain"),
    _step("step_tensorizes_other_loops", r"The stmt .{1,60} doesn't match the tensor intrin"),
    _step(
        "step_blocks_outside",
        rf"present under the target loop\..{{1,120}}List of the \w{{1,20}}\(s\): ?{_NAME}",
    ),
    _form("step_on_gone", r"^ValueError: The (block|loop) no longer exists in the IRModule"),
    _form("step_on_other_schedule", r"^IndexError: Cannot find corresponding (SBlock|Loop)RV\b"),
    _form("not_found", r"^(?:FileNotFoundError|NotADirectoryError)\b|Read-only file system"),
    _form("not_found", r"^RuntimeError: (?:Dataset not found|Error downloading)"),  # torchvision
)
"""In this order: the first that fits counts."""


def recognise(error: str, message: str) -> KnownError:
    """Return what an error is about, by the name of its class and its message."""
    text = f"{error[:100]}: {message[:LOOKED_AT]}"
    for kind, words in _FORMS:
        found = words.search(text)
        if found is not None:
            return _value(kind, found)
    return UNKNOWN


_PLAIN = frozenset(
    {
        *("of_none", "truth_of_expression", "old_name_hint", "not_well_formed", "ellipsis"),
        *("resized_output", "gave_nothing"),
    }
)
"""Kinds of which no name and no number is told."""


def _value(kind: ErrorKind, found: re.Match[str]) -> KnownError:
    if kind in ("lengths", "broadcast", "dense_order"):
        return KnownError(kind, numbers=(int(found[1]), int(found[2])))
    if kind in ("index_beyond", "product_shapes"):
        return KnownError(kind, numbers=tuple(map(int, found.groups())))
    if kind in _PLAIN:
        return KnownError(kind)
    if kind == "lacks_entry":
        return KnownError(kind, names=(_spelled(found),))
    return KnownError(kind, names=found.groups())


def _spelled(found: re.Match[str]) -> str:
    """Return a key as PyTorch's text spells it, by how Python prints it."""
    group = found.lastgroup or ""
    name = found[group]
    if group in ("nn", "torch"):
        return f"{group}.{name}"
    return f"operator.{name}" if group == "builtin" and hasattr(operator, name) else name
