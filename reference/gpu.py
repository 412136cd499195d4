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
# | 5 | a kernel that lacks barriers, mended | `MySums` | 15 |
#
# Write your code where a cell says `YOUR CODE HERE`. Keep the five names of the table, and the
# shapes that are asked for. All numbers are float32. You may add cells and experiments as you like.
#
# Before you hand in, choose *Restart kernel and run all cells*: what is graded is what your cells
# compute when they run once, from top to bottom.
# %% [markdown] lang="zh"
# # GPU 内核
#
# GPU 同时运行成千上万个线程。相邻的线程处理相邻的数据，许多线程都要用的值只取一次，这样才快。
# 在这份作业里，你要编写和调度五个内核。不需要 GPU：评分程序逐个线程执行你的内核，找出互相竞争的线程，
# 并统计每条语句搬运了多少数据。
#
# | 部分 | 要做什么 | 评分时查找的名字 | 分数 |
# |---|---|---|---|
# | 1 | 由线程完成的加法 | `MyAdd` | 15 |
# | 2 | 使用共享内存的窗口求和 | `sch_window` | 20 |
# | 3 | 分块的矩阵乘法 | `sch_matmul` | 30 |
# | 4 | 为 GPU 调度的卷积 | `sch_conv` | 20 |
# | 5 | 修复缺少屏障的内核 | `MySums` | 15 |
#
# 请在写着 `YOUR CODE HERE` 的地方填写代码。表中的五个名字和题目要求的形状请保持不变。所有数都是 float32。
# 你可以随意增加单元格，做自己的试验。
#
# 提交之前，请选择“重启内核并运行所有单元格”：评分依据的，是你的单元格从上到下各运行一次所得的结果。
# %% [markdown] lang="ko"
# # GPU 커널
#
# GPU는 수천 개의 스레드를 한꺼번에 돌립니다. 이웃한 스레드가 이웃한 데이터를 다루고, 여러 스레드가 쓰는
# 값을 한 번만 가져오면 빠릅니다. 이 과제에서는 커널 다섯 개를 작성하고 스케줄합니다. GPU는 필요 없습니다.
# 채점기가 커널을 스레드 하나하나 실행해 경합하는 스레드를 찾고, 문장마다 옮기는 데이터의 양을 셉니다.
#
# | 파트 | 만들 것 | 채점되는 이름 | 점수 |
# |---|---|---|---|
# | 1 | 스레드로 하는 덧셈 | `MyAdd` | 15 |
# | 2 | 공유 메모리를 쓰는 윈도우 합 | `sch_window` | 20 |
# | 3 | 타일로 나눈 행렬 곱 | `sch_matmul` | 30 |
# | 4 | GPU용으로 스케줄한 합성곱 | `sch_conv` | 20 |
# | 5 | 배리어가 빠진 커널 고치기 | `MySums` | 15 |
#
# `YOUR CODE HERE`라고 쓰인 곳에 코드를 작성하세요. 표에 있는 이름 다섯 개와 문제에서 요구하는 형상은 그대로
# 두어야 합니다. 모든 수는 float32입니다. 셀을 추가하거나 실험하는 것은 자유입니다.
#
# 제출하기 전에 *커널 재시작 및 모든 셀 실행*을 하세요. 셀을 위에서 아래로 한 번씩 실행했을 때
# 나오는 결과로 채점합니다.

# %% [markdown]
# ## Getting ready
#
# The next cell installs TVM where it is missing, for example on Colab. The versions matter: TVM's
# Python interface changes from release to release, and this text is written for 0.27.
# %% [markdown] lang="zh"
# ## 准备工作
#
# 下一个单元格会在没有 TVM 的环境（例如 Colab）里安装它。版本很重要：TVM 的 Python
# 接口每个版本都有变化，本文针对的是 0.27。
# %% [markdown] lang="ko"
# ## 준비
#
# 다음 셀은 TVM이 없는 환경(예: Colab)에 TVM을 설치합니다. 버전이 중요합니다. TVM의 파이썬
# 인터페이스는 릴리스마다 바뀌며, 이 글은 0.27을 기준으로 합니다.

# %%
import importlib.util

if importlib.util.find_spec("tvm") is None:
    # %pip install --quiet apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post1
    print("TVM is installed now. Restart the kernel if the next cell fails.")

# %%
import os

# TVM otherwise ties this process to some of the processors.
# zh: 否则 TVM 会把这个进程绑定在一部分处理器上。
# ko: 그러지 않으면 TVM이 이 프로세스를 일부 프로세서에 묶어 둡니다.
os.environ.setdefault("TVM_BIND_THREADS", "0")

import tvm
from tvm import te
from tvm.script import ir as I
from tvm.script import tirx as T

print("TVM", tvm.__version__)

# %% tags=["self-check"]
# `%grader check` says how your solution stands. Where the grader is not installed, it does nothing.
# zh: `%grader check` 告诉你答案做得怎么样。没有安装 grader 的地方，它什么也不做。
# ko: `%grader check`는 답안의 상태를 알려 줍니다. grader가 없는 곳에서는 아무 일도 하지 않습니다.
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
# %% [markdown] lang="zh"
# ## 线程和线程块
#
# 内核是所有线程都执行的同一个程序。线程组成线程块，线程块组成网格。在 TensorIR 里，绑定到 `threadIdx.x`
# 的循环，每一轮是一个线程；绑定到 `blockIdx.x` 的循环，每一轮是一个线程块。下面用 16 个线程块、每块 64
# 个线程把一个向量加倍：
# %% [markdown] lang="ko"
# ## 스레드와 블록
#
# 커널은 모든 스레드가 실행하는 하나의 프로그램입니다. 스레드는 블록으로, 블록은 그리드로 묶입니다. TensorIR에서
# `threadIdx.x`에 바인딩한 루프는 회차마다 스레드가 하나씩, `blockIdx.x`에 바인딩한 루프는 회차마다 블록이
# 하나씩 있습니다. 다음은 스레드 64개짜리 블록 16개로 벡터를 두 배로 만듭니다.


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
# %% [markdown] lang="zh"
# TVM 会为它写出 CUDA 代码，没有 GPU 的机器上也可以。看看两个循环变成了什么：
# %% [markdown] lang="ko"
# TVM은 GPU가 없는 컴퓨터에서도 CUDA 코드를 만들어 줍니다. 두 루프가 무엇이 되었는지 보세요.


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
# The points: 5 for threads that do not meet, 5 for the right numbers, 5 for few cycles.
# %% [markdown] lang="zh"
# ## 第 1 部分：加法
#
# 把两个 4000 个元素的向量相加，每个线程一个元素，每个线程块 128 个线程。4000 不是 128
# 的倍数：最后一个线程块里有些线程没有元素，它们什么也不能做。
#
# 分数：线程互不冲突 5 分，结果正确 5 分，周期少 5 分。
# %% [markdown] lang="ko"
# ## 파트 1. 덧셈
#
# 원소 4000개짜리 벡터 두 개를 더합니다. 스레드마다 원소 하나, 블록마다 스레드 128개입니다. 4000은 128의 배수가
# 아니므로, 마지막 블록에는 원소가 없는 스레드가 있고 그 스레드는 아무 일도 하지 않아야 합니다.
#
# 점수: 서로 부딪히지 않는 스레드 5점, 올바른 결과 5점, 적은 사이클 5점.


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
# %% [markdown] lang="zh"
# ## 第 2 部分：使用共享内存的窗口求和
#
# `B` 的每个元素是 `A` 里九个相邻元素之和。相邻的线程会从很远的全局内存读取相同的元素。线程块可以把各线程需要的内容
# 一次取到**共享内存**里。和本身应当放在线程的寄存器里，也就是**局部内存**：否则九次加法每次都要访问全局内存。
# %% [markdown] lang="ko"
# ## 파트 2. 공유 메모리를 쓰는 윈도우 합
#
# `B`의 원소는 `A`에서 이웃한 원소 아홉 개의 합입니다. 이웃한 스레드들은 멀리 있는 전역 메모리에서 같은 원소를
# 읽습니다. 블록은 스레드들에게 필요한 것을 **공유 메모리** 로 한 번에 가져올 수 있습니다. 합 자체는 스레드의
# 레지스터, 곧 **로컬 메모리** 에 두어야 합니다. 그러지 않으면 덧셈 아홉 번이 모두 전역 메모리를 거칩니다.


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
# %% [markdown] lang="zh"
# 请调度它：把 `i` 的循环绑定到线程块和线程，把和放在 `local` 缓冲区里（`cache_write`、`reverse_compute_at`），
# 并让线程一起把线程块的元素取到 `shared` 缓冲区（`cache_read`、`compute_at`、`split`、`bind`）。屏障由 TVM 加上。
#
# 分数：结果正确 8 分，周期少 12 分。
# %% [markdown] lang="ko"
# 이것을 스케줄하세요. `i`의 루프를 블록과 스레드에 바인딩하고, 합을 `local` 버퍼에 두고(`cache_write`,
# `reverse_compute_at`), 블록의 원소를 스레드들이 함께 `shared` 버퍼로 가져오게 합니다(`cache_read`, `compute_at`,
# `split`, `bind`). 배리어는 TVM이 넣습니다.
#
# 점수: 올바른 결과 8점, 적은 사이클 12점.

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
# %% [markdown] lang="zh"
# ## 第 3 部分：分块的矩阵乘法
#
# 矩阵的每个元素要用 128 次。三个办法能让它离使用它的地方更近：
#
# * 每个线程在局部内存里计算 4 x 4 个元素的小块，读取一次的元素可以用在四个乘积里；
# * 8 x 8 个线程的线程块把求和八步所需的内容取到共享内存里；
# * 线程块的所有线程一起取，每个线程取四个相邻的元素。
# %% [markdown] lang="ko"
# ## 파트 3. 타일로 나눈 행렬 곱
#
# 행렬의 원소는 저마다 128번 쓰입니다. 세 가지 방법으로 원소를 쓰이는 곳 가까이에 둡니다.
#
# * 스레드는 4 x 4 원소의 타일을 로컬 메모리에서 계산해, 한 번 읽은 원소를 곱 네 개에 씁니다.
# * 8 x 8 스레드의 블록은 합의 여덟 단계에 필요한 것을 공유 메모리로 가져옵니다.
# * 블록의 모든 스레드가 함께, 저마다 이웃한 원소 네 개씩 가져옵니다.


# %%
def matmul():
    A = te.placeholder((128, 128), "float32", name="A")
    B = te.placeholder((128, 128), "float32", name="B")
    k = te.reduce_axis((0, 128), name="k")
    C = te.compute((128, 128), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return tvm.IRModule({"main": te.create_prim_func([A, B, C])})


# %% [markdown]
# The points: 10 for the right numbers, 20 for few cycles.
# %% [markdown] lang="zh"
# 分数：结果正确 10 分，周期少 20 分。
# %% [markdown] lang="ko"
# 점수: 올바른 결과 10점, 적은 사이클 20점.

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
# %% [markdown] lang="zh"
# ## 第 4 部分：卷积
#
# 这是模型作业里的卷积：四张 28 x 28 的图像，32 个 3 x 3 的滤波器。这次线程块和线程都由你决定。
# 哪些内容由许多线程读取，哪些只由一个线程读取？
# %% [markdown] lang="ko"
# ## 파트 4. 합성곱
#
# 모델 과제에 나온 합성곱입니다. 28 x 28 이미지 네 장과 3 x 3 필터 32개가 있습니다. 이번에는 블록도 스레드도
# 정해져 있지 않습니다. 여러 스레드가 읽는 것은 무엇이고, 한 스레드만 읽는 것은 무엇일까요?


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
# %% [markdown] lang="zh"
# 分数：结果正确 8 分，周期少 12 分。一个线程块最多有 1024 个线程。
# %% [markdown] lang="ko"
# 점수: 올바른 결과 8점, 적은 사이클 12점. 블록의 스레드는 최대 1024개입니다.

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
# %% [markdown] lang="zh"
# ## 第 5 部分：屏障
#
# 在调度里，屏障由 TVM 加上。不用块来写内核的人要自己加：一个线程读取另一个线程写入的内容之前，线程块的所有线程都必须经过
# `T.tvm_storage_sync("shared")`。
#
# 下面的内核对每行 256 个元素求和，每个线程块一行。线程对半相加：先由 128 个线程把后一半加到前一半，再由 64
# 个线程加第二个四分之一，依此类推。在 GPU 上，它的结果每次运行都不一样。
# %% [markdown] lang="ko"
# ## 파트 5. 배리어
#
# 스케줄에서는 TVM이 배리어를 넣습니다. 블록 없이 커널을 작성할 때는 직접 넣어야 합니다. 한 스레드가 저장한 것을 다른
# 스레드가 읽으려면, 그 사이에 블록의 모든 스레드가 `T.tvm_storage_sync("shared")`를 지나야 합니다.
#
# 이 커널은 원소 256개짜리 행을 블록마다 하나씩 더합니다. 스레드들은 반씩 더합니다. 먼저 스레드 128개가 뒤쪽 절반을
# 앞쪽 절반에 더하고, 다음에는 64개가 두 번째 4분의 1을 더하는 식입니다. GPU에서는 결과가 실행할 때마다 달라집니다.


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
# %% [markdown] lang="zh"
# 请把它重写为 `MySums`，加上需要的屏障，不要多加。如果屏障在 `if` 里面，而有些线程不进入这个
# `if`，其他线程就会一直等下去。
#
# 分数：线程不竞争 10 分，结果正确 5 分。
# %% [markdown] lang="ko"
# 이것을 `MySums`로 다시 작성하되, 필요한 배리어만 넣으세요. 일부 스레드가 들어가지 않는 `if` 안에 배리어가 있으면
# 나머지 스레드는 끝없이 기다립니다.
#
# 점수: 경합하지 않는 스레드 10점, 올바른 결과 5점.


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
