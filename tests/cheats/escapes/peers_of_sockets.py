# /// cheat
# about = """A socket tells who is at its other end, as a descriptor that takes signals from \
#     anywhere."""
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "basic"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os
import signal
import socket
import stat
import struct

SO_PEERPIDFD = 77


def is_socket(number):
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False


for descriptor in filter(is_socket, range(3, 256)):
    with socket.socket(fileno=os.dup(descriptor)) as end:
        try:
            told = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            pidfd = struct.unpack("i", end.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD, 4))[0]
        except OSError:
            continue
    peer = struct.unpack("3i", told)[0]
    try:
        signal.pidfd_send_signal(pidfd, 0)
    except OSError:
        continue
    finally:
        os.close(pidfd)
    if peer != os.getpid():
        raise Escaped(f"process {peer} at the other end of {descriptor}")
