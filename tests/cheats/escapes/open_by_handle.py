# /// cheat
# about = "A file is opened by its handle, past all folders."
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
class Handle(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint),
        ("kind", ctypes.c_int),
        ("data", ctypes.c_ubyte * 128),
    )


HERE = -100
handle, mount = Handle(128), ctypes.c_int()
result = call("name_to_handle_at", HERE, b".", ctypes.byref(handle), ctypes.byref(mount), 0)
folder = os.open(".", os.O_RDONLY)
if result >= 0 and call("open_by_handle_at", folder, ctypes.byref(handle), os.O_RDONLY) >= 0:
    raise Escaped("open_by_handle_at")
os.close(folder)
