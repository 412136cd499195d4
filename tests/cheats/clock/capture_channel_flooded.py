# /// cheat
# about = "A thread overwrites what is captured with other captures all the time."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = { max = 4 }
# problems = []
#
# [expect.part.model]
# score = { max = 4 }
# ///
# %%
import gc
import threading
import time

from grader.messages.kernel import Capture

watchers = [each for each in gc.get_objects() if type(each).__name__ == "Watcher"]
outlets = [each for each in gc.get_objects() if type(each).__name__ == "Sender"]
emit = outlets[0]._emit


def flood():
    """Send captures of nothing for a while."""
    end = time.time() + 3
    while time.time() < end:
        emit(Capture("model", "create_model", 1, True, b"{}"))
        time.sleep(0.01)


threading.Thread(target=flood, daemon=True).start()
