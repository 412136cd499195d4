# /// cheat
# about = "A process of the grader's user may be sent signals."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "basic"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os

try:
    os.kill({victim_pid}, 0)
except OSError:
    pass
else:
    raise Escaped("a signal was sent")
