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
    "multiplied": "of",
    "negated": "of",
    "not_written": "written_in",
    "operand_missing": "operand",
    "operand_twice": "operand",
    "operands_swapped": "of",
    "overflows": "of",
    "added_to_columns": "of",
    "relu_in_every_round": "of",
    "order_swapped": "part",
    "partly_right": "at",
    "pooling_kind": "found",
    "reduction_too_short": "end",
    "scaled": "of",
    "result_transposed": "of",
    "sum_for_mean": "takes",
    "transposed": "operand",
    "weight_not_transposed": "is_reshaped",
}
"""The fact by which the mistake_messages of a mistake differ."""

_OVER_ALL = say(
    "Sum over all {wanted}: the loop is range({wanted}), and a block's axis for it has the "
    "extent {wanted}."
)
_ADD_BIAS = say(
    "Add the bias to the product, once: one number for each channel of a convolution, or for each"
    " column of a linear layer."
)
_COMPARE_OPERANDS = say(
    "Compare both operands of that sum with PyTorch's: one is missing, or is too small to change"
    " the result."
)
_AMOUNT = say("every number is off by the same amount, {amount:.3g}")
_BEGIN_WITH_ZERO = say(
    "Check that the sum begins with 0, and that no number is added that PyTorch does not add."
)

MISTAKE_MESSAGES: Mapping[str, MistakeMessage] = {
    # --- convolution ---
    "kernel_flipped": MistakeMessage(
        say("the filters are flipped"),
        say(
            "Read image and filter in the same direction: the image at (y + i, x + j), the "
            "filter at (i, j). A convolution layer does not flip its filters."
        ),
    ),
    "kernel_transposed": MistakeMessage(
        say("rows and columns of the filters are exchanged"),
        say("Read the filter at (i, j) where the image is read in row y + i and column x + j."),
    ),
    "padding": MistakeMessage(
        say("padding is {found}; it should be {wanted}"),
        say("Give the convolution a padding of {wanted}."),
    ),
    "padding_one_side": MistakeMessage(
        say("all of the padding is on one side"),
        say("Pad {wanted} on every side: above, below, left and right."),
    ),
    "convolution_stride": MistakeMessage(
        say("stride is {found}; it should be {wanted}"),
        say("Give the convolution a stride of {wanted}."),
    ),
    "dilation": MistakeMessage(
        say("dilation is {found}; it should be {wanted}"),
        say("Give the convolution a dilation of {wanted}."),
    ),
    # --- pooling ---
    "pooling_kind:average": MistakeMessage(
        say("it takes the mean of each window; it should take the maximum"),
        say('Take the maximum: the kind of pooling is "max".'),
    ),
    "pooling_kind:smallest": MistakeMessage(
        say("it takes the minimum of each window; it should take the maximum"),
        say('Take the maximum: the kind of pooling is "max", and it begins at the least number.'),
    ),
    "pooling_stride": MistakeMessage(
        say("stride is {stride_found}; it should be {stride_wanted}"),
        say("Give the pooling a stride of {stride_wanted}, in both directions."),
    ),
    "pooling_padding": MistakeMessage(
        say("padding is {padding_found}; it should be {padding_wanted}"),
        say("Give the pooling a padding of {padding_wanted} on every side."),
    ),
    "pooling_size": MistakeMessage(
        say(
            "window, stride and padding are {size_found}, {stride_found} and {padding_found};"
            " they should be {size_wanted}, {stride_wanted} and {padding_wanted}"
        ),
        say(
            "Give the pooling a window of {size_wanted} by {size_wanted}, a stride of"
            " {stride_wanted} and a padding of {padding_wanted}."
        ),
    ),
    **PRODUCT_MESSAGES,
    # --- sums ---
    "reduction_too_short:first": MistakeMessage(
        say("its sum has {found} of {wanted} {axis}; the first is missing"), _OVER_ALL
    ),
    "reduction_too_short:last": MistakeMessage(
        say("its sum has {found} of {wanted} {axis}; the last is missing"), _OVER_ALL
    ),
    "reduction_too_short:inner": MistakeMessage(
        say("its sum has {found} of {wanted} {axis}: a loop ends one round early"),
        _OVER_ALL,
    ),
    "initialised_in_every_round": MistakeMessage(
        say("the sum restarts in every round, so that only one term is left"),
        say(
            "Set the sum to 0 once, before its loop, and let every round add its term to it (+=,"
            " not =). In a block, declare the axis of the sum as a reduction (R): T.init() is done"
            " in its first round only."
        ),
    ),
    "sum_not_initialised": MistakeMessage(
        say("a sum begins with whatever the memory holds"),
        say(
            "Set the sum to 0 before its loop: with T.init() in a block, by an assignment in NumPy."
            " Buffers do not start as zeros."
        ),
    ),
    # --- bias and sums of two ---
    "bias_missing": MistakeMessage(say("the bias of {layer} is missing"), _ADD_BIAS),
    "bias_twice": MistakeMessage(say("the bias of {layer} is added twice"), _ADD_BIAS),
    "bias_in_every_round": MistakeMessage(
        say("the bias of {layer} is added in each of the {rounds} rounds of the sum"),
        say("Add the bias once, when the sum is complete, or let the sum begin with it."),
    ),
    "bias_subtracted": MistakeMessage(say("the bias is subtracted; it should be added"), _ADD_BIAS),
    "bias_first_item": MistakeMessage(
        say("the first number of the bias is added everywhere"), _ADD_BIAS
    ),
    "bias_differs": MistakeMessage(say("another vector than the bias is added"), _ADD_BIAS),
    "bias_extra": MistakeMessage(
        say("a vector is added that does not belong there"),
        say("Leave the addition out here, or add the bias where PyTorch does."),
    ),
    "bias_differs:constant": MistakeMessage(_AMOUNT, _BEGIN_WITH_ZERO),
    "bias_extra:constant": MistakeMessage(_AMOUNT, _BEGIN_WITH_ZERO),
    "bias_axis": MistakeMessage(
        say("the bias goes along another axis than it should"),
        say(
            "Give the bias a shape that goes along the channels: (1, channels, 1, 1) beside NCHW,"
            " (columns,) beside a matrix."
        ),
    ),
    "operand_missing:product": MistakeMessage(
        say("only the bias is there"),
        say("Add the bias to the product: a sum begins with 0, and takes every term."),
    ),
    "operand_missing:first": MistakeMessage(
        say("the first operand of the sum is missing"), say("Add both operands.")
    ),
    "operand_missing:second": MistakeMessage(
        say("the second operand of the sum is missing"), say("Add both operands.")
    ),
    "operand_missing:first_swallowed": MistakeMessage(
        say("the first operand of the sum makes no difference"), _COMPARE_OPERANDS
    ),
    "operand_missing:second_swallowed": MistakeMessage(
        say("the second operand of the sum makes no difference"), _COMPARE_OPERANDS
    ),
    "operand_twice:first": MistakeMessage(
        say("the first operand is added to itself"), say("Add both operands, once each.")
    ),
    "operand_twice:second": MistakeMessage(
        say("the second operand is added to itself"), say("Add both operands, once each.")
    ),
    "subtracted": MistakeMessage(
        say("the operands are subtracted; they should be added"), say("Add the operands.")
    ),
    "scaled": MistakeMessage(
        say("all numbers are {factor:.3g} times as large as PyTorch's"),
        say("Look for a factor, or a division, that does not belong there or is missing."),
    ),
    "scaled:sum": MistakeMessage(
        say("its sums are {factor} times as large as PyTorch's"),
        say(
            "Look for a factor that does not belong there, also in what is summed, and set the sum"
            " to 0 before its loop: memory may hold the last one."
        ),
    ),
    "scaled:input": MistakeMessage(
        say("it is the input, {factor:.3g} times as large"),
        say("Check whether this step belongs there: PyTorch uses the input directly."),
    ),
    "multiplied:sum": MistakeMessage(
        say("the terms are multiplied into the sum, which starts with 0 and stays 0"),
        say("Add each term to the sum: a + stands between the sum and its term, not a *."),
    ),
    "multiplied": MistakeMessage(
        say("the operands are multiplied; they should be added"), say("Add the operands.")
    ),
    "added_to_columns": MistakeMessage(
        say("the vector is added along the columns; it should be added along the rows"),
        say("Add item j of the vector to column j: it is read with the last index."),
    ),
    "added_to_columns:vector": MistakeMessage(
        say("the vector that it takes is read with the index of the row, not of the column"),
        say("Read that vector with the last index: its item j belongs to column j."),
    ),
    # --- elementwise ---
    "overflows:exponential": MistakeMessage(
        say("exponentials of large numbers overflow to infinity"),
        say(
            "Subtract the largest number of each row before you take the exponentials: the softmax"
            " stays the same."
        ),
    ),
    "overflows:square": MistakeMessage(
        say("squares of large numbers overflow to infinity"),
        say(
            "Divide x by m, the largest size of a number of its row or 1, before you square it:"
            " (x / m) / sqrt(mean((x / m)^2) + epsilon / m^2) is the same."
        ),
    ),
    "operands_swapped:joined": MistakeMessage(
        say("what it joins is in the reverse order"),
        say("Exchange what is joined: the first comes last, and the last first."),
    ),
    "result_transposed:argument": MistakeMessage(
        say("argument {argument} of the function is read with its last two indices exchanged"),
        say("Exchange the last two indices where argument {argument} is read."),
    ),
    "mean_axis": MistakeMessage(
        say("{layer} goes along axis {found}; it should go along axis {wanted}"),
        say("Let {layer} go along axis {wanted}."),
    ),
    "sum_for_mean:mean": MistakeMessage(
        say("it takes the sum; it should take the mean"),
        say("Divide the sum by how many numbers it adds up."),
    ),
    "sum_for_mean": MistakeMessage(
        say("it takes the mean; it should take the sum"), say("Do not divide the sum.")
    ),
    "mean_taken_off": MistakeMessage(
        say("the mean is subtracted before it"),
        say("Do not subtract the mean: RMSNorm divides by the root of the mean square alone."),
    ),
    "reversed": MistakeMessage(
        say("its numbers are in the reverse order along its last axis"),
        say("Check whether the parameters of {layer} are read in the right order."),
    ),
    "added": MistakeMessage(
        say("the operands are added; they should be subtracted"),
        say("Subtract the second operand."),
    ),
    "exchanged": MistakeMessage(
        say("the operands are subtracted the other way round"),
        say("Subtract the second operand from the first."),
    ),
    "negated": MistakeMessage(
        say("the result of {layer} has the opposite sign"), say("Change the sign of {layer}.")
    ),
    "negated:argument": MistakeMessage(
        say("argument {argument} of the function is taken with the opposite sign"),
        say("Change the sign where argument {argument} is used."),
    ),
    "clamp_range": MistakeMessage(
        say("it clamps to the range {found}; PyTorch's {layer} clamps to another"),
        say("Clamp to the range that the assignment gives."),
    ),
    "clamp_range:moved": MistakeMessage(
        say("it is what a clamp to the range {found} gives, with {shift} added"),
        say("Clamp to the range that the assignment gives, and add nothing before or after."),
    ),
    "other_activation": MistakeMessage(
        say("it computes {found}; it should be {wanted}"),
        say("Compute {wanted} in place of {found}."),
    ),
    # --- activations ---
    "relu_missing": MistakeMessage(
        say("the ReLU is missing"), say("Replace negative numbers with 0: max(x, 0).")
    ),
    "relu_extra": MistakeMessage(
        say("there is a ReLU too many"),
        say("Leave the ReLU out here: negative numbers must stay."),
    ),
    "relu_in_every_round": MistakeMessage(
        say("the ReLU is applied in every round of the sum, not once"),
        say(
            "Take the ReLU when the sum is complete: in a block of its own, or behind the loop of"
            " the sum."
        ),
    ),
    "relu_in_every_round:terms": MistakeMessage(
        say("the ReLU is applied to every term of the sum, not to the sum"),
        say(
            "Take the ReLU when the sum is complete: in a block of its own, or behind the loop of"
            " the sum."
        ),
    ),
    "relu_inverted": MistakeMessage(
        say("what is positive is cut off, should be what is negative"),
        say("ReLU is the maximum of x and 0: max, not min."),
    ),
    "relu_absolute": MistakeMessage(
        say("signs are dropped; negative numbers should become 0"),
        say("ReLU is the maximum of x and 0, not the absolute value."),
    ),
    "softmax_missing": MistakeMessage(
        say("the softmax is missing"), say("Take a softmax here, along the axis of PyTorch's.")
    ),
    "softmax_missing:along": MistakeMessage(
        say("the softmax is missing"), say("Take a softmax along axis {along} here.")
    ),
    "softmax_extra": MistakeMessage(
        say("there is a softmax too many"), say("Leave the softmax out: PyTorch has none here.")
    ),
    "softmax_axis": MistakeMessage(
        say("the softmax goes along axis {found}; it should go along axis {wanted}"),
        say("Take the softmax along axis {wanted}: along it, the results sum to 1."),
    ),
    "softmax_of_all": MistakeMessage(
        say("the softmax goes over all numbers; it should go over those of one row"),
        say("Divide by the sum of the row, not by that of all numbers."),
    ),
    "softmax_logarithm": MistakeMessage(
        say("it is the logarithm of the softmax"),
        say("Leave the logarithm out: softmax in place of log_softmax."),
    ),
    "softmax_not_divided": MistakeMessage(
        say("the exponentials are not divided by their sum"),
        say("Divide the exponentials by their sum over the row."),
    ),
    "softmax_without_exponential": MistakeMessage(
        say("the scores are divided by their sum without the exponential"),
        say("Take the exponential of each score first, then divide by the sum of the row."),
    ),
    # --- shapes and order ---
    "flatten_order:NHWC": MistakeMessage(
        say("the channels are moved to the end before it"),
        say("Flatten in the order of NCHW: channel, row, column."),
    ),
    "flatten_order:NCWH": MistakeMessage(
        say("rows and columns are exchanged before it"),
        say("Flatten in the order of NCHW: channel, row, column."),
    ),
    "layer_left_out": MistakeMessage(
        say("{layers} is left out"), say("Add {layers} here, before what follows.")
    ),
    "layer_left_out:several": MistakeMessage(
        say("{layers} are left out"),
        say("Add the layers that are missing, in this order: {layers}."),
    ),
    "layer_repeated": MistakeMessage(say("{layer} is done twice"), say("Do {layer} once.")),
    "order_swapped": MistakeMessage(
        say("{first} and {second} are exchanged"),
        say("Do {first} first, and {second} on its result."),
    ),
    "order_swapped:bias": MistakeMessage(
        say("the bias of {first} is added after {second}; it should be added before"),
        say("Add the bias to the product first, and do {second} on the sum."),
    ),
    "other_operand": MistakeMessage(
        say("it takes another value than it should"),
        say("Compare what it takes with what PyTorch's {layer} takes."),
    ),
    "other_operand:layers": MistakeMessage(
        say("it takes the result of {taken}; it should take that of {wanted}"),
        say("Give it the result of {wanted}."),
    ),
    "other_operand:steps": MistakeMessage(
        say("it takes `{taken_step}`; it should take `{wanted_step}`"),
        say("Give it `{wanted_step}`, which is as in PyTorch."),
    ),
    "outputs_swapped": MistakeMessage(
        say("the outputs are in the wrong order"),
        say("Exchange the outputs."),
    ),
    "other_step_returned": MistakeMessage(
        say("`{returned}` is returned; it should be `{wanted}`"),
        say("Return `{wanted}`."),
    ),
    "constant_swapped": MistakeMessage(
        say("another layer's parameter is used"),
        say("Give every layer its own weight and bias: check the names that you read them by."),
    ),
    "constant_zero": MistakeMessage(
        say("a parameter is 0 everywhere"),
        say("Make the constant of the parameter's own numbers."),
    ),
    # --- memory and numbers ---
    "not_written": MistakeMessage(
        say("`{callee}` does not write into its output"),
        WRITE_THE_BUFFER,
    ),
    "not_written:tensorir": MistakeMessage(
        say("`{callee}` does not write into its output"),
        WRITE_THE_OUTPUT,
    ),
    "not_written:own": MistakeMessage(
        say("it reads the buffer `{buffer}`, which is never written"),
        say("Write every number of `{buffer}` before it is read."),
    ),
    "partly_written": MistakeMessage(
        say("{share:.0%} of its numbers are never written"),
        say(
            "Loop over the whole output. Inside a block use its axes (vi), not the loop "
            "variables (i), and bind each axis to its loop."
        ),
    ),
    "partly_right": MistakeMessage(
        say("{share:.0%} of its numbers are right"),
        say(
            "Find what the others have in common, such as position, sign or size, and what "
            "differs there."
        ),
    ),
    "partly_right:negative": MistakeMessage(
        say("{share:.0%} of its numbers are right, and all others should be 0"),
        say("ReLU is the maximum of x and 0: every negative number becomes 0."),
    ),
    "partly_right:along": MistakeMessage(
        say(
            "{share:.0%} of its numbers are right, and those that are not lie from {start} to {end}"
            " along axis {axis}"
        ),
        say("Find what differs there, such as a loop that ends too early."),
    ),
    "zeros": MistakeMessage(
        say("all numbers are 0"),
        say(
            "Find the first value that is 0 and should not be: it may never be stored, may be"
            " multiplied by 0, or divided by a number that has become infinite."
        ),
    ),
    "input_returned": MistakeMessage(
        say("its input is returned unchanged"), say("Return the result, not the input.")
    ),
    "low_precision": MistakeMessage(
        say("it computes in {dtype}; it should be float32"),
        say("Use float32 for the input, the constants and every layer."),
    ),
    # --- statements ---
    "wrong_index": MistakeMessage(
        say("the block `{block}` accesses `{found}`; it should access `{wanted}`"),
        say("Use `{wanted}` in place of `{found}`."),
    ),
    "wrong_operator": MistakeMessage(
        say("the block `{block}` computes `{found}`; it should be `{wanted}`"),
        say("Compute `{wanted}` in place of `{found}`."),
    ),
    "wrong_operand": MistakeMessage(
        say("the block `{block}` takes `{found}`; it should take `{wanted}`"),
        say("Put `{wanted}` in place of `{found}`."),
    ),
    "operand_left_out": MistakeMessage(
        say("the block `{block}` does not read `{found}`"),
        say("Compute `{wanted}` there."),
    ),
    "axis_binding": MistakeMessage(
        say("the statement of the block `{block}` is right; its loops or axes are not"),
        say(
            "Bind each axis of the block `{block}` to a loop of its own, which has that axis's"
            " extent."
        ),
    ),
    "arguments_exchanged": MistakeMessage(
        say("the block `{block}` reads `{found}` and `{wanted}` for each other"),
        say("Exchange `{found}` and `{wanted}`, there or where the function is called."),
    ),
    "sum_start": MistakeMessage(
        say("the sum of the block `{block}` begins with {found}; it should begin with {wanted}"),
        say("Let the sum begin with {wanted}."),
    ),
    "low_precision:buffer": MistakeMessage(
        say("it keeps `{buffer}` in {dtype}; it should be float32"),
        say("Allocate `{buffer}` in float32, and leave out the casts to {dtype}."),
    ),
}
