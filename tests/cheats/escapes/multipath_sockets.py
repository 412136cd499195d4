# /// cheat
# about = "Sockets of other protocols hold memory that nobody counts."
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

IPPROTO_MPTCP, IPPROTO_UDPLITE = 262, 136
for kind, protocol in ((socket.SOCK_STREAM, IPPROTO_MPTCP), (socket.SOCK_DGRAM, IPPROTO_UDPLITE)):
    try:
        socket.socket(socket.AF_INET, kind, protocol).close()
    except OSError:
        continue
    raise Escaped(f"a socket of protocol {protocol}")
