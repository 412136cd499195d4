# /// cheat
# about = "A submission looks for files that the one before it has left."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "basic"
# after = "leave_traces"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import pathlib

FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run", ".", "~")
for folder in FOLDERS:
    path = pathlib.Path(folder).expanduser() / "trace-{marker}"
    if path.exists():
        raise Escaped(str(path))
