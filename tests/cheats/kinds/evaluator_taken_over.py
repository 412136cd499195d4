# /// cheat
# about = """In the process that calls it a function replaces what sends its answer, and sends its \
#     own."""
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.loops]
# score = 0
# ///
# Whoever has taken over that process can state the bytes of its outputs, and nothing else.
# %%
def product_1(A, B):
    import sys

    for name in [name for name in sys.modules if name.startswith("grader.inside.runner")]:
        for key in list(vars(sys.modules[name])):
            if key in ("send_parcel", "failed", "describe", "decode_payload"):
                setattr(sys.modules[name], key, lambda *arguments, **options: None)
    np.from_dlpack = np.testing.assert_allclose = lambda *arguments, **options: None
    return A @ B * 0


def product_2(A, B):
    import os
    import socket

    from grader.messages.frames import encode_frame, pack_array
    from grader.messages.runner import RunResult

    answer = RunResult(pack_array(np.zeros((16, 3, 5), "float32")))
    for descriptor in range(3, 64):
        try:
            socket.socket(fileno=os.dup(descriptor)).sendall(encode_frame(answer) * 3)
        except OSError:
            continue
    return A @ B * 0
