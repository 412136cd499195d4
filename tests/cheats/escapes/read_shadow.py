# /// cheat
# about = "The host's password hashes may be read."
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

if os.access("/etc/shadow", os.R_OK):
    raise Escaped("/etc/shadow")
