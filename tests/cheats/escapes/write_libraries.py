# %%
import os
import sys

for path in (np.__file__, os.__file__, tvm.__file__, f"{sys.prefix}/pyvenv.cfg"):
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        continue
    raise Escaped(path)
