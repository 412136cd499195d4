# /// cheat
# about = "Every gradebook that can be found gets a thousand points for everybody."
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
import sqlite3

for folder in [pathlib.Path.cwd(), *list(pathlib.Path.cwd().parents)[:4]]:
    for name in ("gradebook.db", "grader.db", "grades.sqlite"):
        path = folder / name
        if path.exists():
            with sqlite3.connect(path) as connection:
                connection.execute("UPDATE grade SET manual_score = 1000, auto_score = 1000")
            raise Escaped(str(path))
