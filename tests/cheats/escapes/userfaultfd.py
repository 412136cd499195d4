# /// cheat
# about = "Page faults are taken over, which makes races in the kernel easy to win."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
USER_MODE_ONLY = 1
if call("userfaultfd", USER_MODE_ONLY) >= 0:
    raise Escaped("userfaultfd")
