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
