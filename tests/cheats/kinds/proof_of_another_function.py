# /// cheat
# about = """The steps are done on a function that is found first in the base and second in the \
#     module."""
# assignment = "kinds"
# cells = ["prelude", "bmm", "target", "forge", "@"]
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
# reason_contains = ["a function other than"]
# ///
# A trace gives a whole module. Beside the scheduled function lies the copied target, and a module's
# functions have an order that no comparison sees.
# %%
import json

plain = Unscheduled["bmm_relu"].with_attr("global_symbol", "first")
pasted = Target["bmm_relu"].with_attr("global_symbol", "second")
_base = tvm.IRModule({"first": plain, "second": pasted})
_work = tvm.s_tir.Schedule(_base)
_work.split(_work.get_loops(_work.get_sblock("Y", func_name="first"))[1], factors=[2, 4])
_made = {variable.name_hint: function for variable, function in _work.mod.functions.items()}
_turned = tvm.IRModule({"second": _made["second"], "first": _made["first"]})
_trace = json.dumps(_work.trace.as_json(), default=int).encode()
forge(Capture("transform", "sch", 5, True, saved(_turned), base=saved(_base), trace=_trace))
