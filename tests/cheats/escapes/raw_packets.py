# /// cheat
# about = "A socket is made that sees and forges packets."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "none"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import socket

try:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
except OSError:
    pass
else:
    raise Escaped("a raw socket")
