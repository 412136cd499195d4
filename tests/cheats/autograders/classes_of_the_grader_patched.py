# /// cheat
# about = "Whatever classes of the grader are loaded are made to say that all is well."
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
import gc
import sys

for name, module in list(sys.modules.items()):
    if name.split(".")[0] in ("grader", "nbclient", "nbformat", "msgspec"):
        for attribute in ("score", "verdict", "Report", "Check", "passed", "failed"):
            try:
                setattr(module, attribute, 10)
            except (AttributeError, TypeError):
                pass
for each in gc.get_objects():
    if str(type(each).__module__).startswith("grader"):
        for attribute in ("score", "max_score", "verdict", "points"):
            try:
                setattr(each, attribute, 10)
            except (AttributeError, TypeError):
                pass
