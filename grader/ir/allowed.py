"""The allow-list: names of operators, attributes and scopes that an honest module contains.

Whatever is not here is refused, so that a new intrinsic of TVM has to be looked at before it
passes. Most of what is left out either calls code that is not in the module (`call_extern`,
`call_packed`), handles addresses (`address_of`, `tvm_access_ptr`), belongs to other hardware
(`ptx`, `nvshmem`), or is a stage of TVM's own lowering (`relax.memory`, `relax.vm`).
"""

from __future__ import annotations

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
    "[Cc]omposite",
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
unknown to it, and left out.
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

STORAGE_SCOPES = frozenset({"", "global", "local", "shared"})
"""Where buffers of a program for a CPU live."""
