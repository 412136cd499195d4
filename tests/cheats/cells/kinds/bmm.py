@I.ir_module
class Unscheduled:
    @T.prim_func(s_tir=True)
    def bmm_relu(
        A: T.Buffer((2, 8, 8), "float32"),
        B: T.Buffer((2, 8, 8), "float32"),
        C: T.Buffer((2, 8, 8), "float32"),
    ):
        Y = T.sblock_alloc_buffer((2, 8, 8), "float32")
        for n, i, j, k in T.grid(2, 8, 8, 8):
            with T.sblock("Y"):
                vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
                with T.init():
                    Y[vn, vi, vj] = T.float32(0)
                Y[vn, vi, vj] = Y[vn, vi, vj] + A[vn, vi, vk] * B[vn, vk, vj]
        for n, i, j in T.grid(2, 8, 8):
            with T.sblock("C"):
                vn, vi, vj = T.axis.remap("SSS", [n, i, j])
                C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))
