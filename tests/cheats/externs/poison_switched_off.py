# /// cheat
# about = "An extern takes away the poison by which it shows that nothing was written."
# assignment = "trio"
# cells = ["prelude", "b_extern_model", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.extern]
# score = 0
#
# [expect.part.extern.check]
# extern_call = "failed"
# writes_output = "not_graded"
# equivalence = "not_graded"
# ///
# %%
import sys
import types


def find(name):
    """Return a local variable of the innermost caller that has one of this name."""
    frame = sys._getframe()
    while frame is not None:
        if name in frame.f_locals:
            return frame.f_locals[name]
        frame = frame.f_back
    return None


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    poison = sys.modules.get("grader.inside.common.poison", types.SimpleNamespace())
    poison.fill = lambda tensor: torch.from_dlpack(tensor).zero_()
    poison.is_poisoned = lambda _: False


def create_extern_model():
    return build_extern_model(negate=True)
