# /// cheat
# about = "This process makes itself more important than others."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "none"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os

child = os.fork()
if child == 0:
    status = 0
    try:
        os.nice(-1)
        status = 1
    finally:
        os._exit(status)
if os.waitpid(child, 0)[1]:
    raise Escaped("nice")
