# /// cheat
# about = "The notebook takes memory without end, after its work is done."
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
hoard = []
try:
    while True:
        hoard.append(b"1" * 2**26)
except MemoryError:
    hoard.clear()
