# %%
import os

if os.access("/etc/shadow", os.R_OK):
    raise Escaped("/etc/shadow")
