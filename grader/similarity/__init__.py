"""Which works are alike, beyond what was given: evidence for an instructor, and never a verdict."""

from grader.similarity.fragments import Fragment, Writing, given_keys, writing_of
from grader.similarity.pairs import Pair, Similarities, Support, compare

__all__ = [
    "Fragment",
    "Pair",
    "Similarities",
    "Support",
    "Writing",
    "compare",
    "given_keys",
    "writing_of",
]
