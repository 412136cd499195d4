# %%
import pathlib

FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run", ".", "~")
for folder in FOLDERS:
    try:
        path = pathlib.Path(folder).expanduser() / "trace-{marker}"
        path.write_text("the answers")
        path.chmod(0o644)
    except OSError:
        continue
