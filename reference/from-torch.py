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
# `reference/from-torch.py`: change that file, then run `make templates`. Cells like this one,
# tagged `instructor`, and the lines between solution marks are not in the students' template.
#
# **What the hidden models are.** `assignments/from-torch/models.py` has them. They use nothing but
# the operations in the table of part 3; their widths and weights are drawn anew for each grading.
#
# **What cannot be enforced.** The importer is to be written by hand. TVM has importers of its own,
# in `tvm.relax.frontend.torch`, and `relax.transform.LegalizeOps` turns operators into TensorIR. A
# submission that calls them computes the right thing and has the right structure, so it gets the
# points. The rules in part 3 forbid it. The report names cells in which the words `frontend` or
# `LegalizeOps` occur (`watch` in `assignment.toml`); whoever hides them is not found.

# %% [markdown]
# # From PyTorch to TVM
#
# A machine-learning compiler begins where a framework ends: somebody has a trained PyTorch model
# and wants it compiled. In this assignment you write what stands between the two, an importer that
# reads the graph of a PyTorch model and builds the same model in TVM.
#
# | part | what you build | name that is graded | points |
# |---|---|---|---|
# | 1 | TensorIR functions out of tensor expressions | four names, listed there | 22 |
# | 2 | a graph that calls two of them | `MyModule` | 14 |
# | 3 | an importer that gives TensorIR functions | `import_with_tensorir` | 32 |
# | 4 | an importer that gives operators | `import_with_operators` | 32 |
#
# Write your code where a cell says `YOUR CODE HERE`. Keep the names of the table and the shapes of
# parts 1 and 2. You may add cells, helper functions and experiments as you like. Before you hand
# in, choose *Restart kernel and run all cells*: what is graded is what your cells compute when they
# run once, from top to bottom.

# %% [markdown] lang="zh"
# # 从 PyTorch 到 TVM
#
# 机器学习编译器从框架结束的地方开始：有人手里有训练好的 PyTorch 模型，希望把它编译出来。
# 在本作业中，你要写的正是两者之间的那一段：一个导入器，它读取 PyTorch 模型的计算图，并在 TVM
# 中构建出同样的模型。
#
# | 部分 | 你要构建的 | 评分时查找的名字 | 分数 |
# |---|---|---|---|
# | 1 | 由张量表达式得到的 TensorIR 函数 | 四个名字，见该部分 | 22 |
# | 2 | 调用其中两个函数的计算图 | `MyModule` | 14 |
# | 3 | 生成 TensorIR 函数的导入器 | `import_with_tensorir` | 32 |
# | 4 | 生成算子的导入器 | `import_with_operators` | 32 |
#
# 请把代码写在标有 `YOUR CODE HERE` 的地方。保留表中的名字，以及第 1、2 部分中的形状。
# 你可以随意添加单元格、辅助函数和实验。提交之前，请选择“重启内核并运行所有单元格”：
# 评分的依据是从上到下运行一遍所有单元格得到的结果。

# %% [markdown] lang="ko"
# # PyTorch에서 TVM으로
#
# 기계 학습 컴파일러는 프레임워크가 끝나는 곳에서 시작합니다. 누군가 학습된 PyTorch 모델을 가지고
# 있고, 그것을 컴파일하려고 합니다. 이 과제에서는 둘 사이를 잇는 것, 곧 PyTorch 모델의 계산 그래프를
# 읽어 TVM 안에 같은 모델을 만드는 임포터를 작성합니다.
#
# | 파트 | 만드는 것 | 채점되는 이름 | 점수 |
# |---|---|---|---|
# | 1 | 텐서 표현식으로 만든 TensorIR 함수 | 이름 네 개, 그 파트에 있음 | 22 |
# | 2 | 그중 두 함수를 호출하는 그래프 | `MyModule` | 14 |
# | 3 | TensorIR 함수를 만드는 임포터 | `import_with_tensorir` | 32 |
# | 4 | 연산자를 만드는 임포터 | `import_with_operators` | 32 |
#
# `YOUR CODE HERE`라고 적힌 곳에 코드를 작성하세요. 표에 있는 이름과 파트 1, 2의 형상(shape)은
# 그대로 두세요. 셀, 보조 함수, 실험은 마음껏 추가해도 됩니다. 제출하기 전에 커널을 다시 시작하고
# 모든 셀을 실행하세요. 셀을 위에서 아래로 한 번 실행했을 때 계산되는 것이 채점됩니다.

# %% [markdown]
# ## Part 0. Getting ready
#
# The next cell installs TVM where it is missing, for example on Colab. The versions matter: TVM's
# Python interface changes from release to release, and this text is written for 0.27.

# %% [markdown] lang="zh"
# ## 第 0 部分　准备工作
#
# 如果没有安装 TVM（例如在 Colab 上），下面的单元格会安装它。版本很重要：TVM 的 Python
# 接口随版本而变，本文针对的是 0.27 版。

# %% [markdown] lang="ko"
# ## 파트 0. 준비
#
# 다음 셀은 TVM이 없는 곳(예를 들어 Colab)에 TVM을 설치합니다. 버전이 중요합니다. TVM의 파이썬
# 인터페이스는 릴리스마다 바뀌며, 이 글은 0.27을 기준으로 합니다.

# %%
import importlib.util

if importlib.util.find_spec("tvm") is None:
    # %pip install --quiet apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post1
    print("TVM is installed now. Restart the kernel if the next cell fails.")

# %%
import operator
import os

# TVM otherwise ties this process to some of the processors, and PyTorch then fights for them.
# zh: 否则 TVM 会把本进程绑定到部分处理器上，PyTorch 会与它争抢。
# ko: 그대로 두면 TVM이 프로세스를 일부 프로세서에 묶어, PyTorch가 그것을 두고 다투게 됩니다.
os.environ.setdefault("TVM_BIND_THREADS", "0")

import numpy as np
import torch
import tvm
from torch import fx, nn
from tvm import relax, te, topi
from tvm.script import relax as R

torch.set_num_threads(1)
print("TVM", tvm.__version__, "and PyTorch", torch.__version__)

# %% tags=["self-check"]
# `%grader check` says how your solution stands. Where the grader is not installed, it does nothing.
# zh: `%grader check` 会告诉你目前的解答情况。如果没有安装评分器，它什么也不做。
# ko: `%grader check`는 지금까지의 풀이가 어떤지 알려 줍니다.
# ko: 채점기가 설치되어 있지 않으면 아무 일도 하지 않습니다.
try:
    get_ipython().run_line_magic("load_ext", "grader")
    get_ipython().run_line_magic("grader", "use from-torch")
except ImportError:
    get_ipython().register_magic_function(
        lambda _line: print("The grader is not installed here: nothing was checked."),
        magic_name="grader",
    )

# %% [markdown]
# ## Part 1. Functions out of tensor expressions
#
# A TensorIR function written by hand has loops, blocks and buffers. A **tensor expression** (TE)
# leaves all of that out and says one thing only: what each item of the result is.
#
# * `te.placeholder(shape, name=..., dtype=...)` stands for an input. It has a shape and a dtype,
#   but no contents.
# * `te.compute(shape, rule)` is a tensor whose items are given by a rule: a function of the
#   indices.
# * `te.reduce_axis((start, end), name=...)` is an index to sum over, and
#   `te.sum(expression, axis=...)` is the sum.
#
# A Python function that takes tensors and returns one works for all shapes, because it reads them
# off its arguments. Here are two. `te_double` works for any number of dimensions: its rule collects
# the indices in a tuple, and `x(*indices)` is the item there.

# %% [markdown] lang="zh"
# ## 第 1 部分　由张量表达式得到函数
#
# 手写的 TensorIR 函数里有循环、块和缓冲区。**张量表达式**（TE）省去了这一切，只说一件事：
# 结果的每个元素是什么。
#
# * `te.placeholder(shape, name=..., dtype=...)` 代表一个输入。它有形状和数据类型，但没有内容。
# * `te.compute(shape, rule)` 是一个张量，其元素由一条规则给出：规则是下标的函数。
# * `te.reduce_axis((start, end), name=...)` 是求和用的下标，`te.sum(expression, axis=...)`
#   则是这个和。
#
# 一个接受张量并返回张量的 Python 函数适用于各种形状，因为它从自己的参数上读取形状。下面有两个例子。
# `te_double` 适用于任意维数：它的规则把下标收集到一个元组里，`x(*indices)` 就是该处的元素。

# %% [markdown] lang="ko"
# ## 파트 1. 텐서 표현식으로 만드는 함수
#
# 손으로 쓴 TensorIR 함수에는 루프와 블록과 버퍼가 있습니다. **텐서 표현식**(TE)은 그 모두를
# 생략하고 한 가지만 말합니다. 곧 결과의 각 원소가 무엇인지입니다.
#
# * `te.placeholder(shape, name=..., dtype=...)`는 입력을 나타냅니다. 형상과 자료형은 있지만 내용은
#   없습니다.
# * `te.compute(shape, rule)`는 규칙으로 원소가 정해지는 텐서입니다. 규칙은 인덱스의 함수입니다.
# * `te.reduce_axis((start, end), name=...)`는 합을 구할 인덱스이고,
#   `te.sum(expression, axis=...)`가 그 합입니다.
#
# 텐서를 받아 텐서를 돌려주는 파이썬 함수는 인자에서 형상을 읽으므로 모든 형상에 쓸 수 있습니다.
# 아래에 둘이 있습니다. `te_double`은 차원이 몇 개든 쓸 수 있습니다. 규칙이 인덱스를 튜플로 모으며,
# `x(*indices)`가 그 자리의 원소입니다.


# %%
def te_double(x: te.Tensor) -> te.Tensor:
    return te.compute(x.shape, lambda *indices: 2 * x(*indices), name="doubled")


def te_row_sums(x: te.Tensor) -> te.Tensor:
    rows, columns = x.shape
    column = te.reduce_axis((0, columns), name="column")
    return te.compute((rows,), lambda row: te.sum(x[row, column], axis=column), name="row_sums")


matrix = te.placeholder((6, 8), name="matrix", dtype="float32")
doubled = te_double(matrix)
sums = te_row_sums(doubled)
print(type(sums).__name__, sums.shape, sums.dtype)

# %% [markdown]
# `te.create_prim_func` makes a TensorIR function of it. Its list is the list of parameters: inputs
# first, then outputs. What is computed on the way and is not in the list is allocated inside of the
# function. So the same expressions give different functions:

# %% [markdown] lang="zh"
# `te.create_prim_func` 把它变成 TensorIR 函数。它的列表就是参数列表：先是输入，然后是输出。
# 途中计算出来而不在列表里的张量，会在函数内部分配。因此，同样的表达式可以得到不同的函数：

# %% [markdown] lang="ko"
# `te.create_prim_func`는 이것으로 TensorIR 함수를 만듭니다. 그 목록이 매개변수 목록입니다. 입력이
# 먼저이고 출력이 다음입니다. 도중에 계산되지만 목록에 없는 것은 함수 안에서 할당됩니다. 그래서 같은
# 표현식에서 서로 다른 함수가 나옵니다.

# %%
te.create_prim_func([matrix, doubled]).show()

# %%
te.create_prim_func([matrix, sums]).show()

# %%
te.create_prim_func([matrix, doubled, sums]).show()

# %% [markdown]
# The first one doubles. The second one does both, in two blocks; `doubled` is scratch space, which
# a schedule can make vanish. The third one does both as well, but its caller must supply the memory
# for `doubled`, and gets it filled: `doubled` is an output. That is rarely what you want, since
# nobody may then remove it.
#
# ### Your turn
#
# Write two tensor expressions, which you need all through the assignment:
#
# * `te_matmul(a, b)`: the product of two matrices of any fitting shapes,
# * `te_relu(x)`: x where x is positive, 0 elsewhere, for any number of dimensions. `te.max(a, b)`
#   is the larger one of two numbers. Mind the dtype of the zero: `te.const(0, x.dtype)`.

# %% [markdown] lang="zh"
# 第一个函数把输入加倍。第二个函数用两个块完成两件事；`doubled` 是临时空间，调度可以让它消失。
# 第三个函数也完成两件事，但调用者必须为 `doubled` 提供内存，并得到填好的内容：`doubled`
# 是一个输出。你很少会想要这样，因为此后谁也不能再去掉它。
#
# ### 轮到你了
#
# 写两个张量表达式，整个作业都要用到它们：
#
# * `te_matmul(a, b)`：两个矩阵的乘积，形状任意，只要相配；
# * `te_relu(x)`：x 为正处取 x，其他地方取 0，维数任意。`te.max(a, b)` 是两个数中较大的一个。
#   注意零的数据类型：`te.const(0, x.dtype)`。

# %% [markdown] lang="ko"
# 첫째 함수는 두 배로 만듭니다. 둘째 함수는 두 가지를 두 블록으로 합니다. `doubled`는 임시 공간이며,
# 스케줄로 없앨 수 있습니다. 셋째 함수도 두 가지를 다 하지만, 호출하는 쪽에서 `doubled`의 메모리를
# 마련해야 하고 그것이 채워져 돌아옵니다. 곧 `doubled`는 출력입니다. 그러면 아무도 그것을 없앨 수
# 없으므로, 이렇게 하고 싶은 경우는 드뭅니다.
#
# ### 여러분 차례
#
# 텐서 표현식 두 개를 작성하세요. 과제 내내 필요합니다.
#
# * `te_matmul(a, b)`: 형상이 맞는 임의의 두 행렬의 곱.
# * `te_relu(x)`: x가 양수인 곳은 x, 나머지는 0. 차원이 몇 개든 됩니다. `te.max(a, b)`는 두 수
#   가운데 큰 쪽입니다. 0의 자료형에 주의하세요: `te.const(0, x.dtype)`.


# %%
def te_matmul(a: te.Tensor, b: te.Tensor) -> te.Tensor:
    ### BEGIN SOLUTION
    rows, inner = a.shape
    columns = b.shape[1]
    assert inner == b.shape[0], f"{a.shape} and {b.shape} do not fit"
    k = te.reduce_axis((0, inner), name="k")
    return te.compute(
        (rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="matmul"
    )
    ### END SOLUTION


def te_relu(x: te.Tensor) -> te.Tensor:
    ### BEGIN SOLUTION
    zero = te.const(0, x.dtype)
    return te.compute(x.shape, lambda *indices: te.max(x(*indices), zero), name="relu")
    ### END SOLUTION


# %% [markdown]
# Now make four functions of them. The tensors are float32; A is (128, 64), B is (64, 32), X is (6,
# 10, 20).
#
# | name | parameters | what it computes | points |
# |---|---|---|---|
# | `matmul_func` | A, B, C | C = A B | 6 |
# | `relu_func` | X, Y | Y = ReLU(X) | 4 |
# | `fused_func` | A, B, D | D = ReLU(A B), the product is no parameter | 6 |
# | `with_intermediate_func` | A, B, C, D | C = A B and D = ReLU(C) | 6 |

# %% [markdown] lang="zh"
# 现在用它们构造四个函数。张量都是 float32；A 是 (128, 64)，B 是 (64, 32)，X 是 (6, 10, 20)。
#
# | 名字 | 参数 | 计算什么 | 分数 |
# |---|---|---|---|
# | `matmul_func` | A, B, C | C = A B | 6 |
# | `relu_func` | X, Y | Y = ReLU(X) | 4 |
# | `fused_func` | A, B, D | D = ReLU(A B)，乘积不是参数 | 6 |
# | `with_intermediate_func` | A, B, C, D | C = A B 以及 D = ReLU(C) | 6 |

# %% [markdown] lang="ko"
# 이제 이것으로 함수 네 개를 만드세요. 텐서는 모두 float32이고, A는 (128, 64), B는 (64, 32), X는 (6,
# 10, 20)입니다.
#
# | 이름 | 매개변수 | 계산하는 것 | 점수 |
# |---|---|---|---|
# | `matmul_func` | A, B, C | C = A B | 6 |
# | `relu_func` | X, Y | Y = ReLU(X) | 4 |
# | `fused_func` | A, B, D | D = ReLU(A B), 곱은 매개변수가 아님 | 6 |
# | `with_intermediate_func` | A, B, C, D | C = A B 그리고 D = ReLU(C) | 6 |

# %%
A = te.placeholder((128, 64), name="A", dtype="float32")
B = te.placeholder((64, 32), name="B", dtype="float32")
X = te.placeholder((6, 10, 20), name="X", dtype="float32")

# Define matmul_func, relu_func, fused_func and with_intermediate_func.
# zh: 定义 matmul_func、relu_func、fused_func 和 with_intermediate_func。
# ko: matmul_func, relu_func, fused_func, with_intermediate_func를 정의하세요.
### BEGIN SOLUTION
C = te_matmul(A, B)
D = te_relu(C)
matmul_func = te.create_prim_func([A, B, C])
relu_func = te.create_prim_func([X, te_relu(X)])
fused_func = te.create_prim_func([A, B, D])
with_intermediate_func = te.create_prim_func([A, B, C, D])
### END SOLUTION

# %% tags=["self-check"]
# %grader check matmul relu fused with_intermediate

# %% tags=["raises-exception"]
fused_func.show()

# %% [markdown]
# `call` compiles a function and calls it. Outputs are memory that the caller has filled with NaN,
# so that an item that was never written is seen.

# %% [markdown] lang="zh"
# `call` 编译一个函数并调用它。输出是调用者用 NaN 填满的内存，因此没有写到的元素一眼就能看出来。

# %% [markdown] lang="ko"
# `call`은 함수를 컴파일하고 호출합니다. 출력은 호출하는 쪽이 NaN으로 채운 메모리이므로, 쓰이지 않은
# 원소는 눈에 띕니다.


# %% tags=["raises-exception"]
def call(function, inputs, output_shapes):
    """Return the outputs of a TensorIR function as NumPy arrays."""
    outputs = [tvm.runtime.tensor(np.full(shape, np.nan, "float32")) for shape in output_shapes]
    tvm.compile(function, "llvm")(*map(tvm.runtime.tensor, inputs), *outputs)
    return [output.numpy() for output in outputs]


def noise(*shape):
    """Return random numbers, half of them negative."""
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


a, b, x = noise(128, 64), noise(64, 32), noise(6, 10, 20)
product = a @ b
for function, inputs, desired in (
    (matmul_func, [a, b], [product]),
    (relu_func, [x], [np.maximum(x, 0)]),
    (fused_func, [a, b], [np.maximum(product, 0)]),
    (with_intermediate_func, [a, b], [product, np.maximum(product, 0)]),
):
    actual = call(function, inputs, [array.shape for array in desired])
    for one, other in zip(actual, desired, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
print("All four functions are right.")

# %% [markdown]
# ## Part 2. A graph, call by call
#
# A model is more than one function. `relax.BlockBuilder` builds a module whose Relax function
# `main` calls TensorIR functions one after another:
#
# * `relax.Var(name, R.Tensor(shape, dtype))` is an input of the graph.
# * `with bb.function(name):` opens a function, `with bb.dataflow():` in it a dataflow block, in
#   which nothing has a side effect.
# * `bb.emit_te(expression, *inputs)` does four things. It makes a placeholder for each input; it
#   calls `expression` with them; it makes a TensorIR function by `te.create_prim_func` and adds
#   that to the module; and it adds a call of it, `R.call_tir`, to the graph. It returns the Relax
#   variable that holds the result.
# * `bb.emit_output(value)` makes a value visible outside of the dataflow block.
# * `bb.emit_func_output(value, parameters)` ends the function. Parameters are named either here,
#   which is handy when they are found on the way, or at the beginning:
#   `bb.function(name, parameters)`.

# %% [markdown] lang="zh"
# ## 第 2 部分　逐个调用地构建计算图
#
# 一个模型不止一个函数。`relax.BlockBuilder` 构建一个模块，其中的 Relax 函数 `main` 依次调用
# TensorIR 函数：
#
# * `relax.Var(name, R.Tensor(shape, dtype))` 是计算图的一个输入。
# * `with bb.function(name):` 打开一个函数，`with bb.dataflow():` 在其中打开一个数据流块，
#   块里的一切都没有副作用。
# * `bb.emit_te(expression, *inputs)` 做四件事：为每个输入创建占位符；用它们调用 `expression`；通过
#   `te.create_prim_func` 得到 TensorIR 函数并加入模块；再在计算图中加入对它的调用 `R.call_tir`。
#   它返回保存结果的 Relax 变量。
# * `bb.emit_output(value)` 使一个值在数据流块之外可见。
# * `bb.emit_func_output(value, parameters)` 结束函数。
#   参数可以在这里给出（当参数是在途中陆续得到时，这很方便），也可以在开头给出：
#   `bb.function(name, parameters)`。

# %% [markdown] lang="ko"
# ## 파트 2. 호출을 하나씩 이어 만드는 그래프
#
# 모델은 함수 하나로 끝나지 않습니다. `relax.BlockBuilder`는 Relax 함수 `main`이 TensorIR 함수를
# 차례로 호출하는 모듈을 만듭니다.
#
# * `relax.Var(name, R.Tensor(shape, dtype))`는 그래프의 입력입니다.
# * `with bb.function(name):`은 함수를 열고, `with bb.dataflow():`는 그 안에 데이터플로우 블록을
#   엽니다. 이 블록 안에는 부수 효과가 없습니다.
# * `bb.emit_te(expression, *inputs)`는 네 가지 일을 합니다. 입력마다 플레이스홀더를 만들고,
#   그것으로 `expression`을 호출하고, `te.create_prim_func`로 TensorIR 함수를 만들어 모듈에 넣고, 그
#   함수의 호출 `R.call_tir`를 그래프에 더합니다. 결과를 담는 Relax 변수를 돌려줍니다.
# * `bb.emit_output(value)`는 값을 데이터플로우 블록 바깥에서 보이게 합니다.
# * `bb.emit_func_output(value, parameters)`는 함수를 끝냅니다. 매개변수는 도중에 하나씩 알게 될 때
#   편하도록 여기서 밝히거나, 처음에 `bb.function(name, parameters)`로 밝힙니다.

# %%
matrix = relax.Var("matrix", R.Tensor((6, 8), "float32"))
bb = relax.BlockBuilder()
with bb.function("main"):
    with bb.dataflow():
        doubled = bb.emit_te(te_double, matrix)
        sums = bb.emit_te(te_row_sums, doubled)
        output = bb.emit_output(sums)
    bb.emit_func_output(output, [matrix])
example = bb.get()
example.show()

# %% [markdown]
# Compare the printed module with the cell, line by line. What `emit_te` returned are variables of
# the graph, with a type but without contents:

# %% [markdown] lang="zh"
# 请逐行对照打印出的模块与上面的单元格。`emit_te` 返回的是计算图的变量，它们有类型，没有内容：

# %% [markdown] lang="ko"
# 출력된 모듈을 위의 셀과 한 줄씩 비교해 보세요. `emit_te`가 돌려준 것은 그래프의 변수이며, 타입은
# 있지만 내용은 없습니다.

# %%
print(type(sums).__name__, isinstance(sums, relax.Var), sums.ty)

# %% [markdown]
# A virtual machine runs a module. `run` builds it for the processor and calls `main`.

# %% [markdown] lang="zh"
# 模块由虚拟机运行。`run` 为处理器构建模块，并调用 `main`。

# %% [markdown] lang="ko"
# 모듈은 가상 머신이 실행합니다. `run`은 모듈을 프로세서용으로 빌드하고 `main`을 호출합니다.


# %%
def run(module, *inputs):
    """Return what `main` computes from NumPy arrays."""
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    return machine["main"](*map(tvm.runtime.tensor, inputs)).numpy()


values = noise(6, 8)
np.testing.assert_allclose(run(example, values), 2 * values.sum(axis=1), rtol=1e-4, atol=1e-4)

# %% [markdown]
# ### Your turn
#
# Build `MyModule`: its `main` takes A (128, 64) and B (64, 32), float32, and returns ReLU(A B). It
# calls two TensorIR functions, one for the product and one for ReLU, in a dataflow block (6
# points); 8 points are for right outputs.

# %% [markdown] lang="zh"
# ### 轮到你了
#
# 构建 `MyModule`：它的 `main` 接受 float32 的 A (128, 64) 和 B (64, 32)，返回 ReLU(A B)。
# 它在数据流块中调用两个 TensorIR 函数，一个做乘积，一个做 ReLU（6 分）；输出正确得 8 分。

# %% [markdown] lang="ko"
# ### 여러분 차례
#
# `MyModule`을 만드세요. 그 `main`은 float32인 A (128, 64)와 B (64, 32)를 받아 ReLU(A B)를
# 돌려줍니다. 데이터플로우 블록 안에서 곱과 ReLU를 위한 TensorIR 함수를 하나씩 호출합니다(6점). 출력이
# 맞으면 8점입니다.

# %%
# Build MyModule here.
# zh: 在这里构建 MyModule。
# ko: 여기에서 MyModule을 만드세요.
### BEGIN SOLUTION
A = relax.Var("A", R.Tensor((128, 64), "float32"))
B = relax.Var("B", R.Tensor((64, 32), "float32"))
bb = relax.BlockBuilder()
with bb.function("main", [A, B]):
    with bb.dataflow():
        product = bb.emit_te(te_matmul, A, B)
        positive = bb.emit_te(te_relu, product)
        output = bb.emit_output(positive)
    bb.emit_func_output(output)
MyModule = bb.get()
### END SOLUTION

# %% tags=["self-check"]
# %grader check builder

# %% tags=["raises-exception"]
MyModule.show()
np.testing.assert_allclose(run(MyModule, a, b), np.maximum(a @ b, 0), rtol=1e-4, atol=1e-4)
print("The graph is right.")

# %% [markdown]
# ## Part 3. An importer
#
# ### What PyTorch gives
#
# `torch.fx` runs the `forward` of a model with stand-ins in place of tensors, and writes down what
# happens to them. The result is a `GraphModule`: the model together with its graph.

# %% [markdown] lang="zh"
# ## 第 3 部分　导入器
#
# ### PyTorch 提供什么
#
# `torch.fx` 用替身代替张量来运行模型的 `forward`，并记录发生在它们身上的一切。结果是一个
# `GraphModule`：模型连同它的计算图。

# %% [markdown] lang="ko"
# ## 파트 3. 임포터
#
# ### PyTorch가 주는 것
#
# `torch.fx`는 텐서 대신 대역을 넣어 모델의 `forward`를 실행하고, 그 대역에 일어나는 일을 적어
# 둡니다. 결과는 모델과 그 그래프를 함께 담은 `GraphModule`입니다.


# %%
class Product(nn.Module):
    """A product with a matrix that belongs to the model, then ReLU."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 32))

    def forward(self, x):
        return torch.relu(torch.matmul(x, self.weight))


class Gate(nn.Module):
    """A model with another model inside of it."""

    def __init__(self):
        super().__init__()
        self.inner = Product()
        self.head = nn.Sequential(nn.Linear(32, 8), nn.ReLU())

    def forward(self, x, y):
        return self.head(self.inner(x) + y)


def show_graph(graph_module):
    for node in graph_module.graph.nodes:
        print(f"{node.op:14}{node.name:8} target={node.target}  args={node.args}  {node.kwargs}")


product_traced = fx.symbolic_trace(Product())
print(isinstance(product_traced, fx.GraphModule))
show_graph(product_traced)

# %%
show_graph(fx.symbolic_trace(Gate()))

# %% [markdown]
# (`graph_module.graph.print_tabular()` prints the same if the package tabulate is installed.) The
# nodes are in an order in which every node comes after those it needs. There are five kinds here:
#
# | `node.op` | what it is | `node.target` |
# |---|---|---|
# | `placeholder` | the next input of the model | its name |
# | `get_attr` | a parameter of the model | where it is, with dots: `"inner.weight"` |
# | `call_function` | a call of a Python function | the function itself: `torch.matmul` |
# | `call_module` | a call of a layer | where the layer is, with dots: `"head.0"` |
# | `output` | the end; `node.args[0]` is what is returned | |
#
# The arguments in `node.args` are nodes too. `dict(graph_module.named_modules())` maps the names of
# layers to the layers.
#
# ### What an importer does
#
# It walks over the nodes and keeps a dictionary from each node to what stands for it in TVM: a
# variable for an input, a constant for a parameter, the variable that the builder returned for a
# call. To translate a call it looks up what stands for the arguments, and then how to translate
# this function or this kind of layer.

# %% [markdown] lang="zh"
# （如果安装了 tabulate 包，`graph_module.graph.print_tabular()` 也会打印同样的内容。）
# 节点按这样的顺序排列：每个节点都在它所需要的节点之后。这里有五种节点：
#
# | `node.op` | 是什么 | `node.target` |
# |---|---|---|
# | `placeholder` | 模型的下一个输入 | 它的名字 |
# | `get_attr` | 模型的一个参数 | 它的位置，用点分隔：`"inner.weight"` |
# | `call_function` | 对 Python 函数的调用 | 函数本身：`torch.matmul` |
# | `call_module` | 对层的调用 | 层的位置，用点分隔：`"head.0"` |
# | `output` | 结尾；`node.args[0]` 是返回的东西 | |
#
# `node.args` 中的参数也是节点。`dict(graph_module.named_modules())` 把层的名字映射到层。
#
# ### 导入器做什么
#
# 它遍历节点，并维护一个字典，从每个节点映射到它在 TVM 中的对应物：输入对应变量，模型参数对应常量，
# 调用对应构建器返回的变量。要翻译一个调用，它先查出各个参数的对应物，
# 再查出如何翻译这个函数或者这种层。

# %% [markdown] lang="ko"
# (tabulate 패키지가 설치되어 있으면 `graph_module.graph.print_tabular()`도 같은 것을 출력합니다.)
# 노드는 자신이 필요로 하는 노드보다 뒤에 오도록 늘어서 있습니다. 여기에는 다섯 종류가 있습니다.
#
# | `node.op` | 무엇인가 | `node.target` |
# |---|---|---|
# | `placeholder` | 모델의 다음 입력 | 그 이름 |
# | `get_attr` | 모델의 매개변수 | 점으로 나타낸 위치: `"inner.weight"` |
# | `call_function` | 파이썬 함수의 호출 | 함수 자체: `torch.matmul` |
# | `call_module` | 레이어의 호출 | 점으로 나타낸 레이어의 위치: `"head.0"` |
# | `output` | 끝. `node.args[0]`이 반환되는 것 | |
#
# `node.args`의 인자도 노드입니다. `dict(graph_module.named_modules())`는 레이어의 이름에서 레이어를 찾아
# 줍니다.
#
# ### 임포터가 하는 일
#
# 노드를 차례로 돌면서, 각 노드에서 TVM 안의 대응물로 가는 사전을 유지합니다. 입력에는 변수가,
# 매개변수에는 상수가, 호출에는 빌더가 돌려준 변수가 대응합니다. 호출을 옮기려면 인자들의 대응물을
# 찾고, 이 함수나 이런 종류의 레이어를 어떻게 옮기는지 찾습니다.

# %% [markdown]
# ### Your turn
#
# Write `import_with_tensorir(fx_module, input_shapes)`. It gets a traced model and the list of its
# inputs' shapes, all float32, and returns a module with a Relax function `main` that takes the
# inputs, in the order of the placeholders, and returns what the model returns. Parameters of the
# model become constants: they are no inputs of `main`. Every call in the graph is a call of a
# TensorIR function that was made by `bb.emit_te`.
#
# It is graded on the perceptron below (12 points) and on five more models, which you cannot see (4
# points each). They differ in depth, widths, names and the way their parts are put together, and
# take one or two inputs. All tensors are matrices; parameters that are added may be vectors, which
# are added to each row. These operations may occur, and no others:
#
# | in the graph | where |
# |---|---|
# | `nn.Linear`, with or without a bias | layer |
# | `nn.ReLU` | layer |
# | `torch.relu`, `nn.functional.relu` | function |
# | `torch.matmul` | function |
# | `torch.add`, `operator.add` (which is `x + y`) | function |
#
# **Rules.** Write the importer yourself: to call an importer of TVM (`tvm.relax.frontend`), or to
# turn the module of one part into that of the other by a pass, is not a solution. And nothing may
# be guessed: an importer that meets an operation it does not know should raise an error that names
# it.
#
# Three pieces are useful for both importers, so write them first. `map_param` makes a constant of a
# parameter: `relax.const` takes a NumPy array and a dtype. `fetch_attr` finds what a dotted target
# stands for. `from_fx` walks over the graph; what it does with functions and layers is for the maps
# to say. They are called like this, with the inputs already translated:
#
# * `call_function_map[function](bb, *inputs)`
# * `call_module_map[type_of_layer](bb, layer, *inputs)`

# %% [markdown] lang="zh"
# ### 轮到你了
#
# 编写 `import_with_tensorir(fx_module, input_shapes)`。
# 它得到一个追踪过的模型以及各输入的形状列表（都是 float32），返回一个模块；模块中的 Relax 函数
# `main` 按占位符的顺序接受输入，返回模型所返回的结果。模型的参数变成常量：它们不是 `main` 的输入。
# 计算图中的每个调用，都是对由 `bb.emit_te` 生成的 TensorIR 函数的调用。
#
# 评分用到下面的感知机（12 分），以及另外五个你看不到的模型（每个 4 分）。它们的深度、宽度、
# 名字和组合方式各不相同，有一个或两个输入。所有张量都是矩阵；用于相加的参数可以是向量，
# 它会加到每一行上。可能出现的运算只有这些：
#
# | 在计算图中 | 种类 |
# |---|---|
# | `nn.Linear`，有偏置或没有偏置 | 层 |
# | `nn.ReLU` | 层 |
# | `torch.relu`、`nn.functional.relu` | 函数 |
# | `torch.matmul` | 函数 |
# | `torch.add`、`operator.add`（也就是 `x + y`） | 函数 |
#
# **规则**：导入器要自己写。调用 TVM 自带的导入器（`tvm.relax.frontend`），或者用一个 pass
# 把一个部分的模块变成另一个部分的模块，都不算解答。也不要猜测：导入器遇到不认识的运算时，
# 应当抛出错误并说出它的名字。
#
# 有三样东西对两个导入器都有用，所以先写它们。`map_param` 把一个参数变成常量：`relax.const` 接受
# NumPy 数组和数据类型。`fetch_attr` 找出带点的目标所指的东西。`from_fx` 遍历计算图；
# 怎样处理函数和层，由两个映射来决定。它们是这样被调用的，其中输入已经翻译好：
#
# * `call_function_map[function](bb, *inputs)`
# * `call_module_map[type_of_layer](bb, layer, *inputs)`

# %% [markdown] lang="ko"
# ### 여러분 차례
#
# `import_with_tensorir(fx_module, input_shapes)`를 작성하세요. 추적된 모델과 그 입력 형상의
# 목록(모두 float32)을 받아 모듈을 돌려줍니다. 그 모듈의 Relax 함수 `main`은 플레이스홀더 순서대로
# 입력을 받아, 모델이 돌려주는 것을 돌려줍니다. 모델의 매개변수는 상수가 되며, `main`의 입력이
# 아닙니다. 그래프의 모든 호출은 `bb.emit_te`로 만든 TensorIR 함수의 호출입니다.
#
# 아래의 퍼셉트론(12점)과, 보이지 않는 모델 다섯 개(각 4점)로 채점합니다. 그 모델들은 깊이, 너비,
# 이름, 짜인 방식이 서로 다르고 입력은 하나 또는 둘입니다. 모든 텐서는 행렬입니다. 더해지는
# 매개변수는 벡터일 수 있으며, 모든 행에 더해집니다. 나올 수 있는 연산은 다음이 전부입니다.
#
# | 그래프에서 | 종류 |
# |---|---|
# | `nn.Linear`, 편향이 있거나 없음 | 레이어 |
# | `nn.ReLU` | 레이어 |
# | `torch.relu`, `nn.functional.relu` | 함수 |
# | `torch.matmul` | 함수 |
# | `torch.add`, `operator.add`(곧 `x + y`) | 함수 |
#
# **규칙**: 임포터는 직접 작성하세요. TVM의 임포터(`tvm.relax.frontend`)를 호출하거나, 한 파트의
# 모듈을 패스로 바꾸어 다른 파트의 모듈로 만드는 것은 풀이가 아닙니다. 짐작도 하지 마세요. 모르는
# 연산을 만난 임포터는 그 이름을 밝히는 오류를 내야 합니다.
#
# 세 조각은 두 임포터 모두에 쓸모가 있으니 먼저 작성하세요. `map_param`은 매개변수를 상수로
# 만듭니다. `relax.const`는 NumPy 배열과 자료형을 받습니다. `fetch_attr`는 점으로 나타낸 대상이
# 가리키는 것을 찾습니다. `from_fx`는 그래프를 돌며, 함수와 레이어를 어떻게 다룰지는 두 맵이 정합니다.
# 맵은 이미 옮겨진 입력과 함께 다음과 같이 호출됩니다.
#
# * `call_function_map[function](bb, *inputs)`
# * `call_module_map[type_of_layer](bb, layer, *inputs)`


# %%
def map_param(parameter):
    """Return a parameter of a PyTorch model as a constant of Relax."""
    ### BEGIN SOLUTION
    return relax.const(parameter.detach().cpu().numpy(), "float32")
    ### END SOLUTION


def fetch_attr(fx_module, target):
    """Return what a dotted name such as "inner.weight" stands for."""
    ### BEGIN SOLUTION
    found = fx_module
    for name in target.split("."):
        found = getattr(found, name)
    return found
    ### END SOLUTION


def from_fx(fx_module, input_shapes, call_function_map, call_module_map):
    """Return a module whose `main` is the graph of a traced PyTorch model."""
    layers = dict(fx_module.named_modules())
    translated = {}  # from each node to what stands for it
    parameters = []
    bb = relax.BlockBuilder()
    with bb.function("main"):
        with bb.dataflow():
            for node in fx_module.graph.nodes:
                # Translate one node. At the end, `output` holds what bb.emit_output returned.
                # zh: 翻译一个节点。最后，`output` 保存 bb.emit_output 返回的结果。
                # ko: 노드 하나를 옮깁니다. 끝에는 bb.emit_output이 돌려준 것이 `output`에 있습니다.
                ### BEGIN SOLUTION
                inputs = [translated[argument] for argument in node.args]
                if node.op == "placeholder":
                    shape = input_shapes[len(parameters)]
                    translated[node] = relax.Var(node.name, R.Tensor(shape, "float32"))
                    parameters.append(translated[node])
                elif node.op == "get_attr":
                    translated[node] = map_param(fetch_attr(fx_module, node.target))
                elif node.op == "call_function" and node.target in call_function_map:
                    translated[node] = call_function_map[node.target](bb, *inputs)
                elif node.op == "call_module" and type(layers[node.target]) in call_module_map:
                    layer = layers[node.target]
                    translated[node] = call_module_map[type(layer)](bb, layer, *inputs)
                elif node.op == "output":
                    output = bb.emit_output(inputs[0])
                else:
                    raise NotImplementedError(f"cannot import {node.op} of {node.target}")
                ### END SOLUTION
        bb.emit_func_output(output, parameters)
    return bb.get()


# %% [markdown]
# Now the maps, and with them the importer. `topi`, TVM's library of tensor expressions, has
# `topi.add(x, y)`, which adds a vector to each row, and `topi.nn.dense(x, weight)`, which computes
# `x @ weight.T` as `nn.Linear` does. What is the bias of a layer without one?

# %% [markdown] lang="zh"
# 现在写两个映射，并由此得到导入器。`topi` 是 TVM 的张量表达式库，其中 `topi.add(x, y)`
# 会把向量加到每一行上，`topi.nn.dense(x, weight)` 计算 `x @ weight.T`，与 `nn.Linear` 相同。
# 没有偏置的层，它的偏置是什么？

# %% [markdown] lang="ko"
# 이제 맵을 만들면 임포터가 됩니다. `topi`는 TVM의 텐서 표현식 라이브러리입니다. `topi.add(x, y)`는
# 벡터를 모든 행에 더하고, `topi.nn.dense(x, weight)`는 `nn.Linear`처럼 `x @ weight.T`를 계산합니다.
# 편향이 없는 레이어의 편향은 무엇일까요?


# %%
def import_with_tensorir(fx_module, input_shapes):
    """Return the module of a traced model; all of its calls are of TensorIR functions."""
    ### BEGIN SOLUTION

    def map_linear(bb, layer, x):
        product = bb.emit_te(topi.nn.dense, x, map_param(layer.weight))
        if layer.bias is None:
            return product
        return bb.emit_te(topi.add, product, map_param(layer.bias))

    def map_matmul(bb, x, y):
        return bb.emit_te(te_matmul, x, y)

    def map_add(bb, x, y):
        return bb.emit_te(topi.add, x, y)

    def map_relu(bb, x):
        return bb.emit_te(te_relu, x)

    functions = {
        torch.matmul: map_matmul,
        torch.relu: map_relu,
        nn.functional.relu: map_relu,
        torch.add: map_add,
        operator.add: map_add,
    }
    modules = {nn.Linear: map_linear, nn.ReLU: lambda bb, _, x: map_relu(bb, x)}
    return from_fx(fx_module, input_shapes, functions, modules)
    ### END SOLUTION


# %% tags=["self-check"]
# %grader check tensorir_mlp


# %% tags=["raises-exception"]
product_module = import_with_tensorir(product_traced, [(1, 64)])
product_module["main"].show()

# %% [markdown]
# ### The perceptron
#
# This model is the one you know: two linear layers for images of 28 by 28 pixels in ten classes.
# Its parameters are random here; an importer does not care whether a model was trained. `compare`
# runs a model in PyTorch and in TVM. Write more models from the table of operations, and try them
# too.

# %% [markdown] lang="zh"
# ### 感知机
#
# 这个模型你已经认识：两个线性层，用于把 28 乘 28 像素的图像分成十类。这里它的参数是随机的；
# 导入器并不关心模型是否训练过。`compare` 分别用 PyTorch 和 TVM 运行一个模型。
# 请用运算表中的运算多写一些模型，也试试它们。

# %% [markdown] lang="ko"
# ### 퍼셉트론
#
# 이미 아는 모델입니다. 28×28 픽셀의 그림을 열 가지로 나누는 선형 레이어 두 개입니다. 여기서 매개변수는
# 무작위입니다. 임포터에게는 모델이 학습되었는지가 상관없습니다. `compare`는 모델을 PyTorch와
# TVM에서 실행합니다. 연산 표에 있는 것으로 모델을 더 만들어 함께 시험해 보세요.


# %% tags=["raises-exception"]
class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear0 = nn.Linear(784, 128)
        self.relu = nn.ReLU()
        self.linear1 = nn.Linear(128, 10)

    def forward(self, x):
        return self.linear1(self.relu(self.linear0(x)))


def compare(importer, model, *shapes):
    """Raise an AssertionError where a model and its import differ; return the module."""
    module = importer(fx.symbolic_trace(model), list(shapes))
    inputs = [noise(*shape) for shape in shapes]
    with torch.no_grad():
        desired = model(*map(torch.from_numpy, inputs)).numpy()
    np.testing.assert_allclose(run(module, *inputs), desired, rtol=1e-4, atol=1e-4)
    return module


torch.manual_seed(0)
mlp = MLP()
mlp_module = compare(import_with_tensorir, mlp, (1, 784))
compare(import_with_tensorir, Product(), (5, 64))
compare(import_with_tensorir, Gate(), (3, 64), (3, 32))
print("All models are the same in TVM.")

# %% tags=["raises-exception"]
print(
    "classes:",
    run(mlp_module, noise(1, 784)).argmax(),
    mlp(torch.from_numpy(noise(1, 784))).argmax(),
)
mlp_module["main"].show()

# %% [markdown]
# ## Part 4. The same graph with operators
#
# A graph of TensorIR functions says how everything is computed. A compiler often wants to know what
# is computed first: that something is a matrix product, which could be fused with the addition
# after it or left to a library. Relax has **operators** for that. `bb.emit` adds a call of one to
# the graph:
#
# ```python
# bb.emit(relax.op.nn.relu(x))
# ```
#
# Other operators that you need are `relax.op.matmul(x, y)`, `relax.op.add(x, y)`,
# `relax.op.permute_dims(x)`, which transposes a matrix, and, made of these,
# `relax.op.linear(x, weight)`. `relax.build` translates operators to TensorIR functions by itself.
#
# ### Your turn
#
# Write `import_with_operators(fx_module, input_shapes)`: the same as in part 3, for the same
# models, but each call in the graph is a call of an operator. If `from_fx` is right, only the maps
# are new. The points are 12 for the perceptron and 4 for each hidden model.

# %% [markdown] lang="zh"
# ## 第 4 部分　用算子表示同样的计算图
#
# 由 TensorIR 函数组成的计算图说明了一切是怎样计算的。编译器往往想先知道计算的是什么：
# 比如这是一个矩阵乘积，可以与其后的加法融合，或者交给某个库。为此，Relax 有**算子**。`bb.emit`
# 把对算子的调用加到计算图中：
#
# ```python
# bb.emit(relax.op.nn.relu(x))
# ```
#
# 你还需要的算子有 `relax.op.matmul(x, y)`、`relax.op.add(x, y)`、
# `relax.op.permute_dims(x)`（转置一个矩阵），以及由它们组成的 `relax.op.linear(x, weight)`。
# `relax.build` 会自动把算子翻译成 TensorIR 函数。
#
# ### 轮到你了
#
# 编写 `import_with_operators(fx_module, input_shapes)`：与第 3 部分相同，模型也相同，
# 但计算图中的每个调用都是对算子的调用。如果 `from_fx` 是对的，那么只有两个映射是新的。感知机得 12
# 分，每个隐藏模型得 4 分。

# %% [markdown] lang="ko"
# ## 파트 4. 연산자로 나타낸 같은 그래프
#
# TensorIR 함수의 그래프는 모든 것을 어떻게 계산하는지 말합니다. 컴파일러는 흔히 무엇을 계산하는지를
# 먼저 알고 싶어 합니다. 예컨대 이것이 행렬 곱이어서 뒤따르는 덧셈과 융합하거나 라이브러리에 맡길 수
# 있다는 것입니다. Relax에는 이를 위한 **연산자**가 있습니다. `bb.emit`은 연산자의 호출을 그래프에
# 더합니다.
#
# ```python
# bb.emit(relax.op.nn.relu(x))
# ```
#
# 그 밖에 필요한 연산자는 `relax.op.matmul(x, y)`, `relax.op.add(x, y)`, 행렬을 전치하는
# `relax.op.permute_dims(x)`, 그리고 이들로 이루어진 `relax.op.linear(x, weight)`입니다.
# `relax.build`는 연산자를 스스로 TensorIR 함수로 옮깁니다.
#
# ### 여러분 차례
#
# `import_with_operators(fx_module, input_shapes)`를 작성하세요. 파트 3과 같고 모델도 같지만,
# 그래프의 호출은 모두 연산자의 호출입니다. `from_fx`가 맞다면 새로운 것은 맵뿐입니다. 퍼셉트론이
# 12점, 숨은 모델이 각각 4점입니다.


# %%
def import_with_operators(fx_module, input_shapes):
    """Return the module of a traced model; all of its calls are of operators."""
    ### BEGIN SOLUTION

    def map_linear(bb, layer, x):
        product = bb.emit(relax.op.linear(x, map_param(layer.weight)))
        if layer.bias is None:
            return product
        return bb.emit(relax.op.add(product, map_param(layer.bias)))

    def map_matmul(bb, x, y):
        return bb.emit(relax.op.matmul(x, y))

    def map_add(bb, x, y):
        return bb.emit(relax.op.add(x, y))

    def map_relu(bb, x):
        return bb.emit(relax.op.nn.relu(x))

    functions = {
        torch.matmul: map_matmul,
        torch.relu: map_relu,
        nn.functional.relu: map_relu,
        torch.add: map_add,
        operator.add: map_add,
    }
    modules = {nn.Linear: map_linear, nn.ReLU: lambda bb, _, x: map_relu(bb, x)}
    return from_fx(fx_module, input_shapes, functions, modules)
    ### END SOLUTION


# %% tags=["self-check"]
# %grader check operators_mlp


# %% tags=["raises-exception"]
compare(import_with_operators, mlp, (1, 784)).show()
compare(import_with_operators, Product(), (5, 64))
compare(import_with_operators, Gate(), (3, 64), (3, 32))
print("All models are the same in TVM.")

# %% [markdown]
# ## Hand in
#
# Restart the kernel, run all cells, and look for cells that end in an error. Then hand in this
# file.

# %% [markdown] lang="zh"
# ## 提交
#
# 重启内核，运行所有单元格，看看有没有以错误结束的单元格。然后提交本文件。

# %% [markdown] lang="ko"
# ## 제출
#
# 커널을 다시 시작하고 모든 셀을 실행한 다음, 오류로 끝난 셀이 있는지 살펴보세요. 그런 다음 이
# 파일을 제출하세요.
