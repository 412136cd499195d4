# %%
import os
import signal


@tvm.register_global_func("env.dense", override=True)
def dense(x, w, b, out):
    os.kill(os.getpid(), signal.SIGKILL)


def create_extern_model():
    return build_extern_model()
