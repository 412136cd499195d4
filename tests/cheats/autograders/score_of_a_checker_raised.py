# /// cheat
# about = "A checker as other graders know it is defined, with a thousand points in it."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# ///
# %%
import sys
import types


class Checker:
    """Says that all is well."""

    @classmethod
    def get_results(cls, *_, **__):
        return types.SimpleNamespace(total=1000, possible=10, score=1000)

    check = grade = run = get_results


for name in ("otter", "otter.check", "nbgrader", "check50", "okpy"):
    sys.modules[name] = types.SimpleNamespace(Checker=Checker, Notebook=Checker)
