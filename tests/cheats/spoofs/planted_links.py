# %%
import os
import pathlib

secret = pathlib.Path("{secret_file}")
os.symlink(secret, "report.json")
os.symlink(secret.parent, "folder")
os.symlink("/", "assets")
os.mkfifo("captures")
for number, action in enumerate((os.link, os.rename)):
    try:
        action(secret, f"own-{number}")
    except OSError:
        continue
