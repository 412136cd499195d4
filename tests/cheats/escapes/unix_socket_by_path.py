# /// cheat
# about = "A service that listens on a unix socket is called by its path."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import socket

try:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(5)
        caller.connect("{unix_path}")
        raise Escaped(caller.recv(100).decode())
except OSError:
    pass
