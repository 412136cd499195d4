# /// cheat
# about = "A program's map is loaded into the kernel."
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
CREATE_MAP, ARRAY = 0, 2
attributes = struct.pack("=4I112x", ARRAY, 4, 4, 1)
if call("bpf", CREATE_MAP, attributes, len(attributes)) >= 0:
    raise Escaped("bpf")
