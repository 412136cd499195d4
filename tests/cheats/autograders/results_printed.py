# /// cheat
# about = "A report with full points is printed, in every form that a grader may read."
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
import sys

report = {"score": 10, "max_score": 10, "tests": [{"score": 10, "max_score": 10}]}
for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
    print(json.dumps(report), file=stream)
    print("## otter results\n##teamcity[testFinished] OK (10 tests)", file=stream, flush=True)
print("\x1b[2J\x1b[1;1H\x1b[32m10 of 10 points\x1b[0m")
report
