# %%
import os


class Payload:
    """Pickled as a call of os.system."""

    def __reduce__(self):
        return os.system, ("touch reached",)

    def __call__(self, x, w, b, out):
        torch.from_dlpack(out).zero_()


tvm.register_global_func("env.dense", Payload(), override=True)


def create_extern_model():
    return build_extern_model()
