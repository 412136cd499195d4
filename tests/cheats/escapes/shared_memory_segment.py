# /// cheat
# about = "System V shared memory of another program is read by its key."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
READ_ONLY = 0o10000
segment = call("shmget", {segment_key}, 1, 0)
if segment >= 0:
    address = call("shmat", segment, 0, READ_ONLY)
    if address > 0:
        raise Escaped(ctypes.string_at(address, 24).decode())
