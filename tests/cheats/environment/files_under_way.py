# /// cheat
# about = """Open files are sent and never received: of those a user may have a number, the grader \
#     too."""
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import array
import os
import socket

one, other = socket.socketpair()
numbers = array.array("i", [0] * 250)
for _ in range(8):
    if os.fork() == 0:
        try:
            while True:
                one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])
        finally:
            os._exit(0)
    os.wait()
