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
