"""What the text of a module may hold: strings, names, types of nodes, constants.

Leaves of the reader: nothing here knows a graph.
"""

from __future__ import annotations

import math
import re
import struct
from binascii import a2b_base64
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from grader.decoding import prepared
from grader.errors import Told
from grader.language import say

NAME_LIMIT = 256
"""Longest name of a variable, a block or a function, in characters."""

STRING_LIMIT = 2**16
"""Longest string of any kind, in characters: annotations may hold a page of text."""

SHOWN = 60
"""Longest part of a foreign string that a message repeats, in characters."""

_SYMBOL = re.compile(r"[A-Za-z0-9_.]{1,200}", re.ASCII)
_FORBIDDEN = frozenset("\"'`\\")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Of `float0` TVM makes a float32, and of `bfloat0` a bfloat16: so no bits are 0. A variant has
# no x: `float8_e4m3fnx256` has 256 lanes, and was read as one number.
_DATA_TYPE = re.compile(
    r"(?:void|handle|bool|(?:u?int|float|bfloat)[1-9][0-9]{0,2}(?:_[a-wyz0-9]{1,12})?)"
    r"(?:x([0-9]{1,4}))?",
    re.ASCII,
)


def is_name(text: str) -> bool:
    """Say whether a string may name a variable or a block: printable, without quotes."""
    return len(text) <= NAME_LIMIT and text.isprintable() and _FORBIDDEN.isdisjoint(text)


def is_function_name(text: str) -> bool:
    """Say whether a string may name a function: as above, not empty. TVM has `<lambda>`."""
    return bool(text) and is_name(text)


def is_symbol(text: str) -> bool:
    """Say whether a string may name an operator or another entry of TVM's registries."""
    return _SYMBOL.fullmatch(text) is not None


def is_data_type(text: str) -> bool:
    """Say whether a string is a data type: `float32`, `uint8x4`, `float8_e4m3fn`, `handle`."""
    return len(text) <= 32 and _DATA_TYPE.fullmatch(text) is not None


def is_text(text: str) -> bool:
    """Say whether a string may be in a module at all: bounded, and without control characters."""
    return len(text) <= STRING_LIMIT and _CONTROL.search(text) is None


def shown(text: str) -> str:
    """Return a foreign string as a message repeats it: short, printable, between backquotes."""
    clean = "".join(c for c in text[: SHOWN + 1] if c.isprintable() and c != "`")
    return f"`{clean[:SHOWN]}…`" if len(text) > SHOWN else f"`{clean}`"


# --- the allow-list -------------------------------------------------------------------------------
# The allow-list: names of operators, attributes and scopes that an honest module contains.
#
# Whatever is not here is refused, so that a new intrinsic of TVM has to be looked at before it
# passes. Most of what is left out either calls code that is not in the module (`call_extern`,
# `call_packed`), handles addresses (`address_of`, `tvm_access_ptr`), belongs to other hardware
# (`ptx`, `nvshmem`), or is a stage of TVM's own lowering (`relax.memory`, `relax.vm`).


# fmt: off
INTRINSICS = frozenset({
    "prim.ceil", "prim.clz", "prim.if_then_else", "prim.likely", "prim.log2", "tirx.acos",
    "tirx.acosh", "tirx.asin", "tirx.asinh", "tirx.assume", "tirx.atan", "tirx.atan2",
    "tirx.atanh", "tirx.buffer_data", "tirx.copysign", "tirx.cos", "tirx.cosh", "tirx.ctpop",
    "tirx.erf", "tirx.exp", "tirx.exp10", "tirx.exp2", "tirx.fabs", "tirx.floor", "tirx.fma",
    "tirx.fmod", "tirx.hypot", "tirx.isfinite", "tirx.isinf", "tirx.isnan", "tirx.ldexp",
    "tirx.log", "tirx.log10", "tirx.log1p", "tirx.nearbyint", "tirx.nextafter", "tirx.popcount",
    "tirx.pow", "tirx.q_multiply_shift", "tirx.q_multiply_shift_per_axis", "tirx.reinterpret",
    "tirx.round", "tirx.rsqrt", "tirx.sigmoid", "tirx.sin", "tirx.sinh", "tirx.sqrt",
    "tirx.tan", "tirx.tanh", "tirx.trunc", "tirx.tvm_stack_make_array",
    "tirx.tvm_stack_make_shape", "tirx.undef",
})
"""Scalar intrinsics. `buffer_data` and `tvm_stack_make_*` only prepare the arguments of a packed
call, which is refused itself.
"""

OPERATORS = frozenset({
    "relax.abs", "relax.acos", "relax.acosh", "relax.add", "relax.arange", "relax.argmax",
    "relax.argmin", "relax.argsort", "relax.asin", "relax.asinh", "relax.astype", "relax.atan",
    "relax.atan2", "relax.atanh", "relax.bitwise_and", "relax.bitwise_not", "relax.bitwise_or",
    "relax.bitwise_xor", "relax.broadcast_to", "relax.bucketize", "relax.call_dps_packed",
    "relax.call_tir", "relax.ceil", "relax.clip", "relax.collapse_sum_like",
    "relax.collapse_sum_to", "relax.concat", "relax.cos", "relax.cosh", "relax.cumprod",
    "relax.cumsum", "relax.dequantize", "relax.divide", "relax.dynamic_strided_slice",
    "relax.einsum", "relax.equal", "relax.erf", "relax.ewise_fma", "relax.exp",
    "relax.expand_dims", "relax.eye", "relax.eye_like", "relax.flatten", "relax.flip",
    "relax.floor", "relax.floor_divide", "relax.floor_mod", "relax.full", "relax.full_like",
    "relax.gather_elements", "relax.gather_nd", "relax.greater", "relax.greater_equal",
    "relax.hamming_window", "relax.image.grid_sample", "relax.image.resize2d",
    "relax.index_put", "relax.index_tensor", "relax.isfinite", "relax.isinf", "relax.isnan",
    "relax.layout_transform", "relax.left_shift", "relax.less", "relax.less_equal", "relax.log",
    "relax.log_add_exp", "relax.logical_and", "relax.logical_not", "relax.logical_or",
    "relax.logical_xor", "relax.matmul", "relax.max", "relax.maximum", "relax.mean",
    "relax.median", "relax.meshgrid", "relax.min", "relax.minimum", "relax.mod",
    "relax.multiply", "relax.negative", "relax.nn.adaptive_avg_pool1d",
    "relax.nn.adaptive_avg_pool2d", "relax.nn.adaptive_avg_pool3d", "relax.nn.attention",
    "relax.nn.attention_bias", "relax.nn.avg_pool1d", "relax.nn.avg_pool2d",
    "relax.nn.avg_pool3d", "relax.nn.batch_flatten", "relax.nn.batch_norm", "relax.nn.conv1d",
    "relax.nn.conv1d_transpose", "relax.nn.conv2d", "relax.nn.conv2d_transpose",
    "relax.nn.conv3d", "relax.nn.conv3d_transpose", "relax.nn.cross_entropy_with_logits",
    "relax.nn.dropout", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.group_norm",
    "relax.nn.instance_norm", "relax.nn.layer_norm", "relax.nn.leakyrelu",
    "relax.nn.log_softmax", "relax.nn.max_pool1d", "relax.nn.max_pool2d", "relax.nn.max_pool3d",
    "relax.nn.nll_loss", "relax.nn.pad", "relax.nn.pixel_shuffle", "relax.nn.prelu",
    "relax.nn.relu", "relax.nn.rms_norm", "relax.nn.selu", "relax.nn.silu", "relax.nn.softmax",
    "relax.nn.softplus", "relax.nonzero", "relax.not_equal", "relax.one_hot", "relax.ones",
    "relax.ones_like", "relax.outer", "relax.permute_dims", "relax.power", "relax.prod",
    "relax.quantize", "relax.repeat", "relax.reshape", "relax.reverse_sequence",
    "relax.right_shift", "relax.round", "relax.rsqrt", "relax.scatter_elements",
    "relax.scatter_nd", "relax.shape_of", "relax.shape_to_tensor", "relax.sigmoid",
    "relax.sign", "relax.sin", "relax.sinh", "relax.size", "relax.slice_scatter", "relax.sort",
    "relax.split", "relax.sqrt", "relax.square", "relax.squeeze", "relax.stack", "relax.std",
    "relax.strided_slice", "relax.subtract", "relax.sum", "relax.take", "relax.tan",
    "relax.tanh", "relax.tensor_to_shape", "relax.tile", "relax.topk", "relax.tril",
    "relax.triu", "relax.trunc", "relax.unique", "relax.variance", "relax.where", "relax.zeros",
    "relax.zeros_like",
})
"""Operators of Relax: arithmetic on tensors, and the two calls of destination-passing style."""
# fmt: on

EXTERN_CALLS = {
    "tirx.call_extern",
    "tirx.call_pure_extern",
}
"""Intrinsics that call a symbol of the C library or of any loaded one."""

PACKED_CALLS = {
    "tirx.tvm_call_packed",
    "tirx.tvm_call_cpacked",
    "tirx.tvm_call_trace_packed",
    "tirx.tvm_call_packed_lowered",
    "tirx.tvm_call_cpacked_lowered",
    "tirx.tvm_call_trace_packed_lowered",
}
"""Intrinsics that call a function of TVM's registry."""

OTHER_EXTERN_OPERATORS = {
    "relax.call_pure_packed",
    "relax.call_inplace_packed",
}
"""Operators of Relax whose first argument is an external function, beside call_dps_packed."""

ENVIRONMENT_FUNCTIONS = frozenset({"tvm.relax.type.infer_by_ty_args"})
"""Registry functions that TVM itself looks up by name while it infers types."""

FUNCTION_ATTRIBUTES = frozenset(
    {
        "Primitive",
        "global_symbol",
        "layout_free_buffers",
        "num_input",
        "op_pattern",
        "params",
        "relax.force_pure",
        "s_tir",
        "s_tir.is_scheduled",
        "tir.is_scheduled",
        "tir.noalias",
        "tirx.is_scheduled",
        "tirx.noalias",
    }
)
"""Attributes of functions; `params` holds tensors that an importer has put aside."""

ACTING_ATTRIBUTES = (
    "Codegen",
    "Compiler",
    "WorkspaceSize",
    "[Ii]nline",
    "calling_conv",
    "const_name_to_constant",
    "external_mods",
    "pragma_*",
    "relax.*",
    "runtime*",
    "system_lib_prefix",
    "target*",
    "tir*.is_*",
    "tir*.kernel*",
    "tir*.use_*",
    "tvm*",
)
"""Attributes of functions that TVM acts by, as patterns: refused. What is neither here nor above is
unknown to it, or does nothing without one of these, and is left out: `Composite`, by which
`FuseOpsByPattern` says what a group of operators was found by, means something beside `Codegen`.
"""

ANNOTATIONS = frozenset(
    {
        "axis",
        "buffer_dim_align",
        "explicit_read_region",
        "explicit_write_region",
        "layout_free_placeholders",
        "meta_schedule.cache_type",
        "meta_schedule.layout_rewrite_preproc",
        "meta_schedule.parallel",
        "meta_schedule.random_compute_producer",
        "meta_schedule.tiling_structure",
        "meta_schedule.unroll_explicit",
        "meta_schedule.unroll_implicit",
        "meta_schedule.vectorize",
        "meta_schedule.write_cache_level",
        "pragma_auto_unroll_max_step",
        "pragma_loop_partition_hint",
        "pragma_unroll_explicit",
        "schedule_rule",
        "tirx.script_parsing_detect_access",
        "winograd_infer_tile",
        "workload",
    }
)
"""Annotations of loops, blocks and allocations, and keys of attribute statements."""

THREAD_EXTENT = "thread_extent"
"""Key of the attribute statement that gives an index its threads."""

PIPELINE_STAGES, PIPELINE_ORDER = "software_pipeline_stage", "software_pipeline_order"
"""Annotations of a loop whose statements TVM lets run in rounds of their own. Only as they make
sense: with others TVM aborts."""

STORAGE_SCOPES = frozenset({"", "global", "local", "shared"})
"""Where buffers of a program for a CPU live."""


# --- types of nodes -------------------------------------------------------------------------------
# The node types that a module may contain, as rules that a graph is checked against.
#
# The rules are data, made by reflection over TVM (`tools/make_ir_schema.py`); here they are only
# read.


SCHEMA_FILE = "schema_tvm_0_27.json"

RuleKind = Literal["int", "float", "bool", "dtype", "node", "array", "map", "any"]

Payload = Literal[
    "none", "bool", "int", "float", "dtype", "string", "array", "map", "tensor", "fields"
]
"""What the `data` of a node is; "fields" is a table of fields with a rule each."""


class Rule(msgspec.Struct, frozen=True, eq=False):
    """What one field, element, key or value may be.

    `int`, `float`, `bool` and `dtype` are written in place; the others are an index into the nodes:
    "node" to one of `types`, "array" and "map" to a container whose elements follow `item` (and
    `key`), "any" to a plain value. `null` also allows a node of type None.
    """

    kind: RuleKind
    types: frozenset[str] = frozenset()
    item: Rule | None = None
    key: Rule | None = None
    null: bool = False


class Schema(msgspec.Struct, frozen=True):
    """Rules of all accepted types. `plain` are the types that an "any" may lead to."""

    tvm: str
    payloads: dict[str, Payload]
    nodes: dict[str, dict[str, Rule]]
    groups: dict[str, frozenset[str]]

    @property
    def plain(self) -> frozenset[str]:
        """Types of plain values: those of annotations and function attributes."""
        return self.groups["plain"]


# Made now: msgspec crashes when two threads are the first to decode a struct.
_DECODER = msgspec.json.Decoder(prepared(Schema))


@cache
def load_schema() -> Schema:
    """Return the schema of the pinned TVM, with groups (`@scalar`) replaced by their members."""
    document = files("grader.ir").joinpath(SCHEMA_FILE).read_bytes()
    raw = _DECODER.decode(document)
    nodes = {
        key: {name: _expand(rule, raw.groups) for name, rule in fields.items()}
        for key, fields in raw.nodes.items()
    }
    return msgspec.structs.replace(raw, nodes=nodes)


def _expand(rule: Rule, groups: dict[str, frozenset[str]]) -> Rule:
    types: set[str] = set()
    for name in rule.types:
        types |= groups[name[1:]] if name.startswith("@") else {name}
    return msgspec.structs.replace(
        rule,
        types=frozenset(types),
        item=_expand(rule.item, groups) if rule.item else None,
        key=_expand(rule.key, groups) if rule.key else None,
    )


# --- constants ------------------------------------------------------------------------------------
# Constants of a module: TVM's binary tensor format, of which only the header is decoded.
#
# The format is that of `SaveDLTensor` in TVM's runtime: two words (magic number, reserved), the
# device, the rank, the data type, the extents, the number of bytes, the bytes; all of it
# little-endian and in base64.


MAGIC = 0xDD5E40F096B4A13F
RANK_LIMIT = 32

_PREFIX = struct.Struct("<QQiiiBBH")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_CPU = 1
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
_BITS = {1, 4, 8, 16, 32, 64}


class TensorHeader(msgspec.Struct, frozen=True):
    """Shape and dtype of a constant."""

    shape: tuple[int, ...]
    dtype: str


class TensorError(Told):
    """Raised when a constant is not a whole tensor; says what is wrong with it."""


def read_header(text: str) -> TensorHeader:
    """Check a constant in base64 and return its header. Raises TensorError.

    The bytes of the elements are counted but not decoded.
    """
    size = _decoded_size(text)
    prefix = _decode(text, _PREFIX.size)
    magic, _, device, _, rank, code, bits, lanes = _PREFIX.unpack(prefix)
    if magic != MAGIC or device != _CPU or not 0 <= rank <= RANK_LIMIT:
        raise TensorError(say("header-not-tensors"))
    dtype = _dtype(code, bits, lanes)
    header = _PREFIX.size + 8 * (rank + 1)
    *shape, byte_count = struct.unpack_from(f"<{rank + 1}q", _decode(text, header), _PREFIX.size)
    # The product of two negative extents is a positive size.
    if any(extent < 0 for extent in shape):
        raise TensorError(say("has-negative-extent"))
    if byte_count != math.prod(shape) * ((bits + 7) // 8) or byte_count != size - header:
        raise TensorError(say("bytes-do-not-fill-shape"))
    return TensorHeader(shape=tuple(shape), dtype=dtype)


def _decoded_size(text: str) -> int:
    """Return how many bytes the base64 text stands for, by arithmetic. Raises TensorError."""
    try:
        raw = text.encode("ascii")
    except UnicodeEncodeError:
        raise TensorError(say("not-base64")) from None
    padding = raw.translate(None, _ALPHABET)
    if len(raw) % 4 or padding not in (b"", b"=", b"==") or not raw.endswith(padding):
        raise TensorError(say("not-base64"))
    return len(raw) // 4 * 3 - len(padding)


def _decode(text: str, size: int) -> bytes:
    """Return the first `size` bytes. Raises TensorError when there are fewer."""
    part = a2b_base64(text[: (size + 2) // 3 * 4])[:size]
    if len(part) < size:
        raise TensorError(say("it-ends-inside-its-header"))
    return part


def _dtype(code: int, bits: int, lanes: int) -> str:
    name = _CODES.get(code)
    if name is None or bits not in _BITS or lanes != 1:
        raise TensorError(say("data-type-not-known"))
    return "bool" if name == "bool" or (name, bits) == ("uint", 1) else f"{name}{bits}"
