# /// cheat
# about = "The host's network is there, whoever answers in it."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
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
