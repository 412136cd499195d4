# /// cheat
# about = "Sums are loaded by another name of their buffer, which no module may declare."
# assignment = "gpu"
# cells = ["@"]
#
# [expect]
# problems = []
#
# [expect.part.sums]
# score = 0
# check.threads = "not_graded"
# ///
# %%
import tvm
from tvm import te
from tvm.script import ir as I
from tvm.script import tirx as T


# %%
@I.ir_module
class MySums:
    @T.prim_func
    def sums(A: T.Buffer((64, 256), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"global_symbol": "sums"})
        for bx in T.thread_binding(64, thread="blockIdx.x"):
            for tx in T.thread_binding(256, thread="threadIdx.x"):
                S = T.alloc_buffer((256,), "float32", scope="shared")
                R = T.decl_buffer((256,), "float32", data=S.data, scope="shared")
                S[tx] = A[bx, tx]
                T.tvm_storage_sync("shared")
                for i in range(8):
                    if tx < T.shift_right(128, i):
                        S[tx] = R[tx] + R[tx + T.shift_right(128, i)]
                if tx == 0:
                    B[bx] = R[0]
