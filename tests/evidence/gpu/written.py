"""Kernels written by hand, without blocks: barriers are where their authors put them."""

# ruff: noqa: N803, N806

from tvm.script import tirx as T  # noqa: N812 - TVM's own name for it


@T.prim_func
def reversed_blocks(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            S = T.alloc_buffer((64,), "float32", scope="shared")
            S[tx] = A[bx * 64 + tx]
            T.tvm_storage_sync("shared")
            B[bx * 64 + tx] = S[63 - tx]


@T.prim_func
def without_barrier(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            S = T.alloc_buffer((64,), "float32", scope="shared")
            S[tx] = A[bx * 64 + tx]
            B[bx * 64 + tx] = S[63 - tx]


@T.prim_func
def divergent(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            S = T.alloc_buffer((64,), "float32", scope="shared")
            if tx < 32:
                S[tx] = A[bx * 64 + tx]
                T.tvm_storage_sync("shared")
                B[bx * 64 + tx] = S[31 - tx]
            else:
                B[bx * 64 + tx] = T.float32(0)


@T.prim_func
def some_blocks_wait(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            S = T.alloc_buffer((64,), "float32", scope="shared")
            if bx < 1:
                S[tx] = A[tx]
                T.tvm_storage_sync("shared")
                B[tx] = S[63 - tx]
            else:
                B[bx * 64 + tx] = A[bx * 64 + tx]


@T.prim_func
def unwritten(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            S = T.alloc_buffer((65,), "float32", scope="shared")
            S[tx] = A[bx * 64 + tx]
            T.tvm_storage_sync("shared")
            B[bx * 64 + tx] = S[tx + 1]


@T.prim_func
def sum_without_start(A: T.Buffer((128,), "float32"), B: T.Buffer((1,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for _tx in T.thread_binding(1, thread="threadIdx.x"):
        s = T.alloc_buffer((1,), "float32", scope="local")
        for i in range(128):
            s[0] = s[0] + A[i]
        B[0] = s[0]


@T.prim_func
def beyond(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            B[bx * 64 + tx] = A[bx * 64 + tx + 1]


@T.prim_func
def blocks_meet(A: T.Buffer((128,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            B[tx] = A[bx * 64 + tx]


@T.prim_func
def threads_add_to_one(A: T.Buffer((64,), "float32"), B: T.Buffer((1,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        if tx == 0:
            B[0] = T.float32(0)
        T.tvm_storage_sync("shared")
        B[0] = B[0] + A[tx]


@T.prim_func
def next_block_reads(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            B[bx * 64 + tx] = A[bx * 64 + tx]
            T.tvm_storage_sync("shared")
            B[bx * 64 + tx] = B[(bx * 64 + tx + 64) % 128]


@T.prim_func
def all_store_the_same(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((64,), "float32", scope="shared")
        for i in range(64):
            S[i] = A[i]
        B[tx] = S[63 - tx]


@T.prim_func
def tree_sum(A: T.Buffer((256,), "float32"), B: T.Buffer((4,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            S = T.alloc_buffer((64,), "float32", scope="shared")
            S[tx] = A[bx * 64 + tx]
            T.tvm_storage_sync("shared")
            for i in range(6):
                if tx < T.shift_right(32, i):
                    S[tx] = S[tx] + S[tx + T.shift_right(32, i)]
                T.tvm_storage_sync("shared")
            if tx == 0:
                B[bx] = S[0]


@T.prim_func
def any_length(a: T.handle, b: T.handle):
    T.func_attr({"global_symbol": "main"})
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for bx in T.thread_binding((n + 31) // 32, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            if bx * 32 + tx < n:
                B[bx * 32 + tx] = T.exp(A[bx * 32 + tx])


@T.prim_func
def halves(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float16")):
    T.func_attr({"global_symbol": "main"})
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        B[tx] = A[tx] * T.float16(2)


@T.prim_func
def by_one_thread(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        if tx == 0:
            for i in range(64):
                B[i] = A[i] * T.float32(2)


@T.prim_func
def two_dimensions(A: T.Buffer((16, 64), "float32"), B: T.Buffer((64, 16), "float32")):
    T.func_attr({"global_symbol": "main"})
    for ty in T.thread_binding(8, thread="threadIdx.y"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            for i in range(8):
                B[i * 8 + ty, tx] = A[tx, i * 8 + ty]


@T.prim_func
def swizzled(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
    T.func_attr({"global_symbol": "main"})
    for ty in T.thread_binding(8, thread="threadIdx.y"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            S = T.alloc_buffer((32, 32), "float32", scope="shared")
            for i in range(4):
                S[i * 8 + ty, T.bitwise_xor(tx, i * 8 + ty)] = A[i * 8 + ty, tx]
            T.tvm_storage_sync("shared")
            for i in range(4):
                B[i * 8 + ty, tx] = S[tx, T.bitwise_xor(i * 8 + ty, tx)]


@T.prim_func
def shuffled_sums(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            s = T.alloc_buffer((1,), "float32", scope="local")
            s[0] = A[bx, tx]
            for i in range(5):
                s[0] = s[0] + T.tvm_warp_shuffle_down(
                    T.tvm_warp_activemask(), s[0], T.shift_right(16, i), 32, 32
                )
            if tx == 0:
                B[bx] = s[0]


@T.prim_func
def shuffled_by_both(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
    T.func_attr({"global_symbol": "main"})
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            s = T.alloc_buffer((1,), "float32", scope="local")
            s[0] = A[bx, tx]
            s[0] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), s[0], 0, 32, 32)
            B[bx, tx] = s[0] + T.tvm_warp_shuffle_up(T.tvm_warp_activemask(), A[bx, tx], 1, 32, 32)


@T.prim_func
def shuffled_with_idle_threads(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        if tx < 16:
            B[tx] = T.tvm_warp_shuffle_down(T.tvm_warp_activemask(), A[tx], 8, 32, 32)
        else:
            B[tx] = A[tx]


@T.prim_func
def doubled_by_hand(A: T.Buffer((4, 64), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((2, 64), "float32", scope="shared")
        s = T.alloc_buffer((1,), "float32", scope="local")
        s[0] = T.float32(0)
        S[0, tx] = A[0, tx]
        T.tvm_storage_sync("shared")
        for i in range(4):
            if i < 3:
                S[(i + 1) % 2, tx] = A[i + 1, tx]
            s[0] = s[0] + S[i % 2, 63 - tx]
            T.tvm_storage_sync("shared")
        B[tx] = s[0]


@T.prim_func
def stored_by_eight_each(A: T.Buffer((8,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for ty in T.thread_binding(8, thread="threadIdx.y"):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            S = T.alloc_buffer((8,), "float32", scope="shared")
            S[ty] = A[ty]
            B[ty * 8 + tx] = S[ty]


@T.prim_func
def stored_by_eight_for_others(A: T.Buffer((8,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for ty in T.thread_binding(8, thread="threadIdx.y"):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            S = T.alloc_buffer((8,), "float32", scope="shared")
            S[ty] = A[ty]
            B[ty * 8 + tx] = S[tx]


@T.prim_func
def any_product(a: T.handle, b: T.handle, c: T.handle):
    T.func_attr({"global_symbol": "main"})
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float32")
    B = T.match_buffer(b, (n, n), "float32")
    C = T.match_buffer(c, (n, n), "float32")
    for by in T.thread_binding((n + 7) // 8, thread="blockIdx.y"):
        for bx in T.thread_binding((n + 7) // 8, thread="blockIdx.x"):
            for ty in T.thread_binding(8, thread="threadIdx.y"):
                for tx in T.thread_binding(8, thread="threadIdx.x"):
                    S = T.alloc_buffer((8, 8), "float32", scope="shared")
                    R = T.alloc_buffer((8, 8), "float32", scope="shared")
                    s = T.alloc_buffer((1,), "float32", scope="local")
                    s[0] = T.float32(0)
                    for k in range((n + 7) // 8):
                        S[ty, tx] = T.if_then_else(
                            by * 8 + ty < n and k * 8 + tx < n,
                            A[by * 8 + ty, k * 8 + tx],
                            T.float32(0),
                        )
                        R[ty, tx] = T.if_then_else(
                            k * 8 + ty < n and bx * 8 + tx < n,
                            B[k * 8 + ty, bx * 8 + tx],
                            T.float32(0),
                        )
                        T.tvm_storage_sync("shared")
                        for i in range(8):
                            s[0] = s[0] + S[ty, i] * R[i, tx]
                        T.tvm_storage_sync("shared")
                    if by * 8 + ty < n and bx * 8 + tx < n:
                        C[by * 8 + ty, bx * 8 + tx] = s[0]


@T.prim_func
def memory_without_scope(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((64,), "float32")
        S[tx] = A[tx]
        T.tvm_storage_sync("shared")
        B[tx] = S[63 - tx]


@T.prim_func
def rounds_without_barrier(A: T.Buffer((64,), "float32"), B: T.Buffer((1,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((64,), "float32", scope="shared")
        S[tx] = A[tx]
        T.tvm_storage_sync("shared")
        for i in range(6):
            if tx < T.shift_right(32, i):
                S[tx] = S[tx] + S[tx + T.shift_right(32, i)]
        if tx == 0:
            B[0] = S[0]


@T.prim_func
def neighbours_in_place(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((64,), "float32", scope="shared")
        S[tx] = A[tx]
        T.tvm_storage_sync("shared")
        for i in range(2):
            if tx >= i + 1:
                S[tx] = S[tx] + S[tx - i - 1]
            T.tvm_storage_sync("shared")
        B[tx] = S[tx]


@T.prim_func
def condition_on_a_neighbour(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S = T.alloc_buffer((64,), "float32", scope="shared")
        S[tx] = A[tx]
        T.tvm_storage_sync("shared")
        for i in range(2):
            if S[(tx + i * 32) % 64] > T.float32(-100):
                S[tx] = A[tx] + T.Cast("float32", i + 1)
        B[tx] = S[tx]


@T.prim_func
def rows(A: T.Buffer((8, 128), "float32"), B: T.Buffer((8, 32), "float32")):
    """Half of a tile is never stored, and a row behind the last is read."""
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            S = T.alloc_buffer((32, 33), "float32", scope="shared")
            if tx < 16:
                S[tx, 2] = A[bx, tx]
            B[bx, tx] = S[tx, 2] + A[bx + 1, tx]
