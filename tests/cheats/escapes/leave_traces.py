# /// cheat
# about = "A submission leaves files for the next one, wherever it may write."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
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
