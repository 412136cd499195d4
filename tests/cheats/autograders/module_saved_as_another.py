# /// cheat
# about = "The function that saves modules returns the text of something else."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# ///
# %%
tvm.ir.save_json = lambda *_, **__: '{"root_index": 0, "nodes": [{"type": "ir.IRModule"}]}'


# %%
def create_model():
    return tvm.IRModule({})
