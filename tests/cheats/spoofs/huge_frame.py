# /// cheat
# about = "A frame on the channel for captures says that it has four gigabytes."
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
for captures in channels():
    captures.sendall(b"\xff" * 8)
    captures.sendall(bytes(2**20))
