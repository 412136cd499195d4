# %%
TOO_FAR_WEST = struct.pack("=ii", 10_000, 0)
if allowed(call("settimeofday", 0, TOO_FAR_WEST)):
    raise Escaped("settimeofday")
