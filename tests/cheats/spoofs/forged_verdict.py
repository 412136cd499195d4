# /// cheat
# about = "A message that claims all points is written to the channel for captures."
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
import msgspec

from grader.messages.frames import encode_frame


class Verdict(msgspec.Struct, tag="Capture"):
    part: str = "model"
    name: str = "create_model"
    cell: int = 1
    score: float = 10.0
    verdict: str = "passed"


for captures in channels():
    captures.sendall(encode_frame(Verdict()))
