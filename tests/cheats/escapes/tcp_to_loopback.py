# /// cheat
# about = "A service that listens on the host's loopback is called."
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
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as caller:
        caller.settimeout(5)
        caller.connect(("127.0.0.1", {tcp_port}))
        raise Escaped(caller.recv(100).decode())
except OSError:
    pass
