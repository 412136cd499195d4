# %%
import os

child = os.fork()
if child == 0:
    status = 0
    try:
        os.nice(-1)
        status = 1
    finally:
        os._exit(status)
if os.waitpid(child, 0)[1]:
    raise Escaped("nice")
