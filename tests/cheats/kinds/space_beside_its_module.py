# /// cheat
# about = """The trace of an honest space is handed over with a module that was scheduled \
#     otherwise, and with one that was not."""
# assignment = "kinds"
# cells = ["prelude", "bmm", "forge", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.bmm]
# score = 10
#
# [expect.part.space]
# score = 0
# reason_contains = ["differs"]
# ///
# What is searched would be the trace and its beginning, what is compared with PyTorch the module.
# %%
import json

MyBmm = Unscheduled


def _drawn(module):
    sch = tvm.s_tir.Schedule(module)
    loop = sch.get_loops(sch.get_sblock("Y", func_name="bmm_relu"))[1]
    sch.split(loop, sch.sample_perfect_tile(loop, 2))
    return sch, json.dumps(sch.trace.as_json(), default=int).encode()


_sch, _trace = _drawn(Unscheduled)
_plain = saved(Unscheduled)
_fused = tvm.s_tir.Schedule(Unscheduled)
_fused.fuse(*_fused.get_loops(_fused.get_sblock("C", func_name="bmm_relu"))[:2])
forge(
    Capture("space", "space", 5, True, saved(_fused.mod), base=_plain, trace=_trace),
    Capture("space", "space", 5, True, _plain, base=_plain, trace=_trace),
)
