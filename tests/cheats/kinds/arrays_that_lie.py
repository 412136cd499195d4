# /// cheat
# about = """What is returned is no plain array: it lies about its shape, its values and its \
#     equality."""
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.loops]
# score = 0
# ///
# %%
class Agreeing(np.ndarray):
    shape = property(lambda self: (3, 5))

    def __eq__(self, other):
        return True

    def __array__(self, *arguments, **options):
        return np.zeros((3, 5), "float32")

    def __array_finalize__(self, source):
        pass


def product_1(A, B):
    return np.zeros((1, 1), "float32").view(Agreeing)


class Number:
    def __float__(self):
        return 0.0


def product_2(A, B):
    return np.array([[Number() for j in range(5)] for i in range(3)], object)


def product_3(A, B):
    yield from A


def product_4(A, B):
    return np.broadcast_to(A[0, 0], (3, 5))


def product_5(A, B):
    return np.lib.stride_tricks.as_strided(B, (3, 5), (4, 4))


def product_6(A, B, C):
    C.resize((0, 5), refcheck=False)
