# /// cheat
# about = "Files of Python and NumPy, which a later submission imports, are opened for writing."
# assignment = "small"
# owner_only = true
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
import sys

for path in (np.__file__, os.__file__, tvm.__file__, f"{sys.prefix}/pyvenv.cfg"):
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        continue
    raise Escaped(path)
