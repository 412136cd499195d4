# /// cheat
# about = "A thread rebinds the entry point after its cell has ended."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# ///
# %%
import threading
import time


def rebind():
    """Bind everything that may be asked for to something else."""
    for _ in range(100):
        for name in ("create_model", "model", "mod"):
            globals()[name] = lambda: 10
        time.sleep(0.05)


threading.Thread(target=rebind, daemon=True).start()
