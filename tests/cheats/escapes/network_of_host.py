# %%
import os
import socket

try:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
except OSError:
    pass
else:
    if os.readlink("/proc/self/ns/net") == "{network}":
        raise Escaped("{network}")
