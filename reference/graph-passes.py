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
# `reference/graph-passes.py`: change that file, then run `make notebooks`. Cells like this one,
# tagged `instructor`, and the lines between solution marks are not in the students' template.
#
# **What the hidden models are.** `assignments/graph-passes/models.py` has them. They use products,
# sums, ReLU and sigmoid; their widths and weights are drawn anew for each grading.
#
# **What cannot be enforced.** TVM has passes that fuse by pattern (`FuseOpsByPattern`). A pass that
# calls them does the right thing, so it gets the points. The rules in part 4 forbid it, and the
# report names cells in which the words occur (`watch` in `assignment.toml`).

# %% [markdown]
# # Passes over Graphs
#
# Between a model as it was imported and a model that is compiled stand passes: functions from one
# IRModule to another, which compute the same and do it better. In this assignment you fuse
# operators by hand first, so that you know what it is good for; you build a graph that takes a
# batch of any size; and then you write two passes, which are applied to models that you have not
# seen.
#
# | part | what you build | name that is graded | points |
# |---|---|---|---|
# | 1 | two layers, each in one TensorIR function | `FusedByHand` | 15 |
# | 2 | a graph for batches of any size | `DynamicModel` | 20 |
# | 3 | a pass that rewrites a pattern | `RewriteSilu` | 22 |
# | 4 | a pass that puts operators together | `FuseDense` | 43 |
#
# Write your code where a cell says `YOUR CODE HERE`, and keep the names of the table. You may add
# cells, helper functions and experiments as you like. Before you hand in, choose *Restart kernel
# and run all cells*: what is graded is what your cells make when they run once, from top to bottom.

# %% [markdown] lang="zh"
# # 计算图上的 pass
#
# 从导入的模型到编译好的模型，中间隔着许多 pass：它们是从一个 IRModule 到另一个 IRModule 的函数，
# 计算结果不变，但算得更好。在本作业中，你先手工融合算子，体会融合的好处；再构建一个适用于任意批大小
# 的计算图；最后写两个 pass，它们会作用在你没有见过的模型上。
#
# | 部分 | 你要构建的 | 评分时查找的名字 | 分数 |
# |---|---|---|---|
# | 1 | 两个层，各为一个 TensorIR 函数 | `FusedByHand` | 15 |
# | 2 | 适用于任意批大小的计算图 | `DynamicModel` | 20 |
# | 3 | 改写一个模式的 pass | `RewriteSilu` | 22 |
# | 4 | 把算子合在一起的 pass | `FuseDense` | 43 |
#
# 请把代码写在标有 `YOUR CODE HERE` 的地方，并保留表中的名字。你可以随意添加单元格、辅助函数和实验。
# 提交之前，请选择“重启内核并运行所有单元格”：评分的依据是从上到下运行一遍所有单元格得到的结果。

# %% [markdown] lang="ko"
# # 그래프 패스
#
# 임포트한 모델과 컴파일된 모델 사이에는 패스가 있습니다. 패스는 IRModule에서 IRModule로 가는 함수로,
# 같은 것을 더 잘 계산하게 만듭니다. 이 과제에서는 먼저 연산자를 손으로 융합해 무엇이 좋은지 알아보고,
# 배치 크기가 자유로운 그래프를 만든 다음, 패스 두 개를 작성합니다. 패스는 여러분이 보지 못한 모델에
# 적용됩니다.
#
# | 파트 | 만드는 것 | 채점되는 이름 | 점수 |
# |---|---|---|---|
# | 1 | 레이어 둘, 각각 TensorIR 함수 하나로 | `FusedByHand` | 15 |
# | 2 | 배치 크기가 자유로운 그래프 | `DynamicModel` | 20 |
# | 3 | 패턴을 고쳐 쓰는 패스 | `RewriteSilu` | 22 |
# | 4 | 연산자를 하나로 묶는 패스 | `FuseDense` | 43 |
#
# `YOUR CODE HERE`라고 적힌 곳에 코드를 작성하고, 표에 있는 이름은 그대로 두세요. 셀, 보조 함수, 실험은
# 마음껏 추가해도 됩니다. 제출하기 전에 커널을 다시 시작하고 모든 셀을 실행하세요. 셀을 위에서 아래로 한
# 번 실행했을 때 만들어지는 것이 채점됩니다.

# %% [markdown]
# ## Part 0. Getting ready
#
# The next cell installs TVM where it is missing, for example on Colab.

# %% [markdown] lang="zh"
# ## 第 0 部分　准备工作
#
# 如果没有安装 TVM（例如在 Colab 上），下面的单元格会安装它。

# %% [markdown] lang="ko"
# ## 파트 0. 준비
#
# 다음 셀은 TVM이 없는 곳(예를 들어 Colab)에 TVM을 설치합니다.

# %%
import importlib.util

if importlib.util.find_spec("tvm") is None:
    # %pip install --quiet apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post1
    print("TVM is installed now. Restart the kernel if the next cell fails.")

# %%
import os
from collections import Counter

# TVM otherwise ties this process to some of the processors, and PyTorch then fights for them.
# zh: 否则 TVM 会把本进程绑定到部分处理器上，PyTorch 会与它争抢。
# ko: 그대로 두면 TVM이 프로세스를 일부 프로세서에 묶어, PyTorch가 그것을 두고 다투게 됩니다.
os.environ.setdefault("TVM_BIND_THREADS", "0")

import numpy as np
import torch
import tvm
from torch import fx, nn
from tvm import relax, te, tirx
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.relax.frontend.torch import from_fx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

torch.set_num_threads(1)
print("TVM", tvm.__version__, "and PyTorch", torch.__version__)

# %% tags=["self-check"]
# `%grader check` says how your solution stands. Where the grader is not installed, it does nothing.
# zh: `%grader check` 会告诉你目前的解答情况。如果没有安装评分器，它什么也不做。
# ko: `%grader check`는 지금까지의 풀이가 어떤지 알려 줍니다.
# ko: 채점기가 설치되어 있지 않으면 아무 일도 하지 않습니다.
try:
    get_ipython().run_line_magic("load_ext", "grader")
    get_ipython().run_line_magic("grader", "use graph-passes")
except ImportError:
    get_ipython().register_magic_function(
        lambda _line: print("The grader is not installed here: nothing was checked."),
        magic_name="grader",
    )


# %%
def run(module, *inputs):
    """Compile a module and return what its `main` makes of NumPy arrays."""
    machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    return machine["main"](*map(tvm.runtime.tensor, inputs)).numpy()


def noise(*shape):
    """Return random numbers, half of them negative."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


# %% [markdown]
# ## Part 1. Fused by hand
#
# A layer is a product, a sum and a ReLU. As three functions, the product is written to memory and
# read again, and so is the sum. As one function, each item is still at hand when the next operation
# wants it, or a schedule can bring it there. That is what **operator fusion** means, and here you
# are the one who does it.
#
# Write `FusedByHand`, an IRModule in TVMScript: `main` takes `x` (16, 24), `w0` (24, 40), `b0`
# (40,), `w1` (40, 10) and `b1` (10,), all float32, and returns ReLU(x w0 + b0) w1 + b1. It makes
# **two calls** of `R.call_tir`, in a dataflow block: one function does the first layer with its
# ReLU, the other one the second layer. Operators of Relax may not occur.

# %% [markdown] lang="zh"
# ## 第 1 部分　手工融合
#
# 一个层由乘积、加法和 ReLU 组成。写成三个函数时，乘积要写入内存再读出来，和也是如此。写成一个函数时，
# 下一步运算需要某个元素，它就在手边，或者可以用调度把它移过来。这就是**算子融合**，这里由你亲手完成。
#
# 用 TVMScript 编写 IRModule `FusedByHand`：`main` 接受 `x` (16, 24)、`w0` (24, 40)、`b0` (40,)、
# `w1` (40, 10) 和 `b1` (10,)，都是 float32，返回 ReLU(x w0 + b0) w1 + b1。它在一个 dataflow
# 块中**两次**调用 `R.call_tir`：一个函数完成第一层及其 ReLU，另一个完成第二层。不能使用 Relax 的算子。

# %% [markdown] lang="ko"
# ## 파트 1. 손으로 융합하기
#
# 레이어 하나는 곱, 합, ReLU로 이루어집니다. 함수 셋으로 쓰면 곱을 메모리에 썼다가 다시 읽고, 합도
# 마찬가지입니다. 함수 하나로 쓰면 다음 연산이 원소를 필요로 할 때 그것이 바로 곁에 있거나, 스케줄로 곁에
# 둘 수 있습니다. 이것이 **연산자 융합**이며, 여기서는 여러분이 직접 합니다.
#
# TVMScript로 IRModule `FusedByHand`를 작성하세요. `main`은 모두 float32인 `x` (16, 24), `w0` (24, 40),
# `b0` (40,), `w1` (40, 10), `b1` (10,)을 받아 ReLU(x w0 + b0) w1 + b1을 돌려줍니다. dataflow 블록
# 안에서 `R.call_tir`를 **두 번** 호출합니다. 한 함수는 ReLU까지 포함한 첫째 레이어를, 다른 함수는 둘째 레이어를
# 계산합니다. Relax 연산자는 쓸 수 없습니다.


# %% tags=["raises-exception"]
@I.ir_module
class FusedByHand:
    ### BEGIN SOLUTION
    @T.prim_func(s_tir=True)
    def dense_relu(
        x: T.Buffer((16, 24), "float32"),
        w: T.Buffer((24, 40), "float32"),
        b: T.Buffer((40,), "float32"),
        out: T.Buffer((16, 40), "float32"),
    ):
        product = T.sblock_alloc_buffer((16, 40), "float32")
        for i, j, k in T.grid(16, 40, 24):
            with T.sblock("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    product[vi, vj] = T.float32(0)
                product[vi, vj] += x[vi, vk] * w[vk, vj]
        for i, j in T.grid(16, 40):
            with T.sblock("out"):
                vi, vj = T.axis.remap("SS", [i, j])
                out[vi, vj] = T.max(product[vi, vj] + b[vj], T.float32(0))

    @T.prim_func(s_tir=True)
    def dense(
        x: T.Buffer((16, 40), "float32"),
        w: T.Buffer((40, 10), "float32"),
        b: T.Buffer((10,), "float32"),
        out: T.Buffer((16, 10), "float32"),
    ):
        product = T.sblock_alloc_buffer((16, 10), "float32")
        for i, j, k in T.grid(16, 10, 40):
            with T.sblock("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    product[vi, vj] = T.float32(0)
                product[vi, vj] += x[vi, vk] * w[vk, vj]
        for i, j in T.grid(16, 10):
            with T.sblock("out"):
                vi, vj = T.axis.remap("SS", [i, j])
                out[vi, vj] = product[vi, vj] + b[vj]

    @R.function
    def main(
        x: R.Tensor((16, 24), "float32"),
        w0: R.Tensor((24, 40), "float32"),
        b0: R.Tensor((40,), "float32"),
        w1: R.Tensor((40, 10), "float32"),
        b1: R.Tensor((10,), "float32"),
    ):
        cls = FusedByHand
        with R.dataflow():
            hidden = R.call_tir(cls.dense_relu, (x, w0, b0), out_ty=R.Tensor((16, 40), "float32"))
            out = R.call_tir(cls.dense, (hidden, w1, b1), out_ty=R.Tensor((16, 10), "float32"))
            R.output(out)
        return out

    ### END SOLUTION


# %% tags=["self-check"]
# %grader check by_hand

# %% tags=["raises-exception"]
layer_inputs = [noise(16, 24), noise(24, 40), noise(40), noise(40, 10), noise(10)]
x, w0, b0, w1, b1 = layer_inputs
desired = np.maximum(x @ w0 + b0, 0) @ w1 + b1
np.testing.assert_allclose(run(FusedByHand, *layer_inputs), desired, rtol=1e-4, atol=1e-4)
print("The two layers are right.")

# %% [markdown]
# ## Part 2. A batch of any size
#
# Nobody knows beforehand how many images come at once. A dimension of a Relax tensor may be a
# **variable** in place of a number: `n = tirx.Var("n", "int64")`, and then `R.Tensor((n, 24),
# "float32")`. Every call binds it to what the tensor has. `bb.emit_te` hands it on to the
# placeholders of a tensor expression, where `x.shape[0]` is that variable: loops may go up to it,
# and one can compute with it, `tirx.Cast("float32", n)` being its value as a float.
#
# Build `DynamicModel` with a `relax.BlockBuilder`: `main` takes `x` (n, 24), `w` (24, 20) and `b`
# (20,), float32, in this order. It computes y = ReLU(x w + b) and returns y less the mean of each
# column of y **over the batch**, (n, 20). Make it of TensorIR functions alone, two at least
# (`bb.emit_te`). It is tried on batches of several sizes, not only on yours: also on one image, and
# on none.

# %% [markdown] lang="zh"
# ## 第 2 部分　任意的批大小
#
# 谁也不能预先知道一次会来多少张图片。Relax 张量的一个维度可以是**变量**，而不是数：
# `n = tirx.Var("n", "int64")`，然后写 `R.Tensor((n, 24), "float32")`。每次调用时，它取张量实际的大小。
# `bb.emit_te` 把它传给张量表达式的占位符，那里的 `x.shape[0]` 就是这个变量：循环可以以它为界，也可以用它
# 计算，`tirx.Cast("float32", n)` 是它的浮点数值。
#
# 用 `relax.BlockBuilder` 构建 `DynamicModel`：`main` 依次接受 `x` (n, 24)、`w` (24, 20) 和 `b` (20,)，
# 都是 float32。它计算 y = ReLU(x w + b)，返回 y 减去 y 每一列**在整批上**的平均值，形状为 (n, 20)。
# 只用 TensorIR 函数，至少两个（`bb.emit_te`）。评分时会用几种批大小，不只是你用的那一种：也会有一张图片，
# 或者一张也没有。

# %% [markdown] lang="ko"
# ## 파트 2. 자유로운 배치 크기
#
# 이미지가 한 번에 몇 장 들어올지 미리 알 수는 없습니다. Relax 텐서의 차원은 수 대신 **변수**일 수
# 있습니다. `n = tirx.Var("n", "int64")`라고 한 다음 `R.Tensor((n, 24), "float32")`라고 씁니다. 호출할
# 때마다 텐서의 실제 크기가 그 값이 됩니다. `bb.emit_te`는 이 변수를 텐서 표현식의 자리표시자에 넘기며,
# 거기서 `x.shape[0]`이 그 변수입니다. 루프의 끝으로 쓸 수도 있고 계산에 쓸 수도 있습니다.
# `tirx.Cast("float32", n)`은 그 값을 실수로 나타낸 것입니다.
#
# `relax.BlockBuilder`로 `DynamicModel`을 만드세요. `main`은 float32인 `x` (n, 24), `w` (24, 20), `b`
# (20,)를 이 순서로 받습니다. y = ReLU(x w + b)를 계산하고, y에서 **배치 전체에 걸친** 각 열의 평균을 뺀
# (n, 20) 텐서를 돌려줍니다. TensorIR 함수만으로, 적어도 둘로 만드세요(`bb.emit_te`). 채점할 때는 여러
# 배치 크기를 씁니다. 이미지가 한 장일 때도, 한 장도 없을 때도 있습니다.


# %%
def te_dense_relu(x: te.Tensor, w: te.Tensor, b: te.Tensor) -> te.Tensor:
    ### BEGIN SOLUTION
    k = te.reduce_axis((0, x.shape[1]), name="k")
    shape = (x.shape[0], w.shape[1])
    product = te.compute(shape, lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), name="product")
    zero = te.const(0, x.dtype)
    return te.compute(shape, lambda i, j: te.max(product[i, j] + b[j], zero), name="dense_relu")
    ### END SOLUTION


def te_center(x: te.Tensor) -> te.Tensor:
    ### BEGIN SOLUTION
    rows, columns = x.shape
    row = te.reduce_axis((0, rows), name="row")
    total = te.compute((columns,), lambda j: te.sum(x[row, j], axis=row), name="total")
    count = tirx.Cast("float32", rows)
    return te.compute(x.shape, lambda i, j: x[i, j] - total[j] / count, name="centered")
    ### END SOLUTION


# %% tags=["raises-exception"]
# Define DynamicModel.
# zh: 定义 DynamicModel。
# ko: DynamicModel을 정의하세요.
### BEGIN SOLUTION
n = tirx.Var("n", "int64")
inputs = [
    relax.Var("x", R.Tensor((n, 24), "float32")),
    relax.Var("w", R.Tensor((24, 20), "float32")),
    relax.Var("b", R.Tensor((20,), "float32")),
]
bb = relax.BlockBuilder()
with bb.function("main", inputs):
    with bb.dataflow():
        positive = bb.emit_te(te_dense_relu, *inputs)
        result = bb.emit_output(bb.emit_te(te_center, positive))
    bb.emit_func_output(result)
DynamicModel = bb.get()
### END SOLUTION
DynamicModel.show()

# %% tags=["self-check"]
# %grader check dynamic

# %% tags=["raises-exception"]
for batch in (1, 4, 30):
    x, w, b = noise(batch, 24), noise(24, 20), noise(20)
    y = np.maximum(x @ w + b, 0)
    np.testing.assert_allclose(run(DynamicModel, x, w, b), y - y.mean(axis=0), rtol=1e-4, atol=1e-4)
print("Batches of 1, 4 and 30 are right.")

# %% [markdown]
# ## Part 3. Rewriting a pattern
#
# Passes are applied to models that come from somewhere else. Here they come from PyTorch: TVM's
# importer makes an operator of Relax of each operation, and constants of the parameters.

# %% [markdown] lang="zh"
# ## 第 3 部分　改写模式
#
# pass 作用在来自别处的模型上。这里它们来自 PyTorch：TVM 的导入器把每个操作变成一个 Relax 算子，把参数
# 变成常量。

# %% [markdown] lang="ko"
# ## 파트 3. 패턴 고쳐 쓰기
#
# 패스는 다른 곳에서 온 모델에 적용됩니다. 여기서는 PyTorch에서 옵니다. TVM의 임포터는 연산마다 Relax
# 연산자를 만들고, 매개변수는 상수로 만듭니다.


# %%
class Dense(nn.Module):
    """A linear layer that is imported as one `matmul` and one `add`."""

    def __init__(self, features, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, width) / features**0.5)
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return torch.matmul(x, self.weight) + self.bias


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = Dense(12, 30)
        self.leave = Dense(30, 5)

    def forward(self, x):
        hidden = self.enter(x)
        return self.leave(hidden * torch.sigmoid(hidden))


def imported(model, shape):
    """Return a PyTorch model of one input as an IRModule."""
    return from_fx(fx.symbolic_trace(model), [(shape, "float32")])


def check_pass(rewrite, model, shape):
    """Show what a pass makes of a model, and compare it with PyTorch."""
    module = rewrite(imported(model, shape))
    module.show()
    x = noise(*shape)
    with torch.no_grad():
        desired = model(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(run(module, x), desired, rtol=1e-4, atol=1e-4)
    print("It computes what PyTorch does.")


imported(Gated(), (4, 12)).show()

# %% [markdown]
# A product of something with its own sigmoid has a name, *SiLU*, and an operator, `R.nn.silu`: one
# operator in place of two, and one intermediate result less. To find such products there are
# **patterns** (`tvm.relax.dpl`):
#
# * `wildcard()` matches anything; where the same wildcard stands twice in a pattern, both must be
#   the same value;
# * `is_op("relax.exp")(p)` matches a call of that operator whose argument matches `p`;
# * `p | q` matches what `p` or `q` matches;
# * `rewrite_call(pattern, rewriter, function)` returns a function in which every call that matches
#   is replaced by `rewriter(call, matches)`; `matches[p]` is what matched the part `p`. What nothing
#   uses any more is removed.
#
# A pass over functions is a Python function with a decorator: it gets each function of a module and
# returns another one for it. This one replaces exp(log(x)) by x:

# %% [markdown] lang="zh"
# 一个张量与它自己的 sigmoid 的乘积有个名字，*SiLU*，也有一个算子 `R.nn.silu`：两个算子变成一个，少一个
# 中间结果。要找到这样的乘积，可以用**模式**（`tvm.relax.dpl`）：
#
# * `wildcard()` 匹配任何东西；同一个 wildcard 在模式中出现两次时，两处必须是同一个值；
# * `is_op("relax.exp")(p)` 匹配对该算子的调用，其参数要匹配 `p`；
# * `p | q` 匹配 `p` 或 `q` 所匹配的东西；
# * `rewrite_call(pattern, rewriter, function)` 返回一个函数，其中每个匹配的调用都换成
#   `rewriter(call, matches)`；`matches[p]` 是匹配了 `p` 这一部分的东西。不再有用的会被去掉。
#
# 作用在函数上的 pass 是一个带装饰器的 Python 函数：它得到模块的每个函数，返回替换它的函数。
# 下面这个把 exp(log(x)) 换成 x：

# %% [markdown] lang="ko"
# 어떤 값과 그 시그모이드의 곱에는 *SiLU*라는 이름이 있고, `R.nn.silu`라는 연산자도 있습니다. 연산자 둘이
# 하나가 되고 중간 결과가 하나 줄어듭니다. 그런 곱을 찾는 데에는 **패턴**(`tvm.relax.dpl`)이 있습니다.
#
# * `wildcard()`는 무엇에나 맞습니다. 같은 wildcard가 패턴에 두 번 나오면 두 곳이 같은 값이어야 합니다.
# * `is_op("relax.exp")(p)`는 그 연산자의 호출 가운데 인자가 `p`에 맞는 것에 맞습니다.
# * `p | q`는 `p`나 `q`에 맞는 것에 맞습니다.
# * `rewrite_call(pattern, rewriter, function)`은 맞는 호출을 모두 `rewriter(call, matches)`로 바꾼
#   함수를 돌려줍니다. `matches[p]`는 `p` 부분에 맞은 것입니다. 더는 쓰이지 않는 것은 없어집니다.
#
# 함수에 대한 패스는 데코레이터가 붙은 파이썬 함수입니다. 모듈의 함수를 하나씩 받아 그 자리에 올 함수를
# 돌려줍니다. 다음은 exp(log(x))를 x로 바꿉니다.

# %%
anything = wildcard()
round_trip = is_op("relax.exp")(is_op("relax.log")(anything))


@relax.transform.function_pass(opt_level=0)
def RemoveRoundTrip(function, module, context):
    return rewrite_call(round_trip, lambda call, matches: matches[anything], function)


class RoundTrip(nn.Module):
    def forward(self, x):
        return torch.exp(torch.log(x)) + 1


RemoveRoundTrip(imported(RoundTrip(), (2, 3))).show()

# %% [markdown]
# ### Your turn
#
# Write the pass `RewriteSilu`: each product of a tensor with its own sigmoid, in either order,
# becomes a call of `R.nn.silu` (`relax.op.nn.silu`). A product with the sigmoid of something else
# stays as it is. So does a sigmoid that something else needs as well. It is applied to `Gated` (10
# points), and to two models that you do not see (6 points each): the rewritten model must compute
# what PyTorch does, and have no operators but those that belong there.

# %% [markdown] lang="zh"
# ### 轮到你了
#
# 写一个 pass `RewriteSilu`：张量与它自己的 sigmoid 的每个乘积，不论哪个在前，都变成对 `R.nn.silu`
# （`relax.op.nn.silu`）的调用。与别的张量的 sigmoid 的乘积保持不变；别处也要用到的 sigmoid 也要保留。
# 它会作用在 `Gated` 上（10 分），以及两个你看不到的模型上（各 6 分）：改写后的模型必须与 PyTorch
# 计算一致，而且只有该有的算子。

# %% [markdown] lang="ko"
# ### 여러분 차례
#
# 패스 `RewriteSilu`를 작성하세요. 텐서와 그 시그모이드의 곱은 순서가 어떻든 모두 `R.nn.silu`
# (`relax.op.nn.silu`)의 호출이 됩니다. 다른 텐서의 시그모이드와의 곱은 그대로 둡니다. 다른 곳에서도
# 쓰이는 시그모이드 역시 남아야 합니다. 이 패스는 `Gated`(10점)와 여러분이 보지 못하는 모델 둘(각 6점)에
# 적용됩니다. 고쳐 쓴 모델은 PyTorch와 같은 것을 계산해야 하고, 있어야 할 연산자만 있어야 합니다.


# %%
@relax.transform.function_pass(opt_level=0)
def RewriteSilu(function, module, context):
    ### BEGIN SOLUTION
    x = wildcard()
    sigmoid = is_op("relax.sigmoid")(x)
    multiply = is_op("relax.multiply")
    pattern = multiply(x, sigmoid) | multiply(sigmoid, x)
    return rewrite_call(pattern, lambda call, matches: relax.op.nn.silu(matches[x]), function)
    ### END SOLUTION


# %% tags=["self-check"]
# %grader check rewrite_gated

# %% tags=["raises-exception"]
check_pass(RewriteSilu, Gated(), (4, 12))

# %% [markdown]
# ## Part 4. A pass that fuses
#
# What you did by hand in part 1, a compiler does in two steps. A pass finds operators that belong
# together and moves them into a Relax function of their own, marked with the attribute `Primitive`;
# later passes make one TensorIR function of each marked function. The first step is yours.
#
# `FuseDense` goes over `main` and looks for **a product (`relax.matmul`) whose only use is a sum
# (`relax.add`) with a constant of one dimension**, the bias, on either side. If the only use of the
# sum is a ReLU (`relax.nn.relu`), that belongs to the group, too. Each such group becomes a call of
# a function that does these operators and nothing else, and has the attribute `Primitive`. All
# other operators stay in `main`.
#
# TVM's own passes that fuse (`FuseOps`, `FuseOpsByPattern`, `FuseTIR`) are not allowed here.
#
# Three functions help you to read `main`: `values_of` returns what each variable is bound to,
# `uses_of` how often each is used, as an argument, under another name, or as what `main` returns,
# and `is_bias` says whether a value is a constant of one dimension.

# %% [markdown] lang="zh"
# ## 第 4 部分　做融合的 pass
#
# 你在第 1 部分手工完成的事，编译器分两步做。先由一个 pass 找出应当合在一起的算子，把它们移到单独的
# Relax 函数里，并用属性 `Primitive` 标记；后面的 pass 再把每个带标记的函数变成一个 TensorIR 函数。
# 第一步由你来做。
#
# `FuseDense` 遍历 `main`，寻找**这样的乘积（`relax.matmul`）：它只用在一个加法（`relax.add`）里，加上的
# 是一维常量**，也就是偏置，在哪一边都可以。如果这个和只用在一个 ReLU（`relax.nn.relu`）里，ReLU
# 也属于这一组。每一组变成对一个函数的调用，这个函数只做这些算子，并带有属性 `Primitive`。其他算子都留在
# `main` 里。
#
# 这里不允许使用 TVM 自带的融合 pass（`FuseOps`、`FuseOpsByPattern`、`FuseTIR`）。
#
# 有三个函数帮助你阅读 `main`：`values_of` 返回每个变量绑定的值，`uses_of` 返回每个变量用到几次：作为
# 参数、换一个名字，或者作为 `main` 返回的值；`is_bias` 判断一个值是不是一维常量。

# %% [markdown] lang="ko"
# ## 파트 4. 융합하는 패스
#
# 파트 1에서 손으로 한 일을 컴파일러는 두 단계로 합니다. 먼저 한 패스가 함께 있어야 할 연산자를 찾아
# 별도의 Relax 함수로 옮기고 `Primitive` 속성으로 표시합니다. 그다음 패스들이 표시된 함수마다 TensorIR
# 함수를 하나씩 만듭니다. 첫 단계를 여러분이 합니다.
#
# `FuseDense`는 `main`을 훑어 **곱(`relax.matmul`) 가운데 일차원 상수, 곧 편향과의 합(`relax.add`)에만
# 쓰이는 것**을 찾습니다. 편향은 어느 쪽에 있어도 됩니다. 그 합이 ReLU(`relax.nn.relu`)에만 쓰이면 ReLU도
# 그 묶음에 속합니다. 묶음마다, 이 연산자들만 계산하고 `Primitive` 속성이 있는 함수의 호출이 됩니다. 다른
# 연산자는 모두 `main`에 남습니다.
#
# TVM의 융합 패스(`FuseOps`, `FuseOpsByPattern`, `FuseTIR`)는 여기서 쓸 수 없습니다.
#
# `main`을 읽는 데 도움이 되는 함수가 셋 있습니다. `values_of`는 각 변수에 묶인 값을, `uses_of`는 각
# 변수가 몇 번 쓰이는지(인자로, 다른 이름으로, 또는 `main`이 돌려주는 값으로)를 돌려주고, `is_bias`는 값이
# 일차원 상수인지 알려 줍니다.


# %%
def values_of(function):
    """Return what each variable of a Relax function is bound to."""
    return {
        binding.var: binding.value for block in function.body.blocks for binding in block.bindings
    }


def uses_of(function):
    """Return how often each variable of a Relax function is used."""
    uses = Counter([function.body.body])
    for value in values_of(function).values():
        uses.update(value.args if isinstance(value, relax.Call) else [value])
    return uses


def is_bias(value):
    """Say whether a value is a constant of one dimension."""
    return isinstance(value, tvm.ir.GenericConst) and value.ty.ndim == 1


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Dense(16, 30)
        self.second = Dense(30, 10)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


graph = imported(Perceptron(), (4, 16))
graph.show()
for variable, count in uses_of(graph["main"]).items():
    if isinstance(variable, relax.Var):
        print(variable.name, "is used", count, "times")

# %% [markdown]
# A pass over modules is a class with a method `transform_module`. Its tool is a **mutator**: it
# goes over a function and rebuilds it, and each `visit_call_` says what becomes of a call. The
# builder `self.builder_` takes new functions with `add_func(function, name)`, which returns the
# `GlobalVar` to call: `relax.Call(global_var, [...])`. Arguments must be the rebuilt ones,
# `self.visit_expr(argument)`. What nothing uses any more has to be removed in the end:
# `relax.analysis.remove_all_unused`. This pass moves each `tanh` into a function of its own, which
# is `private`: functions of the same name are no trouble then.

# %% [markdown] lang="zh"
# 作用在模块上的 pass 是一个带 `transform_module` 方法的类。它的工具是 **mutator**：它遍历一个函数并重新
# 构建它，`visit_call_` 决定每个调用变成什么。构建器 `self.builder_` 用 `add_func(function, name)`
# 接受新函数，返回用来调用它的 `GlobalVar`：`relax.Call(global_var, [...])`。参数必须是重新构建过的，即
# `self.visit_expr(argument)`。最后要去掉不再有用的东西：`relax.analysis.remove_all_unused`。
# 下面这个 pass 把每个 `tanh` 移到单独的函数里；函数是 `private` 的，这样同名的函数不会冲突：

# %% [markdown] lang="ko"
# 모듈에 대한 패스는 `transform_module` 메서드가 있는 클래스입니다. 그 도구는 **뮤테이터**입니다. 함수를
# 훑으며 다시 만드는데, `visit_call_`이 각 호출이 무엇이 될지 정합니다. 빌더 `self.builder_`는
# `add_func(function, name)`으로 새 함수를 받아, 그것을 호출할 `GlobalVar`를 돌려줍니다:
# `relax.Call(global_var, [...])`. 인자는 다시 만들어진 것, 곧 `self.visit_expr(argument)`여야 합니다.
# 더는 쓰이지 않는 것은 마지막에 없애야 합니다: `relax.analysis.remove_all_unused`. 다음 패스는 `tanh`를
# 하나씩 별도의 함수로 옮깁니다. 함수는 `private`이므로 이름이 같아도 부딪치지 않습니다.


# %%
@relax.expr_functor.mutator
class TanhMover(relax.PyExprMutator):
    def visit_call_(self, call):
        if call.op != tvm.ir.Op.get("relax.tanh"):
            return super().visit_call_(call)
        argument = self.visit_expr(call.args[0])
        x = relax.Var("x", argument.ty)
        inner = relax.BlockBuilder()
        with inner.function("moved", [x], attrs={"Primitive": True}, private=True):
            with inner.dataflow():
                out = inner.emit_output(relax.op.tanh(x))
            inner.emit_func_output(out)
        moved = self.builder_.add_func(inner.get()["moved"], "moved")
        return relax.Call(moved, [argument])


@tvm.transform.module_pass(opt_level=0)
class MoveTanh:
    def transform_module(self, module, context):
        mover = TanhMover(module)
        main = relax.analysis.remove_all_unused(mover.visit_expr(module["main"]))
        mover.builder_.update_func(module.get_global_var("main"), main)
        return mover.builder_.get()


class Tanh(nn.Module):
    def forward(self, x):
        return torch.tanh(x) + 1


MoveTanh()(imported(Tanh(), (2, 3))).show()

# %% [markdown]
# ### Your turn
#
# Write `FuseDense`. It is applied to `Perceptron` (13 points), and to three models that you do not
# see (10 points each). Think of products without a bias, of sums that are no bias, and of results
# that are used twice.

# %% [markdown] lang="zh"
# ### 轮到你了
#
# 编写 `FuseDense`。它会作用在 `Perceptron` 上（13 分），以及三个你看不到的模型上（各 10 分）。
# 想一想没有偏置的乘积、不是偏置的加法，以及用到两次的结果。

# %% [markdown] lang="ko"
# ### 여러분 차례
#
# `FuseDense`를 작성하세요. `Perceptron`(13점)과 여러분이 보지 못하는 모델 셋(각 10점)에 적용됩니다.
# 편향이 없는 곱, 편향이 아닌 합, 두 번 쓰이는 결과를 생각해 보세요.


# %%
### BEGIN SOLUTION
def is_call_of(value, name):
    """Say whether a value is a call of the operator of this name."""
    return isinstance(value, relax.Call) and value.op == tvm.ir.Op.get(name)


@relax.expr_functor.mutator
class DenseFuser(relax.PyExprMutator):
    def __init__(self, module):
        super().__init__(module)
        self.values = values_of(module["main"])
        self.uses = uses_of(module["main"])

    def once(self, variable, name):
        """Return the call that a variable is bound to if it is of that operator, used once."""
        value = self.values.get(variable) if isinstance(variable, relax.Var) else None
        return value if is_call_of(value, name) and self.uses[variable] == 1 else None

    def biased(self, call):
        """Return product and bias of a sum that is the end of a layer, or None."""
        if is_call_of(call, "relax.add"):
            for one, other in (call.args, reversed(call.args)):
                product = self.once(one, "relax.matmul")
                if product is not None and is_bias(other):
                    return product, other
        return None

    def visit_call_(self, call):
        is_relu = is_call_of(call, "relax.nn.relu")
        layer = self.biased(self.once(call.args[0], "relax.add") if is_relu else call)
        if layer is None:
            return super().visit_call_(call)
        product, bias = layer
        arguments = [self.visit_expr(each) for each in (*product.args, bias)]
        return relax.Call(self.fused(arguments, is_relu), arguments)

    def fused(self, arguments, is_relu):
        """Add a function for one layer, and return the variable that it is called by."""
        names = zip("xwb", arguments, strict=True)
        x, w, b = parameters = [relax.Var(name, each.ty) for name, each in names]
        inner = relax.BlockBuilder()
        with inner.function("fused", parameters, attrs={"Primitive": True}, private=True):
            with inner.dataflow():
                out = inner.emit(relax.op.add(inner.emit(relax.op.matmul(x, w)), b))
                out = inner.emit_output(relax.op.nn.relu(out) if is_relu else out)
            inner.emit_func_output(out)
        return self.builder_.add_func(inner.get()["fused"], "fused_dense")


### END SOLUTION


@tvm.transform.module_pass(opt_level=0)
class FuseDense:
    def transform_module(self, module, context):
        ### BEGIN SOLUTION
        fuser = DenseFuser(module)
        main = relax.analysis.remove_all_unused(fuser.visit_expr(module["main"]))
        fuser.builder_.update_func(module.get_global_var("main"), main)
        return fuser.builder_.get()
        ### END SOLUTION


# %% tags=["self-check"]
# %grader check fuse_perceptron

# %% tags=["raises-exception"]
check_pass(FuseDense(), Perceptron(), (4, 16))

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
