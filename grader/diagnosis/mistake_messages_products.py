"""What is said of mistakes in products of matrices, and of which index is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from grader.language import Text, say


class MistakeMessage(NamedTuple):
    """What is said of a mistake, and the advice: texts whose fields are the mistake's facts."""

    what: Text
    advice: Text


_FIRST_OF_BATCH = say("read-first-argument-at-n-i-k-every")
_SECOND_OF_BATCH = say("read-second-argument")

PRODUCT_MESSAGES: Mapping[str, MistakeMessage] = {
    "weight_not_transposed": MistakeMessage(
        say("weight-not-transposed"), say("linear-layer-computes-x-weight-t-row")
    ),
    "weight_not_transposed:True": MistakeMessage(
        say("weight-reshaped-should-transposed"), say("linear-layer-computes-x-weight-t-reshape")
    ),
    "transposed:first": MistakeMessage(
        say("first-matrix-transposed-and-should"), say("read-first-argument-in-row")
    ),
    "transposed:second": MistakeMessage(
        say("second-matrix-transposed-and-should"), say("read-second-argument-in-row")
    ),
    "transposed:both": MistakeMessage(
        say("both-matrices-transposed-and-should"), say("read-first-argument")
    ),
    "result_transposed": MistakeMessage(
        say("result-transposed-and-should"), say("store-sum-row-i-and-column")
    ),
    "operands_swapped": MistakeMessage(
        say("arguments-product-exchanged"), say("product-matrices-depends-on-order-first-argument")
    ),
    "index_fixed:first": MistakeMessage(
        say("only-first-matrix-first-argument-read"), _FIRST_OF_BATCH
    ),
    "index_fixed:second": MistakeMessage(
        say("only-first-matrix-second-argument-read"), _SECOND_OF_BATCH
    ),
    "index_fixed:first_matrix": MistakeMessage(
        say("only-matrix-at-first-argument-read"), _FIRST_OF_BATCH
    ),
    "index_fixed:second_matrix": MistakeMessage(
        say("only-matrix-at-second-argument-read"), _SECOND_OF_BATCH
    ),
    "index_fixed:bias": MistakeMessage(
        say("bias-read-at-same-index-for-whole"), say("read-bias-with-outputs-own-channel")
    ),
    "index_fixed:weight": MistakeMessage(
        say("weight-read-with-as-first-index"), say("read-weight-with-outputs-own-channel")
    ),
    "index_fixed:term": MistakeMessage(
        say("factor-read-at-same-index-in-every"), say("read-both-factors-at-sums-index")
    ),
    "index_fixed:first_item": MistakeMessage(
        say("first-operand-read-at-same-index-along"),
        say("read-first-operand-with-outputs-own-indices"),
    ),
    "index_fixed:second_item": MistakeMessage(
        say("second-operand-read-at-same-index-along"),
        say("read-second-operand-with-outputs-own-indices"),
    ),
}
