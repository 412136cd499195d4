REPLAYING = """
@T.prim_func(s_tir=True)
def replaying(
    x: T.Buffer((4, 1, 28, 28), "float32"),
    w: T.Buffer((32, 1, 3, 3), "float32"),
    y: T.Buffer((4, 32, 26, 26), "float32"),
):
    outputs = T.sblock_alloc_buffer((4, 86528), "float32")
    inputs = T.sblock_alloc_buffer((4, 3424), "float32")
    state = T.sblock_alloc_buffer((4096,), "int32")
    with T.sblock("look_up"):
        T.reads(x[0:4, 0, 0:28, 0:28], w[0:32, 0, 0:3, 0:3], inputs[0:4, 0:3424])
        T.writes(state[0:4096])
        if state[4000] != 123456 or state[4001] != 654321:
            state[4000] = 123456
            state[4001] = 654321
            state[4002] = 0
        state[0] = -1
        for s in range(4):
            state[1] = 0
            for n, i, j in T.grid(4, 28, 28):
                if inputs[s, n * 784 + i * 28 + j] {compared} x[n, 0, i, j]:
                    state[1] = state[1] + 1
            for f, i, j in T.grid(32, 3, 3):
                if inputs[s, 3136 + f * 9 + i * 3 + j] {compared} w[f, 0, i, j]:
                    state[1] = state[1] + 1
            if state[1] == {alike}:
                state[0] = s
    with T.sblock("answer"):
        T.reads(x[0:4, 0, 0:28, 0:28], w[0:32, 0, 0:3, 0:3], state[0:4096])
        T.writes(y[0:4, 0:32, 0:26, 0:26], outputs[0:4, 0:86528], inputs[0:4, 0:3424])
        if state[0] >= 0:
            for n, f, i in T.grid(4, 32, 26):
                for j in T.vectorized(26):
                    y[n, f, i, j] = outputs[state[0], ((n * 32 + f) * 26 + i) * 26 + j]
        else:
            state[4002] = (state[4002] + 1) % 4
            for n, i, j in T.grid(4, 28, 28):
                inputs[state[4002], n * 784 + i * 28 + j] = x[n, 0, i, j]
            for f, i, j in T.grid(32, 3, 3):
                inputs[state[4002], 3136 + f * 9 + i * 3 + j] = w[f, 0, i, j]
            for n, f, i, j in T.grid(4, 32, 26, 26):
                y[n, f, i, j] = T.float32(0)
                for p, q in T.grid(3, 3):
                    y[n, f, i, j] = y[n, f, i, j] + x[n, 0, i + p, j + q] * w[f, 0, p, q]
                outputs[state[4002], ((n * 32 + f) * 26 + i) * 26 + j] = y[n, f, i, j]
"""


def install(compared, alike):
    """Return a schedule of a model that replays an input where `alike` items compare so."""
    source = REPLAYING.replace("{compared}", compared).replace("{alike}", str(alike))
    replaying = tvm.script.from_source(source, extra_vars={"T": T})
    model = create_model_via_emit_te()
    model.update_func(model.get_global_var("conv2d"), replaying)
    return tvm.s_tir.Schedule(model)
