# %%
import os
import pathlib

secret = pathlib.Path("{secret_file}")
os.symlink(secret, "report.json")
os.symlink(secret.parent, "folder")
os.symlink("/", "assets")
os.mkfifo("captures")
try:
    os.link(secret, "own")
except OSError:
    pass
else:
    os.remove("own")
    raise Escaped("a link to {secret_file}")
