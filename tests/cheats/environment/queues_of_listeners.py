# /// cheat
# about = "Sockets that nobody accepts are no open files, and take long to be looked at."
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os
import socket

TOO_MANY = 200_000
made = 0
listeners = []
while made < TOO_MANY:
    try:
        listeners.append(socket.socket(socket.AF_UNIX))
    except PermissionError:
        break  # where there is no network of its own, there are no sockets
    name = f"\0{len(listeners)} {os.getpid()}"
    listeners[-1].bind(name)
    listeners[-1].listen(4096)
    try:
        while True:
            with socket.socket(socket.AF_UNIX) as one:
                one.setblocking(False)
                one.connect(name)
            made += 1
    except BlockingIOError:
        continue
if made >= TOO_MANY:
    raise Escaped(f"{made} sockets")
