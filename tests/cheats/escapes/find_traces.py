# %%
import pathlib

FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run", ".", "~")
for folder in FOLDERS:
    path = pathlib.Path(folder).expanduser() / "trace-{marker}"
    if path.exists():
        raise Escaped(str(path))
