# /// cheat
# about = "A function spoils its arguments, NumPy and its own later calls after it has computed."
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.loops]
# score = 10
# ///
# Each call gets copies, and nothing but its output is looked at: what is due is what was computed.
# %%
def product(A, B):
    Y = np.empty((3, 5), "float32")
    for i in range(3):
        for j in range(5):
            Y[i, j] = 0
            for k in range(4):
                Y[i, j] = Y[i, j] + A[i, k] * B[k, j]
    for i in range(3):
        for k in range(4):
            A[i, k] = 0
    for name in ("allclose", "isclose", "testing", "float32"):
        vars(np).pop(name, None)
    np.float32 = "float32"
    return Y
