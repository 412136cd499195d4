# /// cheat
# about = "Messages that are none are sent on the channel of outputs."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
import time

kernel = get_ipython().kernel


for frames in (
    [b"no", b"message"],
    [b""],
    [b"<IDS|MSG>"],
    [b"x", b"<IDS|MSG>", b"", b"{", b"[", b"1"],
):
    kernel.iopub_socket.send_multipart(frames)
time.sleep(1)
