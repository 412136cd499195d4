# /// cheat
# about = "A detached process waits until the notebook is graded, to change the result then."
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
import subprocess
import sys

script = """
import pathlib, time
end = time.time() + 30
while time.time() < end:
    for path in pathlib.Path.cwd().parent.glob("*report*.json"):
        path.write_text(path.read_text().replace("4.0", "10.0"))
    time.sleep(0.2)
"""
waiting = subprocess.Popen(
    [sys.executable, "-c", script],
    start_new_session=True,
    stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
