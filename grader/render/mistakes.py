"""What each mistake is called where many students' are counted: the same for all who made it.

What one student is told has that student's numbers in it (`grader/diagnosis/mistake_messages.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from grader.language import Text, say

MISTAKE_NAMES: Mapping[str, Text] = {
    "": say("no mistake was recognised"),
    "kernel_flipped": say("the filters are flipped"),
    "kernel_transposed": say("rows and columns of the filters are exchanged"),
    "padding": say("the convolution has another padding"),
    "convolution_stride": say("the convolution has another stride"),
    "dilation": say("the convolution has another dilation"),
    "pooling_kind": say("the pooling takes another number of each window than the largest"),
    "pooling_stride": say("the pooling has another stride"),
    "pooling_padding": say("the pooling has another padding"),
    "pooling_size": say("the pooling has other windows"),
    "weight_not_transposed": say("the weight is not transposed"),
    "transposed": say("a matrix is transposed, should not be"),
    "result_transposed": say("the result is transposed, should not be"),
    "operands_swapped": say("the arguments of the product are exchanged"),
    "index_fixed": say("only the first matrix of a batch is read"),
    "reduction_too_short": say("a sum leaves out its first or its last term"),
    "initialised_in_every_round": say(
        "the sum begins anew in every round, so that one term is left of it"
    ),
    "sum_not_initialised": say("a sum begins with whatever the memory holds"),
    "bias_missing": say("the bias is missing"),
    "bias_twice": say("the bias is added twice"),
    "bias_in_every_round": say("the bias is added in every round of the sum"),
    "bias_subtracted": say("the bias is subtracted, should be added"),
    "bias_first_item": say("the first number of the bias is added everywhere"),
    "bias_differs": say("another vector than the bias is added"),
    "bias_extra": say("a vector is added that does not belong there"),
    "bias_axis": say("the bias goes along another axis than it should"),
    "operand_missing": say("an operand is missing"),
    "operand_twice": say("an operand is added to itself"),
    "subtracted": say("the operands are subtracted, should be added"),
    "scaled": say("all numbers are too large or too small by one factor"),
    "multiplied": say("the operands are multiplied, should be added"),
    "added_to_columns": say("the vector is added along the columns, should be along the rows"),
    "relu_missing": say("the ReLU is missing"),
    "relu_extra": say("there is a ReLU too many"),
    "relu_in_every_round": say("the ReLU is taken in every round of the sum, should be once"),
    "relu_inverted": say("what is positive is cut off, should be what is negative"),
    "relu_absolute": say("signs are dropped, negative numbers should become 0"),
    "softmax_missing": say("the softmax is missing"),
    "softmax_extra": say("there is a softmax too many"),
    "softmax_axis": say("the softmax goes along another axis"),
    "softmax_of_all": say("the softmax goes over all numbers, should go over those of one row"),
    "softmax_logarithm": say("it is the logarithm of the softmax"),
    "softmax_not_divided": say("the exponentials are not divided by their sum"),
    "softmax_without_exponential": say(
        "the scores are divided by their sum without the exponential"
    ),
    "flatten_order": say("axes are exchanged before they are put in a row"),
    "layer_left_out": say("a layer is left out"),
    "layer_repeated": say("a layer is done twice"),
    "order_swapped": say("two layers are exchanged"),
    "other_operand": say("it takes another value than it should"),
    "outputs_swapped": say("the outputs are in another order than they should be"),
    "other_step_returned": say("another step than the last one is returned"),
    "constant_swapped": say("another layer's parameter is used"),
    "constant_zero": say("a parameter is 0 everywhere"),
    "not_written": say("an external function does not write into its output"),
    "partly_written": say("some numbers are never written"),
    "partly_right": say("most numbers are right, and some are not"),
    "zeros": say("all numbers are 0"),
    "input_returned": say("its input comes out unchanged"),
    "low_precision": say("it computes in fewer digits than float32"),
    "schedule_step": say("a step of the schedule changes what is computed"),
}
"""By the names of `MistakeKind`, and one for where a module departs in no way that is known."""
