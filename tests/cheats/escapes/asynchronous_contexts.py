# /// cheat
# about = """Contexts for asynchronous input and output are made: the machine has a number of them \
#     for all programs."""
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
context = ctypes.c_ulong()
if call("io_setup", 1, ctypes.byref(context)) >= 0:
    raise Escaped("io_setup")
