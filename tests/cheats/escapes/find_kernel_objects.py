# /// cheat
# about = "A submission looks for the shared memory and the socket that the one before it has left."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "minimal"
# after = "leave_kernel_objects"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import ctypes
import socket

libc = ctypes.CDLL(None)
if libc.shmget(int("{marker}"[-7:], 16), 1, 0) >= 0:
    raise Escaped("shared memory")
try:
    socket.socket(socket.AF_UNIX).connect("\0trace-{marker}")
except OSError:
    pass
else:
    raise Escaped("a socket")
