# /// cheat
# about = "The memory of a process of the grader's user is read."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
class Piece(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("size", ctypes.c_size_t))


buffer = ctypes.create_string_buffer(64)
here = Piece(ctypes.addressof(buffer), 64)
for pid, there in (({victim_pid}, Piece({victim_memory}, 64)), (os.getpid(), here)):
    result = call("process_vm_readv", pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    if result > 0:
        raise Escaped(repr(buffer.raw))
