# /// cheat
# about = "A runner's result is written to the channel for captures."
# assignment = "small"
# cells = ["prelude", "wrong_model", "channel", "@"]
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
from grader.messages.frames import Array, encode_frame
from grader.messages.runner import RunResult

zeros = np.zeros((64, 16), "float32")
outputs = Array(dtype="float32", shape=zeros.shape, data=zeros.tobytes())
for captures in channels():
    captures.sendall(encode_frame(RunResult(outputs=outputs)))
