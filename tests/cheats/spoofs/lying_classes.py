# /// cheat
# about = "Classes that TVM's modules are made of are patched to lie about what they are."
# assignment = "small"
# cells = ["prelude", "@", "wrong_model"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
class Yes(str):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = str.__hash__


class Generous(dict):
    def __getitem__(self, key):
        return Yes("passed")


score = max_score = Yes("10")
tvm.IRModule.__eq__ = lambda self, other: True
verdict = Generous()
