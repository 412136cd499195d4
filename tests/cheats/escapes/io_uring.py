# /// cheat
# about = "A ring for asynchronous input and output is made: it does what filters deny."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
parameters = ctypes.create_string_buffer(120)
if call("io_uring_setup", 1, parameters) >= 0:
    raise Escaped("io_uring")
