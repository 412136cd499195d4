# /// cheat
# about = "Functions that run when the process ends forge captures, reports and an exit code."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
import atexit
import os


@atexit.register
def forge():
    """Write where somebody may read, and end with success."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b'{"score": 10}')
        except OSError:
            continue
    with open("report.json", "w") as file:
        file.write('{"score": 10}')
    os._exit(0)
