# /// cheat
# about = "A file beside the course is opened for writing."
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
    os.close(os.open("{secret_file}", os.O_WRONLY))
except OSError:
    pass
else:
    raise Escaped("{secret_file}")
