# %%
import os

for descriptor in range(3, 1024):
    try:
        os.set_blocking(descriptor, False)
        os.write(descriptor, b"\xde\xad\xbe\xef" * 64)
    except OSError:
        continue
