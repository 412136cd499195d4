# /// cheat
# about = """Every clock of Python and of TVM that the notebook can reach is replaced; nothing is \
#     scheduled."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = { max = 1.5 }
# ///
# %%
import os
import resource
import time


def standing_still(*_):
    """Say that no time has passed."""
    return 1.0


for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
    setattr(time, name, standing_still)
    setattr(time, f"{name}_ns", lambda: 1)
resource.getrusage = lambda _: type("Usage", (), {"ru_nivcsw": 0, "ru_utime": 0.0})()
for name in ("runtime.timer.cpu", "runtime.RPCTimeEvaluator", "runtime.NumThreads"):
    tvm.register_global_func(name, standing_still, override=True)
os.environ.update(TVM_NUM_THREADS="64", TVM_BIND_THREADS="1", OMP_NUM_THREADS="64")

sch = tvm.s_tir.Schedule(create_model_via_emit_te())
