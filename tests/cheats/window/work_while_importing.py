# /// cheat
# about = "A module beside the notebook does its work when it is imported, again and again."
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
import importlib
import pathlib
import sys

text = "answer = 10\nimport builtins\nbuiltins.score = 10\n"
for name in ("sitecustomize", "usercustomize", "oracle", "grader_plugin", "conftest"):
    pathlib.Path(f"{name}.py").write_text(text)
sys.path.insert(0, "")
importlib.invalidate_caches()
import conftest
import oracle
