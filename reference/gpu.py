# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown] tags=["instructor"]
# **For instructors.** This notebook is the solved assignment. It is made from the master
# `reference/gpu.py`: change that file, then run `make notebooks`. Cells like this one, tagged
# `instructor`, and the lines between solution marks are not in the students' template.

# %% [markdown]
# # Kernels for a GPU
#
# A GPU runs thousands of threads at once. They are fast if neighbours work on neighbouring data,
# and if a value that many of them need is fetched once. In this assignment you write and schedule
# five kernels. You need no GPU: the grader executes your kernels thread by thread, finds threads
# that race, and counts what each statement moves.
#
# | part | what you build | name that is graded | points |
# |---|---|---|---|
# | 1 | an addition by threads | `MyAdd` | 15 |
# | 2 | a window sum with shared memory | `sch_window` | 20 |
# | 3 | a matrix product in tiles | `sch_matmul` | 30 |
# | 4 | the convolution, scheduled for a GPU | `sch_conv` | 20 |
# | 5 | a kernel without its barriers, mended | `MySums` | 15 |
#
# Write your code where a cell says `YOUR CODE HERE`. Keep the five names of the table, and the
# shapes that are asked for. All numbers are float32. You may add cells and experiments as you like.
#
# Before you hand in, choose *Restart kernel and run all cells*: what is graded is what your cells
# compute when they run once, from top to bottom.

# %% [markdown]
# ## Getting ready
#
# The next cell installs TVM where it is missing, for example on Colab. The versions matter: TVM's
# Python interface changes from release to release, and this text is written for 0.27.

# %%
import importlib.util

if importlib.util.find_spec("tvm") is None:
    # %pip install --quiet apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post1
    print("TVM is installed now. Restart the kernel if the next cell fails.")

# %%
import os

# TVM otherwise ties this process to some of the processors.
os.environ.setdefault("TVM_BIND_THREADS", "0")

import tvm
from tvm import te
from tvm.script import ir as I
from tvm.script import tirx as T

print("TVM", tvm.__version__)

# %% tags=["self-check"]
# `%grader check` says how your solution stands. Where the grader is not installed, it does nothing.
try:
    get_ipython().run_line_magic("load_ext", "grader")
    get_ipython().run_line_magic("grader", "use gpu")
except ImportError:
    get_ipython().register_magic_function(
        lambda _: print("The grader is not installed here: nothing was checked."),
        magic_name="grader",
    )

# %% [markdown]
# ## Threads and blocks
#
# A kernel is one program that all threads run. Threads are grouped in blocks, and blocks in a grid.
# In TensorIR, a loop that is bound to `threadIdx.x` has one thread for each round, a loop that is
# bound to `blockIdx.x` one block. Here 16 blocks of 64 threads double a vector:


# %%
@I.ir_module
class Example:
    @T.prim_func
    def double(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
        T.func_attr({"global_symbol": "double"})
        for bx in T.thread_binding(16, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                B[bx * 64 + tx] = A[bx * 64 + tx] * T.float32(2)


# %% [markdown]
# TVM writes CUDA for it, on a machine without a GPU as well. Look at what became of the two loops:


# %%
def cuda(mod):
    """Return the CUDA source of a module's kernels."""
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_80"}, host="llvm")
    source = tvm.compile(mod, target, tir_pipeline="tirx").mod.imports[0].inspect_source()
    return source[source.index('extern "C"') :]


print(cuda(Example))

# %% [markdown]
# ## Part 1. Addition
#
# Add two vectors of 4000 elements, one element a thread, in blocks of 128 threads. 4000 is no
# multiple of 128: the last block has threads without an element, which must do nothing.
#
# The points: 5 for threads that do not meet, 10 for the right numbers.


# %% tags=["raises-exception"]
@I.ir_module
class MyAdd:
    @T.prim_func
    def add(
        A: T.Buffer((4000,), "float32"),
        B: T.Buffer((4000,), "float32"),
        C: T.Buffer((4000,), "float32"),
    ):
        T.func_attr({"global_symbol": "add"})
        ### BEGIN SOLUTION
        for bx in T.thread_binding(32, thread="blockIdx.x"):
            for tx in T.thread_binding(128, thread="threadIdx.x"):
                if bx * 128 + tx < 4000:
                    C[bx * 128 + tx] = A[bx * 128 + tx] + B[bx * 128 + tx]
        ### END SOLUTION


# %% tags=["self-check"]
# %grader check add

# %% [markdown]
# ## Part 2. A window sum with shared memory
#
# Each element of `B` is the sum of nine neighbours in `A`. Neighbouring threads read the same
# elements, from global memory, which is far away. A block can fetch what its threads need once,
# into **shared memory**. The sum itself belongs into a register of its thread, which is **local
# memory**: otherwise each of the nine additions goes to global memory.


# %%
def window():
    A = te.placeholder((4104,), "float32", name="A")
    k = te.reduce_axis((0, 9), name="k")
    B = te.compute((4096,), lambda i: te.sum(A[i + k], axis=k), name="B")
    return tvm.IRModule({"main": te.create_prim_func([A, B])})


# %% [markdown]
# Schedule it: bind the loop over `i` to blocks and threads, keep the sum in a `local` buffer
# (`cache_write`, `reverse_compute_at`), and fetch the block's elements together into a `shared`
# buffer (`cache_read`, `compute_at`, `split`, `bind`). TVM puts the barriers in.
#
# The points: 8 for the right numbers, 12 for few cycles.

# %% tags=["raises-exception"]
sch_window = tvm.s_tir.Schedule(window())
block = sch_window.get_sblock("B")
### BEGIN SOLUTION
written = sch_window.cache_write(block, 0, "local")
i, k = sch_window.get_loops(block)
bx, tx = sch_window.split(i, factors=[None, 128])
sch_window.bind(bx, "blockIdx.x")
sch_window.bind(tx, "threadIdx.x")
sch_window.reverse_compute_at(written, tx)
fetched = sch_window.cache_read(block, 0, "shared")
sch_window.compute_at(fetched, bx)
_, thread = sch_window.split(sch_window.get_loops(fetched)[-1], factors=[None, 128])
sch_window.bind(thread, "threadIdx.x")
### END SOLUTION

# %% tags=["self-check"]
# %grader check window

# %% [markdown]
# ## Part 3. A matrix product in tiles
#
# Each element of a matrix is used 128 times. Three ideas bring it nearer to where it is used:
#
# * a thread computes a tile of 4 x 4 elements, in local memory, so that an element that it has
#   loaded serves four products;
# * a block of 8 x 8 threads fetches what it needs for eight steps of the sum into shared memory;
# * all threads of the block fetch together, four neighbouring elements each.


# %%
def matmul():
    A = te.placeholder((128, 128), "float32", name="A")
    B = te.placeholder((128, 128), "float32", name="B")
    k = te.reduce_axis((0, 128), name="k")
    C = te.compute((128, 128), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return tvm.IRModule({"main": te.create_prim_func([A, B, C])})


# %% [markdown]
# The points: 10 for the right numbers, 20 for few cycles.

# %% tags=["raises-exception"]
sch_matmul = tvm.s_tir.Schedule(matmul())
block = sch_matmul.get_sblock("C")
### BEGIN SOLUTION
written = sch_matmul.cache_write(block, 0, "local")
i, j, k = sch_matmul.get_loops(block)
by, ty, row = sch_matmul.split(i, factors=[None, 8, 4])
bx, tx, column = sch_matmul.split(j, factors=[None, 8, 4])
step, inner = sch_matmul.split(k, factors=[None, 8])
sch_matmul.reorder(by, bx, ty, tx, step, inner, row, column)
sch_matmul.reverse_compute_at(written, tx)
sch_matmul.bind(by, "blockIdx.y")
sch_matmul.bind(bx, "blockIdx.x")
sch_matmul.bind(ty, "threadIdx.y")
sch_matmul.bind(tx, "threadIdx.x")
for operand in (0, 1):
    fetched = sch_matmul.cache_read(block, operand, "shared")
    sch_matmul.compute_at(fetched, step)
    fused = sch_matmul.fuse(*sch_matmul.get_loops(fetched)[-2:])
    _, y, x, lanes = sch_matmul.split(fused, factors=[None, 8, 8, 4])
    sch_matmul.bind(y, "threadIdx.y")
    sch_matmul.bind(x, "threadIdx.x")
    sch_matmul.vectorize(lanes)
sch_matmul.vectorize(sch_matmul.get_loops(written)[-1])
sch_matmul.decompose_reduction(block, step)
### END SOLUTION

# %% tags=["self-check"]
# %grader check matmul

# %% [markdown]
# ## Part 4. The convolution
#
# The convolution of the assignment on models: four images of 28 x 28, 32 filters of 3 x 3. Neither
# blocks nor threads are given this time. What is read by many threads, and what by one?


# %%
def conv():
    X = te.placeholder((4, 1, 28, 28), "float32", name="X")
    W = te.placeholder((32, 1, 3, 3), "float32", name="W")
    c = te.reduce_axis((0, 1), name="c")
    i = te.reduce_axis((0, 3), name="i")
    j = te.reduce_axis((0, 3), name="j")
    Y = te.compute(
        (4, 32, 26, 26),
        lambda n, f, y, x: te.sum(X[n, c, y + i, x + j] * W[f, c, i, j], axis=[c, i, j]),
        name="Y",
    )
    return tvm.IRModule({"main": te.create_prim_func([X, W, Y])})


# %% [markdown]
# The points: 8 for the right numbers, 12 for few cycles. A block has at most 1024 threads.

# %% tags=["raises-exception"]
sch_conv = tvm.s_tir.Schedule(conv())
block = sch_conv.get_sblock("Y")
### BEGIN SOLUTION
written = sch_conv.cache_write(block, 0, "local")
n, f, y, x, c, i, j = sch_conv.get_loops(block)
group, filters = sch_conv.split(f, factors=[None, 8])
band, rows = sch_conv.split(y, factors=[None, 13])
sch_conv.reorder(n, group, band, rows, x, c, i, j, filters)
images = sch_conv.fuse(n, group)
sch_conv.reverse_compute_at(written, x)
sch_conv.bind(images, "blockIdx.x")
sch_conv.bind(band, "blockIdx.y")
sch_conv.bind(rows, "threadIdx.y")
sch_conv.bind(x, "threadIdx.x")
for operand in (0, 1):
    fetched = sch_conv.cache_read(block, operand, "shared")
    sch_conv.compute_at(fetched, band)
    fused = sch_conv.fuse(*sch_conv.get_loops(fetched)[2:])
    _, ty, tx = sch_conv.split(fused, factors=[None, 13, 26])
    sch_conv.bind(ty, "threadIdx.y")
    sch_conv.bind(tx, "threadIdx.x")
sch_conv.decompose_reduction(block, c)
### END SOLUTION

# %% tags=["self-check"]
# %grader check conv

# %% [markdown]
# ## Part 5. Barriers
#
# In a schedule, TVM puts in the barriers. Who writes a kernel without blocks puts them in: where a
# thread reads what another one stored, all threads of the block have to pass
# `T.tvm_storage_sync("shared")` in between.
#
# This kernel sums up rows of 256 elements, one row a block. Its threads add in halves: 128 threads
# add the second half to the first, then 64 add the second quarter, and so on. On a GPU its results
# change from run to run.


# %%
@I.ir_module
class Sums:
    @T.prim_func
    def sums(A: T.Buffer((64, 256), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"global_symbol": "sums"})
        for bx in T.thread_binding(64, thread="blockIdx.x"):
            for tx in T.thread_binding(256, thread="threadIdx.x"):
                S = T.alloc_buffer((256,), "float32", scope="shared")
                S[tx] = A[bx, tx]
                for i in range(8):
                    if tx < T.shift_right(128, i):
                        S[tx] = S[tx] + S[tx + T.shift_right(128, i)]
                if tx == 0:
                    B[bx] = S[0]


# %% [markdown]
# Write it again as `MySums`, with the barriers that it needs and no others. A barrier inside of an
# `if` that some threads do not enter is one that the others wait at for ever.
#
# The points: 10 for threads that do not race, 5 for the right numbers.


# %% tags=["raises-exception"]
@I.ir_module
class MySums:
    @T.prim_func
    def sums(A: T.Buffer((64, 256), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"global_symbol": "sums"})
        ### BEGIN SOLUTION
        for bx in T.thread_binding(64, thread="blockIdx.x"):
            for tx in T.thread_binding(256, thread="threadIdx.x"):
                S = T.alloc_buffer((256,), "float32", scope="shared")
                S[tx] = A[bx, tx]
                T.tvm_storage_sync("shared")
                for i in range(8):
                    if tx < T.shift_right(128, i):
                        S[tx] = S[tx] + S[tx + T.shift_right(128, i)]
                    T.tvm_storage_sync("shared")
                if tx == 0:
                    B[bx] = S[0]
        ### END SOLUTION


# %% tags=["self-check"]
# %grader check sums
