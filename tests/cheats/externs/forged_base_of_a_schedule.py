# /// cheat
# about = "A capture is forged that claims another module to be what the schedule started from."
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
# score = { max = 4.5 }
# ///
# %%
import gc

from grader.messages.kernel import Capture

outlets = [each for each in gc.get_objects() if type(each).__name__ == "Sender"]
module = tvm.ir.save_json(create_model_via_emit_te()).encode()
other = tvm.ir.save_json(tvm.IRModule({})).encode()
outlets[0]._emit(Capture("schedule", "sch", 3, True, module, base=other, trace=b"[]"))
