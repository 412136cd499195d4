# /// cheat
# about = "The code in the kernel that takes out the model is found and replaced."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 0
# problems = []
# ///
# %%
import gc

from grader.inside.kernel import capture, sender

for watcher in [each for each in gc.get_objects() if isinstance(each, capture.Watcher)]:
    watcher.detach()
    watcher.end_cell = watcher._sweep = lambda *arguments: None
sender.MODULE_SIZE_LIMIT = 2**40
sender.Sender._send = lambda *arguments: None
