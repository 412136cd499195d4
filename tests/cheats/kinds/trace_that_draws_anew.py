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
