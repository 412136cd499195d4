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
