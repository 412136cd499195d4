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
# `reference/quantized.py`: change that file, then run `make notebooks`. Cells like this one, tagged
# `instructor`, and the lines between solution marks are not in the students' template.

# %% [markdown]
# # A layer in integers
#
# Networks are trained in float32 and mostly run in something shorter: with numbers of eight bits, a
# quarter of the memory is moved, and a vector register holds four times as many. In this assignment
# you write a linear layer that computes in integers from its first number to its last, and make its
# matrix product many times as fast.
#
# | part | what you build | name that is graded | points |
# |---|---|---|---|
# | 1 | a product of int8 matrices, summed up in int32 | `MyMatmul` | 15 |
# | 2 | the way back from int32 to int8 | `MyRequantize` | 20 |
# | 3 | the whole layer, by tensor expressions | `build_layer` | 20 |
# | 4 | the product of part 1, scheduled | `sch` | 20 |
# | 5 | the product by an intrinsic | `sch_tensorized` | 10 |
# | 6 | a space of schedules to be searched | `space` | 15 |
#
# Write your code where a cell says `YOUR CODE HERE`. Keep the six names of the table, and the
# shapes and dtypes that are asked for. You may add cells and experiments as you like.
#
# Before you hand in, choose *Restart kernel and run all cells*: what is graded is what your cells
# compute when they run once, from top to bottom.
# %% [markdown] lang="zh"
# # 用整数计算的一层
#
# 网络用 float32 训练，运行时却大多用更短的数：换成八位的数，要搬运的内存只有四分之一，一个向量寄存器
# 能放下的数是原来的四倍。在这份作业里，你要写一个从头到尾都用整数计算的线性层，并让其中的矩阵乘法
# 快上许多倍。
#
# | 部分 | 要做什么 | 评分时查找的名字 | 分数 |
# |---|---|---|---|
# | 1 | int8 矩阵的乘法，用 int32 求和 | `MyMatmul` | 15 |
# | 2 | 从 int32 回到 int8 | `MyRequantize` | 20 |
# | 3 | 用张量表达式写出整层 | `build_layer` | 20 |
# | 4 | 调度第 1 部分的乘法 | `sch` | 20 |
# | 5 | 用张量内联函数做乘法 | `sch_tensorized` | 10 |
# | 6 | 供搜索的调度空间 | `space` | 15 |
#
# 请在写着 `YOUR CODE HERE` 的地方填写代码。表中的六个名字，以及题目要求的形状和数据类型，
# 请保持不变。你可以随意增加单元格，做自己的试验。
#
# 提交之前，请选择“重启内核并运行所有单元格”：评分依据的，是你的单元格从上到下各运行一次所得的结果。
# %% [markdown] lang="ko"
# # 정수로 계산하는 레이어
#
# 네트워크는 float32로 학습하지만 실행할 때는 대개 더 짧은 수를 씁니다. 여덟 비트의 수를 쓰면 옮겨야
# 할 메모리가 4분의 1로 줄고, 벡터 레지스터 하나에 네 배의 수가 들어갑니다. 이 과제에서는 처음부터
# 끝까지 정수로 계산하는 선형 레이어를 작성하고, 그 행렬 곱을 여러 배 빠르게 만듭니다.
#
# | 파트 | 만들 것 | 채점되는 이름 | 점수 |
# |---|---|---|---|
# | 1 | int8 행렬의 곱, 합은 int32 | `MyMatmul` | 15 |
# | 2 | int32에서 다시 int8로 | `MyRequantize` | 20 |
# | 3 | 텐서 표현식으로 만드는 레이어 전체 | `build_layer` | 20 |
# | 4 | 파트 1의 행렬 곱을 스케줄 | `sch` | 20 |
# | 5 | 텐서 내장 함수로 하는 행렬 곱 | `sch_tensorized` | 10 |
# | 6 | 탐색할 스케줄 공간 | `space` | 15 |
#
# `YOUR CODE HERE`라고 쓰인 곳에 코드를 작성하세요. 표에 있는 이름 여섯 개와 문제에서 요구하는 형상 및
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
from tvm import relax, te
from tvm.script import ir as I
from tvm.script import tirx as T

print("TVM", tvm.__version__)

# %% tags=["self-check"]
# `%grader check` says how your solution stands. Where the grader is not installed, it does nothing.
# zh: `%grader check` 告诉你答案做得怎么样。没有安装 grader 的地方，它什么也不做。
# ko: `%grader check`는 답안의 상태를 알려 줍니다. grader가 없는 곳에서는 아무 일도 하지 않습니다.
try:
    get_ipython().run_line_magic("load_ext", "grader")
    get_ipython().run_line_magic("grader", "use quantized")
except ImportError:
    get_ipython().register_magic_function(
        lambda _: print("The grader is not installed here: nothing was checked."),
        magic_name="grader",
    )

# %% [markdown]
# ## Numbers of eight bits
#
# An int8 holds the integers from -128 to 127. What does not fit is cut off at eight bits, without a
# word: 100 + 100 is -56. So the dtype in which something is computed is a part of the program, and
# TensorIR leaves it to you: the sum of two int8 is an int8, and so is their product.
# `T.Cast("int32", x)` makes an int32 of a number, before anything can go wrong with it.
# %% [markdown] lang="zh"
# ## 八位的数
#
# int8 能表示从 -128 到 127 的整数。放不下的部分会被悄悄截掉，只留下八位：100 + 100 得 -56。
# 所以，用哪种类型来计算也是程序的一部分，TensorIR 把它交给你来写明：两个 int8 的和还是
# int8，它们的积也是。`T.Cast("int32", x)` 把一个数变成 int32，要赶在出错之前做。
# %% [markdown] lang="ko"
# ## 여덟 비트의 수
#
# int8은 -128에서 127까지의 정수를 담습니다. 들어가지 않는 부분은 아무 말 없이 여덟 비트로 잘립니다.
# 100 + 100은 -56이 됩니다. 그래서 무엇을 어떤 dtype으로 계산하는지도 프로그램의 일부이며,
# TensorIR에서는 여러분이 직접 적습니다. int8 두 개의 합은 int8이고 곱도 마찬가지입니다.
# `T.Cast("int32", x)`는 문제가 생기기 전에 수를 int32로 바꿉니다.


# %%
@I.ir_module
class ExampleSum:
    @T.prim_func(s_tir=True)
    def add(
        A: T.Buffer((4,), "int8"),
        B: T.Buffer((4,), "int8"),
        short: T.Buffer((4,), "int8"),
        wide: T.Buffer((4,), "int32"),
    ):
        T.func_attr({"global_symbol": "add", "tirx.noalias": True})
        for i in range(4):
            with T.sblock("short"):
                vi = T.axis.spatial(4, i)
                short[vi] = A[vi] + B[vi]
        for i in range(4):
            with T.sblock("wide"):
                vi = T.axis.spatial(4, i)
                wide[vi] = T.Cast("int32", A[vi]) + T.Cast("int32", B[vi])


def run(mod, name, inputs, shape, dtype):
    """Call a function of the module on NumPy arrays, and return its output."""
    output = tvm.runtime.tensor(np.full(shape, 77, dtype))
    tvm.compile(mod, "llvm")[name](*map(tvm.runtime.tensor, inputs), output)
    return output.numpy()


left = np.array([1, 100, -100, 127], "int8")
short, wide = tvm.runtime.tensor(left), tvm.runtime.tensor(np.zeros(4, "int32"))
tvm.compile(ExampleSum, "llvm")["add"](*map(tvm.runtime.tensor, [left, left]), short, wide)
print("in int8: ", short.numpy())
print("in int32:", wide.numpy())

# %% [markdown]
# ## Part 1. A product of int8 matrices
#
# Write $C_{ij} = \sum_k A_{ik} B_{kj}$ for int8 matrices of 128 by 128, with C in int32. A product
# of two int8 is at most 16384, and 128 of them fit an int32 many times over. Cast both factors
# before you multiply.
#
# Put your loops in the place of `# YOUR CODE HERE` and the line below it. Until then TVM refuses
# the cell, for it cannot read `raise`.
#
# The points: 5 for a block with the right kinds of axes, 10 for the right numbers. Integers are
# right or wrong: there is no tolerance anywhere in this assignment.
# %% [markdown] lang="zh"
# ## 第 1 部分：int8 矩阵乘法
#
# 对 128×128 的 int8 矩阵写出 $C_{ij} = \sum_k A_{ik} B_{kj}$，其中 C 是 int32。两个 int8
# 的积最大是 16384，128 个这样的积放进 int32 绰绰有余。请在相乘之前转换两个因子的类型。
#
# 请把 `# YOUR CODE HERE` 和它下面的一行换成你的循环。在此之前，TVM 会拒绝这个单元格，
# 因为它读不懂 `raise`。
#
# 分数：块的轴种类正确 5 分，结果正确 10 分。整数只有对和错：这份作业里没有任何误差范围。
# %% [markdown] lang="ko"
# ## 파트 1. int8 행렬 곱
#
# 128×128 int8 행렬에 대해 $C_{ij} = \sum_k A_{ik} B_{kj}$를 작성하세요. C는 int32입니다. int8 두
# 개의 곱은 커야 16384이고, 그런 곱 128개는 int32에 넉넉히 들어갑니다. 곱하기 전에 두 인수를 모두
# 변환하세요.
#
# `# YOUR CODE HERE`와 그 아래 줄을 여러분의 루프로 바꾸세요. 그 전에는 TVM이 `raise`를 읽지
# 못하여 이 셀을 거부합니다.
#
# 점수: 축의 종류가 올바른 블록 5점, 올바른 결과 10점. 정수는 맞거나 틀리거나 둘 중 하나입니다. 이
# 과제에는 허용 오차가 없습니다.


# %% tags=["raises-exception"]
@I.ir_module
class MyMatmul:
    @T.prim_func(s_tir=True)
    def matmul(
        A: T.Buffer((128, 128), "int8"),
        B: T.Buffer((128, 128), "int8"),
        C: T.Buffer((128, 128), "int32"),
    ):
        T.func_attr({"global_symbol": "matmul", "tirx.noalias": True})
        ### BEGIN SOLUTION
        for i, j, k in T.grid(128, 128, 128):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.int32(0)
                C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
        ### END SOLUTION


# %% tags=["self-check"]
# %grader check matmul


# %% tags=["raises-exception"]
def check_matmul(mod):
    a, b = np.random.randint(-128, 128, (2, 128, 128)).astype("int8")
    right = a.astype("int32") @ b.astype("int32")
    np.testing.assert_array_equal(run(mod, "matmul", [a, b], (128, 128), "int32"), right)


check_matmul(MyMatmul)
print("MyMatmul is right.")

# %% [markdown]
# ## Part 2. Back to int8
#
# The next layer takes int8 again, so the sums have to be scaled down. A factor such as 0.0032 would
# be a float; in integers it is a multiplication and a division by a power of two:
# $0.0032 \approx 13 / 2^{12}$. Each column has a `multiplier` m and a `shift` s of its own:
#
# $$y = \mathrm{clamp}\left(\left\lfloor \frac{m \cdot x + 2^{s-1}}{2^s} \right\rfloor, -128, 127\right)$$
#
# * $2^{s-1}$ is half of what is divided by: with it, rounding down becomes rounding to the nearest
#   integer, and halves are rounded up.
# * `>>` shifts to the right: `x >> s` is $\lfloor x / 2^s \rfloor$, also for negative numbers.
#   `T.int32(1) << s` is $2^s$.
# * What is above 127 becomes 127, what is below -128 becomes -128. This is called **saturation**.
#   Do it in int32, with `T.min` and `T.max`, and cast afterwards: a cast alone would make -126 of
#   130.
#
# No float is needed. In float32 some halves are rounded to the other side, and one wrong number is
# one too many. The points: 5 for blocks with the right kinds of axes, 15 for the right numbers.
# %% [markdown] lang="zh"
# ## 第 2 部分：回到 int8
#
# 下一层的输入又是 int8，所以要把这些和缩小。像 0.0032 这样的系数是浮点数；用整数来做，
# 就是乘一个数，再除以 2 的幂：$0.0032 \approx 13 / 2^{12}$。每一列有自己的 `multiplier` m
# 和 `shift` s：
#
# $$y = \mathrm{clamp}\left(\left\lfloor \frac{m \cdot x + 2^{s-1}}{2^s} \right\rfloor, -128, 127\right)$$
#
# * $2^{s-1}$ 是除数的一半：加上它，向下取整就变成了舍入到最近的整数，正好一半时向上取。
# * `>>` 是右移：`x >> s` 就是 $\lfloor x / 2^s \rfloor$，负数也是如此。`T.int32(1) << s` 是 $2^s$。
# * 大于 127 的变成 127，小于 -128 的变成 -128，这叫作**饱和**。请在 int32 里用 `T.min` 和 `T.max`
#   来做，然后再转换类型：如果只转换类型，130 会变成 -126。
#
# 用不着浮点数。在 float32 里，有些正好一半的数会舍入到另一边，而错一个数就算错。
# 分数：块的轴种类正确 5 分，结果正确 15 分。
# %% [markdown] lang="ko"
# ## 파트 2. 다시 int8로
#
# 다음 레이어는 다시 int8을 받으므로 합을 줄여야 합니다. 0.0032 같은 계수는 실수이지만, 정수로는 곱한 뒤 2의
# 거듭제곱으로 나누면 됩니다. $0.0032 \approx 13 / 2^{12}$입니다. 열마다 `multiplier` m과 `shift`
# s가 따로 있습니다.
#
# $$y = \mathrm{clamp}\left(\left\lfloor \frac{m \cdot x + 2^{s-1}}{2^s} \right\rfloor, -128, 127\right)$$
#
# * $2^{s-1}$은 나누는 수의 절반입니다. 이를 더하면 내림이 가장 가까운 정수로의 반올림이 되고, 정확히
#   절반이면 올림합니다.
# * `>>`는 오른쪽 시프트입니다. `x >> s`는 음수에서도 $\lfloor x / 2^s \rfloor$입니다.
#   `T.int32(1) << s`는 $2^s$입니다.
# * 127보다 크면 127, -128보다 작으면 -128이 됩니다. 이를 **포화**라고 합니다. int32에서 `T.min`과
#   `T.max`로 처리한 뒤 변환하세요. 변환만 하면 130은 -126이 됩니다.
#
# 실수는 필요하지 않습니다. float32에서는 정확히 절반인 수가 반대쪽으로 반올림되기도 하는데, 수 하나만
# 틀려도 틀린 것입니다. 점수: 축의 종류가 올바른 블록 5점, 올바른 결과 15점.


# %% tags=["raises-exception"]
@I.ir_module
class MyRequantize:
    @T.prim_func(s_tir=True)
    def requantize(
        sums: T.Buffer((32, 48), "int32"),
        multiplier: T.Buffer((48,), "int32"),
        shift: T.Buffer((48,), "int32"),
        output: T.Buffer((32, 48), "int8"),
    ):
        T.func_attr({"global_symbol": "requantize", "tirx.noalias": True})
        ### BEGIN SOLUTION
        scaled = T.sblock_alloc_buffer((32, 48), "int32")
        for i, j in T.grid(32, 48):
            with T.sblock("scaled"):
                vi, vj = T.axis.remap("SS", [i, j])
                scaled[vi, vj] = (
                    sums[vi, vj] * multiplier[vj] + (T.int32(1) << (shift[vj] - 1))
                ) >> shift[vj]
        for i, j in T.grid(32, 48):
            with T.sblock("output"):
                vi, vj = T.axis.remap("SS", [i, j])
                output[vi, vj] = T.Cast(
                    "int8", T.max(T.min(scaled[vi, vj], T.int32(127)), T.int32(-128))
                )
        ### END SOLUTION


# %% tags=["self-check"]
# %grader check requantize


# %% tags=["raises-exception"]
def requantized(x, m, s):
    """Return what part 2 asks for, in NumPy, whose integers of 64 bits have room for all of it."""
    x, m, s = (each.astype("int64") for each in (x, m, s))
    return np.clip((x * m + (1 << (s - 1))) >> s, -128, 127).astype("int8")


x = np.random.randint(-20000, 20001, (32, 48)).astype("int32")
m = np.random.randint(1, 16, 48).astype("int32")
s = np.random.randint(6, 13, 48).astype("int32")
have = run(MyRequantize, "requantize", [x, m, s], (32, 48), "int8")
np.testing.assert_array_equal(have, requantized(x, m, s))
print("MyRequantize is right.")

# %% [markdown]
# ## Part 3. The whole layer
#
# Now the layer, with a bias, as a Relax function `main`:
#
# 1. the product of `x` (16, 64) and `weight` (64, 32), both int8, summed up in int32;
# 2. plus `bias` (32,), int32, in each row;
# 3. requantised as in part 2, with a `multiplier` and a `shift` for each column, to int8.
#
# Write each step as a tensor expression and let `bb.emit_te` make a TensorIR function of it. In a
# tensor expression `.astype("int32")` casts, `te.sum` sums up in the dtype of what it is given, and
# `>>`, `<<` and the functions of `tvm.tirx` are there as in TVMScript:
# `tvm.tirx.min(a, b)` is the smaller of two numbers.
#
# `build_layer()` takes nothing and returns the module. The parameters of `main` are `x`, `weight`,
# `bias`, `multiplier` and `shift`, in this order. The points: 5 if all of it is done by TensorIR
# functions and nothing by Relax operators, 15 for the right numbers.
# %% [markdown] lang="zh"
# ## 第 3 部分：整层
#
# 现在来写整层，带偏置，作为 Relax 函数 `main`：
#
# 1. `x`（16×64）与 `weight`（64×32）相乘，两者都是 int8，用 int32 求和；
# 2. 每一行加上 `bias`（32 个 int32）；
# 3. 像第 2 部分那样重新量化为 int8，每一列有自己的 `multiplier` 和 `shift`。
#
# 请把每一步写成张量表达式，让 `bb.emit_te` 把它变成 TensorIR 函数。在张量表达式里，
# `.astype("int32")` 转换类型，`te.sum` 按所给的数的类型求和，`>>`、`<<` 和 `tvm.tirx`
# 里的函数都和 TVMScript 里一样：`tvm.tirx.min(a, b)` 是两个数中较小的那个。
#
# `build_layer()` 不带参数，返回模块。`main` 的参数依次是 `x`、`weight`、`bias`、`multiplier` 和
# `shift`。分数：全部由 TensorIR 函数完成、不用 Relax 算子 5 分，结果正确 15 分。
# %% [markdown] lang="ko"
# ## 파트 3. 레이어 전체
#
# 이제 편향이 있는 레이어를 Relax 함수 `main`으로 만듭니다.
#
# 1. `x` (16, 64)와 `weight` (64, 32)의 곱. 둘 다 int8이고 합은 int32입니다.
# 2. 행마다 int32인 `bias` (32,)를 더합니다.
# 3. 파트 2처럼 열마다 `multiplier`와 `shift`를 써서 int8로 재양자화합니다.
#
# 각 단계를 텐서 표현식으로 쓰고 `bb.emit_te`로 TensorIR 함수를 만드세요. 텐서 표현식에서
# `.astype("int32")`는 변환하고, `te.sum`은 주어진 수의 dtype으로 더하며, `>>`, `<<`와 `tvm.tirx`의
# 함수는 TVMScript에서와 같습니다. `tvm.tirx.min(a, b)`는 두 수 중 작은 쪽입니다.
#
# `build_layer()`는 아무것도 받지 않고 모듈을 반환합니다. `main`의 매개변수는 차례대로 `x`, `weight`,
# `bias`, `multiplier`, `shift`입니다. 점수: 모두 TensorIR 함수로 하고 Relax 연산자를 쓰지 않으면 5점,
# 올바른 결과 15점.


# %% tags=["raises-exception"]
### BEGIN SOLUTION
def te_matmul(x, weight):
    k = te.reduce_axis((0, 64), name="k")
    return te.compute(
        (16, 32),
        lambda i, j: te.sum(x[i, k].astype("int32") * weight[k, j].astype("int32"), axis=k),
        name="matmul",
    )


def te_add_bias(sums, bias):
    return te.compute((16, 32), lambda i, j: sums[i, j] + bias[j], name="add_bias")


def te_requantize(sums, multiplier, shift):
    one, least, largest = (tvm.tirx.const(each, "int32") for each in (1, -128, 127))

    def item(i, j):
        scaled = (sums[i, j] * multiplier[j] + (one << (shift[j] - one))) >> shift[j]
        return tvm.tirx.max(tvm.tirx.min(scaled, largest), least).astype("int8")

    return te.compute((16, 32), item, name="requantize")


### END SOLUTION
def build_layer():
    x = relax.Var("x", relax.TensorType((16, 64), "int8"))
    weight = relax.Var("weight", relax.TensorType((64, 32), "int8"))
    bias = relax.Var("bias", relax.TensorType((32,), "int32"))
    multiplier = relax.Var("multiplier", relax.TensorType((32,), "int32"))
    shift = relax.Var("shift", relax.TensorType((32,), "int32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, weight, bias, multiplier, shift]):
        with bb.dataflow():
            ### BEGIN SOLUTION
            sums = bb.emit_te(te_matmul, x, weight)
            biased = bb.emit_te(te_add_bias, sums, bias)
            result = bb.emit_te(te_requantize, biased, multiplier, shift)
            ### END SOLUTION
            output = bb.emit_output(result)
        bb.emit_func_output(output)
    return bb.get()


Layer = build_layer()
Layer.show()

# %% tags=["self-check"]
# %grader check layer

# %% tags=["raises-exception"]
x = np.random.randint(-128, 128, (16, 64)).astype("int8")
weight = np.random.randint(-128, 128, (64, 32)).astype("int8")
bias = np.random.randint(-20000, 20001, 32).astype("int32")
m = np.random.randint(1, 16, 32).astype("int32")
s = np.random.randint(10, 15, 32).astype("int32")
machine = relax.VirtualMachine(tvm.compile(Layer, "llvm"), tvm.cpu())
have = machine["main"](*map(tvm.runtime.tensor, [x, weight, bias, m, s])).numpy()
right = requantized(x.astype("int32") @ weight.astype("int32") + bias, m, s)
np.testing.assert_array_equal(have, right)
print("The layer is right.")

# %% [markdown]
# ## Part 4. The product, scheduled
#
# Most of a layer's time goes into the product, and as it stands it is slow: with `k` innermost,
# each step leaps over a whole row of `B`. Sixteen neighbours of a row of C can be computed
# together: for one `k` they need one number of `A` and sixteen neighbours of `B`, which lie side by
# side, and their sums stay in registers until they are complete.
#
# Get there with these primitives, in this order; a reduction is decomposed last:
#
# 1. `cache_write`: the sums get a buffer of their own, from which a block copies them to `C`;
# 2. `split` the columns into tiles of sixteen, and the sum into groups of four;
# 3. `reorder` the loops: the columns of a tile innermost;
# 4. `reverse_compute_at` moves the copy into the loop over the tiles, so that no more than sixteen
#    sums are kept at a time;
# 5. `unroll` the four, and `vectorize` the sixteen;
# 6. `decompose_reduction`.
#
# The points: 10 for the steps (split 2, reorder 2, unroll 1, vectorize 2, the cache 1, its place 1,
# decompose 1), 10 for speed, and both only if the function still computes the same. Speed is measured on the machine
# that grades, with one thread, beside your function of part 1. These steps alone give full points.
# A schedule that goes further, several rows at a time, is timed as well, to show what is possible.
# %% [markdown] lang="zh"
# ## 第 4 部分：调度乘法
#
# 一层的时间大半花在乘法上，而它现在很慢：`k` 在最内层，每走一步都要跨过 `B` 的一整行。C 的一行里，
# 相邻的十六个元素可以一起计算：对于一个 `k`，它们需要 `A` 的一个数和 `B` 的十六个相邻的数，
# 后者紧挨在一起；它们的和可以一直留在寄存器里，直到加完。
#
# 请按下面的顺序用这些原语来做到；归约放在最后分解：
#
# 1. `cache_write`：让求和有自己的缓冲区，再由一个块把结果复制到 `C`；
# 2. `split`：把列拆成每块十六列，把求和拆成每组四个；
# 3. `reorder`：调整循环的顺序，一块之内的列放在最内层；
# 4. `reverse_compute_at`：把复制移到遍历各块的循环里，这样同时只需保存十六个和；
# 5. `unroll` 那四个，`vectorize` 那十六个；
# 6. `decompose_reduction`。
#
# 分数：步骤 10 分（split 2 分，reorder 2 分，unroll 1 分，vectorize 2 分，缓存 1 分，缓存的位置 1
# 分，decompose 1 分），速度 10 分；两者都以函数的计算结果不变为前提。速度在评分的机器上用一个线程测量，
# 与第 1 部分的函数放在一起比较。只做这些步骤就能得满分。我们另有一个更进一步的调度，一次计算好几行，
# 也会一同测量，让你看看还能快到什么程度。
# %% [markdown] lang="ko"
# ## 파트 4. 행렬 곱 스케줄하기
#
# 레이어의 시간은 대부분 행렬 곱에 들고, 지금 그대로는 느립니다. `k`가 가장 안쪽이어서 한 걸음마다 `B`의 한
# 행을 통째로 건너뜁니다. C의 한 행에서 이웃한 열여섯 개는 함께 계산할 수 있습니다. `k` 하나에 대해
# `A`의 수 하나와 나란히 놓인 `B`의 이웃 열여섯 개가 필요하고, 합은 다 더해질 때까지 레지스터에
# 머뭅니다.
#
# 다음 프리미티브를 이 순서로 쓰세요. 축약은 마지막에 분해합니다.
#
# 1. `cache_write`: 합에 따로 버퍼를 주고, 블록 하나가 그것을 `C`로 복사하게 합니다.
# 2. `split`: 열은 열여섯 열짜리 타일로, 합은 네 개씩 나눕니다.
# 3. `reorder`: 타일 안의 열이 가장 안쪽에 오도록 루프의 순서를 바꿉니다.
# 4. `reverse_compute_at`: 복사를 타일을 도는 루프 안으로 옮겨, 한 번에 합을 열여섯 개만 두게 합니다.
# 5. `unroll`로 그 넷을, `vectorize`로 그 열여섯을 처리합니다.
# 6. `decompose_reduction`.
#
# 점수: 단계 10점(split 2, reorder 2, unroll 1, vectorize 2, 캐시 1, 캐시의 자리 1, decompose 1),
# 속도 10점. 둘 다 함수의 계산 결과가 그대로일 때에만 인정됩니다. 속도는 채점하는 컴퓨터에서 스레드 하나로, 파트 1의 함수와
# 나란히 측정합니다. 이 단계만으로 만점입니다. 여러 행을 한꺼번에 계산하는, 더 나아간 스케줄도 함께
# 측정하여 어디까지 가능한지 보여 줍니다.

# %% tags=["raises-exception"]
sch = tvm.s_tir.Schedule(MyMatmul)
### BEGIN SOLUTION
C = sch.get_sblock("C", func_name="matmul")
written = sch.cache_write(C, 0, "global")
i, j, k = sch.get_loops(C)
j_0, j_1 = sch.split(j, factors=[None, 16])
k_0, k_1 = sch.split(k, factors=[None, 4])
sch.reorder(j_0, k_0, k_1, j_1)
sch.reverse_compute_at(written, j_0)
sch.unroll(k_1)
sch.vectorize(j_1)
sch.decompose_reduction(C, k_0)
### END SOLUTION
sch.show()

# %% tags=["self-check"]
# %grader check transform


# %% tags=["raises-exception"]
def time_both(*modules, rounds=5):
    """Return the shortest time of one call of each module's matmul, in microseconds."""
    arrays = (
        *np.random.randint(-128, 128, (2, 128, 128)).astype("int8"),
        np.zeros((128, 128), "int32"),
    )
    tensors = [tvm.runtime.tensor(array) for array in arrays]
    cpu = tvm.target.Target.from_device("cpu")
    built = [tvm.compile(mod, cpu).mod for mod in modules]
    timers = [each.time_evaluator("matmul", tvm.cpu(), number=5) for each in built]
    rows = [[timer(*tensors).mean for timer in timers] for _ in range(rounds)]
    return 1e6 * np.min(rows, axis=0)


check_matmul(sch.mod)
before, after = time_both(MyMatmul, sch.mod)
print(f"{before:.0f} us before, {after:.0f} us after: {before / after:.1f} times as fast")

# %% [markdown]
# ## Part 5. The product by an intrinsic
#
# Many processors have instructions that multiply and add many numbers at once. A compiler rarely
# finds them in loops by itself; `tensorize` tells it where they fit. A **tensor intrinsic** is a pair
# of functions: one says in plain loops what is computed, the other how it is done. TVM looks whether
# the loops that you point to compute just that, and puts the second function in their place. The
# next cell registers one that adds a number of `A`, times sixteen neighbours of `B`, to sixteen sums.
# %% [markdown] lang="zh"
# ## 第 5 部分：用张量内联函数做乘法
#
# 许多处理器有一次就能乘加许多个数的指令。编译器很少能自己在循环里发现它们的用处；`tensorize`
# 告诉它用在哪里。一个**张量内联函数**（tensor intrinsic）由一对函数组成：一个用普通的循环写明计算
# 什么，另一个写明怎么做。TVM 会检查你指定的循环是否恰好计算这件事，然后用第二个函数取代它们。
# 下一个单元格注册的内联函数，把 `A` 的一个数与 `B` 的十六个相邻的数相乘，再加到十六个和上。
# %% [markdown] lang="ko"
# ## 파트 5. 텐서 내장 함수로 하는 행렬 곱
#
# 많은 프로세서에는 여러 수를 한꺼번에 곱하고 더하는 명령이 있습니다. 컴파일러가 루프에서 그 쓸모를
# 스스로 찾아내는 일은 드물고, `tensorize`가 어디에 맞는지 알려 줍니다. **텐서 내장 함수**(tensor
# intrinsic)는 함수 두 개로 이루어집니다. 하나는 무엇을 계산하는지 평범한 루프로 말하고, 다른 하나는
# 어떻게 하는지 말합니다. TVM은 여러분이 가리킨 루프가 바로 그것을 계산하는지 살펴보고, 그 자리에 두
# 번째 함수를 넣습니다. 다음 셀은 `A`의 수 하나에 `B`의 이웃한 수 열여섯 개를 곱해 합 열여섯 개에
# 더하는 내장 함수를 등록합니다.


# %%
@T.prim_func(s_tir=True)
def described(a: T.handle, b: T.handle, c: T.handle) -> None:
    x = T.match_buffer(a, (1,), "int8", offset_factor=1)
    y = T.match_buffer(b, (16,), "int8", offset_factor=1)
    z = T.match_buffer(c, (16,), "int32", offset_factor=1)
    with T.sblock("root"):
        T.reads(z[0:16], x[0:1], y[0:16])
        T.writes(z[0:16])
        for j in range(16):
            with T.sblock("term"):
                vj = T.axis.spatial(16, j)
                z[vj] = z[vj] + T.Cast("int32", x[0]) * T.Cast("int32", y[vj])


@T.prim_func(s_tir=True)
def sixteen(a: T.handle, b: T.handle, c: T.handle) -> None:
    x = T.match_buffer(a, (1,), "int8", offset_factor=1)
    y = T.match_buffer(b, (16,), "int8", offset_factor=1)
    z = T.match_buffer(c, (16,), "int32", offset_factor=1)
    with T.sblock("root"):
        T.reads(z[0:16], x[0:1], y[0:16])
        T.writes(z[0:16])
        z[T.ramp(0, 1, 16)] += T.broadcast(T.Cast("int32", x[0]), 16) * T.Cast(
            "int32x16", y[T.ramp(0, 1, 16)]
        )


tvm.s_tir.TensorIntrin.register("sixteen", described, sixteen, override=True)

# %% [markdown]
# Begin a new schedule of `MyMatmul`, called `sch_tensorized`:
#
# 1. `cache_read`: what the product reads of `B` goes through a copy (`B` is buffer 1 of the block);
# 2. `split` the columns into tiles of sixteen and the sum into groups of four, and `reorder`: the
#    columns of a tile innermost, the groups around the four terms around them;
# 3. `compute_at` moves the copy into the loop over the groups: four rows of sixteen numbers;
# 4. `decompose_reduction` at the loop over the groups;
# 5. `tensorize` the sixteen columns with `"sixteen"`;
# 6. `annotate` the loop over the groups as a software pipeline of two stages, so that one group is
#    copied while the one before it is multiplied: `"software_pipeline_stage"` and
#    `"software_pipeline_order"` are both `[0, 1]`.
#
# The points: 4 for the intrinsic, 3 for the pipeline, 3 for the copy, and all of them only if the
# function still computes the same. It is not timed.
# %% [markdown] lang="zh"
# 为 `MyMatmul` 新建一个调度，名为 `sch_tensorized`：
#
# 1. `cache_read`：让乘法从一份副本里读 `B`（`B` 是该块的 1 号缓冲区）；
# 2. `split`：把列拆成每块十六列，把求和拆成每组四项，然后 `reorder`：一块之内的列在最内层，外面是
#    四项的循环，再外面是各组的循环；
# 3. `compute_at`：把复制移到遍历各组的循环里，每次是四行、每行十六个数；
# 4. 在遍历各组的循环处 `decompose_reduction`；
# 5. 用 `"sixteen"` 对那十六列做 `tensorize`；
# 6. `annotate`：把遍历各组的循环标注成两级的软件流水线，这样在计算一组的同时复制下一组：
#    `"software_pipeline_stage"` 和 `"software_pipeline_order"` 都是 `[0, 1]`。
#
# 分数：内联函数 4 分，流水线 3 分，副本 3 分；都以函数的计算结果不变为前提。这一部分不测量速度。
# %% [markdown] lang="ko"
# `MyMatmul`의 새 스케줄을 `sch_tensorized`라는 이름으로 시작하세요.
#
# 1. `cache_read`: 곱이 `B`에서 읽는 것이 사본을 거치게 합니다(`B`는 블록의 1번 버퍼입니다).
# 2. `split`: 열은 열여섯 열짜리 타일로, 합은 네 개씩 나누고 `reorder`합니다. 타일 안의 열이 가장
#    안쪽, 그 바깥이 네 항, 그 바깥이 묶음입니다.
# 3. `compute_at`: 사본을 묶음을 도는 루프 안으로 옮깁니다. 한 번에 열여섯 개씩 네 행입니다.
# 4. 묶음을 도는 루프에서 `decompose_reduction`.
# 5. 열여섯 열을 `"sixteen"`으로 `tensorize`합니다.
# 6. `annotate`: 묶음을 도는 루프를 두 단계의 소프트웨어 파이프라인으로 표시하여, 한 묶음을 곱하는 동안
#    다음 묶음을 복사하게 합니다. `"software_pipeline_stage"`와 `"software_pipeline_order"`는 둘 다
#    `[0, 1]`입니다.
#
# 점수: 내장 함수 4점, 파이프라인 3점, 사본 3점. 모두 함수의 계산 결과가 그대로일 때에만 인정됩니다. 이
# 파트의 속도는 측정하지 않습니다.

# %% tags=["raises-exception"]
sch_tensorized = tvm.s_tir.Schedule(MyMatmul)
### BEGIN SOLUTION
C = sch_tensorized.get_sblock("C", func_name="matmul")
rows = sch_tensorized.cache_read(C, 1, "global")
i, j, k = sch_tensorized.get_loops(C)
j_0, j_1 = sch_tensorized.split(j, factors=[None, 16])
k_0, k_1 = sch_tensorized.split(k, factors=[None, 4])
sch_tensorized.reorder(i, j_0, k_0, k_1, j_1)
sch_tensorized.compute_at(rows, k_0)
sch_tensorized.decompose_reduction(C, k_0)
sch_tensorized.tensorize(j_1, "sixteen")
sch_tensorized.annotate(k_0, "software_pipeline_stage", [0, 1])
sch_tensorized.annotate(k_0, "software_pipeline_order", [0, 1])
### END SOLUTION
check_matmul(sch_tensorized.mod)
sch_tensorized.show()

# %% tags=["self-check"]
# %grader check intrinsic

# %% [markdown]
# ## Part 6. A space of schedules
#
# Why tiles of sixteen columns, and groups of four terms? On another processor other numbers are
# best, and nobody knows them beforehand. So MetaSchedule, TVM's tuner, takes a **space** of
# schedules: a function of a `Schedule` in which numbers are drawn and not written down. Each call
# gives another schedule; the tuner tries them on the machine, and keeps the fastest.
#
# Write `space(sch)`. It is given a `Schedule` of `MyMatmul`, does the steps, and returns nothing:
#
# * `sch.sample_perfect_tile(loop, n=2, max_innermost_factor=16)` draws factors of a loop's extent, two
#   of them here, the last at most sixteen. `sch.split(loop, factors=...)` takes what was drawn.
# * `sch.sample_categorical([2, 4, 8], [0.25, 0.5, 0.25])` draws one of some numbers, with these
#   probabilities.
# * `sch.decompose_reduction` comes last, as in part 4.
#
# The grader draws 24 schedules from your space on the machine that grades, tries each, and grades
# the fastest as if you had handed in that one. A draw that leaves a step impossible is a trial that
# is lost. The points: 5 if there are at least 8 different programs among the 24, 10 for speed.
# %% [markdown] lang="zh"
# ## 第 6 部分：调度空间
#
# 为什么是每块十六列、每组四项？换一种处理器，最好的就是别的数，而且没有人能事先知道。所以 TVM
# 的调优器 MetaSchedule 接受的是一个调度的**空间**：一个以 `Schedule` 为参数的函数，其中的数不是写死
# 的，而是抽取的。每次调用得到另一个调度；调优器在机器上逐一试验，留下最快的。
#
# 请写出 `space(sch)`。它得到 `MyMatmul` 的一个 `Schedule`，完成各个步骤，不返回任何值：
#
# * `sch.sample_perfect_tile(loop, n=2, max_innermost_factor=16)` 抽取循环长度的因子，这里是两个，
#   最后一个不超过十六。抽到的结果可以交给 `sch.split(loop, factors=...)`。
# * `sch.sample_categorical([2, 4, 8], [0.25, 0.5, 0.25])` 按这些概率从几个数里抽取一个。
# * 和第 4 部分一样，`sch.decompose_reduction` 放在最后。
#
# 评分程序会在评分的机器上从你的空间里抽取 24 个调度，逐一试验，并把其中最快的一个当作你提交的调度来
# 评分。如果抽到的数让某一步做不成，这次试验就浪费了。分数：24 个里至少有 8 个不同的程序 5 分，速度 10 分。
# %% [markdown] lang="ko"
# ## 파트 6. 스케줄 공간
#
# 왜 열여섯 열짜리 타일이고 네 항씩일까요? 프로세서가 다르면 가장 좋은 수도 다르고, 미리 아는 사람은
# 없습니다. 그래서 TVM의 튜너 MetaSchedule은 스케줄의 **공간**을 받습니다. `Schedule`을 받는 함수이며, 수를
# 적어 두지 않고 뽑습니다. 부를 때마다 다른 스케줄이 나오고, 튜너는 그것들을 컴퓨터에서 시험하여 가장 빠른
# 것을 남깁니다.
#
# `space(sch)`를 작성하세요. `MyMatmul`의 `Schedule`을 받아 단계를 수행하고 아무것도 반환하지 않습니다.
#
# * `sch.sample_perfect_tile(loop, n=2, max_innermost_factor=16)`은 루프 길이의 인수를 뽑습니다. 여기서는
#   두 개이고 마지막은 많아야 열여섯입니다. 뽑은 것은 `sch.split(loop, factors=...)`에 줍니다.
# * `sch.sample_categorical([2, 4, 8], [0.25, 0.5, 0.25])`은 이 확률로 수 하나를 뽑습니다.
# * 파트 4처럼 `sch.decompose_reduction`이 마지막입니다.
#
# 채점기는 채점하는 컴퓨터에서 여러분의 공간에서 스케줄 24개를 뽑아 하나씩 시험하고, 가장 빠른 것을 여러분이
# 제출한 스케줄로 보고 채점합니다. 뽑은 수 때문에 어떤 단계를 할 수 없으면 그 시험은 버려집니다. 점수: 24개
# 가운데 서로 다른 프로그램이 8개 이상이면 5점, 속도 10점.


# %% tags=["raises-exception"]
def space(sch):
    ### BEGIN SOLUTION
    C = sch.get_sblock("C", func_name="matmul")
    i, j, k = sch.get_loops(C)
    i_0, i_1 = sch.split(i, sch.sample_perfect_tile(i, n=2, max_innermost_factor=4))
    j_0, j_1, j_2 = sch.split(j, sch.sample_perfect_tile(j, n=3, max_innermost_factor=16))
    k_0, k_1 = sch.split(k, sch.sample_perfect_tile(k, n=2, max_innermost_factor=8))
    sch.reorder(i_0, j_0, k_0, k_1, i_1, j_1, j_2)
    sch.unroll(k_1)
    sch.unroll(i_1)
    sch.vectorize(j_2)
    sch.decompose_reduction(C, k_0)
    ### END SOLUTION


# %% tags=["self-check"]
# %grader check space

# %% tags=["raises-exception"]
drawn = [tvm.s_tir.Schedule(MyMatmul) for _ in range(8)]
for each in drawn:
    space(each)
    check_matmul(each.mod)
before, *after = time_both(MyMatmul, *[each.mod for each in drawn])
print("times as fast:", ", ".join(f"{before / each:.1f}" for each in after))

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
