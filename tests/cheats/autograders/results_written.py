# /// cheat
# about = "Files of results are written wherever one might be looked for."
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
import json
import pathlib

text = json.dumps({"score": 10, "max_score": 10, "parts": [], "problems": []})
folders = (".", "/autograder/results", "/autograder/submission")
for folder in map(pathlib.Path, folders):
    for name in ("results.json", "report.json", ".OTTER_LOG", "results.pkl"):
        try:
            (folder / name).write_text(text)
        except OSError:
            pass
