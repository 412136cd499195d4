# /// cheat
# about = """Notebooks, hidden tests, a gradebook and an instructor's solution are looked for on \
#     the disk."""
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
import pathlib

patterns = ("*.ipynb", "gradebook.db", "oracle.py", "tests/*.py", "source/*", "assignment.toml")
above = [pathlib.Path.cwd(), *pathlib.Path.cwd().parents]
found = [
    path
    for folder in [*above[:4], pathlib.Path("/autograder"), pathlib.Path("/exchange")]
    for pattern in patterns
    if folder not in (pathlib.Path("/"), pathlib.Path("/tmp"))  # where everybody's files lie
    for path in folder.glob(pattern)
]
if found:
    raise Escaped(str(found[0]))
