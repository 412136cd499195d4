"""What is said of each mistake: what is wrong, in a clause without a full stop, and what to do.

The names in braces are facts of the mistake (`mistakes.py`). A key with a colon is for mistakes in
which the fact that `DECIDES` names has that value.
"""

from __future__ import annotations

from collections.abc import Mapping

from grader.diagnosis.mistake_messages_products import PRODUCT_MESSAGES, MistakeMessage
from grader.evidence.problems import WRITE_THE_BUFFER, WRITE_THE_OUTPUT
from grader.language import say

ALL_BUT_RIGHT = 0.99
"""Single numbers are off where more are right, as where something else is rounded: loops that end
too early leave more."""


ROUNDING = 1e-3
"""How far numbers are off at most, relative to the largest, where something is rounded on the way:
float16 by 2**-11. What a loop leaves out is more."""


DECIDES: Mapping[str, str] = {
    "clamp_range": "moved",
    "bias_differs": "form",
    "bias_extra": "form",
    "flatten_order": "found",
    "index_fixed": "operand",
    "largest_for_sum": "found",
    "layer_left_out": "of",
    "multiplied": "of",
    "negated": "of",
    "not_written": "written_in",
    "operand_missing": "operand",
    "operand_twice": "operand",
    "operands_swapped": "of",
    "padding": "of",
    "overflows": "of",
    "added_to_columns": "of",
    "relu_in_every_round": "of",
    "order_swapped": "part",
    "other_activation": "of",
    "partly_right": "at",
    "partly_written": "written_in",
    "pooling_kind": "found",
    "reduction_too_short": "end",
    "scaled": "of",
    "short_axis": "where",
    "result_transposed": "of",
    "arguments_exchanged": "where",
    "sum_for_mean": "takes",
    "sum_not_initialised": "of",
    "transposed": "operand",
    "weight_not_transposed": "is_reshaped",
    "wrong_index": "where",
}
"""The fact by which the mistake_messages of a mistake differ."""

_OVER_ALL = say("sum-over-all-loop-range-and-blocks")
_ADD_BIAS = say("add-bias-product-once-one-number")
_COMPARE_OPERANDS = say("compare-both-operands-that-sum-with-pytorchs")
_AMOUNT = say("every-number-off-by-same-amount")
_ADD_TERMS = say("add-up-all-terms-sum-begins-with-0")
_BEGIN_WITH_ZERO = say("check-that-sum-begins")

MISTAKE_MESSAGES: Mapping[str, MistakeMessage] = {
    # --- convolution ---
    "kernel_flipped": MistakeMessage(
        say("filters-flipped"), say("read-image-and-filter-in-same-direction")
    ),
    "kernel_transposed": MistakeMessage(
        say("rows-and-columns-filters-exchanged"), say("read-filter-at-i-j-where-image")
    ),
    "padding": MistakeMessage(say("padding-should"), say("give-convolution-padding")),
    "padding:cropped": MistakeMessage(
        say("padding-and-result-cropped"), say("give-convolution-padding-and-do-not-crop")
    ),
    "padding_one_side": MistakeMessage(
        say("all-padding-on-one-side"), say("pad-on-every-side-above-below-left")
    ),
    "convolution_stride": MistakeMessage(say("stride-should"), say("give-convolution-stride")),
    "dilation": MistakeMessage(say("dilation-should"), say("give-convolution-dilation")),
    # --- pooling ---
    "pooling_kind:average": MistakeMessage(
        say("takes-mean-each-window-should-take-maximum"), say("take-maximum-kind-pooling-max")
    ),
    "pooling_kind:smallest": MistakeMessage(
        say("takes-minimum-each-window-should-take-maximum"),
        say("take-maximum-kind-pooling-max-and-begins"),
    ),
    "pooling_stride": MistakeMessage(
        say("stride-stride-found-should-stride-wanted"),
        say("give-pooling-stride-in-both-directions"),
    ),
    "pooling_padding": MistakeMessage(
        say("padding-padding-found-should-padding-wanted"),
        say("give-pooling-padding-on-every-side"),
    ),
    "pooling_dilation": MistakeMessage(
        say("dilation-dilation-found-should-dilation-wanted"), say("give-pooling-dilation")
    ),
    "pooling_size": MistakeMessage(
        say("window-stride-and-padding-and-they-should"),
        say("give-pooling-window-by-stride-and-padding"),
    ),
    **PRODUCT_MESSAGES,
    # --- sums ---
    "reduction_too_short:first": MistakeMessage(say("sum-has-first-missing"), _OVER_ALL),
    "reduction_too_short:last": MistakeMessage(say("sum-has-last-missing"), _OVER_ALL),
    "reduction_too_short:inner": MistakeMessage(
        say("sum-has-loop-ends-one-round-early"), _OVER_ALL
    ),
    "initialised_in_every_round": MistakeMessage(
        say("sum-restarts-in-every-round"), say("set-sum-0-once-before-loop")
    ),
    "operation_in_every_round": MistakeMessage(
        say("block-does-in-every-round-not-once"), say("let-block-add-up-alone-and-then")
    ),
    "sum_not_initialised": MistakeMessage(
        say("sum-begins-with-whatever-memory-holds"), say("set-sum-0-before-loop")
    ),
    "sum_not_initialised:init": MistakeMessage(
        say("init-sets-another-buffer"), say("set-buffer-in-that-init")
    ),
    "wrong_terms": MistakeMessage(
        say("each-term-of-sum-is-should"), say("multiply-both-factors-of-each-term")
    ),
    "largest_for_sum:largest": MistakeMessage(
        say("takes-largest-term-should-take-sum"), _ADD_TERMS
    ),
    "largest_for_sum:smallest": MistakeMessage(
        say("takes-smallest-term-should-take-sum"), _ADD_TERMS
    ),
    # --- bias and sums of two ---
    "bias_missing": MistakeMessage(say("bias-layer-missing"), _ADD_BIAS),
    "bias_twice": MistakeMessage(say("bias-layer-added-twice"), _ADD_BIAS),
    "bias_in_every_round": MistakeMessage(
        say("bias-added-in-each-rounds-sum"), say("add-bias-once-when-sum-complete")
    ),
    "bias_subtracted": MistakeMessage(say("bias-subtracted-should-added"), _ADD_BIAS),
    "bias_first_item": MistakeMessage(say("first-number-bias-added-everywhere"), _ADD_BIAS),
    "bias_differs": MistakeMessage(say("another-vector-than-bias-added"), _ADD_BIAS),
    "bias_extra": MistakeMessage(
        say("vector-added-that-does-not-belong-there"), say("leave-addition-out-here-or-add-bias")
    ),
    "bias_differs:constant": MistakeMessage(_AMOUNT, _BEGIN_WITH_ZERO),
    "bias_extra:constant": MistakeMessage(_AMOUNT, _BEGIN_WITH_ZERO),
    "bias_axis": MistakeMessage(
        say("bias-goes-along-another-axis-than-should"),
        say("give-bias-shape-that-goes-along-channels"),
    ),
    "operand_missing:product": MistakeMessage(
        say("only-bias-there"), say("add-bias-product-sum-begins")
    ),
    "operand_missing:first": MistakeMessage(
        say("first-operand-sum-missing"), say("add-both-operands")
    ),
    "operand_missing:second": MistakeMessage(
        say("second-operand-sum-missing"), say("add-both-operands")
    ),
    "operand_missing:first_swallowed": MistakeMessage(
        say("first-operand-sum-makes-no-difference"), _COMPARE_OPERANDS
    ),
    "operand_missing:second_swallowed": MistakeMessage(
        say("second-operand-sum-makes-no-difference"), _COMPARE_OPERANDS
    ),
    "operand_twice:first": MistakeMessage(
        say("first-operand-added-itself"), say("add-both-operands-once-each")
    ),
    "operand_twice:second": MistakeMessage(
        say("second-operand-added-itself"), say("add-both-operands-once-each")
    ),
    "subtracted": MistakeMessage(say("operands-subtracted-they-should-added"), say("add-operands")),
    "scaled": MistakeMessage(
        say("all-numbers-times-as-large-as-pytorchs"), say("look-for-factor-or-division-that-does")
    ),
    "scaled:sum": MistakeMessage(
        say("sums-times-as-large-as-pytorchs"), say("look-for-factor-that-does-not-belong")
    ),
    "scaled:division": MistakeMessage(say("divides-by-should"), say("divide-by")),
    "scaled:factor": MistakeMessage(say("multiplies-by-should"), say("multiply-by")),
    "scaled:multiplied": MistakeMessage(say("multiplies-should-divide"), say("divide-by")),
    "scaled:input": MistakeMessage(
        say("input-times-as-large"), say("check-whether-this-step-belongs-there-pytorch")
    ),
    "multiplied:sum": MistakeMessage(
        say("terms-multiplied-into-sum-which-starts"), say("add-each-term-sum-stands-between-sum")
    ),
    "multiplied": MistakeMessage(say("operands-multiplied-they-should-added"), say("add-operands")),
    "added_to_columns": MistakeMessage(
        say("vector-added-along-columns-should-added-along"), say("add-item-j-vector-column-j-read")
    ),
    "added_to_columns:vector": MistakeMessage(
        say("vector-that-takes-read-with-index-row"), say("read-that-vector-with-last-index-item")
    ),
    # --- elementwise ---
    "overflows:exponential": MistakeMessage(
        say("exponentials-large-numbers-overflow-infinity"),
        say("subtract-largest-number-each-row-before-you"),
    ),
    "overflows:integer": MistakeMessage(
        say("numbers-wrap-round-in-type"), say("compute-in-wider-type-cast-operands-first")
    ),
    "overflows:square": MistakeMessage(
        say("squares-large-numbers-overflow-infinity"), say("divide-x-by-m-largest-size-number")
    ),
    "operands_swapped:joined": MistakeMessage(
        say("what-joins-in-reverse-order"), say("exchange-what-joined-first-comes-last")
    ),
    "operands_swapped:neighbours": MistakeMessage(
        say("pairs-neighbours-not-halves"), say("pair-number-with-that-of-the-other-half")
    ),
    "result_transposed:argument": MistakeMessage(
        say("argument-function-read-with-last-two-indices"),
        say("exchange-last-two-indices-where-argument-read"),
    ),
    "mean_axis": MistakeMessage(
        say("goes-along-axis-should-go-along-axis"), say("let-go-along-axis")
    ),
    "sum_for_mean:mean": MistakeMessage(
        say("takes-sum-should-take-mean"), say("divide-sum-by-how-many-numbers-adds")
    ),
    "sum_for_mean:count": MistakeMessage(
        say("divides-sum-by-should-by-terms"), say("divide-sum-by-how-many-numbers-adds")
    ),
    "sum_for_mean": MistakeMessage(say("takes-mean-should-take-sum"), say("do-not-divide-sum")),
    "mean_taken_off": MistakeMessage(
        say("mean-subtracted-before"), say("do-not-subtract-mean-rmsnorm-divides")
    ),
    "reversed": MistakeMessage(
        say("numbers-in-reverse-order-along-last-axis"),
        say("check-whether-parameters-read-in-right-order"),
    ),
    "added": MistakeMessage(
        say("operands-added-they-should-subtracted"), say("subtract-second-operand")
    ),
    "exchanged": MistakeMessage(
        say("operands-subtracted-other-way-round"), say("subtract-second-operand-from-first")
    ),
    "negated": MistakeMessage(say("result-has-opposite-sign"), say("change-sign")),
    "negated:argument": MistakeMessage(
        say("argument-function-taken-with-opposite-sign"), say("change-sign-where-argument-used")
    ),
    "clamp_range": MistakeMessage(
        say("clamps-range-pytorchs-clamps-another"), say("clamp-range-that-assignment-gives")
    ),
    "clamp_range:moved": MistakeMessage(
        say("what-clamp-range-gives-with-added"), say("clamp-range-that-assignment-gives-and-add")
    ),
    "clamp_range:folded": MistakeMessage(
        say("every-number-is-same-clamp-exchanged"),
        say("take-minimum-with-larger-end-then-maximum"),
    ),
    "other_activation": MistakeMessage(say("computes-should"), say("compute-in-place")),
    "other_activation:pass": MistakeMessage(say("computes-should"), say("pass-must-keep-here")),
    # --- activations ---
    "relu_missing": MistakeMessage(say("relu-missing"), say("replace-negative-numbers-with-0-max")),
    "relu_extra": MistakeMessage(
        say("there-relu-too-many"), say("leave-relu-out-here-negative-numbers-must")
    ),
    "relu_in_every_round": MistakeMessage(
        say("relu-applied-in-every-round-sum"), say("take-relu-when-sum-complete-in-block")
    ),
    "relu_in_every_round:terms": MistakeMessage(
        say("relu-applied-every-term-sum-not-sum"), say("take-relu-when-sum-complete-in-block")
    ),
    "relu_inverted": MistakeMessage(
        say("what-positive-cut-off-should-what-negative"), say("relu-maximum-x-and-0-max")
    ),
    "relu_absolute": MistakeMessage(
        say("signs-dropped-negative-numbers-should-become"),
        say("relu-maximum-x-and-0-not-absolute"),
    ),
    "softmax_missing": MistakeMessage(
        say("softmax-missing"), say("take-softmax-here-along-axis-pytorchs")
    ),
    "softmax_missing:along": MistakeMessage(
        say("softmax-missing"), say("take-softmax-along-axis-here")
    ),
    "softmax_extra": MistakeMessage(
        say("there-softmax-too-many"), say("leave-softmax-out-pytorch-has-none-here")
    ),
    "softmax_axis": MistakeMessage(
        say("softmax-goes-along-axis-should-go-along"),
        say("take-softmax-along-axis-along-results-sum"),
    ),
    "softmax_of_all": MistakeMessage(
        say("softmax-goes-over-all-numbers-should-go"), say("divide-by-sum-row")
    ),
    "softmax_logarithm": MistakeMessage(
        say("logarithm-softmax"), say("leave-logarithm-out-softmax-in-place-log")
    ),
    "softmax_not_divided": MistakeMessage(
        say("exponentials-not-divided-by-their-sum"),
        say("divide-exponentials-by-their-sum-over-row"),
    ),
    "softmax_without_exponential": MistakeMessage(
        say("scores-divided-by-their-sum-without-exponential"),
        say("take-exponential-each-score-first-then-divide"),
    ),
    # --- shapes and order ---
    "flatten_order:NHWC": MistakeMessage(
        say("channels-moved-end-before"), say("flatten-in-order-nchw-channel-row-column")
    ),
    "flatten_order:NCWH": MistakeMessage(
        say("rows-and-columns-exchanged-before"), say("flatten-in-order-nchw-channel-row-column")
    ),
    "other_extent": MistakeMessage(
        say("axis-has-other-number-of-items"), say("give-axis-of-result-items")
    ),
    "layer_left_out": MistakeMessage(say("layers-left-out"), say("add-here-before-what-follows")),
    "layer_left_out:before": MistakeMessage(say("layers-left-out"), say("do-before")),
    "layer_left_out:pass": MistakeMessage(say("layers-left-out"), say("pass-must-keep-here")),
    "layer_left_out:factor": MistakeMessage(
        say("multiplication-left-out"), say("multiply-here-before-what-follows")
    ),
    "layer_left_out:division": MistakeMessage(
        say("division-left-out"), say("divide-here-before-what-follows")
    ),
    "layer_left_out:wrapped": MistakeMessage(
        say("not-clamped-before-cast"), say("clamp-first-and-cast-the-result")
    ),
    "layer_left_out:addition": MistakeMessage(
        say("addition-left-out"), say("add-number-here-before-what-follows")
    ),
    "layer_left_out:several": MistakeMessage(
        say("layers-are-left-out"), say("add-layers-that-missing-in-this-order")
    ),
    "layer_repeated": MistakeMessage(say("done-twice"), say("do-once")),
    "order_swapped": MistakeMessage(say("and-exchanged"), say("do-first-and-on-result")),
    "order_swapped:late": MistakeMessage(say("done-after-not-before"), say("do-before-not-after")),
    "order_swapped:early": MistakeMessage(say("done-before-not-after"), say("do-after-not-before")),
    "order_swapped:bias": MistakeMessage(
        say("bias-added-after-should-added-before"), say("add-bias-product-first-and-do")
    ),
    "other_operand": MistakeMessage(
        say("takes-another-value-than-should"), say("compare-what-takes-with-what-pytorchs-takes")
    ),
    "other_operand:layers": MistakeMessage(say("takes-result-should-take"), say("give-result")),
    "other_operand:argument": MistakeMessage(
        say("takes-argument-should-take-result"), say("use-result-for-argument")
    ),
    "other_operand:arguments": MistakeMessage(
        say("takes-argument-should-take-argument"), say("give-that-argument")
    ),
    "other_operand:parameter": MistakeMessage(
        say("takes-parameter-should-take"), say("give-which-as-in-pytorch")
    ),
    "other_operand:steps": MistakeMessage(
        say("takes-should-take"), say("give-which-as-in-pytorch")
    ),
    "other_operand:repeated": MistakeMessage(
        say("gives-same-numbers-as-step"), say("compute-layer-of-its-own-operands")
    ),
    "outputs_swapped": MistakeMessage(say("outputs-in-wrong-order"), say("exchange-outputs")),
    "other_step_returned": MistakeMessage(say("returned-should"), say("return")),
    "constant_swapped": MistakeMessage(
        say("another-layers-parameter-used"), say("give-every-layer-own-weight-and-bias")
    ),
    "constant_zero": MistakeMessage(
        say("parameter-0-everywhere"), say("make-constant-parameters-own-numbers")
    ),
    # --- memory and numbers ---
    "not_written": MistakeMessage(say("does-not-write-into-output"), WRITE_THE_BUFFER),
    "not_written:tensorir": MistakeMessage(say("does-not-write-into-output"), WRITE_THE_OUTPUT),
    "not_written:input": MistakeMessage(say("writes-into-other-parameter"), say("put-output-last")),
    "not_written:own": MistakeMessage(
        say("reads-buffer-which-never-written"), say("write-every-number-before-read")
    ),
    "partly_written": MistakeMessage(
        say("numbers-never-written"), say("write-every-number-output-in-every-call")
    ),
    "partly_written:tensorir": MistakeMessage(
        say("numbers-never-written"), say("loop-over-whole-output-inside-block-use")
    ),
    "partly_written:condition": MistakeMessage(
        say("numbers-never-written"), say("store-also-where-condition-does-not-hold")
    ),
    "partly_right": MistakeMessage(
        say("numbers-right"), say("find-what-others-have-in-common-such")
    ),
    "partly_right:negative": MistakeMessage(
        say("numbers-right-and-all-others-should"), say("relu-maximum-x-and-0-every-negative")
    ),
    "partly_right:masked": MistakeMessage(
        say("masked-numbers-not-low-enough"), say("put-infinity-where-mask-hides")
    ),
    "partly_right:rounded": MistakeMessage(
        say("numbers-right-and-all-others-off-by-1"), say("round-in-integers")
    ),
    "partly_right:along": MistakeMessage(
        say("numbers-right-and-those-that-not-lie"), say("find-what-differs-there-such-as-loop")
    ),
    "zeros": MistakeMessage(say("all-numbers-0"), say("find-first-value-that-0-and-should")),
    "input_returned": MistakeMessage(
        say("input-returned-unchanged"), say("return-result-not-input")
    ),
    "low_precision": MistakeMessage(
        say("computes-in-should-float32"), say("use-float32-for-input-constants-and-every")
    ),
    # --- statements ---
    "wrong_index": MistakeMessage(say("block-accesses-should-access"), say("use-in-place")),
    "wrong_index:everywhere": MistakeMessage(
        say("function-accesses-should-access"), say("use-these-indices-in-every-statement")
    ),
    "wrong_operator": MistakeMessage(
        say("block-computes-should"), say("compute-in-place-sentence")
    ),
    "wrong_operand": MistakeMessage(say("block-takes-should-take"), say("put-in-place")),
    "operand_left_out": MistakeMessage(say("block-does-not-read"), say("compute-there")),
    "axis_binding": MistakeMessage(
        say("statement-block-right-loops-or-axes"), say("bind-each-axis-block-loop-own")
    ),
    "axis_binding:letters": MistakeMessage(
        say("axes-of-block-declared-as"), say("declare-axes-as")
    ),
    "short_axis": MistakeMessage(
        say("axis-of-block-goes-over-too-few"), say("let-axis-and-its-loop-go-over-all")
    ),
    "short_axis:long": MistakeMessage(
        say("axis-of-block-goes-over-too-many"), say("let-axis-and-its-loop-go-over-all")
    ),
    "arguments_exchanged": MistakeMessage(
        say("block-reads-and-for-each-other"), say("exchange-and-there-or-where-function-called")
    ),
    "arguments_exchanged:everywhere": MistakeMessage(
        say("function-swaps-everywhere"), say("swap-in-every-statement-or-call")
    ),
    "sum_start": MistakeMessage(say("sum-block-begins-with-should-begin"), say("let-sum-begin")),
    "low_precision:buffer": MistakeMessage(
        say("keeps-in-should-float32"), say("allocate-in-float32-and-leave-out-casts")
    ),
}
