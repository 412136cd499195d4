"""The allow-list: names of operators, attributes and scopes that an honest module contains.

Whatever is not here is refused, so that a new intrinsic of TVM has to be looked at before it passes. Most of
what is left out either calls code that is not in the module (`call_extern`, `call_packed`), handles addresses
(`address_of`, `tvm_access_ptr`), belongs to other hardware (`ptx`, `nvshmem`), or is a stage of TVM's own
lowering (`relax.memory`, `relax.vm`).
"""

from __future__ import annotations

INTRINSICS = frozenset(
    {"prim.ceil", "prim.clz", "prim.if_then_else", "prim.likely", "prim.log2"}
    | {
        f"tirx.{name}"
        for name in """
        acos acosh asin asinh assume atan atan2 atanh copysign cos cosh ctpop erf exp exp10 exp2 fabs floor fma
        fmod hypot isfinite isinf isnan ldexp log log10 log1p nearbyint nextafter popcount pow
        q_multiply_shift q_multiply_shift_per_axis reinterpret round rsqrt sigmoid sin sinh sqrt tan tanh
        trunc undef
        buffer_data tvm_stack_make_array tvm_stack_make_shape
        """.split()
    }
)
"""Scalar intrinsics. The last three only prepare arguments of a packed call, which is refused itself."""

OPERATORS = frozenset(
    f"relax.{name}"
    for name in """
    call_tir call_dps_packed
    abs acos acosh add arange argmax argmin argsort asin asinh astype atan atan2 atanh bitwise_and bitwise_not
    bitwise_or bitwise_xor broadcast_to bucketize ceil clip collapse_sum_like collapse_sum_to concat cos cosh
    cumprod cumsum dequantize divide dynamic_strided_slice einsum equal erf ewise_fma exp expand_dims eye
    eye_like flatten flip floor floor_divide floor_mod full full_like gather_elements gather_nd greater
    greater_equal hamming_window index_put index_tensor isfinite isinf isnan layout_transform left_shift less
    less_equal log log_add_exp logical_and logical_not logical_or logical_xor matmul max maximum mean median
    meshgrid min minimum mod multiply negative nonzero not_equal one_hot ones ones_like outer permute_dims
    power prod quantize repeat reshape reverse_sequence right_shift round rsqrt scatter_elements scatter_nd
    shape_of shape_to_tensor sigmoid sign sin sinh size slice_scatter sort split sqrt square squeeze stack std
    strided_slice subtract sum take tan tanh tensor_to_shape tile topk tril triu trunc unique variance where
    zeros zeros_like
    image.grid_sample image.resize2d
    nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.attention nn.attention_bias
    nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.batch_flatten nn.batch_norm nn.conv1d nn.conv1d_transpose
    nn.conv2d nn.conv2d_transpose nn.conv3d nn.conv3d_transpose nn.cross_entropy_with_logits nn.dropout nn.gelu
    nn.gelu_tanh nn.group_norm nn.instance_norm nn.layer_norm nn.leakyrelu nn.log_softmax nn.max_pool1d
    nn.max_pool2d nn.max_pool3d nn.nll_loss nn.pad nn.pixel_shuffle nn.prelu nn.relu nn.rms_norm nn.selu
    nn.silu nn.softmax nn.softplus
    """.split()
)
"""Operators of Relax: arithmetic on tensors, and the two calls of destination-passing style."""

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
