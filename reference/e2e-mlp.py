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
# `reference/e2e-mlp.py`: change that file, then run `make templates`. Cells like this one, tagged
# `instructor`, and the lines between solution marks are not in the students' template.

# %% [markdown]
# # A perceptron on every level
#
# A network of two linear layers tells pieces of clothing apart. You will write the same network
# five times, and each time it looks a little more like what a compiler works with.
#
# | part | what you build | name that is graded | points |
# |---|---|---|---|
# | 1 | the network in loops over single numbers | `lnumpy_mlp` | 20 |
# | 2 | an `IRModule` of TensorIR functions and a graph that calls them | `MyModule` | 30 |
# | 3 | the same graph, its work done by a library | `MyModuleWithExternCall` | 20 |
# | 4 | a mixture of both | `MyModuleMixture` | 15 |
# | 5 | the mixture with its parameters bound to it | `MyModuleWithParams` | 15 |
#
# Write your code where a cell says `YOUR CODE HERE`, and keep the names of the table. You may add
# cells, helper functions and experiments as you like.
#
# Before you hand in, choose *Restart kernel and run all cells*: what is graded is what your cells
# compute when they run once, from top to bottom.

# %% [markdown] lang="zh"
# # 同一个感知机，五个层次
#
# 一个由两个线性层组成的网络要认出衣物的种类。你将把这同一个网络写五遍，每写一遍，
# 它就更接近编译器所处理的样子。
#
# | 部分 | 要写的东西 | 评分时所看的名字 | 分数 |
# |---|---|---|---|
# | 1 | 用循环逐个数字计算的网络 | `lnumpy_mlp` | 20 |
# | 2 | 一个 `IRModule`：若干 TensorIR 函数，加上调用它们的计算图 | `MyModule` | 30 |
# | 3 | 同一张计算图，计算交给外部的库 | `MyModuleWithExternCall` | 20 |
# | 4 | 两者混用 | `MyModuleMixture` | 15 |
# | 5 | 把参数绑定到混用的模块上 | `MyModuleWithParams` | 15 |
#
# 凡是写着 `YOUR CODE HERE` 的地方由你来写，表中的名字请不要改动。你可以随意添加单元格、
# 辅助函数和实验。
#
# 提交之前，请选择*重启内核并运行全部单元格*：评分依据的是所有单元格从上到下各运行一次的结果。

# %% [markdown] lang="ko"
# # 다섯 가지 수준에서 본 퍼셉트론
#
# 선형 레이어 두 개로 된 신경망이 옷의 종류를 알아맞힙니다. 같은 신경망을 다섯 번 작성하는데, 한 번
# 작성할 때마다 컴파일러가 다루는 모습에 조금씩 가까워집니다.
#
# | 부분 | 만들 것 | 채점되는 이름 | 점수 |
# |---|---|---|---|
# | 1 | 숫자 하나하나를 루프로 계산하는 신경망 | `lnumpy_mlp` | 20 |
# | 2 | TensorIR 함수들과 그것을 부르는 그래프로 된 `IRModule` | `MyModule` | 30 |
# | 3 | 같은 그래프이지만 계산은 라이브러리가 하는 모듈 | `MyModuleWithExternCall` | 20 |
# | 4 | 둘을 섞은 모듈 | `MyModuleMixture` | 15 |
# | 5 | 섞은 모듈에 매개변수를 묶은 것 | `MyModuleWithParams` | 15 |
#
# `YOUR CODE HERE`라고 적힌 곳에 코드를 쓰고, 표에 있는 이름은 그대로 두세요. 셀, 보조 함수,
# 실험은 마음껏 더해도 됩니다.
#
# 제출하기 전에 *커널을 다시 시작하고 모든 셀 실행*을 고르세요. 셀을 위에서 아래로 한 번씩 실행한
# 결과로 채점합니다.

# %% [markdown]
# ## Part 0. Getting ready
#
# The next cell installs TVM where it is missing, for example on Colab. The versions matter: TVM's
# Python interface changes from release to release, and this text is written for 0.27.

# %% [markdown] lang="zh"
# ## 第 0 部分：准备工作
#
# 如果环境里没有 TVM（例如在 Colab 上），下一个单元格会安装它。版本很重要：TVM 的 Python
# 接口在各个版本之间常有变动，本文以 0.27 为准。

# %% [markdown] lang="ko"
# ## 0부. 준비
#
# 다음 셀은 TVM이 없는 곳(예를 들어 Colab)에 TVM을 설치합니다. 버전이 중요합니다. TVM의 파이썬
# 인터페이스는 판마다 달라지며, 이 글은 0.27을 기준으로 썼습니다.

# %%
import importlib.util

if importlib.util.find_spec("tvm") is None:
    # %pip install --quiet apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post1
    print("TVM is installed now. Restart the kernel if the next cell fails.")

# %%
import os

# TVM otherwise ties this process to some of the processors, and PyTorch then fights for them.
os.environ.setdefault("TVM_BIND_THREADS", "0")

import graphlib
import pickle

import matplotlib.pyplot as plt
import numpy as np
import torch
import torchvision
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

torch.set_num_threads(1)
print("TVM", tvm.__version__, "and PyTorch", torch.__version__)

# %% tags=["self-check"]
# `%grader check` says how your solution stands. Where the grader is not installed, it does nothing.
# zh: `%grader check` 告诉你答案做得怎么样。没有安装 grader 的地方，它什么也不做。
# ko: `%grader check`는 답안의 상태를 알려 줍니다. grader가 없는 곳에서는 아무 일도 하지 않습니다.
try:
    get_ipython().run_line_magic("load_ext", "grader")
    get_ipython().run_line_magic("grader", "use e2e-mlp")
except ImportError:
    get_ipython().register_magic_function(
        lambda _: print("The grader is not installed here: nothing was checked."),
        magic_name="grader",
    )

# %% [markdown]
# ### Images and parameters
#
# The images are the test set of Fashion-MNIST: grey pictures of 28 by 28 pixels in ten classes. A
# linear layer knows nothing of rows and columns, so each picture becomes one row of 784 numbers
# from 0 to 1.
#
# The parameters of the trained network come in a file of their own, a pickled dictionary of NumPy
# arrays. Unpickling can run code, so open only pickles from people you trust.

# %% [markdown] lang="zh"
# ### 图像与参数
#
# 图像来自 Fashion-MNIST 的测试集：28 × 28 像素的灰度图，共十类。线性层并不认得什么行和列，
# 因此每张图被展开成一行，共 784 个 0 到 1 之间的数。
#
# 训练好的参数在另一个文件里：一个用 pickle 保存的字典，里面是 NumPy 数组。反序列化 pickle
# 可能会执行代码，所以只打开来源可信的 pickle 文件。

# %% [markdown] lang="ko"
# ### 이미지와 매개변수
#
# 이미지는 Fashion-MNIST의 테스트 집합입니다. 가로세로 28픽셀의 흑백 사진이며 종류는 열
# 가지입니다. 선형 레이어는 행과 열을 모르므로, 사진 한 장을 0에서 1 사이의 숫자 784개로 된 한 줄로
# 폅니다.
#
# 학습된 매개변수는 따로 파일에 들어 있습니다. NumPy 배열의 딕셔너리를 pickle로 저장한 것입니다.
# pickle을 여는 일은 코드를 실행할 수 있으므로 믿을 수 있는 사람이 만든 것만 여세요.

# %%
# !wget -nc --quiet https://github.com/mlc-ai/web-data/raw/main/models/fasionmnist_mlp_params.pkl

# %%
with open("fasionmnist_mlp_params.pkl", "rb") as file:
    parameters = pickle.load(file)

for name, array in parameters.items():
    print(f"{name:3} {array.dtype} {array.shape}")

# %%
test_data = torchvision.datasets.FashionMNIST("./data", download=True, train=False)
images = (test_data.data.float() / 255).reshape(-1, 784).numpy()
labels = test_data.targets.numpy()

image = images[:1]
plt.imshow(image.reshape(28, 28), cmap="gray")
plt.title(test_data.classes[labels[0]])
plt.show()

# %% [markdown]
# ### The network in NumPy
#
# | step | output |
# |---|---|
# | linear: `w0` is (128, 784), `b0` is (128,) | (1, 128) |
# | ReLU: negative numbers become 0 | (1, 128) |
# | linear: `w1` is (10, 128), `b1` is (10,) | (1, 10) |
#
# There is no softmax at the end. The ten scores are no probabilities, but the largest still
# belongs to the likeliest class.

# %% [markdown] lang="zh"
# ### 用 NumPy 写出的网络
#
# | 步骤 | 输出 |
# |---|---|
# | 线性层：`w0` 的形状是 (128, 784)，`b0` 的形状是 (128,) | (1, 128) |
# | ReLU：负数变成 0 | (1, 128) |
# | 线性层：`w1` 的形状是 (10, 128)，`b1` 的形状是 (10,) | (1, 10) |
#
# 最后没有 softmax。这十个分数不是概率，但最大的那个仍然对应最有可能的类别。

# %% [markdown] lang="ko"
# ### NumPy로 쓴 신경망
#
# | 단계 | 출력 |
# |---|---|
# | 선형: `w0`의 형상은 (128, 784), `b0`의 형상은 (128,) | (1, 128) |
# | ReLU: 음수는 0이 됩니다 | (1, 128) |
# | 선형: `w1`의 형상은 (10, 128), `b1`의 형상은 (10,) | (1, 10) |
#
# 끝에 softmax가 없습니다. 점수 열 개는 확률이 아니지만, 가장 큰 점수는 그래도 가장 그럴듯한
# 종류의 것입니다.


# %%
def numpy_mlp(data, w0, b0, w1, b1):
    hidden = np.maximum(data @ w0.T + b0, 0)
    return hidden @ w1.T + b1


w0, b0, w1, b1 = (parameters[name] for name in ("w0", "b0", "w1", "b1"))
scores = numpy_mlp(images, w0, b0, w1, b1)
right = (scores.argmax(axis=1) == labels).mean()
print("scores of the first image:", scores[0].round(2))
print("its class:", test_data.classes[scores[0].argmax()])
print(f"{right:.1%} of {len(images)} images are classified right.")


# %%
def check(run, count=8):
    """Compare `run`, from an image (1, 784) to scores (1, 10), with `numpy_mlp`."""
    noise = 0.1 * np.random.default_rng().standard_normal((count, 784), dtype="float32")
    for kind, inputs in (("images", images[:count]), ("random inputs", noise)):
        actual = np.concatenate([run(row[None]) for row in inputs])
        desired = numpy_mlp(inputs, w0, b0, w1, b1)
        np.testing.assert_allclose(actual, desired, rtol=1e-4, atol=1e-4)
        print(f"The scores are equal on {count} {kind}.")


# %% [markdown]
# ## Part 1. Down to single numbers
#
# `data @ w0.T + b0` is short because NumPy hides three things: the loops, the memory for the
# result, and the order in which both are used. A compiler has to decide about all of them, so let
# us write them down. The rules of *low-level NumPy*:
#
# * Loops over single elements instead of operations on whole arrays.
# * Memory is allocated with `np.empty`, which does not fill it.
# * A function gets its inputs, and as its last argument the array to write to. This is called
#   **destination passing**: who calls the function decides where the result goes.
#
# Here is such a function. It adds up the rows of a matrix and multiplies the sums by a number.

# %% [markdown] lang="zh"
# ## 第 1 部分：一直写到单个数字
#
# `data @ w0.T + b0` 之所以这么短，是因为 NumPy 藏起了三样东西：循环、存放结果的内存，
# 以及二者的先后次序。编译器必须对它们一一作出决定，所以我们把它们都写出来。*底层 NumPy*
# 的规则是：
#
# * 用循环处理单个元素，不对整个数组做运算。
# * 用 `np.empty` 分配内存，它并不填入初值。
# * 函数接受各个输入，最后一个参数则是要写入的数组。这叫做**目标传递**：由调用者决定结果放在哪里。
#
# 下面就是这样一个函数：把矩阵的每一行加起来，再乘以一个数。

# %% [markdown] lang="ko"
# ## 1부. 숫자 하나하나까지
#
# `data @ w0.T + b0`가 짧은 것은 NumPy가 세 가지를 감추기 때문입니다. 루프, 결과를 담을 메모리,
# 그리고 이 둘을 쓰는 순서입니다. 컴파일러는 이 모두를 정해야 하므로 우리도 다 적어 봅시다.
# *저수준 NumPy*의 규칙은 이렇습니다.
#
# * 배열 전체에 대한 연산 대신 원소 하나하나를 도는 루프를 씁니다.
# * 메모리는 `np.empty`로 할당합니다. 이 함수는 값을 채우지 않습니다.
# * 함수는 입력들을 받고, 마지막 인자로 결과를 쓸 배열을 받습니다. 이것을 **목적지 전달**
#   방식이라고 합니다. 결과가 어디로 갈지는 부르는 쪽이 정합니다.
#
# 다음이 그런 함수입니다. 행렬의 각 행을 더하고, 그 합에 수를 하나 곱합니다.


# %%
def lnumpy_scaled_sums(X, factor, Z):
    sums = np.empty((X.shape[0],), dtype="float32")
    for i in range(X.shape[0]):
        sums[i] = 0
        for k in range(X.shape[1]):
            sums[i] = sums[i] + X[i, k]
    for i in range(X.shape[0]):
        Z[i] = sums[i] * factor


out = np.empty((2,), dtype="float32")
lnumpy_scaled_sums(np.array([[1, 2, 3], [4, 5, 6]], dtype="float32"), 10, out)
print(out)

# %% [markdown]
# Two passes over the memory: the first adds up, the second finishes. And note `sums[i] = 0`: the
# memory that `np.empty` returns holds anything.
#
# ### Your turn
#
# Write the linear layer and the ReLU in this way, and put the network together in `lnumpy_mlp`,
# which allocates every array itself. The points: 8 for loops over elements and nothing else, 12
# for scores that equal PyTorch's. For a single number, a function such as `max` is fine.

# %% [markdown] lang="zh"
# 这里对内存走了两遍：第一遍求和，第二遍收尾。还要注意 `sums[i] = 0`：`np.empty`
# 返回的内存里可能是任何东西。
#
# ### 轮到你了
#
# 用同样的写法写出线性层和 ReLU，再在 `lnumpy_mlp` 里把网络拼起来，所有数组都由它自己分配。分数：
# 只用循环处理元素得 8 分，分数与 PyTorch 相等得 12 分。对单个数字使用 `max` 之类的函数是可以的。

# %% [markdown] lang="ko"
# 메모리를 두 번 훑습니다. 첫 번째에는 더하고, 두 번째에는 마무리합니다. 그리고 `sums[i] = 0`을
# 눈여겨보세요. `np.empty`가 돌려주는 메모리에는 무엇이든 들어 있을 수 있습니다.
#
# ### 여러분 차례
#
# 선형 레이어와 ReLU를 이런 식으로 쓰고, `lnumpy_mlp`에서 신경망을 조립하세요. 배열은 모두 이 함수가
# 할당합니다. 배점은 원소를 도는 루프만 쓰면 8점, 점수가 PyTorch와 같으면 12점입니다. 숫자
# 하나에는 `max` 같은 함수를 써도 됩니다.


# %%
def lnumpy_linear(X, W, B, Z):
    """Write X @ W.T + B to Z. X is (1, n), W is (m, n), B is (m,), Z is (1, m)."""
    ### BEGIN SOLUTION
    Y = np.empty(Z.shape, dtype="float32")
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            Y[i, j] = 0
            for k in range(X.shape[1]):
                Y[i, j] = Y[i, j] + X[i, k] * W[j, k]
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            Z[i, j] = Y[i, j] + B[j]
    ### END SOLUTION


def lnumpy_relu(X, Y):
    """Write X to Y, negative numbers as 0. Both are (1, n)."""
    ### BEGIN SOLUTION
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = max(X[i, j], 0)
    ### END SOLUTION


def lnumpy_mlp(data, w0, b0, w1, b1):
    """Return the scores (1, 10) of an image (1, 784)."""
    ### BEGIN SOLUTION
    lv0 = np.empty((1, 128), dtype="float32")
    lnumpy_linear(data, w0, b0, lv0)
    lv1 = np.empty((1, 128), dtype="float32")
    lnumpy_relu(lv0, lv1)
    out = np.empty((1, 10), dtype="float32")
    lnumpy_linear(lv1, w1, b1, out)
    return out
    ### END SOLUTION


# %% tags=["self-check"]
# %grader check low_level_numpy


# %% tags=["raises-exception"]
check(lambda row: lnumpy_mlp(row, w0, b0, w1, b1), count=2)

# %% [markdown]
# ### Who allocates?
#
# Draw `lnumpy_mlp` as a graph, a box for each function and an arrow for each array, and you get
# into trouble: an array goes into a function empty and comes out full, so that arrows point both
# ways, and the boxes cannot be moved about as soon as two of them share an array.
#
# One small function takes the trouble away. It allocates the output, hands it to the low-level
# function, and returns it. Seen from outside, what it does is **pure**: the result depends on the
# inputs, and nothing else has changed.

# %% [markdown] lang="zh"
# ### 由谁来分配内存？
#
# 试着把 `lnumpy_mlp` 画成一张图，每个函数一个方框，每个数组一个箭头，你就会遇到麻烦：
# 一个数组空着进去、满着出来，箭头指向两个方向；只要两个方框共用一个数组，
# 它们的位置就不能随便挪动了。
#
# 一个小函数就能去掉这个麻烦：它分配输出，交给底层函数，然后把它返回。从外面看，它是**纯**的：
# 结果只取决于输入，别的什么都没有改变。

# %% [markdown] lang="ko"
# ### 누가 할당하는가?
#
# `lnumpy_mlp`를 함수마다 상자 하나, 배열마다 화살표 하나로 그려 보면 곤란해집니다. 배열이 빈 채로
# 들어갔다가 채워져 나오므로 화살표가 양쪽을 가리키고, 두 상자가 배열 하나를 함께 쓰기만 해도
# 상자를 마음대로 옮길 수 없습니다.
#
# 작은 함수 하나가 이 곤란을 없애 줍니다. 출력을 할당해 저수준 함수에 건네고, 그것을 돌려주는
# 함수입니다. 밖에서 보면 이 함수는 **순수**합니다. 결과는 입력에만 달려 있고, 그 밖에는 아무것도
# 바뀌지 않습니다.


# %%
def lnumpy_call_tir(function, inputs, shape, dtype):
    """Allocate the output of a function that writes to its last argument, and return it."""
    result = np.empty(shape, dtype=dtype)
    function(*inputs, result)
    return result


def pure_mlp(data, w0, b0, w1, b1):
    lv0 = lnumpy_call_tir(lnumpy_linear, (data, w0, b0), (1, 128), "float32")
    lv1 = lnumpy_call_tir(lnumpy_relu, (lv0,), (1, 128), "float32")
    return lnumpy_call_tir(lnumpy_linear, (lv1, w1, b1), (1, 10), "float32")


# %% tags=["raises-exception"]
check(lambda row: pure_mlp(row, w0, b0, w1, b1), count=2)

# %% [markdown]
# `pure_mlp` is a graph: each line is a box, and each name an arrow. That is what a compiler wants
# to see, because it may now choose the order, reuse memory, or replace a box by a faster one.
#
# ## Part 2. The network as an IRModule
#
# TVM keeps both levels in one object, an `IRModule`:
#
# * **TensorIR** functions, marked `T.prim_func`, are the low level: loops, buffers, destination
#   passing. A block, `T.sblock`, is the smallest piece of work. It says for each of its axes
#   whether it belongs to the output (`S` for spatial) or to a sum (`R` for reduction), and
#   `T.init` says how a sum begins.
# * A **Relax** function, marked `R.function`, is the graph. `R.call_tir` is `lnumpy_call_tir`: it
#   gets a TensorIR function, a tuple of inputs, and shape and type of the output.
#
# Here is a module that scales a row twice. `cls` stands for the module itself.

# %% [markdown] lang="zh"
# `pure_mlp` 就是一张图：每一行是一个方框，每个名字是一个箭头。这正是编译器想要的：
# 它现在可以选择次序、重复利用内存，或者用更快的方框替换掉原来的。
#
# ## 第 2 部分：写成 IRModule 的网络
#
# TVM 把两个层次放在同一个对象里，即 `IRModule`：
#
# * **TensorIR** 函数以 `T.prim_func` 标记，是底层：循环、缓冲区、目标传递。块 `T.sblock`
#   是最小的一份工作。它对每条轴说明：属于输出（`S`，空间轴）还是属于求和（`R`，归约轴）；`T.init`
#   则说明求和从什么值开始。
# * **Relax** 函数以 `R.function` 标记，它就是计算图。`R.call_tir` 相当于 `lnumpy_call_tir`：
#   给它一个 TensorIR 函数、一个由输入组成的元组，以及输出的形状和类型。
#
# 下面这个模块把一行数缩放两次，其中 `cls` 代表模块自身。

# %% [markdown] lang="ko"
# `pure_mlp`는 그래프입니다. 한 줄이 상자 하나이고, 이름 하나가 화살표 하나입니다. 컴파일러가 보고
# 싶은 것이 바로 이것입니다. 이제 순서를 고르고, 메모리를 다시 쓰고, 상자를 더 빠른 것으로 바꿀 수
# 있습니다.
#
# ## 2부. IRModule로 쓴 신경망
#
# TVM은 두 수준을 `IRModule`이라는 한 객체에 담습니다.
#
# * **TensorIR** 함수는 `T.prim_func`로 표시하며 낮은 수준입니다. 루프, 버퍼, 목적지 전달이
#   여기에 있습니다. 블록 `T.sblock`은 가장 작은 일의 단위입니다. 블록은 축마다 출력에
#   속하는지(`S`, 공간 축) 합에 속하는지(`R`, 축약 축) 밝히고, `T.init`은 합이 무엇에서 시작하는지
#   말합니다.
# * **Relax** 함수는 `R.function`으로 표시하며 그래프입니다. `R.call_tir`는 `lnumpy_call_tir`와
#   같은 일을 합니다. TensorIR 함수, 입력의 튜플, 출력의 형상과 타입을 받습니다.
#
# 다음은 한 줄의 수를 두 번 곱하는 모듈입니다. `cls`는 모듈 자신을 가리킵니다.


# %%
@I.ir_module
class Scaling:
    @T.prim_func(s_tir=True)
    def scale(
        X: T.Buffer((1, 4), "float32"),
        S: T.Buffer((4,), "float32"),
        Y: T.Buffer((1, 4), "float32"),
    ):
        for i, j in T.grid(1, 4):
            with T.sblock("scaled"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * S[vj]

    @R.function
    def main(x: R.Tensor((1, 4), "float32"), s: R.Tensor((4,), "float32")):
        cls = Scaling
        with R.dataflow():
            once = R.call_tir(cls.scale, (x, s), R.Tensor((1, 4), "float32"))
            twice = R.call_tir(cls.scale, (once, s), R.Tensor((1, 4), "float32"))
            R.output(twice)
        return twice


Scaling.show()

# %% [markdown]
# `show` prints a module in full: TVM has added what each block reads and writes. To see the graph
# alone, walk over the bindings of `main`.

# %% [markdown] lang="zh"
# `show` 会把整个模块打印出来：TVM 补上了每个块读什么、写什么。如果只想看计算图，就遍历 `main`
# 中的各个绑定。

# %% [markdown] lang="ko"
# `show`는 모듈 전체를 보여 줍니다. 블록마다 무엇을 읽고 쓰는지는 TVM이 적어 넣은 것입니다.
# 그래프만 보려면 `main`의 바인딩을 차례로 훑으면 됩니다.


# %%
def graph(mod):
    """Return the graph of `main`: (result, callee, inputs, kind of block) for each call."""
    boxes = []
    for block in mod["main"].body.blocks:
        for binding in block.bindings:
            call = binding.value
            if isinstance(call.op, relax.ExternFunc):
                callee, inputs = call.op, call.args
            else:
                callee, inputs = call.args
            name = (
                callee.name_hint if isinstance(callee, tvm.ir.GlobalVar) else callee.global_symbol
            )
            names = [getattr(each, "name", "constant") for each in inputs]
            boxes.append((binding.var.name, name, names, type(block).__name__))
    return boxes


def show_graph(mod):
    for result, callee, inputs, kind in graph(mod):
        print(f"{', '.join(inputs):>23} --> {callee:10} --> {result:5}  ({kind})")


show_graph(Scaling)

# %% [markdown]
# The order of the boxes in the text is one of many: any order will do in which each box comes
# after those whose results it reads. Such an order is called **topological**.

# %% [markdown] lang="zh"
# 文本里方框的次序只是许多次序中的一种：只要每个方框都排在它所读取结果的那些方框之后即可。
# 这样的次序叫做**拓扑序**。

# %% [markdown] lang="ko"
# 글에 적힌 상자의 순서는 여러 순서 가운데 하나일 뿐입니다. 상자마다 자기가 읽는 결과를 만드는
# 상자 뒤에만 오면 됩니다. 그런 순서를 **위상 정렬** 순서라고 합니다.

# %%
reads = {result: inputs for result, _, inputs, _ in graph(Scaling)}
print(list(graphlib.TopologicalSorter(reads).static_order()))

# %% [markdown]
# ### Dataflow blocks
#
# Reordering is safe as long as every box is pure. `with R.dataflow()` marks the part of a function
# where that holds; `R.output` names what may be used outside of it. What has a side effect, such
# as printing, stands between two such blocks, and the function is then not pure as a whole.

# %% [markdown] lang="zh"
# ### 数据流块
#
# 只有当每个方框都是纯的，调换次序才是安全的。`with R.dataflow()` 标出函数中满足这一点的部分；
# `R.output` 指明哪些结果可以在块外使用。有副作用的操作（例如打印）要放在两个这样的块之间，
# 这时整个函数就不再是纯函数。

# %% [markdown] lang="ko"
# ### 데이터플로우 블록
#
# 상자가 모두 순수하다면 순서를 바꾸어도 안전합니다. `with R.dataflow()`는 함수에서 그런 부분을
# 표시하고, `R.output`은 그 밖에서 쓸 수 있는 것을 알립니다. 출력하기처럼 부수 효과가 있는 일은
# 그런 블록 둘 사이에 놓이며, 그러면 함수 전체는 순수하지 않게 됩니다.


# %%
@tvm.register_global_func("env.report", override=True)
def report(tensor):
    print("between the blocks:", tensor.numpy())


@I.ir_module
class TwoBlocks:
    @T.prim_func(s_tir=True)
    def double(X: T.Buffer((1, 4), "float32"), Y: T.Buffer((1, 4), "float32")):
        for i, j in T.grid(1, 4):
            with T.sblock("doubled"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor((1, 4), "float32")):
        cls = TwoBlocks
        with R.dataflow():
            once = R.call_tir(cls.double, (x,), R.Tensor((1, 4), "float32"))
            R.output(once)
        _ = R.call_packed("env.report", once, ty_args=R.Tuple())
        with R.dataflow():
            twice = R.call_tir(cls.double, (once,), R.Tensor((1, 4), "float32"))
            R.output(twice)
        return twice


show_graph(TwoBlocks)

# %% [markdown]
# ### Build and run
#
# `relax.build` compiles a module, `relax.VirtualMachine` loads it and runs its functions by name.
# Arguments and results are TVM's tensors.

# %% [markdown] lang="zh"
# ### 构建与运行
#
# `relax.build` 编译一个模块，`relax.VirtualMachine` 把它装入，并按名字运行其中的函数。
# 参数和结果都是 TVM 的张量。

# %% [markdown] lang="ko"
# ### 빌드와 실행
#
# `relax.build`는 모듈을 컴파일하고, `relax.VirtualMachine`은 그것을 올려 함수를 이름으로
# 실행합니다. 인자와 결과는 TVM의 텐서입니다.


# %%
def make_runner(mod, *fixed):
    """Return a function of an image that runs `main` on it, with `fixed` as further arguments."""
    executable = relax.build(mod, target="llvm")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    fixed = [tvm.runtime.tensor(array) for array in fixed]
    return lambda row: machine["main"](tvm.runtime.tensor(row), *fixed).numpy()


print(make_runner(TwoBlocks)(np.ones((1, 4), dtype="float32")))

# %% [markdown]
# ### Your turn
#
# Write `MyModule`: a TensorIR function for each layer, and a `main` that calls them with
# `R.call_tir` in a dataflow block. Its arguments are `x` of shape (1, 784), then `w0`, `b0`, `w1`
# and `b1`. The points: 12 for such a graph, 18 for the right scores.
#
# What people stumble on:
#
# * `@T.prim_func(s_tir=True)`: without the argument, blocks are not understood.
# * A buffer inside of a function is allocated with `T.sblock_alloc_buffer(shape, "float32")`.
# * In a block, use the block's own variables (`vi`), not the loops' (`i`).
# * A sum without `T.init` starts with whatever the memory holds.
# * Two linear layers have different shapes, so they are two functions.

# %% [markdown] lang="zh"
# ### 轮到你了
#
# 请写出 `MyModule`：每一层一个 TensorIR 函数，再写一个 `main`，在数据流块里用 `R.call_tir`
# 调用它们。参数依次是形状为 (1, 784) 的 `x`，然后是 `w0`、`b0`、`w1` 和 `b1`。分数：
# 这样的计算图得 12 分，分数正确得 18 分。
#
# 容易出错的地方：
#
# * `@T.prim_func(s_tir=True)`：少了这个参数，TVM 就不认识块。
# * 函数内部的缓冲区用 `T.sblock_alloc_buffer(shape, "float32")` 分配。
# * 在块里要使用块自己的变量（`vi`），而不是循环变量（`i`）。
# * 没有 `T.init` 的求和会从内存里原有的内容开始。
# * 两个线性层的形状不同，所以是两个函数。

# %% [markdown] lang="ko"
# ### 여러분 차례
#
# `MyModule`을 작성하세요. 레이어마다 TensorIR 함수가 하나씩 있고, `main`은 데이터플로우 블록 안에서
# `R.call_tir`로 그것들을 부릅니다. 인자는 형상이 (1, 784)인 `x`, 그다음 `w0`, `b0`, `w1`,
# `b1`입니다. 배점은 그런 그래프에 12점, 올바른 점수에 18점입니다.
#
# 자주 걸려 넘어지는 곳:
#
# * `@T.prim_func(s_tir=True)`: 이 인자가 없으면 블록을 알아듣지 못합니다.
# * 함수 안의 버퍼는 `T.sblock_alloc_buffer(shape, "float32")`로 할당합니다.
# * 블록 안에서는 루프의 변수(`i`)가 아니라 블록의 변수(`vi`)를 씁니다.
# * `T.init`이 없는 합은 메모리에 들어 있던 값에서 시작합니다.
# * 두 선형 레이어는 형상이 다르므로 함수도 둘입니다.


# %%
# Define the class MyModule here, under @I.ir_module.
# zh: 在这里用 @I.ir_module 定义类 MyModule。
# ko: 여기에 @I.ir_module을 붙여 클래스 MyModule을 정의하세요.
### BEGIN SOLUTION
@I.ir_module
class MyModule:
    @T.prim_func(s_tir=True)
    def linear0(
        X: T.Buffer((1, 784), "float32"),
        W: T.Buffer((128, 784), "float32"),
        B: T.Buffer((128,), "float32"),
        Z: T.Buffer((1, 128), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        Y = T.sblock_alloc_buffer((1, 128), "float32")
        for i, j, k in T.grid(1, 128, 784):
            with T.sblock("products"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
        for i, j in T.grid(1, 128):
            with T.sblock("biased"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @T.prim_func(s_tir=True)
    def relu0(X: T.Buffer((1, 128), "float32"), Y: T.Buffer((1, 128), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(1, 128):
            with T.sblock("rectified"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @T.prim_func(s_tir=True)
    def linear1(
        X: T.Buffer((1, 128), "float32"),
        W: T.Buffer((10, 128), "float32"),
        B: T.Buffer((10,), "float32"),
        Z: T.Buffer((1, 10), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        Y = T.sblock_alloc_buffer((1, 10), "float32")
        for i, j, k in T.grid(1, 10, 128):
            with T.sblock("products"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
        for i, j in T.grid(1, 10):
            with T.sblock("biased"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @R.function
    def main(
        x: R.Tensor((1, 784), "float32"),
        w0: R.Tensor((128, 784), "float32"),
        b0: R.Tensor((128,), "float32"),
        w1: R.Tensor((10, 128), "float32"),
        b1: R.Tensor((10,), "float32"),
    ):
        cls = MyModule
        with R.dataflow():
            lv0 = R.call_tir(cls.linear0, (x, w0, b0), R.Tensor((1, 128), "float32"))
            lv1 = R.call_tir(cls.relu0, (lv0,), R.Tensor((1, 128), "float32"))
            out = R.call_tir(cls.linear1, (lv1, w1, b1), R.Tensor((1, 10), "float32"))
            R.output(out)
        return out


### END SOLUTION

# %% tags=["self-check"]
# %grader check module

# %% tags=["raises-exception"]
show_graph(MyModule)
check(make_runner(MyModule, w0, b0, w1, b1))

# %% [markdown]
# ## Part 3. Let a library do the work
#
# Not everything need be generated. A function that is registered under a name can be called by
# that name, with `R.call_dps_packed`. DPS is short for destination-passing style: the function
# gets one more argument than the call has inputs, and **writes into it**. What it returns is
# ignored. In the graph, such a call is a box like any other.
#
# `torch.from_dlpack` makes a PyTorch tensor that shares its memory with TVM's tensor. Nothing is
# copied, and a write to one is seen in the other.

# %% [markdown] lang="zh"
# ## 第 3 部分：让库来做
#
# 并不是所有代码都要生成。用某个名字注册过的函数，可以用 `R.call_dps_packed` 按名字调用。DPS
# 是目标传递风格（destination-passing style）的缩写：函数得到的参数比调用的输入多一个，
# 它要**写入**这最后一个参数，返回值会被忽略。在计算图里，这样的调用和别的方框没有两样。
#
# `torch.from_dlpack` 得到一个 PyTorch 张量，它与 TVM 的张量共用内存。什么都没有复制，写其中一个，
# 另一个也会看到。

# %% [markdown] lang="ko"
# ## 3부. 라이브러리에 맡기기
#
# 모든 코드를 생성할 필요는 없습니다. 어떤 이름으로 등록된 함수는 `R.call_dps_packed`로 그 이름을
# 불러 쓸 수 있습니다. DPS는 목적지 전달 방식(destination-passing style)의 줄임말입니다. 함수는
# 호출의 입력보다 인자를 하나 더 받고, **거기에 씁니다**. 돌려주는 값은 무시됩니다. 그래프에서
# 이런 호출은 다른 상자와 똑같은 상자입니다.
#
# `torch.from_dlpack`은 TVM의 텐서와 메모리를 함께 쓰는 PyTorch 텐서를 만듭니다. 아무것도 복사되지
# 않으며, 한쪽에 쓰면 다른 쪽에서도 보입니다.


# %%
@tvm.register_global_func("env.halve", override=True)
def torch_halve(x, out):
    x, out = torch.from_dlpack(x), torch.from_dlpack(out)
    torch.mul(x, 0.5, out=out)


@I.ir_module
class Halving:
    @R.function
    def main(x: R.Tensor((1, 4), "float32")):
        with R.dataflow():
            half = R.call_dps_packed("env.halve", (x,), R.Tensor((1, 4), "float32"))
            R.output(half)
        return half


print(make_runner(Halving)(np.ones((1, 4), dtype="float32")))

# %% [markdown]
# ### Your turn
#
# Register `env.linear`, a function of `x`, `w`, `b` and `out`, and `env.relu`, a function of `x`
# and `out`. Then write `MyModuleWithExternCall`: the graph of part 2, with the same arguments and
# no TensorIR at all. One registered function serves both linear layers.
#
# The points: 6 for such a graph, 4 for functions that write their output, 10 for the right scores.
# One line looks right and is not:
#
# ```python
# out = x @ w.T + b
# ```
#
# It makes a new tensor and calls it `out`. The memory that TVM passed in stays as it was.

# %% [markdown] lang="zh"
# ### 轮到你了
#
# 注册 `env.linear`（参数为 `x`、`w`、`b` 和 `out`）以及 `env.relu`（参数为 `x` 和 `out`）。
# 然后写出 `MyModuleWithExternCall`：第 2 部分的计算图，参数相同，但完全不用 TensorIR。
# 两个线性层用同一个注册函数即可。
#
# 分数：这样的计算图得 6 分，函数确实写入输出得 4 分，分数正确得 10 分。有一行代码看似正确，
# 其实不然：
#
# ```python
# out = x @ w.T + b
# ```
#
# 它造出一个新的张量，并把它叫做 `out`，而 TVM 传进来的内存原封未动。

# %% [markdown] lang="ko"
# ### 여러분 차례
#
# `x`, `w`, `b`, `out`을 받는 `env.linear`와 `x`, `out`을 받는 `env.relu`를 등록하세요. 그런 다음
# `MyModuleWithExternCall`을 작성하세요. 2부와 같은 그래프이고 인자도 같지만 TensorIR은 전혀 쓰지
# 않습니다. 등록된 함수 하나를 두 선형 레이어가 함께 씁니다.
#
# 배점은 그런 그래프에 6점, 출력을 쓰는 함수에 4점, 올바른 점수에 10점입니다. 옳아 보이지만 그렇지
# 않은 줄이 하나 있습니다.
#
# ```python
# out = x @ w.T + b
# ```
#
# 이것은 새 텐서를 만들어 `out`이라고 부릅니다. TVM이 건넨 메모리는 그대로 남습니다.


# %%
# Register "env.linear" and "env.relu" here.
# zh: 在这里注册 "env.linear" 和 "env.relu"。
# ko: 여기에 "env.linear"와 "env.relu"를 등록하세요.
### BEGIN SOLUTION
@tvm.register_global_func("env.linear", override=True)
def torch_linear(x, w, b, out):
    x, w, b, out = (torch.from_dlpack(tensor) for tensor in (x, w, b, out))
    out.copy_(torch.nn.functional.linear(x, w, b))


@tvm.register_global_func("env.relu", override=True)
def torch_relu(x, out):
    torch.from_dlpack(out).copy_(torch.from_dlpack(x).relu())


### END SOLUTION


# %%
# Define the class MyModuleWithExternCall here.
# zh: 在这里定义类 MyModuleWithExternCall。
# ko: 여기에 클래스 MyModuleWithExternCall을 정의하세요.
### BEGIN SOLUTION
@I.ir_module
class MyModuleWithExternCall:
    @R.function
    def main(
        x: R.Tensor((1, 784), "float32"),
        w0: R.Tensor((128, 784), "float32"),
        b0: R.Tensor((128,), "float32"),
        w1: R.Tensor((10, 128), "float32"),
        b1: R.Tensor((10,), "float32"),
    ):
        with R.dataflow():
            lv0 = R.call_dps_packed("env.linear", (x, w0, b0), R.Tensor((1, 128), "float32"))
            lv1 = R.call_dps_packed("env.relu", (lv0,), R.Tensor((1, 128), "float32"))
            out = R.call_dps_packed("env.linear", (lv1, w1, b1), R.Tensor((1, 10), "float32"))
            R.output(out)
        return out


### END SOLUTION

# %% tags=["self-check"]
# %grader check externs

# %% tags=["raises-exception"]
show_graph(MyModuleWithExternCall)
check(make_runner(MyModuleWithExternCall, w0, b0, w1, b1))

# %% [markdown]
# ## Part 4. A mixture
#
# TensorIR functions and registered functions both write to memory that they are given. So one can
# stand in for the other, box by box: a layer that the compiler does better is generated, and for
# the rest there is a library.
#
# ### Your turn
#
# Write `MyModuleMixture`, with the same arguments: the first linear layer is the TensorIR function
# `linear0` of part 2, ReLU and the second linear layer are done by your registered functions. The
# points: 5 for such a graph, 10 for the right scores.

# %% [markdown] lang="zh"
# ## 第 4 部分：混用
#
# TensorIR 函数和注册的函数都写入别人给它的内存，所以方框可以逐个互相替换：
# 编译器做得更好的层由编译器生成，其余的交给库。
#
# ### 轮到你了
#
# 请写出 `MyModuleMixture`，参数不变：第一个线性层是第 2 部分的 TensorIR 函数 `linear0`，ReLU
# 和第二个线性层由你注册的函数来做。分数：这样的计算图得 5 分，分数正确得 10 分。

# %% [markdown] lang="ko"
# ## 4부. 섞어 쓰기
#
# TensorIR 함수도 등록된 함수도 주어진 메모리에 씁니다. 그래서 상자 하나하나를 서로 바꾸어 끼울 수
# 있습니다. 컴파일러가 더 잘하는 레이어는 생성하고, 나머지는 라이브러리에 맡깁니다.
#
# ### 여러분 차례
#
# 같은 인자를 받는 `MyModuleMixture`를 작성하세요. 첫 번째 선형 레이어는 2부의 TensorIR 함수
# `linear0`이고, ReLU와 두 번째 선형 레이어는 등록한 함수가 합니다. 배점은 그런 그래프에 5점, 올바른
# 점수에 10점입니다.


# %%
# Define the class MyModuleMixture here.
# zh: 在这里定义类 MyModuleMixture。
# ko: 여기에 클래스 MyModuleMixture를 정의하세요.
### BEGIN SOLUTION
@I.ir_module
class MyModuleMixture:
    @T.prim_func(s_tir=True)
    def linear0(
        X: T.Buffer((1, 784), "float32"),
        W: T.Buffer((128, 784), "float32"),
        B: T.Buffer((128,), "float32"),
        Z: T.Buffer((1, 128), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        Y = T.sblock_alloc_buffer((1, 128), "float32")
        for i, j, k in T.grid(1, 128, 784):
            with T.sblock("products"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
        for i, j in T.grid(1, 128):
            with T.sblock("biased"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @R.function
    def main(
        x: R.Tensor((1, 784), "float32"),
        w0: R.Tensor((128, 784), "float32"),
        b0: R.Tensor((128,), "float32"),
        w1: R.Tensor((10, 128), "float32"),
        b1: R.Tensor((10,), "float32"),
    ):
        cls = MyModuleMixture
        with R.dataflow():
            lv0 = R.call_tir(cls.linear0, (x, w0, b0), R.Tensor((1, 128), "float32"))
            lv1 = R.call_dps_packed("env.relu", (lv0,), R.Tensor((1, 128), "float32"))
            out = R.call_dps_packed("env.linear", (lv1, w1, b1), R.Tensor((1, 10), "float32"))
            R.output(out)
        return out


### END SOLUTION

# %% tags=["self-check"]
# %grader check mixture

# %% tags=["raises-exception"]
show_graph(MyModuleMixture)
check(make_runner(MyModuleMixture, w0, b0, w1, b1))

# %% [markdown]
# ## Part 5. Bind the parameters
#
# The parameters are always the same, so it is tedious to pass them each time. A **pass** is a
# function from module to module. `relax.transform.BindParams` is one that replaces arguments of a
# function by constants: it takes the function's name and a dictionary from argument names to
# arrays, and returns the pass, which is then called with the module.

# %% [markdown] lang="zh"
# ## 第 5 部分：绑定参数
#
# 参数总是同样的那些，每次都传进去很麻烦。**pass** 是从模块到模块的函数。
# `relax.transform.BindParams` 就是这样一个：它把某个函数的参数换成常量。
# 它接受函数名和一个字典（从参数名到数组），返回一个 pass，再用模块去调用这个 pass。

# %% [markdown] lang="ko"
# ## 5부. 매개변수 묶기
#
# 매개변수는 늘 같으므로 매번 건네는 것은 번거롭습니다. **패스**(pass)는 모듈을 받아 모듈을
# 돌려주는 함수입니다. `relax.transform.BindParams`는 함수의 인자를 상수로 바꾸는 패스를 만듭니다.
# 함수 이름과, 인자 이름에서 배열로 가는 딕셔너리를 받아 패스를 돌려주며, 그 패스를 모듈에 대고
# 부르면 됩니다.

# %%
bind_scale = relax.transform.BindParams("main", {"s": np.array([1, 2, 3, 4], dtype="float32")})
ScalingWithParams = bind_scale(Scaling)
ScalingWithParams["main"].show()
print(make_runner(ScalingWithParams)(np.ones((1, 4), dtype="float32")))

# %% [markdown]
# In the text, a bound parameter is an entry of `metadata`: the numbers themselves are part of the
# module, but not of what is printed.
#
# ### Your turn
#
# Make `MyModuleWithParams` out of `MyModuleMixture`. Its `main` takes the image alone. The points:
# 5 for bound parameters, 10 for the right scores.

# %% [markdown] lang="zh"
# 在打印出来的文本里，绑定的参数是 `metadata` 的一项：数值本身属于模块，但不会被打印出来。
#
# ### 轮到你了
#
# 由 `MyModuleMixture` 得出 `MyModuleWithParams`，它的 `main` 只接受图像。分数：参数已经绑定得 5
# 分，分数正确得 10 分。

# %% [markdown] lang="ko"
# 출력된 글에서 묶인 매개변수는 `metadata`의 한 항목입니다. 숫자들은 모듈에 들어 있지만 출력에는
# 나오지 않습니다.
#
# ### 여러분 차례
#
# `MyModuleMixture`로 `MyModuleWithParams`를 만드세요. 이것의 `main`은 이미지만 받습니다. 배점은
# 묶인 매개변수에 5점, 올바른 점수에 10점입니다.

# %%
# Make MyModuleWithParams here.
# zh: 在这里得出 MyModuleWithParams。
# ko: 여기에서 MyModuleWithParams를 만드세요.
### BEGIN SOLUTION
MyModuleWithParams = relax.transform.BindParams("main", parameters)(MyModuleMixture)
### END SOLUTION

# %% tags=["self-check"]
# %grader check bound

# %% tags=["raises-exception"]
show_graph(MyModuleWithParams)
check(make_runner(MyModuleWithParams))

# %% [markdown]
# ## Hand in
#
# Restart the kernel, run all cells, and look for cells that end in an error. Then hand in this
# file.

# %% [markdown] lang="zh"
# ## 提交
#
# 重启内核，运行全部单元格，看看有没有以错误结束的单元格。然后提交这个文件。

# %% [markdown] lang="ko"
# ## 제출
#
# 커널을 다시 시작하고 모든 셀을 실행한 뒤, 오류로 끝난 셀이 있는지 보세요. 그런 다음 이 파일을
# 제출하세요.
