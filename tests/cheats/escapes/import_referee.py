# /// cheat
# about = "The grader's own package is imported, or read from where it is installed."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "basic"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import importlib
import sys

found = [
    name for name in sys.modules if name.startswith(("grader.evidence", "grader.grading", "oracle"))
]
if found:
    raise Escaped(f"modules {found}")
for name in ("grader.grading.referee", "grader.grading.pipeline", "grader.course"):
    try:
        module = importlib.import_module(name)
    except (ImportError, OSError):
        continue
    raise Escaped(module.__file__)
try:
    with open("{package}/referee/judge.py") as file:
        raise Escaped(file.readline())
except OSError:
    pass
