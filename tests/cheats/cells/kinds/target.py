@I.ir_module
class Target:
    @T.prim_func(s_tir=True)
    def bmm_relu(
        A: T.Buffer((2, 8, 8), "float32"),
        B: T.Buffer((2, 8, 8), "float32"),
        C: T.Buffer((2, 8, 8), "float32"),
    ):
        Y = T.sblock_alloc_buffer((2, 8, 8), "float32")
        for n in T.parallel(2):
            for i, j_0 in T.grid(8, 2):
                for j_1 in range(4):
                    with T.sblock("Y_init"):
                        vn, vi = T.axis.remap("SS", [n, i])
                        vj = T.axis.spatial(8, j_0 * 4 + j_1)
                        Y[vn, vi, vj] = T.float32(0)
                    for k in range(8):
                        with T.sblock("Y_update"):
                            vn, vi = T.axis.remap("SS", [n, i])
                            vj = T.axis.spatial(8, j_0 * 4 + j_1)
                            vk = T.axis.reduce(8, k)
                            Y[vn, vi, vj] = Y[vn, vi, vj] + A[vn, vi, vk] * B[vn, vk, vj]
                for j_1 in range(4):
                    with T.sblock("C"):
                        vn, vi = T.axis.remap("SS", [n, i])
                        vj = T.axis.spatial(8, j_0 * 4 + j_1)
                        C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))
