# %%
import os

try:
    os.close(os.open("{secret_file}", os.O_WRONLY))
except OSError:
    pass
else:
    raise Escaped("{secret_file}")
