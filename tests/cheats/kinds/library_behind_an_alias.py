# /// cheat
# about = """Not prevented: the text shows loops, and a function from a list does the work. It is \
#     right."""
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.loops]
# score = 10
# check.low_level = "passed"
# check.equivalence = "passed"
# ///
# What a text looks like is a matter of style (docs/security.md): this only says that it is known.
# %%
known = [np.matmul]


def product(A, B):
    for i in range(3):
        for j in range(3):
            for k in range(3):
                pass
    return known[0](A, B)
