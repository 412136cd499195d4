# /// cheat
# about = "TVM's function that writes modules as JSON writes something else."
# assignment = "small"
# cells = ["prelude", "@", "wrong_model"]
#
# [expect]
# score = 0
# problems = []
# ///
# %%
import tvm_ffi

DOCUMENT = '{"root_index": 0, "nodes": [{"type": "Verdict", "data": {"score": 10}}]}'
tvm.ir.save_json = lambda *arguments, **options: DOCUMENT
tvm.ir.base.save_json = tvm.ir.save_json
try:
    tvm.register_global_func("node.SaveJSON", lambda *arguments: DOCUMENT, override=True)
except (ValueError, RuntimeError):
    print("TVM keeps its own")
