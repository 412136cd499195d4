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
# `reference/tensorir.py`: change that file, then run `make notebooks`. Cells like this one, tagged
# `instructor`, and the lines between solution marks are not in the students' template.

# %% [markdown]
# # Writing and transforming TensorIR
#
# TensorIR is the form in which TVM holds a computation whose loops you can see and change. In this
# first assignment you write three functions in it, and then make one of them several times faster
# without touching what it computes.
#
# | part | what you build | name that is graded | points |
# |---|---|---|---|
# | 1 | an addition that repeats one of its inputs | `MyAdd` | 15 |
# | 2 | a convolution | `MyConv` | 25 |
# | 3 | a batch of matrix products, with ReLU | `MyBmmRelu` | 25 |
# | 4 | the function of part 3, transformed into a given form | `sch` | 35 |
#
# Write your code where a cell says `YOUR CODE HERE`. Keep the four names of the table, and the
# shapes and dtypes that are asked for. You may add cells and experiments as you like.
#
# Before you hand in, choose *Restart kernel and run all cells*: what is graded is what your cells
# compute when they run once, from top to bottom.
# %% [markdown] lang="zh"
# # 编写和变换 TensorIR
#
# TensorIR 是 TVM 表示计算的一种形式：循环看得见，也改得动。在这第一份作业里，你要用它写三个函数，
# 然后在不改变计算结果的前提下，让其中一个快上好几倍。
#
# | 部分 | 要做什么 | 评分时查找的名字 | 分数 |
# |---|---|---|---|
# | 1 | 带广播的加法 | `MyAdd` | 15 |
# | 2 | 卷积 | `MyConv` | 25 |
# | 3 | 一批矩阵乘法，再加 ReLU | `MyBmmRelu` | 25 |
# | 4 | 把第 3 部分的函数变换成给定的形式 | `sch` | 35 |
#
# 请在写着 `YOUR CODE HERE` 的地方填写代码。表中的四个名字，以及题目要求的形状和数据类型，
# 请保持不变。你可以随意增加单元格，做自己的试验。
#
# 提交之前，请选择“重启内核并运行所有单元格”：评分依据的，是你的单元格从上到下各运行一次所得的结果。
# %% [markdown] lang="ko"
# # TensorIR 작성과 변환
#
# TensorIR은 TVM이 계산을 담아 두는 형식으로, 루프를 눈으로 보고 직접 바꿀 수 있습니다. 이 첫
# 과제에서는 TensorIR로 함수 세 개를 작성한 다음, 그중 하나를 계산 결과는 그대로 둔 채 몇 배 빠르게
# 만듭니다.
#
# | 파트 | 만들 것 | 채점되는 이름 | 점수 |
# |---|---|---|---|
# | 1 | 브로드캐스트 덧셈 | `MyAdd` | 15 |
# | 2 | 합성곱 | `MyConv` | 25 |
# | 3 | 배치 행렬 곱과 ReLU | `MyBmmRelu` | 25 |
# | 4 | 파트 3의 함수를 주어진 형태로 변환 | `sch` | 35 |
#
# `YOUR CODE HERE`라고 쓰인 곳에 코드를 작성하세요. 표에 있는 이름 네 개와 문제에서 요구하는 형상 및
# dtype은 그대로 두어야 합니다. 셀을 추가하거나 실험하는 것은 자유입니다.
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

import numpy as np
import tvm
from IPython.display import Code
from tvm.script import ir as I
from tvm.script import tirx as T

print("TVM", tvm.__version__)

# %% tags=["self-check"]
# `%grader check` says how your solution stands. Where the grader is not installed, it does nothing.
# zh: `%grader check` 告诉你答案做得怎么样。没有安装 grader 的地方，它什么也不做。
# ko: `%grader check`는 답안의 상태를 알려 줍니다. grader가 없는 곳에서는 아무 일도 하지 않습니다.
try:
    get_ipython().run_line_magic("load_ext", "grader")
    get_ipython().run_line_magic("grader", "use tensorir")
except ImportError:
    get_ipython().register_magic_function(
        lambda _: print("The grader is not installed here: nothing was checked."),
        magic_name="grader",
    )

# %% [markdown]
# ## A first function
#
# Here is an addition of two 4 by 4 matrices. In NumPy it is one expression, `A + B`, and leaves
# open in which order the sixteen sums are done. TensorIR says it:
# %% [markdown] lang="zh"
# ## 第一个函数
#
# 下面是两个 4×4 矩阵的加法。在 NumPy 里它只是一个表达式 `A + B`，十六个和按什么顺序计算并没有说。
# TensorIR 则把它写明：
# %% [markdown] lang="ko"
# ## 첫 번째 함수
#
# 4×4 행렬 두 개의 덧셈입니다. NumPy에서는 `A + B`라는 식 하나이고, 합 열여섯 개를 어떤 순서로
# 계산하는지는 말하지 않습니다. TensorIR은 이를 적습니다.


# %%
@I.ir_module
class Example:
    @T.prim_func(s_tir=True)
    def add(
        A: T.Buffer((4, 4), "int64"),
        B: T.Buffer((4, 4), "int64"),
        C: T.Buffer((4, 4), "int64"),
    ):
        T.func_attr({"global_symbol": "add", "tirx.noalias": True})
        for i, j in T.grid(4, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + B[vi, vj]


# %% [markdown]
# It looks like Python and is read by TVM, which never runs it as Python. From the outside to the
# inside:
#
# * `@I.ir_module` makes an **IRModule** of the class: a collection of functions.
# * `@T.prim_func(s_tir=True)` marks a **PrimFunc**, a function of loops and buffers. `s_tir=True`
#   says that it has blocks, and so can be scheduled.
# * The parameters are **buffers** of a fixed shape and dtype, first the inputs, then the output.
#   A PrimFunc returns nothing: the caller brings the memory of the output, and the function writes
#   into it.
# * `T.func_attr` gives the function its name in compiled code and promises that the buffers do not
#   overlap.
# * `T.grid(4, 4)` is a nest of two **loops**.
# * `T.sblock("C")` opens a **block**, the unit of work. A block is like a small contract: for each
#   value of its **axes** it does one thing, and it does not care by which loops it got there. That
#   is why the loops may later be changed.
# * `T.axis.remap("SS", [i, j])` declares the axes `vi` and `vj` and binds them to the loops `i` and
#   `j`. It is short for `vi = T.axis.spatial(4, i)` and `vj = T.axis.spatial(4, j)`. An axis is
#   **spatial** (S) if each of its values belongs to another item of the output. Inside of the block
#   you compute with axes only, never with loop variables.
# %% [markdown] lang="zh"
# 它看上去是 Python，但由 TVM 来读取，从不当作 Python 执行。由外到内：
#
# * `@I.ir_module` 把这个类变成 **IRModule**，也就是一组函数。
# * `@T.prim_func(s_tir=True)` 标出一个 **PrimFunc**：由循环和缓冲区组成的函数。`s_tir=True`
#   表示其中有块，因而可以调度。
# * 参数是形状和数据类型都固定的**缓冲区**，先输入，后输出。PrimFunc 没有返回值：
#   输出的内存由调用者准备，函数往里写。
# * `T.func_attr` 给出函数在编译后代码里的名字，并保证这些缓冲区互不重叠。
# * `T.grid(4, 4)` 是两层嵌套的**循环**。
# * `T.sblock("C")` 打开一个**块**，它是工作的单位。块好比一份小合同：
#   对它的**轴**的每一组取值做一件事，至于是哪些循环把它带到这里，它并不关心。正因如此，
#   循环以后才可以改动。
# * `T.axis.remap("SS", [i, j])` 声明轴 `vi` 和 `vj`，并把它们绑定到循环 `i` 和 `j`。它是
#   `vi = T.axis.spatial(4, i)` 和 `vj = T.axis.spatial(4, j)` 的简写。
#   如果一个轴的每个取值对应输出的不同元素，它就是**空间轴**（S）。块里面只用轴来计算，
#   绝不直接用循环变量。
# %% [markdown] lang="ko"
# 파이썬처럼 보이지만 TVM이 읽을 뿐, 파이썬으로 실행되는 일은 없습니다. 바깥쪽부터 보면 다음과
# 같습니다.
#
# * `@I.ir_module`은 클래스를 **IRModule**, 즉 함수의 모음으로 만듭니다.
# * `@T.prim_func(s_tir=True)`는 루프와 버퍼로 된 함수인 **PrimFunc**를 나타냅니다. `s_tir=True`는
#   블록이 있어서 스케줄할 수 있다는 뜻입니다.
# * 매개변수는 형상과 dtype이 정해진 **버퍼**이며, 입력이 먼저, 출력이 마지막입니다. PrimFunc는
#   아무것도 반환하지 않습니다. 출력 메모리는 호출하는 쪽이 마련하고, 함수는 거기에 씁니다.
# * `T.func_attr`은 컴파일된 코드에서의 함수 이름을 정하고, 버퍼가 서로 겹치지 않음을 약속합니다.
# * `T.grid(4, 4)`는 이중 **루프**입니다.
# * `T.sblock("C")`는 작업의 단위인 **블록**을 엽니다. 블록은 작은 계약과 같습니다. **축**의 값마다
#   한 가지 일을 하며, 어떤 루프를 거쳐 왔는지는 상관하지 않습니다. 그래서 나중에 루프를 바꿀 수
#   있습니다.
# * `T.axis.remap("SS", [i, j])`는 축 `vi`, `vj`를 선언하고 루프 `i`, `j`에 묶습니다.
#   `vi = T.axis.spatial(4, i)`와 `vj = T.axis.spatial(4, j)`를 줄여 쓴 것입니다. 축의 값마다 출력의
#   다른 원소에 대응하면 그 축은 **공간 축**(S)입니다. 블록 안에서는 축으로만 계산하고, 루프 변수는
#   쓰지 않습니다.

# %% [markdown]
# ### Sums
#
# In a product of matrices, each item of the output is a sum: $C_{ij} = \sum_k A_{ik} B_{kj}$. Here
# the third axis is different: its eight values all belong to the same item.
# %% [markdown] lang="zh"
# ### 求和
#
# 在矩阵乘法里，输出的每个元素都是一个和：$C_{ij} = \sum_k A_{ik} B_{kj}$。这里第三个轴与众不同：
# 它的八个取值全都属于同一个元素。
# %% [markdown] lang="ko"
# ### 합
#
# 행렬 곱에서는 출력의 각 원소가 합입니다. $C_{ij} = \sum_k A_{ik} B_{kj}$. 여기서 세 번째 축은
# 다릅니다. 여덟 개의 값이 모두 같은 원소에 속합니다.


# %%
@I.ir_module
class ExampleProduct:
    @T.prim_func(s_tir=True)
    def matmul(
        A: T.Buffer((4, 8), "float32"),
        B: T.Buffer((8, 4), "float32"),
        C: T.Buffer((4, 4), "float32"),
    ):
        T.func_attr({"global_symbol": "matmul", "tirx.noalias": True})
        for i, j, k in T.grid(4, 4, 8):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# %% [markdown]
# * `vk` is a **reduction axis** (R): it does not appear in the index of the output, and the block
#   runs several times for the same item.
# * `T.init()` holds what is done before the first of these times. Without it the sum starts with
#   whatever is in the memory. That is sometimes zero, which makes this mistake hard to find.
# * Constants have a dtype: `T.float32(0)` here, `T.int64(0)` in a buffer of integers.
#
# To run a module, compile it and call the function by its name with TVM tensors. The memory for
# the output holds rubbish at first, so that we notice if something is not written.
# %% [markdown] lang="zh"
# * `vk` 是**归约轴**（R）：它不出现在输出的下标里，对同一个元素，这个块要执行多次。
# * `T.init()` 里写的是第一次执行之前要做的事。没有它，求和就从内存里碰巧存着的数开始。
#   那个数有时正好是零，所以这个错误很难发现。
# * 常数有数据类型：这里是 `T.float32(0)`，在整数缓冲区里是 `T.int64(0)`。
#
# 要运行一个模块，先编译它，再用 TVM 张量按名字调用其中的函数。输出的内存一开始装的是垃圾数据，
# 这样哪里没有写到，我们马上就能看出来。
# %% [markdown] lang="ko"
# * `vk`는 **축약 축**(R)입니다. 출력의 인덱스에 나타나지 않으며, 같은 원소에 대해 블록이 여러 번
#   실행됩니다.
# * `T.init()`에는 그중 첫 번째 실행 전에 할 일을 적습니다. 없으면 메모리에 있던 값에서 합이
#   시작됩니다. 그 값이 우연히 0일 때도 있어서 찾기 어려운 실수입니다.
# * 상수에도 dtype이 있습니다. 여기서는 `T.float32(0)`, 정수 버퍼라면 `T.int64(0)`입니다.
#
# 모듈을 실행하려면 컴파일한 다음, TVM 텐서를 주고 이름으로 함수를 호출합니다. 출력 메모리에는
# 처음에 쓰레기 값을 넣어 두어, 쓰이지 않은 곳이 있으면 드러나게 합니다.


# %%
def run(mod, name, inputs, shape):
    """Call a function of the module on NumPy arrays, and return its output of the given shape."""
    output = tvm.runtime.tensor(np.full(shape, 77, inputs[0].dtype))
    tvm.compile(mod, "llvm")[name](*map(tvm.runtime.tensor, inputs), output)
    return output.numpy()


left = np.arange(16, dtype="int64").reshape(4, 4)
right = np.arange(16, 0, -1, dtype="int64").reshape(4, 4)
np.testing.assert_array_equal(run(Example, "add", [left, right], (4, 4)), left + right)

left = np.random.rand(4, 8).astype("float32")
right = np.random.rand(8, 4).astype("float32")
result = run(ExampleProduct, "matmul", [left, right], (4, 4))
np.testing.assert_allclose(result, left @ right, rtol=1e-5)
print("Both examples are right.")

# %% [markdown]
# ## Part 1. Broadcast addition
#
# Now add a vector to a matrix: `B` has four items, which are added to each row of `A`. NumPy calls
# it broadcasting. All numbers are of dtype int64.
#
# Put your loops in the place of `# YOUR CODE HERE` and the line below it. Until then TVM refuses
# the cell, for it cannot read `raise`.
#
# The points: 5 for a block with the right kinds of axes, 10 for the right numbers.
# %% [markdown] lang="zh"
# ## 第 1 部分：带广播的加法
#
# 现在把一个向量加到矩阵上：`B` 有四个元素，要加到 `A` 的每一行。NumPy 把这叫作广播。
# 所有数的类型都是 int64。
#
# 请把 `# YOUR CODE HERE` 和它下面的一行换成你的循环。在此之前，TVM 会拒绝这个单元格，
# 因为它读不懂 `raise`。
#
# 分数：块的轴种类正确 5 分，结果正确 10 分。
# %% [markdown] lang="ko"
# ## 파트 1. 브로드캐스트 덧셈
#
# 이번에는 행렬에 벡터를 더합니다. `B`의 원소 네 개를 `A`의 각 행에 더합니다. NumPy에서는 이를
# 브로드캐스팅이라고 합니다. 모든 수의 dtype은 int64입니다.
#
# `# YOUR CODE HERE`와 그 아래 줄을 여러분의 루프로 바꾸세요. 그 전에는 TVM이 `raise`를 읽지
# 못하여 이 셀을 거부합니다.
#
# 점수: 축의 종류가 올바른 블록 5점, 올바른 결과 10점.


# %% tags=["raises-exception"]
@I.ir_module
class MyAdd:
    @T.prim_func(s_tir=True)
    def add(
        A: T.Buffer((4, 4), "int64"),
        B: T.Buffer((4,), "int64"),
        C: T.Buffer((4, 4), "int64"),
    ):
        T.func_attr({"global_symbol": "add", "tirx.noalias": True})
        ### BEGIN SOLUTION
        for i, j in T.grid(4, 4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + B[vj]
        ### END SOLUTION


# %% tags=["self-check"]
# %grader check broadcast_add


# %% tags=["raises-exception"]
matrix = np.random.randint(-10, 11, (4, 4), dtype="int64")
vector = np.random.randint(-10, 11, (4,), dtype="int64")
np.testing.assert_array_equal(run(MyAdd, "add", [matrix, vector], (4, 4)), matrix + vector)
print("MyAdd is right.")

# %% [markdown]
# ## Part 2. Convolution
#
# A convolution slides a small window over an image and takes a weighted sum at each place. `data`
# is a batch of images in the layout NCHW (image, channel, row, column), `weight` a set of filters
# in the layout OIHW (filter, channel, row, column). Without padding, and with stride 1, the output
# is
#
# $$O_{n,f,y,x} = \sum_{c,i,j} D_{n,c,y+i,x+j} \cdot W_{f,c,i,j}$$
#
# Here there is one image of one channel, 8 by 8, and two filters of 3 by 3. How large is the
# output? Again all numbers are of dtype int64. Write the function for exactly these shapes, with
# an axis for each letter of the formula.
#
# The points: 10 for a block with the right kinds of axes, 15 for the right numbers.
# %% [markdown] lang="zh"
# ## 第 2 部分：卷积
#
# 卷积让一个小窗口在图像上滑动，在每个位置取加权和。`data` 是一批图像，布局为 NCHW（图像、通道、行、
# 列）；`weight` 是一组滤波器，布局为 OIHW（滤波器、通道、行、列）。没有填充、步幅为 1 时，输出是
#
# $$O_{n,f,y,x} = \sum_{c,i,j} D_{n,c,y+i,x+j} \cdot W_{f,c,i,j}$$
#
# 这里只有一张单通道的 8×8 图像，和两个 3×3 的滤波器。输出有多大？所有数的类型仍是 int64。
# 请就按这些形状来写，公式里的每个字母对应一个轴。
#
# 分数：块的轴种类正确 10 分，结果正确 15 分。
# %% [markdown] lang="ko"
# ## 파트 2. 합성곱
#
# 합성곱은 작은 창을 이미지 위에서 움직이며 자리마다 가중합을 구합니다. `data`는 NCHW(이미지, 채널,
# 행, 열) 배치의 이미지 묶음, `weight`는 OIHW(필터, 채널, 행, 열) 배치의 필터 묶음입니다. 패딩이
# 없고 스트라이드가 1이면 출력은 다음과 같습니다.
#
# $$O_{n,f,y,x} = \sum_{c,i,j} D_{n,c,y+i,x+j} \cdot W_{f,c,i,j}$$
#
# 여기서는 채널이 하나인 8×8 이미지 한 장과 3×3 필터 두 개가 있습니다. 출력의 크기는 얼마일까요?
# 이번에도 모든 수의 dtype은 int64입니다. 바로 이 형상에 맞추어, 식의 글자마다 축을 하나씩 두고
# 작성하세요.
#
# 점수: 축의 종류가 올바른 블록 10점, 올바른 결과 15점.


# %% tags=["raises-exception"]
@I.ir_module
class MyConv:
    @T.prim_func(s_tir=True)
    def conv(
        data: T.Buffer((1, 1, 8, 8), "int64"),
        weight: T.Buffer((2, 1, 3, 3), "int64"),
        output: T.Buffer((1, 2, 6, 6), "int64"),
    ):
        T.func_attr({"global_symbol": "conv", "tirx.noalias": True})
        ### BEGIN SOLUTION
        for n, f, y, x, c, i, j in T.grid(1, 2, 6, 6, 1, 3, 3):
            with T.sblock("output"):
                vn, vf, vy, vx, vc, vi, vj = T.axis.remap("SSSSRRR", [n, f, y, x, c, i, j])
                with T.init():
                    output[vn, vf, vy, vx] = T.int64(0)
                output[vn, vf, vy, vx] = (
                    output[vn, vf, vy, vx] + data[vn, vc, vy + vi, vx + vj] * weight[vf, vc, vi, vj]
                )
        ### END SOLUTION


# %% tags=["self-check"]
# %grader check conv2d

# %% [markdown]
# NumPy has no convolution of this kind, but two lines make it. The random filters matter: with
# filters that look the same from both ends, a flipped window would not be noticed.
# %% [markdown] lang="zh"
# NumPy 没有现成的这种卷积，不过两行就能写出来。滤波器取随机数是有原因的：
# 如果滤波器正着看和反着看都一样，窗口写反了也发现不了。
# %% [markdown] lang="ko"
# NumPy에는 이런 합성곱이 없지만, 두 줄이면 만들 수 있습니다. 필터를 무작위로 고르는 데는 까닭이
# 있습니다. 앞뒤가 같은 필터로는 창이 뒤집혀도 알아차릴 수 없습니다.


# %% tags=["raises-exception"]
def numpy_conv(data, weight):
    windows = np.lib.stride_tricks.sliding_window_view(data, weight.shape[2:], axis=(2, 3))
    return np.einsum("ncyxij,fcij->nfyx", windows, weight)


data = np.random.randint(-10, 11, (1, 1, 8, 8), dtype="int64")
weight = np.random.randint(-10, 11, (2, 1, 3, 3), dtype="int64")
result = run(MyConv, "conv", [data, weight], (1, 2, 6, 6))
np.testing.assert_array_equal(result, numpy_conv(data, weight))
print("MyConv is right.")

# %% [markdown]
# ## Part 3. Batched matrix product with ReLU
#
# The last function is one that neural networks spend much of their time in. It multiplies sixteen
# pairs of matrices of 128 by 128, and replaces negative results by zero:
#
# $$Y_{n,i,j} = \sum_k A_{n,i,k} B_{n,k,j}, \qquad C_{n,i,j} = \max(Y_{n,i,j}, 0)$$
#
# It takes two blocks, one after the other, each in its own loops: the maximum can be taken only
# once a sum is complete. Between them `Y` needs memory of its own, which belongs to the function:
# `Y = T.sblock_alloc_buffer((16, 128, 128), "float32")`. All numbers are float32.
#
# Loop over $n, i, j, k$ in this order and call the blocks `Y` and `C`. Nothing would be wrong with
# another order, but part 4 starts from this one.
#
# The points: 10 for blocks with the right kinds of axes, 15 for the right numbers.
# %% [markdown] lang="zh"
# ## 第 3 部分：带 ReLU 的批量矩阵乘法
#
# 最后一个函数，是神经网络花去大量时间的地方。它把十六对 128×128 的矩阵相乘，并把负的结果换成零：
#
# $$Y_{n,i,j} = \sum_k A_{n,i,k} B_{n,k,j}, \qquad C_{n,i,j} = \max(Y_{n,i,j}, 0)$$
#
# 这需要先后两个块，各有自己的循环：一个和加完之后，才能取最大值。两个块之间的 `Y` 要有自己的内存，
# 它属于这个函数：`Y = T.sblock_alloc_buffer((16, 128, 128), "float32")`。所有数都是 float32。
#
# 循环请按 $n, i, j, k$ 的顺序写，两个块分别叫作 `Y` 和 `C`。别的顺序也不算错，但第 4
# 部分从这个顺序出发。
#
# 分数：块的轴种类正确 10 分，结果正确 15 分。
# %% [markdown] lang="ko"
# ## 파트 3. ReLU가 붙은 배치 행렬 곱
#
# 마지막 함수는 신경망이 많은 시간을 쓰는 곳입니다. 128×128 행렬 열여섯 쌍을 곱하고, 음수인 결과를
# 0으로 바꿉니다.
#
# $$Y_{n,i,j} = \sum_k A_{n,i,k} B_{n,k,j}, \qquad C_{n,i,j} = \max(Y_{n,i,j}, 0)$$
#
# 블록 두 개가 차례로, 각각 자기 루프 안에 필요합니다. 합이 끝나야 최댓값을 구할 수 있기 때문입니다.
# 그 사이의 `Y`에는 함수가 따로 가지는 메모리가 필요합니다.
# `Y = T.sblock_alloc_buffer((16, 128, 128), "float32")`. 모든 수는 float32입니다.
#
# 루프는 $n, i, j, k$ 순서로 쓰고, 블록의 이름은 `Y`와 `C`로 하세요. 다른 순서도 틀린 것은 아니지만,
# 파트 4는 이 순서에서 시작합니다.
#
# 점수: 축의 종류가 올바른 블록 10점, 올바른 결과 15점.


# %% tags=["raises-exception"]
@I.ir_module
class MyBmmRelu:
    @T.prim_func(s_tir=True)
    def bmm_relu(
        A: T.Buffer((16, 128, 128), "float32"),
        B: T.Buffer((16, 128, 128), "float32"),
        C: T.Buffer((16, 128, 128), "float32"),
    ):
        T.func_attr({"global_symbol": "bmm_relu", "tirx.noalias": True})
        ### BEGIN SOLUTION
        Y = T.sblock_alloc_buffer((16, 128, 128), "float32")
        for n, i, j, k in T.grid(16, 128, 128, 128):
            with T.sblock("Y"):
                vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
                with T.init():
                    Y[vn, vi, vj] = T.float32(0)
                Y[vn, vi, vj] = Y[vn, vi, vj] + A[vn, vi, vk] * B[vn, vk, vj]
        for n, i, j in T.grid(16, 128, 128):
            with T.sblock("C"):
                vn, vi, vj = T.axis.remap("SSS", [n, i, j])
                C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))
        ### END SOLUTION


# %% tags=["self-check"]
# %grader check bmm_relu


# %% tags=["raises-exception"]
def check_bmm_relu(mod):
    """Raise an AssertionError where the module and NumPy differ."""
    left, right = np.random.randn(2, 16, 128, 128).astype("float32")
    result = run(mod, "bmm_relu", [left, right], (16, 128, 128))
    np.testing.assert_allclose(result, np.maximum(left @ right, 0), rtol=1e-4, atol=1e-4)


check_bmm_relu(MyBmmRelu)
print("MyBmmRelu is right.")

# %% [markdown]
# ## Part 4. The transformation
#
# Your function does its 33 million multiplications in the order of the formula. A processor is
# happier with another order: one in which it handles neighbouring numbers together, several at
# once, and finds again in its cache what it read a moment ago.
#
# You need not write the function again for that. A **schedule** (`tvm.s_tir.Schedule`) rewrites
# its loops, one primitive at a time, and refuses what would change the meaning. We try it on a
# small function with two blocks, the means of the rows of a matrix.
# %% [markdown] lang="zh"
# ## 第 4 部分：变换
#
# 你的函数按公式的顺序做了三千三百万次乘法。处理器更喜欢另一种顺序：相邻的数放在一起、
# 一次处理好几个，刚读过的数在缓存里还找得到。
#
# 为此不必把函数重写一遍。**调度**（`tvm.s_tir.Schedule`）用一个个原语改写循环，
# 会改变含义的改写则拒绝执行。我们先在一个有两个块的小函数上试一试：求矩阵每一行的平均值。
# %% [markdown] lang="ko"
# ## 파트 4. 변환
#
# 여러분의 함수는 곱셈 3천3백만 번을 식의 순서대로 합니다. 프로세서는 다른 순서를 더 좋아합니다.
# 이웃한 수를 한꺼번에 여러 개씩 다루고, 방금 읽은 것을 캐시에서 다시 찾을 수 있는 순서입니다.
#
# 그렇다고 함수를 다시 쓸 필요는 없습니다. **스케줄**(`tvm.s_tir.Schedule`)은 프리미티브를 하나씩
# 적용하여 루프를 바꾸고, 의미가 달라지는 변환은 거부합니다. 블록이 두 개인 작은 함수, 행렬의 행마다
# 평균을 구하는 함수로 시험해 봅시다.


# %%
@I.ir_module
class ExampleMeans:
    @T.prim_func(s_tir=True)
    def means(matrix: T.Buffer((64, 32), "float32"), result: T.Buffer((64,), "float32")):
        T.func_attr({"global_symbol": "means", "tirx.noalias": True})
        sums = T.sblock_alloc_buffer((64,), "float32")
        for i, k in T.grid(64, 32):
            with T.sblock("sums"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    sums[vi] = T.float32(0)
                sums[vi] = sums[vi] + matrix[vi, vk]
        for i in range(64):
            with T.sblock("result"):
                vi = T.axis.spatial(64, i)
                result[vi] = sums[vi] * T.float32(0.03125)


# %% [markdown]
# `split` makes two loops of one, and `reorder` exchanges loops. The 64 sums are now computed four
# at a time:
# %% [markdown] lang="zh"
# `split` 把一个循环拆成两个，`reorder` 交换循环的顺序。现在，64 个和每次同时计算四个：
# %% [markdown] lang="ko"
# `split`은 루프 하나를 둘로 나누고, `reorder`는 루프의 순서를 바꿉니다. 이제 합 64개를 네 개씩 함께
# 계산합니다.

# %%
example = tvm.s_tir.Schedule(ExampleMeans)
sums = example.get_sblock("sums", func_name="means")
means = example.get_sblock("result", func_name="means")

i, k = example.get_loops(sums)
tiles, lanes = example.split(i, factors=[None, 4])
example.reorder(tiles, k, lanes)
example.show()

# %% [markdown]
# Look at the block `sums`: its axis is bound to `i_0 * 4 + i_1` now, and the rest is as before.
#
# `reverse_compute_at(block, loop)` moves a block that reads a result into a loop around the block
# that computes it. Here each four means are computed as soon as their sums are there, while these
# are still in the cache:
# %% [markdown] lang="zh"
# 看看块 `sums`：它的轴现在绑定到 `i_0 * 4 + i_1`，其余一切照旧。
#
# `reverse_compute_at(block, loop)` 把读取结果的块，移进计算该结果的块外面的某个循环。这里，
# 每四个和一算完，就趁它们还在缓存里，马上算出平均值：
# %% [markdown] lang="ko"
# 블록 `sums`를 보세요. 이제 축이 `i_0 * 4 + i_1`에 묶여 있고, 나머지는 그대로입니다.
#
# `reverse_compute_at(block, loop)`는 결과를 읽는 블록을, 그 결과를 계산하는 블록 바깥의 루프 안으로
# 옮깁니다. 여기서는 합 네 개가 나오는 대로, 아직 캐시에 있을 때 평균을 계산합니다.

# %%
example.reverse_compute_at(means, tiles)
example.show()

# %% [markdown]
# Three primitives say how a loop runs. `parallel` spreads it over threads; `vectorize` does a short
# innermost loop in one go, with vector instructions; `unroll` writes out its rounds one after
# another.
#
# At last `decompose_reduction(block, loop)` takes `T.init()` out of the midst of the loops and
# makes a block of its own of it, just before `loop`. Mind the order: once a reduction is
# decomposed, its block reads what it writes, and `vectorize` and `parallel` refuse to touch its
# loops (`ScheduleError`). So **say first how loops run, decompose last**. The vectorised loop is
# copied to the new block along with its annotation.
# %% [markdown] lang="zh"
# 有三个原语规定循环怎样执行。`parallel` 把它分给多个线程；`vectorize`
# 用向量指令一次做完一个短的最内层循环；`unroll` 把它的各轮逐一展开写出。
#
# 最后，`decompose_reduction(block, loop)` 把 `T.init()` 从循环中间取出来，变成一个独立的块，放在
# `loop` 之前。注意顺序：归约一旦分解，它的块就会读取自己所写的缓冲区，`vectorize` 和 `parallel`
# 便拒绝改动它的循环（`ScheduleError`）。所以，**先规定循环怎样执行，最后才分解**。
# 向量化的循环会连同标注一起复制到新的块。
# %% [markdown] lang="ko"
# 루프를 어떻게 실행할지 정하는 프리미티브가 셋 있습니다. `parallel`은 루프를 여러 스레드에 나누고,
# `vectorize`는 짧은 가장 안쪽 루프를 벡터 명령으로 한 번에 처리하며, `unroll`은 반복을 차례로 펼쳐
# 씁니다.
#
# 끝으로 `decompose_reduction(block, loop)`는 `T.init()`을 루프 한가운데에서 꺼내어 `loop` 바로 앞의
# 독립된 블록으로 만듭니다. 순서에 주의하세요. 축약을 분해하고 나면 그 블록은 자신이 쓰는 것을 읽게
# 되고, `vectorize`와 `parallel`은 그 루프를 건드리지 않으려 합니다(`ScheduleError`). 그러니
# **루프의 실행 방법을 먼저 정하고, 분해는 마지막에** 하세요. 벡터화한 루프는 표시와 함께 새
# 블록에도 복사됩니다.

# %%
example.parallel(tiles)
example.vectorize(lanes)
example.decompose_reduction(sums, k)
example.show()

# %% [markdown]
# ### The target
#
# This is what `MyBmmRelu` shall become. Read it slowly: which loops are new, which ones stand in
# another place, what is said about how they run?
# %% [markdown] lang="zh"
# ### 目标
#
# `MyBmmRelu` 要变成下面的样子。请慢慢读：哪些循环是新的？哪些换了位置？它们怎样执行？
# %% [markdown] lang="ko"
# ### 목표
#
# `MyBmmRelu`는 다음과 같이 되어야 합니다. 천천히 읽어 보세요. 어떤 루프가 새로 생겼고, 어떤 루프가
# 자리를 옮겼으며, 어떻게 실행됩니까?


# %%
TARGET = """
@I.ir_module
class Target:
    @T.prim_func(s_tir=True)
    def bmm_relu(
        A: T.Buffer((16, 128, 128), "float32"),
        B: T.Buffer((16, 128, 128), "float32"),
        C: T.Buffer((16, 128, 128), "float32"),
    ):
        T.func_attr({"global_symbol": "bmm_relu", "tirx.noalias": True})
        Y = T.sblock_alloc_buffer((16, 128, 128), "float32")
        for n in T.parallel(16):
            for i, j_0 in T.grid(128, 16):
                for j_1_init in T.vectorized(8):
                    with T.sblock("Y_init"):
                        vn, vi = T.axis.remap("SS", [n, i])
                        vj = T.axis.spatial(128, j_0 * 8 + j_1_init)
                        Y[vn, vi, vj] = T.float32(0)
                for k_0 in range(32):
                    for k_1 in T.unroll(4):
                        for j_1 in T.vectorized(8):
                            with T.sblock("Y_update"):
                                vn, vi = T.axis.remap("SS", [n, i])
                                vj = T.axis.spatial(128, j_0 * 8 + j_1)
                                vk = T.axis.reduce(128, k_0 * 4 + k_1)
                                Y[vn, vi, vj] = Y[vn, vi, vj] + A[vn, vi, vk] * B[vn, vk, vj]
                for j_1 in T.vectorized(8):
                    with T.sblock("C"):
                        vn, vi = T.axis.remap("SS", [n, i])
                        vj = T.axis.spatial(128, j_0 * 8 + j_1)
                        C[vn, vi, vj] = T.max(Y[vn, vi, vj], T.float32(0))
"""
Code(TARGET, language="python")

# %% [markdown]
# Why this form?
#
# * The sixteen products have nothing to do with each other: they can be spread over threads.
# * Eight neighbours in a row of the output are computed together. For one `k` they need one number
#   of `A`, and eight neighbours of `B`, which fit into a vector register and are read at once. In
#   the order of the formula, one step of `k` leaps over a whole row of `B`.
# * The eight sums can stay in a register until they are complete.
# * ReLU is applied to the eight sums at once, before they leave the cache. `Y` is never read back
#   from far away.
# * The loop over `k` is unrolled by four: fewer jumps for the same work.
#
# ### Your turn
#
# Transform your function into this form with the primitives you have met. Only the loops have to
# match: names of variables and blocks do not count. All steps have to be those of a single
# `Schedule` of your function: a copy of the target gets no points for its form. The points: 20 for
# the form, 15 for speed, and both only if the function still computes the same. Speed is measured on
# the machine that grades, with one thread, beside your function of part 3. As fast as the target
# gives full points. A schedule that goes further is timed as well, to show what is possible.
#
# Each step below is a line or two. Print the module (`sch.show()`) as often as you like. If a step
# went wrong, run the cell again from the top: a schedule cannot go back.
# %% [markdown] lang="zh"
# 为什么是这种形式？
#
# * 十六个乘积互不相干：可以分给多个线程。
# * 输出的一行里，相邻的八个元素一起计算。对于一个 `k`，它们需要 `A` 的一个数和 `B` 的八个相邻的数，
#   后者正好放得进一个向量寄存器，一次就能读入。而按公式的顺序，`k` 每走一步就要跨过 `B` 的一整行。
# * 八个和可以一直留在寄存器里，直到加完。
# * 八个和一算完就做 ReLU，这时它们还没有离开缓存。不必再从远处把 `Y` 读回来。
# * `k` 的循环以四为单位展开：同样的工作，跳转更少。
#
# ### 轮到你了
#
# 请用刚才学到的原语，把你的函数变换成这种形式。只要求循环一致，变量和块的名字不算。所有步骤都要在
# 由你的函数创建的同一个 `Schedule` 上完成：照抄目标得不到形式分。分数：
# 形式 20 分，速度 15 分；两者都以函数的计算结果不变为前提。速度在评分的机器上用一个线程测量，
# 与第 3 部分的函数放在一起比较；和目标一样快就得满分。我们另有一个更进一步的调度，也会一同测量，
# 让你看看还能快到什么程度。
#
# 下面每一步只有一两行。可以随时打印模块（`sch.show()`）。如果哪一步做错了，
# 请从头重新运行这个单元格：调度不能后退。
# %% [markdown] lang="ko"
# 왜 이런 형태일까요?
#
# * 곱 열여섯 개는 서로 아무 관계가 없습니다. 여러 스레드에 나눌 수 있습니다.
# * 출력의 한 행에서 이웃한 원소 여덟 개를 함께 계산합니다. `k` 하나에 대해 `A`의 수 하나와 `B`의
#   이웃한 수 여덟 개가 필요하고, 이 여덟 개는 벡터 레지스터에 들어가 한 번에 읽힙니다. 식의
#   순서대로라면 `k`가 한 걸음 갈 때마다 `B`의 한 행을 통째로 건너뜁니다.
# * 합 여덟 개는 다 더해질 때까지 레지스터에 머물 수 있습니다.
# * ReLU는 합 여덟 개가 캐시를 떠나기 전에 바로 적용됩니다. `Y`를 멀리서 다시 읽어 오지 않습니다.
# * `k` 루프는 넷씩 펼쳐집니다. 같은 일에 분기가 줄어듭니다.
#
# ### 여러분 차례
#
# 지금까지 본 프리미티브로 여러분의 함수를 이 형태로 변환하세요. 루프만 일치하면 되고, 변수와 블록의
# 이름은 보지 않습니다. 모든 단계는 여러분의 함수로 만든 하나의 `Schedule`에서 이루어져야 합니다.
# 목표를 베껴 쓰면 형태 점수가 없습니다. 점수: 형태 20점, 속도 15점. 둘 다 함수의 계산 결과가 그대로일 때에만
# 인정됩니다. 속도는 채점하는 컴퓨터에서 스레드 하나로, 파트 3의 함수와 나란히 측정합니다. 목표만큼
# 빠르면 만점입니다. 더 나아간 스케줄도 함께 측정하여 어디까지 가능한지 보여 줍니다.
#
# 아래의 각 단계는 한두 줄이면 됩니다. 원하는 만큼 모듈을 출력해 보세요(`sch.show()`). 어떤 단계가
# 잘못되면 셀을 처음부터 다시 실행하세요. 스케줄은 되돌릴 수 없습니다.

# %% tags=["raises-exception"]
sch = tvm.s_tir.Schedule(MyBmmRelu)

# Step 1. Get both blocks, and the four loops of the sum.
# zh: 第 1 步。取得两个块，以及求和的四个循环。
# ko: 1단계. 두 블록과 합의 루프 네 개를 얻습니다.
### BEGIN SOLUTION
Y = sch.get_sblock("Y", func_name="bmm_relu")
C = sch.get_sblock("C", func_name="bmm_relu")
n, i, j, k = sch.get_loops(Y)
### END SOLUTION

# Step 2. Run the loop over the batch in parallel.
# zh: 第 2 步。让批次的循环并行执行。
# ko: 2단계. 배치 루프를 병렬로 실행합니다.
### BEGIN SOLUTION
sch.parallel(n)
### END SOLUTION

# Step 3. Split the loop over the columns: tiles of eight.
# zh: 第 3 步。拆分列的循环，每块八列。
# ko: 3단계. 열의 루프를 여덟 열짜리 타일로 나눕니다.
### BEGIN SOLUTION
j_0, j_1 = sch.split(j, factors=[None, 8])
### END SOLUTION

# Step 4. Move ReLU into the loop over the tiles.
# zh: 第 4 步。把 ReLU 移进各块的循环里。
# ko: 4단계. ReLU를 타일의 루프 안으로 옮깁니다.
### BEGIN SOLUTION
sch.reverse_compute_at(C, j_0)
### END SOLUTION

# Step 5. Split the loop of the sum by four, and put the columns of a tile inside of it.
# zh: 第 5 步。以四为单位拆分求和的循环，再把一块之内各列的循环放到它里面。
# ko: 5단계. 합의 루프를 넷씩 나누고, 타일 안의 열을 그 안쪽에 둡니다.
### BEGIN SOLUTION
k_0, k_1 = sch.split(k, factors=[None, 4])
sch.reorder(k_0, k_1, j_1)
### END SOLUTION

# Step 6. Unroll and vectorize. ReLU has a loop over a tile as well: get_loops(...)[-1].
# zh: 第 6 步。展开和向量化。ReLU 也有一个遍历一块的循环：get_loops(...)[-1]。
# ko: 6단계. 펼치고 벡터화합니다. ReLU에도 타일을 도는 루프가 있습니다: get_loops(...)[-1].
### BEGIN SOLUTION
sch.unroll(k_1)
sch.vectorize(j_1)
sch.vectorize(sch.get_loops(C)[-1])
### END SOLUTION

# Step 7. Decompose the reduction.
# zh: 第 7 步。分解归约。
# ko: 7단계. 축약을 분해합니다.
### BEGIN SOLUTION
sch.decompose_reduction(Y, k_0)
### END SOLUTION

sch.show()

# %% tags=["self-check"]
# %grader check transform

# %% [markdown]
# Has it the form of the target, and does it still compute the same? `outline` lists the loops
# around each block from the outside to the inside, without their names.
# %% [markdown] lang="zh"
# 它和目标的形式一样吗？计算结果还一样吗？`outline` 由外到内列出每个块外面的循环，不带名字。
# %% [markdown] lang="ko"
# 목표와 형태가 같고, 계산 결과도 그대로일까요? `outline`은 블록마다 바깥의 루프를 바깥쪽부터, 이름
# 없이 나열합니다.


# %% tags=["raises-exception"]
def outline(statement, loops=()):
    """Give, for each block in the statement, the loops around it."""
    if isinstance(statement, tvm.tirx.For):
        kind = tvm.tirx.ForKind(statement.kind).name.lower()
        yield from outline(statement.body, (*loops, f"{kind} {statement.extent}"))
    elif isinstance(statement, tvm.tirx.SeqStmt):
        for each in statement:
            yield from outline(each, loops)
    elif loops:
        yield " > ".join(loops)
    else:
        yield from outline(statement.block.body)  # the block around the whole function


wanted = [
    "parallel 16 > serial 128 > serial 16 > vectorized 8",
    "parallel 16 > serial 128 > serial 16 > serial 32 > unrolled 4 > vectorized 8",
    "parallel 16 > serial 128 > serial 16 > vectorized 8",
]
have = list(outline(sch.mod["bmm_relu"].body))
for line in have:
    print(line)

check_bmm_relu(sch.mod)
assert have == wanted, wanted
print("The transformed function is right, and has the loops of the target.")

# %% [markdown]
# ### How fast is it?
#
# Measuring is easy, measuring honestly is not. What to mind:
#
# * **Compile for the processor that you have.** The plain target `"llvm"` does not use the wide
#   vectors of today's processors. `Target.from_device("cpu")` does.
# * **Compare both on the same numbers, in turns.** A computer gets warm, slows down, and has other
#   things to do. What is measured side by side suffers alike.
# * **Take the smallest of several times.** Other programs can only make a function slower, never
#   faster.
# * **Know how many threads you use.** A parallel loop on four cores is faster because of the cores.
#   When you hand in, one thread is used.
# %% [markdown] lang="zh"
# ### 有多快？
#
# 测量容易，诚实地测量却不容易。要注意：
#
# * **为你手上的处理器编译。** 单写目标 `"llvm"`，用不到当今处理器的宽向量；
#   `Target.from_device("cpu")` 才用得到。
# * **两者用同样的数，轮流测。** 计算机会发热、降速，还有别的事要做。并排测量，受到的影响才一样。
# * **取几次里最小的时间。** 别的程序只会让函数变慢，不会让它变快。
# * **弄清用了几个线程。** 并行循环在四个核上更快，功劳属于那些核。提交之后，评分只用一个线程。
# %% [markdown] lang="ko"
# ### 얼마나 빠를까요?
#
# 측정은 쉽지만 정직한 측정은 쉽지 않습니다. 다음에 주의하세요.
#
# * **지금 쓰는 프로세서에 맞추어 컴파일합니다.** 그냥 `"llvm"`이라고만 하면 요즘 프로세서의 넓은
#   벡터를 쓰지 않습니다. `Target.from_device("cpu")`는 씁니다.
# * **같은 수로, 번갈아 가며 잽니다.** 컴퓨터는 뜨거워지고 느려지며 다른 할 일도 있습니다. 나란히
#   재면 영향을 똑같이 받습니다.
# * **여러 번 재어 가장 짧은 시간을 택합니다.** 다른 프로그램은 함수를 느리게 할 뿐, 빠르게 하지는
#   못합니다.
# * **스레드를 몇 개 쓰는지 알아야 합니다.** 코어 네 개에서 병렬 루프가 빠른 것은 코어 덕분입니다.
#   제출한 뒤에는 스레드 하나로 측정합니다.


# %% tags=["raises-exception"]
def time_both(*modules, rounds=5):
    """Return the shortest time of one call of each module's bmm_relu, in milliseconds."""
    arrays = *np.random.randn(2, 16, 128, 128), np.zeros((16, 128, 128))
    tensors = [tvm.runtime.tensor(array.astype("float32")) for array in arrays]
    cpu = tvm.target.Target.from_device("cpu")
    built = [tvm.compile(mod, cpu).mod for mod in modules]
    timers = [each.time_evaluator("bmm_relu", tvm.cpu(), number=3) for each in built]
    rows = [[timer(*tensors).mean for timer in timers] for _ in range(rounds)]
    return 1e3 * np.min(rows, axis=0)


before, after = time_both(MyBmmRelu, sch.mod)
print(f"{before:.1f} ms before, {after:.1f} ms after: {before / after:.1f} times as fast")

# %% [markdown]
# If you like to go on: what is the least time it could take? Count the multiplications and
# additions, and look up how many of them your processor does in a second. Then try other tiles:
# 16 or 32 columns, or several rows at a time, so that a number of `B` that was read once is used
# several times. Keep such experiments under another name than `sch`, or hand in the faster one and
# see what the points for the form are worth to you.
# %% [markdown] lang="zh"
# 如果还想继续：最少需要多少时间？数一数乘法和加法的次数，再查一查你的处理器每秒能做多少次。
# 然后试试别的分块：16 列或 32 列，或者一次好几行，让 `B` 的一个数读入一次、使用多次。
# 这类试验请不要取名为 `sch`；当然你也可以提交更快的那个，看看形式分对你值多少。
# %% [markdown] lang="ko"
# 더 해 보고 싶다면, 시간은 최소한 얼마나 걸릴까요? 곱셈과 덧셈의 횟수를 세고, 프로세서가 1초에 몇
# 번 하는지 찾아보세요. 그런 다음 다른 타일을 시험해 보세요. 열 16개나 32개, 또는 여러 행을 한꺼번에
# 처리하면 한 번 읽은 `B`의 수를 여러 번 쓸 수 있습니다. 이런 실험에는 `sch`가 아닌 이름을 쓰세요.
# 더 빠른 쪽을 제출하고 형태 점수가 얼마만큼의 가치인지 직접 판단해도 됩니다.

# %% [markdown]
# ## Hand in
#
# Restart the kernel, run all cells, and look for cells that end in an error. Then hand in this
# file.
# %% [markdown] lang="zh"
# ## 提交
#
# 重启内核，运行所有单元格，看看有没有以错误结束的单元格。然后提交这个文件。
# %% [markdown] lang="ko"
# ## 제출
#
# 커널을 재시작하고 모든 셀을 실행한 뒤, 오류로 끝난 셀이 없는지 확인하세요. 그런 다음 이 파일을
# 제출하세요.
