# /// cheat
# about = "More memory than a submission may use waits in sockets that nobody reads."
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os
import socket
import struct
import time

TOO_MUCH = 5 * 2**29
reader, writer = os.pipe()
kept = []


def hoard(most):
    """Fill sockets, of which a process may have a number; return how much is in them."""
    held = 0
    while held < most:
        try:
            sender, receiver = socket.socketpair()
        except OSError:
            break
        kept.append((sender, receiver))
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)
        sender.setblocking(False)
        try:
            while True:
                held += sender.send(bytes(2**17))
        except BlockingIOError:
            pass
    return held


held = hoard(TOO_MUCH)
while held < TOO_MUCH:
    if os.fork() == 0:
        os.write(writer, struct.pack("q", hoard(TOO_MUCH)))
        time.sleep(20)
        os._exit(0)
    held += struct.unpack("q", os.read(reader, 8))[0]
time.sleep(1)
raise Escaped(f"{held >> 20} MB")
