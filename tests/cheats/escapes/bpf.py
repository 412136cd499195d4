# %%
CREATE_MAP, ARRAY = 0, 2
attributes = struct.pack("=4I112x", ARRAY, 4, 4, 1)
if call("bpf", CREATE_MAP, attributes, len(attributes)) >= 0:
    raise Escaped("bpf")
