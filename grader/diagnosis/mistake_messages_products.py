"""What is said of mistakes in products of matrices, and of which index is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from grader.language import Text, say


class MistakeMessage(NamedTuple):
    """What is said of a mistake, and the advice: texts whose fields are the mistake's facts."""

    what: Text
    advice: Text


_FIRST_OF_BATCH = say(
    "Read the first argument at (n, i, k): every matrix of the batch has its own n."
)
_SECOND_OF_BATCH = say(
    "Read the second argument at (n, k, j): every matrix of the batch has its own n."
)

PRODUCT_MESSAGES: Mapping[str, MistakeMessage] = {
    "weight_not_transposed": MistakeMessage(
        say("the weight is not transposed"),
        say("A linear layer computes x @ weight.T: row j of the weight makes column j."),
    ),
    "weight_not_transposed:True": MistakeMessage(
        say("the weight is reshaped; it should be transposed"),
        say(
            "A linear layer computes x @ weight.T. A reshape keeps the numbers in their order in"
            " memory, so that rows do not become columns: use a transposition."
        ),
    ),
    "transposed:first": MistakeMessage(
        say("the first matrix is transposed and should not be"),
        say("Read the first argument in row i and column k, where k is the index of the sum."),
    ),
    "transposed:second": MistakeMessage(
        say("the second matrix is transposed and should not be"),
        say("Read the second argument in row k and column j, where k is the index of the sum."),
    ),
    "transposed:both": MistakeMessage(
        say("both matrices are transposed and should not be"),
        say("Read the first argument at (i, k) and the second one at (k, j)."),
    ),
    "result_transposed": MistakeMessage(
        say("the result is transposed and should not be"),
        say("Store the sum of row i and column j at (i, j)."),
    ),
    "operands_swapped": MistakeMessage(
        say("the arguments of the product are exchanged"),
        say("A product of matrices depends on the order: the first argument gives the rows."),
    ),
    "index_fixed:first": MistakeMessage(
        say("only the first matrix of the first argument is read"), _FIRST_OF_BATCH
    ),
    "index_fixed:second": MistakeMessage(
        say("only the first matrix of the second argument is read"), _SECOND_OF_BATCH
    ),
    "index_fixed:first_matrix": MistakeMessage(
        say("only the matrix at {index} of the first argument is read"), _FIRST_OF_BATCH
    ),
    "index_fixed:second_matrix": MistakeMessage(
        say("only the matrix at {index} of the second argument is read"), _SECOND_OF_BATCH
    ),
    "index_fixed:bias": MistakeMessage(
        say("the bias is read at the same index, {index}, for the whole output"),
        say("Read the bias with the output's own channel, or column."),
    ),
    "index_fixed:weight": MistakeMessage(
        say("the weight is read with {index} as its first index for the whole output"),
        say("Read the weight with the output's own channel, or column, as its first index."),
    ),
    "index_fixed:term": MistakeMessage(
        say("a factor is read at the same index, {index}, in every round of the sum"),
        say("Read both factors at the sum's index, which changes in every round."),
    ),
    "index_fixed:first_item": MistakeMessage(
        say("the first operand is read at the same index, {index}, along one axis"),
        say("Read the first operand with the output's own indices."),
    ),
    "index_fixed:second_item": MistakeMessage(
        say("the second operand is read at the same index, {index}, along one axis"),
        say("Read the second operand with the output's own indices."),
    ),
}
