# %%
import os

try:
    os.kill({victim_pid}, 0)
except OSError:
    pass
else:
    raise Escaped("a signal was sent")
