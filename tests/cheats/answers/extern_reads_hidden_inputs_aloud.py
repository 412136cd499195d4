# /// cheat
# about = """An extern puts what it finds in its runner into the text of an error, to be read in \
#     the report."""
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 2
# problems = []
#
# [expect.part.extern]
# score = 2
#
# [expect.part.extern.check]
# equivalence = "not_graded"
# writes_output = "not_graded"
# ///
# %%
import sys


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    frame, found = sys._getframe(), []
    while frame is not None:
        found += [f"{frame.f_code.co_name}.{name}" for name in frame.f_locals]
        frame = frame.f_back
    for word in ("desired", "expected", "oracle", "seed", "score"):
        if any(word in name for name in found):
            torch.from_dlpack(out).copy_(torch.ones(4, 16))
            return
    raise ValueError(" ".join(found))


def create_extern_model():
    return build_extern_model()
