# %%
import importlib

for name in ("grader.referee.oracle", "grader.pipeline", "grader.course", "oracle", "assignments"):
    try:
        importlib.import_module(name)
    except (ImportError, PermissionError):
        continue
    raise Escaped(name)
