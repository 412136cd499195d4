# /// cheat
# about = "A service that listens on an abstract unix socket is called."
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
        caller.connect("\0{abstract_name}")
        raise Escaped(caller.recv(100).decode())
except OSError:
    pass
