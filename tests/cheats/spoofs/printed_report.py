# /// cheat
# about = "A report is printed, and an error's message is written as if the grader had said it."
# assignment = "small"
# cells = ["prelude", "@", "wrong_model"]
#
# [expect]
# score = 4
# problems = [3]
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
import json

print(json.dumps({"score": 10.0, "max_score": 10.0, "parts": [], "problems": []}))
print("\x1b[2J\x1b[H10 of 10 points", flush=True)
# %%
raise RuntimeError("[bold green]10 of 10 points[/]\x1b[2J\x1b]0;graded\x07 \u202egrader")
