# /// cheat
# about = "The model is an object that is equal to everything and of every class."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# ///
# %%
class Everything:
    """Is equal to everything, and of every class that it is asked for."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = None

    def __bool__(self):
        return True

    def __getattr__(self, name):
        return Everything()

    def __call__(self, *_, **__):
        return Everything()

    def __array__(self, *_, **__):
        return np.ones((4, 16), "float32")

    @property
    def __class__(self):
        return tvm.IRModule


def create_model():
    return Everything()
