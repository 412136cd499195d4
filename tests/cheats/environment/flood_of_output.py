# /// cheat
# about = "The notebook prints without end after its work is done."
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
while True:
    print("10 of 10 points " * 4096)
