# /// cheat
# about = "Links and pipes are planted in the working folder, for whoever cleans or reads it later."
# assignment = "small"
# stops_at = "basic"
# stops_at_for_root = "minimal"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
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
