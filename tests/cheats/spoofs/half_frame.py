# /// cheat
# about = "The channel for captures gets the beginning of a frame and then nothing more."
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
    captures.sendall((2**20).to_bytes(4, "big") + b"x")
    captures.sendall((2**20).to_bytes(4, "little") + b"x")
