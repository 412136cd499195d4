# /// cheat
# about = "The machine's clock may be set. What is asked for is out of range, so it is not."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "none"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
TOO_FAR_WEST = struct.pack("=ii", 10_000, 0)
if allowed(call("settimeofday", 0, TOO_FAR_WEST)):
    raise Escaped("settimeofday")
