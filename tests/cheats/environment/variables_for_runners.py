# /// cheat
# about = "Variables, files and settings are left for the processes that come later."
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.model]
# score = 10
# ///
# %%
import os
import pathlib

os.environ.update(
    TVM_NUM_THREADS="64",
    TVM_BIND_THREADS="1",
    LD_PRELOAD="preload.so",
    PYTHONPATH=str(pathlib.Path.cwd()),
    PYTHONSTARTUP="start.py",
    OMP_NUM_THREADS="64",
)
for path in ("start.py", "usercustomize.py", "sitecustomize.py", "numpy.py"):
    pathlib.Path(path).write_text("raise SystemExit(0)\n")
for path in ("~/.config", "~/.local/lib", "~/.cache/tvm"):
    try:
        folder = pathlib.Path(path).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "usercustomize.py").write_text("raise SystemExit(0)\n")
    except OSError:
        pass
pathlib.Path("numpy.py").unlink()
