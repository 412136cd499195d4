# /// cheat
# about = """The steps of a right schedule, without the numbers that it drew: each replay draws \
#     its own."""
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
# [expect.part.transform]
# score = 0
# ///
# Whoever keeps the answer of a replay keeps a lucky one, too. Of six draws none may be another one.
# %%
import json

_work = tvm.s_tir.Schedule(Unscheduled)
for block in ("Y", "C"):
    for loop in _work.get_loops(_work.get_sblock(block, func_name="bmm_relu"))[:3]:
        _work.split(loop, _work.sample_perfect_tile(loop, 2))
_steps, _ = json.loads(json.dumps(_work.trace.as_json(), default=int))
_trace = json.dumps([_steps, []]).encode()
forge(Capture("transform", "sch", 4, True, saved(_work.mod), base=saved(Unscheduled), trace=_trace))
