# %%
parameters = ctypes.create_string_buffer(120)
if call("io_uring_setup", 1, parameters) >= 0:
    raise Escaped("io_uring")
