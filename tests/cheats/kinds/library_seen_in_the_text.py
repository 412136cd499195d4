# /// cheat
# about = """A library does the work behind operators, methods, classes and functions of the same \
#     name."""
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 6
# problems = []
#
# [expect.part.loops]
# score = 6
# check.low_level = "failed"
# check.equivalence = "passed"
# ///
# Each version has loops that are deep enough and do nothing.
# %%
import operator


def product_1(A, B):
    for i in range(3):
        for j in range(3):
            for k in range(3):
                pass
    return operator.matmul(A, B)


def product_2(A, B):
    for i in range(3):
        for j in range(3):
            for k in range(3):
                pass
    return np.add.reduce(A[:, :, None] * B[None], axis=1)


class Matrix:
    def __init__(self, values):
        self.values = values

    def __matmul__(self, other):
        return self.values @ other.values


def product_3(A, B):
    for i in range(3):
        for j in range(3):
            for k in range(3):
                pass
    return Matrix(A) @ Matrix(B)


def product_4(A, B):
    def product_4(n):
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    pass

    return (lambda a, b: a @ b)(A, B)


with open("beside.py", "w") as file:
    print("import numpy\n\ndef product_5(A, B):\n    return numpy.dot(A, B)", file=file)
from beside import product_5


def fast(A, B):
    return np.einsum("ik,kj->ij", A, B)


def product_6(A, B):
    for i in range(3):
        for j in range(3):
            for k in range(3):
                pass
    return __import__("numpy").dot(A, B)


product_6.__code__ = fast.__code__
