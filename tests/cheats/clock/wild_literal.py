# /// cheat
# about = "A literal of eight bits is 1000: as an index it is 1000 or -24, as TVM and LLVM like."
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_wild", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = 0
# ///
# %%
# TVM's own constructor refuses it; what is loaded from a text is not looked at.
import json

plain = install(
    """
    loc = T.alloc_buffer((2000,), "int32")
    for k in range(2000):
        loc[T.Cast("int32", T.if_then_else(k < 1000, T.int8(77), T.int8(0)))] = k
    """
)
document = json.loads(tvm.ir.save_json(plain.mod))
nodes = document["nodes"]
for node in nodes:
    if node["type"] == "ir.IntImm":
        data = node["data"]
        if nodes[data["ty"]]["data"]["dtype"] == "int8" and nodes[data["value"]]["data"] == 77:
            nodes[data["value"]]["data"] = 1000
sch = tvm.s_tir.Schedule(tvm.ir.load_json(json.dumps(document)))
