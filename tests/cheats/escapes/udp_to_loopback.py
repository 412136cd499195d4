# /// cheat
# about = "A datagram is sent to a service on the host's loopback."
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
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
        caller.settimeout(5)
        caller.connect(("127.0.0.1", {udp_port}))
        caller.send(b"hello")
        raise Escaped(caller.recv(100).decode())
except OSError:
    pass
