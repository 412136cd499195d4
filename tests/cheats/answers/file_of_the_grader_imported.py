# /// cheat
# about = "The parts of the grader that know the answers are imported by their names."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
# stops_at = "basic"
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# ///
# %%
import importlib

for name in (
    "grader.evidence.oracle",
    "grader.grading.pipeline",
    "grader.course",
    "oracle",
    "assignments",
):
    try:
        importlib.import_module(name)
    except (ImportError, PermissionError):
        continue
    raise Escaped(name)
