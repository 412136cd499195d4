# /// cheat
# about = "The personality of the process is changed, which switches off protections of its memory."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
UNCHANGED = 0xFFFFFFFF
if call("personality", UNCHANGED) >= 0:
    raise Escaped("personality")
