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
# `reference/e2e-conv.py`: change that file, then run `make notebooks`. Cells like this one, tagged
# `instructor`, and the lines between solution marks are not in the students' template.

# %% [markdown]
# # A convolutional classifier, end to end
#
# You are given a small network that tells pieces of clothing apart. It runs in PyTorch. In this
# assignment you bring it into TVM, three times:
#
# | part | what you build | name that is graded | points |
# |---|---|---|---|
# | 1 | the whole network out of TensorIR functions | `create_model_via_emit_te` | 40 |
# | 2 | the same network, its convolution done by a library | `create_model_with_torch_func` | 30 |
# | 3 | the network of part 1, its convolution made faster | `sch` | 30 |
#
# Write your code where a cell says `YOUR CODE HERE`. Keep the three names of the table and the
# batch size. You may add cells, helper functions and experiments as you like.
#
# Before you hand in, choose *Restart kernel and run all cells*: what is graded is what your cells
# compute when they run once, from top to bottom.

# %% [markdown] lang="zh"
# # 端到端运行一个卷积分类器
#
# 这里有一个识别服装图片的小网络，它用 PyTorch 写成。在这次作业里，你要用三种方式把它搬到 TVM 中：
#
# | 部分 | 你要构建的内容 | 评分时查找的名字 | 分数 |
# |---|---|---|---|
# | 1 | 用 TensorIR 函数搭成的整个网络 | `create_model_via_emit_te` | 40 |
# | 2 | 同一个网络，卷积交给库来做 | `create_model_with_torch_func` | 30 |
# | 3 | 第 1 部分的网络，卷积变得更快 | `sch` | 30 |
#
# 凡是单元格里写着 `YOUR CODE HERE` 的地方，就是你写代码的地方。请保留表中的三个名字，
# 也不要改动批量大小。除此之外，你可以随意增加单元格、辅助函数和小实验。
#
# 提交之前，请选择*重启内核并运行所有单元格*：评分依据的，
# 是各单元格从上到下只运行一遍时算出来的结果。

# %% [markdown] lang="ko"
# # 합성곱 분류기를 처음부터 끝까지 실행하기
#
# 옷 사진을 구별하는 작은 네트워크가 하나 있습니다. 이 네트워크는 PyTorch로 작성되어 있습니다. 이
# 과제에서 여러분은 이것을 세 가지 방식으로 TVM에 옮깁니다.
#
# | 파트 | 만들 것 | 채점에서 찾는 이름 | 점수 |
# |---|---|---|---|
# | 1 | TensorIR 함수로 만든 네트워크 전체 | `create_model_via_emit_te` | 40 |
# | 2 | 같은 네트워크, 합성곱은 라이브러리가 계산 | `create_model_with_torch_func` | 30 |
# | 3 | 파트 1의 네트워크, 합성곱을 더 빠르게 | `sch` | 30 |
#
# 셀에 `YOUR CODE HERE`라고 적힌 곳에 코드를 작성하세요. 표에 있는 세 이름과 배치 크기는 그대로
# 두어야 합니다. 셀이나 보조 함수, 실험 코드는 얼마든지 추가해도 됩니다.
#
# 제출하기 전에 *커널을 다시 시작하고 모든 셀 실행*을 선택하세요. 셀을 위에서 아래로 한 번씩
# 실행했을 때 계산되는 결과가 채점 대상입니다.

# %% [markdown]
# ## Part 0. Getting ready
#
# The next cell installs TVM where it is missing, for example on Colab. The versions matter: TVM's
# Python interface changes from release to release, and this text is written for 0.27.

# %% [markdown] lang="zh"
# ## 第 0 部分：准备工作
#
# 如果环境里还没有 TVM（例如在 Colab 上），下一个单元格会安装它。版本很重要：
# TVM 的 Python 接口每个版本都有变化，本文针对的是 0.27。

# %% [markdown] lang="ko"
# ## 파트 0. 준비하기
#
# 다음 셀은 TVM이 없는 환경(예를 들어 Colab)에 TVM을 설치합니다. 버전에 주의하세요. TVM의 Python
# 인터페이스는 릴리스마다 바뀌며, 이 글은 0.27을 기준으로 합니다.

# %%
import importlib.util

if importlib.util.find_spec("tvm") is None:
    # %pip install --quiet apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post1
    print("TVM is installed now. Restart the kernel if the next cell fails.")

# %%
import os

# TVM otherwise ties this process to some of the processors, and PyTorch then fights for them.
# zh: 否则 TVM 会把这个进程绑定在一部分处理器上，PyTorch 就会与它争抢。
# ko: 이렇게 하지 않으면 TVM이 이 프로세스를 일부 프로세서에 묶어 PyTorch와 다투게 됩니다.
os.environ.setdefault("TVM_BIND_THREADS", "0")

import pickle

import matplotlib.pyplot as plt
import numpy as np
import torch
import torchvision
import tvm
from torch import nn
from tvm import relax, te, topi
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
    get_ipython().run_line_magic("grader", "use e2e-conv")
except ImportError:
    get_ipython().register_magic_function(
        lambda _: print("The grader is not installed here: nothing was checked."),
        magic_name="grader",
    )

# %% [markdown]
# ### Images and parameters
#
# The images are the test set of Fashion-MNIST: grey pictures of 28 by 28 pixels in ten classes. We
# keep them as one tensor in the layout NCHW (image, channel, row, column), scaled to 0 to 1.
#
# The parameters of the trained network come in a file of their own, a pickled dictionary of NumPy
# arrays. Unpickling can run code, so open only pickles from people you trust.

# %% [markdown] lang="zh"
# ### 图片与参数
#
# 图片来自 Fashion-MNIST 的测试集：28 乘 28 像素的灰度图，共十个类别。我们把它们存成一个张量，
# 布局是 NCHW（图片、通道、行、列），数值缩放到 0 到 1 之间。
#
# 训练好的网络参数放在单独的文件里，它是用 pickle 保存的字典，值是 NumPy 数组。
# 反序列化 pickle 时可能会执行代码，所以只打开你信得过的人给的 pickle 文件。

# %% [markdown] lang="ko"
# ### 이미지와 매개변수
#
# 이미지는 Fashion-MNIST의 테스트 세트로, 28×28 픽셀의 회색조 사진이며 클래스는 열 개입니다.
# 전체를 NCHW(이미지, 채널, 행, 열) 레이아웃의 텐서 하나에 담고, 값은 0에서 1 사이로 맞춥니다.
#
# 학습된 네트워크의 매개변수는 별도 파일에 있습니다. NumPy 배열의 딕셔너리를 피클로 저장한
# 것입니다. 피클을 읽는 동안 코드가 실행될 수 있으니, 믿을 수 있는 사람이 준 피클만 여세요.

# %%
# !wget -nc --quiet https://github.com/mlc-ai/web-data/raw/main/models/fasionmnist_mlp_assignment_params.pkl

# %%
with open("fasionmnist_mlp_assignment_params.pkl", "rb") as file:
    parameters = pickle.load(file)

for name, array in parameters.items():
    print(f"{name:15} {array.dtype} {array.shape}")

# %%
test_data = torchvision.datasets.FashionMNIST("./data", download=True, train=False)
images = test_data.data[:, None].float() / 255
labels = test_data.targets

batch_size = 4
input_shape = (batch_size, 1, 28, 28)

print(images.shape, images.dtype)
plt.imshow(images[0, 0], cmap="gray")
plt.title(test_data.classes[labels[0]])
plt.show()

# %% [markdown]
# ### The network in PyTorch
#
# One convolution, one pooling, two linear layers. For a batch of four images the shapes go like
# this:
#
# | layer | output |
# |---|---|
# | convolution, 32 filters of 3 by 3, no padding, with bias | (4, 32, 26, 26) |
# | ReLU | (4, 32, 26, 26) |
# | maximum over windows of 2 by 2, stride 2 | (4, 32, 13, 13) |
# | flatten | (4, 5408) |
# | linear, with bias, then ReLU | (4, 100) |
# | linear, with bias | (4, 10) |
# | softmax over the classes | (4, 10) |

# %% [markdown] lang="zh"
# ### PyTorch 中的网络
#
# 一个卷积层，一个池化层，两个线性层。当一批有四张图片时，各层输出的形状依次是：
#
# | 层 | 输出 |
# |---|---|
# | 卷积，32 个 3 乘 3 的滤波器，不填充，有偏置 | (4, 32, 26, 26) |
# | ReLU | (4, 32, 26, 26) |
# | 在 2 乘 2 的窗口中取最大值，步幅为 2 | (4, 32, 13, 13) |
# | 展平 | (4, 5408) |
# | 线性层，有偏置，之后是 ReLU | (4, 100) |
# | 线性层，有偏置 | (4, 10) |
# | 对各类别做 softmax | (4, 10) |

# %% [markdown] lang="ko"
# ### PyTorch로 된 네트워크
#
# 합성곱 레이어 하나, 풀링 레이어 하나, 선형 레이어 두 개입니다. 이미지 네 장을 한 배치로 넣으면
# 출력의 형상은 다음과 같이 바뀝니다.
#
# | 레이어 | 출력 |
# |---|---|
# | 합성곱, 3×3 필터 32개, 패딩 없음, 편향 있음 | (4, 32, 26, 26) |
# | ReLU | (4, 32, 26, 26) |
# | 2×2 윈도우의 최댓값, 스트라이드 2 | (4, 32, 13, 13) |
# | 평탄화(flatten) | (4, 5408) |
# | 선형, 편향 있음, 이어서 ReLU | (4, 100) |
# | 선형, 편향 있음 | (4, 10) |
# | 클래스에 대한 softmax | (4, 10) |


# %%
def make_torch_model(parameters):
    network = nn.Sequential(
        nn.Conv2d(1, 32, kernel_size=3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(5408, 100),
        nn.ReLU(),
        nn.Linear(100, 10),
        nn.Softmax(dim=1),
    )
    for layer, name in {0: "conv2d", 4: "linear0", 6: "linear1"}.items():
        network[layer].weight.data = torch.from_numpy(parameters[f"{name}_weight"])
        network[layer].bias.data = torch.from_numpy(parameters[f"{name}_bias"])
    return network.eval()


torch_model = make_torch_model(parameters)

with torch.no_grad():
    predictions = torch.cat([torch_model(part).argmax(dim=1) for part in images.split(50)])
print(f"{(predictions == labels).float().mean():.1%} of {len(images)} images are classified right.")

# %% [markdown]
# ## Part 1. The network out of TensorIR functions
#
# In TVM a model is an `IRModule`: a Relax function `main`, which says in which order the layers
# are computed, and TensorIR functions, which say how. A TensorIR function for each layer, written
# by hand, would be long and error-prone. There is a shorter way:
#
# * A **tensor expression** (TE) says what each item of a layer's output is, without a word about
#   loops. `topi`, TVM's operator library, has ready-made tensor expressions for the usual layers.
# * `relax.BlockBuilder` builds a module call by call. `bb.emit_te(expression, *inputs)` turns a
#   tensor expression into a TensorIR function, adds that function to the module, and adds a call
#   of it to `main`. It returns the Relax variable that holds the result.
#
# Here is a `main` of two calls: one expression is written by hand, the other comes from `topi`.

# %% [markdown] lang="zh"
# ## 第 1 部分：用 TensorIR 函数搭建网络
#
# 在 TVM 里，一个模型就是一个 `IRModule`：其中的 Relax 函数 `main` 说明各层按什么顺序计算，
# 而 TensorIR 函数说明每一层怎么计算。如果每一层都手写 TensorIR 函数，代码会很长，也容易出错。
# 有一条更短的路：
#
# * **张量表达式**（tensor expression，简称 TE）只说明某层输出的每个元素是什么，完全不提循环。
#   TVM 的算子库 `topi` 为常见的层准备好了现成的张量表达式。
# * `relax.BlockBuilder` 通过一次次调用来搭建模块。
#   `bb.emit_te(expression, *inputs)` 把一个张量表达式变成 TensorIR 函数，把这个函数加进模块，
#   再往 `main` 里加上对它的调用，最后返回保存结果的 Relax 变量。
#
# 下面的 `main` 包含两次调用：一个表达式是手写的，另一个来自 `topi`。

# %% [markdown] lang="ko"
# ## 파트 1. TensorIR 함수로 만드는 네트워크
#
# TVM에서 모델은 `IRModule`입니다. Relax 함수 `main`은 레이어를 어떤 순서로 계산하는지 말하고,
# TensorIR 함수는 각 레이어를 어떻게 계산하는지 말합니다. 레이어마다 TensorIR 함수를 직접 쓰려면
# 길고 실수하기도 쉽습니다. 더 짧은 길이 있습니다.
#
# * **텐서 표현식**(tensor expression, TE)은 레이어 출력의 각 원소가 무엇인지만 말하고, 루프에
#   대해서는 아무 말도 하지 않습니다. TVM의 연산자 라이브러리인 `topi`에는 흔히 쓰는 레이어의 텐서
#   표현식이 준비되어 있습니다.
# * `relax.BlockBuilder`는 호출을 하나씩 쌓아 모듈을 만듭니다. `bb.emit_te(expression, *inputs)`는
#   텐서 표현식을 TensorIR 함수로 바꾸어 모듈에 추가하고, `main`에는 그 함수를 부르는 호출을
#   추가합니다. 반환값은 결과를 담는 Relax 변수입니다.
#
# 아래 `main`에는 호출이 두 개 있습니다. 표현식 하나는 직접 썼고, 다른 하나는 `topi`에서
# 가져왔습니다.


# %%
def centre(x):
    """Subtract one half from each item of a matrix."""
    return te.compute(x.shape, lambda i, j: x[i, j] - 0.5, name="centred")


def emit_te_example():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    scale = relax.const(np.full((1, 8), 3, "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            centred = bb.emit_te(centre, x)
            scaled = bb.emit_te(topi.multiply, centred, scale)
            output = bb.emit_output(scaled)
        bb.emit_func_output(output)
    return bb.get()


emit_te_example().show()

# %% [markdown]
# Read the output from the bottom up: `main` calls `centre`, then `multiply`, by `R.call_tir`. Each
# call names the function, its inputs, and shape and type of its output. `multiply` has two inputs,
# and one of them is a constant.
#
# ### Your turn
#
# Build the network this way. Its constants are there already. The points: 10 for a `main` that is
# a graph of `call_tir` into TensorIR functions and uses all three weights, 30 for outputs that
# equal PyTorch's, on test images and on random inputs.
#
# Look up in `help(topi.nn.conv2d)` and its neighbours what an operator takes. What people stumble
# on:
#
# * `topi.nn.conv2d` takes no bias: add it yourself. What must its shape be to be added to NCHW?
# * `topi.nn.pool2d` takes window, stride, dilation, padding (four numbers) and `"max"`.
# * `topi.nn.dense` computes `x @ weight.T`, as `nn.Linear` does. It takes a bias of one dimension.
# * `topi.nn.softmax` needs to know along which axis.

# %% [markdown] lang="zh"
# 请从下往上读上面的输出：`main` 通过 `R.call_tir` 先调用 `centre`，再调用 `multiply`。
# 每次调用都写明了函数、输入，以及输出的形状和类型。`multiply` 有两个输入，其中一个是常量。
#
# ### 轮到你了
#
# 用这种方法搭建整个网络，所需的常量已经写好。分数是这样分配的：
# `main` 是由 `call_tir` 调用 TensorIR 函数组成的图，并且用到全部三个权重，得 10 分；
# 输出在测试图片和随机输入上都与 PyTorch 相同，得 30 分。
#
# 算子需要哪些参数，请查看 `help(topi.nn.conv2d)` 以及其他算子的帮助。容易出错的地方有：
#
# * `topi.nn.conv2d` 不接受偏置，要由你自己加上。偏置要能与 NCHW 布局的张量相加，形状应该是什么？
# * `topi.nn.pool2d` 的参数依次是窗口、步幅、扩张、填充（四个数）和 `"max"`。
# * `topi.nn.dense` 和 `nn.Linear` 一样，计算的是 `x @ weight.T`。它接受一维的偏置。
# * `topi.nn.softmax` 需要知道沿哪个轴计算。

# %% [markdown] lang="ko"
# 출력을 아래에서 위로 읽어 보세요. `main`은 `R.call_tir`로 `centre`를 부르고, 이어서 `multiply`를
# 부릅니다. 호출마다 함수의 이름, 입력, 출력의 형상과 타입이 적혀 있습니다. `multiply`의 입력은
# 둘이고, 그중 하나는 상수입니다.
#
# ### 여러분 차례입니다
#
# 이 방법으로 네트워크를 만드세요. 상수는 이미 준비되어 있습니다. 배점은 다음과 같습니다. `main`이
# TensorIR 함수에 대한 `call_tir`의 그래프이고 세 가중치를 모두 쓰면 10점, 테스트 이미지와 무작위
# 입력에서 출력이 PyTorch와 같으면 30점입니다.
#
# 연산자가 어떤 인자를 받는지는 `help(topi.nn.conv2d)`처럼 찾아보세요. 다음과 같은 곳에서 막히기
# 쉽습니다.
#
# * `topi.nn.conv2d`는 편향을 받지 않으므로 직접 더해야 합니다. NCHW 텐서에 더하려면 편향의 형상이
#   어때야 할까요?
# * `topi.nn.pool2d`는 윈도우, 스트라이드, 딜레이션, 패딩(숫자 네 개), `"max"`를 차례로 받습니다.
# * `topi.nn.dense`는 `nn.Linear`와 마찬가지로 `x @ weight.T`를 계산합니다. 1차원 편향을 받을 수
#   있습니다.
# * `topi.nn.softmax`에는 어느 축을 따라 계산할지 알려 주어야 합니다.


# %%
def constant(name, shape=None):
    """Return a parameter as a constant of the module, reshaped if a shape is given."""
    array = parameters[name]
    return relax.const(array if shape is None else array.reshape(shape), "float32")


def create_model_via_emit_te():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(input_shape, "float32"))

    conv2d_weight = constant("conv2d_weight")
    conv2d_bias = constant("conv2d_bias")
    linear0_weight = constant("linear0_weight")
    linear0_bias = constant("linear0_bias")
    linear1_weight = constant("linear1_weight")
    linear1_bias = constant("linear1_bias")

    with bb.function("main", [x]):
        with bb.dataflow():
            # Compute the network from x, and leave its output in `output` by bb.emit_output.
            # zh: 从 x 出发计算网络，用 bb.emit_output 把输出放进变量 `output`。
            # ko: x로부터 네트워크를 계산하고, bb.emit_output으로 출력을 `output`에 담으세요.
            ### BEGIN SOLUTION
            conv2d_bias = constant("conv2d_bias", (1, 32, 1, 1))
            hidden = bb.emit_te(topi.nn.conv2d, x, conv2d_weight, 1, 0, 1)
            hidden = bb.emit_te(topi.add, hidden, conv2d_bias)
            hidden = bb.emit_te(topi.nn.relu, hidden)
            hidden = bb.emit_te(topi.nn.pool2d, hidden, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
            hidden = bb.emit_te(topi.nn.flatten, hidden)
            hidden = bb.emit_te(topi.nn.dense, hidden, linear0_weight, linear0_bias)
            hidden = bb.emit_te(topi.nn.relu, hidden)
            hidden = bb.emit_te(topi.nn.dense, hidden, linear1_weight, linear1_bias)
            output = bb.emit_output(bb.emit_te(topi.nn.softmax, hidden, 1))
            ### END SOLUTION
        bb.emit_func_output(output)

    return bb.get()


# %% [markdown]
# ### Is it the same network?
#
# `run_module` builds a module for the processor and runs it batch by batch. `check_equivalence`
# compares it with PyTorch on the first test images, and on small random numbers as well: many
# mistakes, a lost bias for one, hardly show on bright images, because the softmax swallows them.

# %% [markdown] lang="zh"
# ### 还是同一个网络吗？
#
# `run_module` 为处理器编译一个模块，并逐批运行它。`check_equivalence` 把它与 PyTorch 比较：
# 先用测试集前面的图片，再用数值较小的随机数。许多错误在明亮的图片上几乎看不出来，例如漏掉偏置，
# 因为 softmax 把差别掩盖了。

# %% [markdown] lang="ko"
# ### 같은 네트워크일까요?
#
# `run_module`은 모듈을 CPU용으로 빌드해서 배치 단위로 실행합니다. `check_equivalence`는 앞쪽의
# 테스트 이미지뿐 아니라 작은 난수에 대해서도 모듈을 PyTorch와 비교합니다. 편향을 빠뜨리는 것 같은
# 실수는 밝은 이미지에서 거의 드러나지 않을 때가 많기 때문입니다. softmax가 차이를 삼켜 버립니다.


# %%
def run_module(mod, inputs):
    """Run `main` on inputs of shape (n, 1, 28, 28), n a multiple of the batch size."""
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    batches = inputs.split(batch_size)
    return np.concatenate([machine["main"](tvm.runtime.tensor(b.numpy())).numpy() for b in batches])


def check_equivalence(mod, count=256):
    """Raise an AssertionError where the module and the PyTorch model differ."""
    inputs = torch.cat([images[:count], 0.1 * torch.randn(count, 1, 28, 28)])
    with torch.no_grad():
        desired = torch_model(inputs).numpy()
    outputs = run_module(mod, inputs)
    for kind, some in (("test images", slice(count)), ("random inputs", slice(count, None))):
        np.testing.assert_allclose(outputs[some], desired[some], rtol=1e-4, atol=1e-5)
        print(f"The outputs are equal on {count} {kind}.")


# %% tags=["self-check"]
# %grader check emit_te


# %% tags=["raises-exception"]
mod = create_model_via_emit_te()
mod["main"].show()
check_equivalence(mod)

# %% [markdown]
# ## Part 2. Let a library do the convolution
#
# A compiler need not generate everything. Vendors tune their libraries for years, and a module can
# call them: a function that is registered under a name is called by that name, with
# `call_dps_packed`. DPS is short for *destination-passing style*: the caller allocates the output
# and passes it as the last argument, and the function **writes into it**. What it returns is
# ignored.
#
# This example does a linear layer with PyTorch. `torch.from_dlpack` makes a PyTorch tensor that
# shares its memory with TVM's tensor: nothing is copied, and a write to one is seen in the other.

# %% [markdown] lang="zh"
# ## 第 2 部分：让库来做卷积
#
# 编译器不必自己生成所有代码。厂商会花很多年优化自己的库，而模块可以调用这些库：
# 一个函数以某个名字注册之后，模块就能用 `call_dps_packed` 按这个名字调用它。
# DPS 是*目标传递风格*（destination-passing style）的缩写：调用者先分配好输出，
# 并把它作为最后一个参数传入；函数要把结果**写进这个参数**，它的返回值会被忽略。
#
# 下面的例子用 PyTorch 计算一个线性层。
# `torch.from_dlpack` 会得到一个与 TVM 张量共享内存的 PyTorch 张量：没有任何拷贝，写入其中一个，
# 另一个也随之改变。

# %% [markdown] lang="ko"
# ## 파트 2. 합성곱을 라이브러리에 맡기기
#
# 컴파일러가 모든 것을 직접 생성할 필요는 없습니다. 제조사들은 자기 라이브러리를 몇 년씩 다듬고,
# 모듈은 그런 라이브러리를 부를 수 있습니다. 함수를 어떤 이름으로 등록해 두면 `call_dps_packed`로
# 그 이름을 불러 쓸 수 있습니다. DPS는 *목적지 전달 방식*(destination-passing style)을 줄인
# 말입니다. 호출하는 쪽이 출력을 할당해서 마지막 인자로 넘기고, 함수는 **거기에 결과를 씁니다**.
# 함수의 반환값은 무시됩니다.
#
# 아래 예제는 선형 레이어를 PyTorch로 계산합니다. `torch.from_dlpack`은 TVM 텐서와 메모리를
# 공유하는 PyTorch 텐서를 만듭니다. 아무것도 복사하지 않으며, 한쪽에 쓴 값은 다른 쪽에서도
# 보입니다.


# %%
@tvm.register_global_func("env.linear", override=True)
def torch_linear(x, weight, bias, out):
    x, weight, bias, out = (torch.from_dlpack(tensor) for tensor in (x, weight, bias, out))
    out.copy_(nn.functional.linear(x, weight, bias))


def extern_example():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((batch_size, 100), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            arguments = relax.Tuple([x, constant("linear1_weight"), constant("linear1_bias")])
            result_type = R.Tensor((batch_size, 10), "float32")
            linear = bb.emit(relax.op.call_dps_packed("env.linear", arguments, result_type))
            output = bb.emit_output(linear)
        bb.emit_func_output(output)
    return bb.get()


extern_example().show()

# %% [markdown]
# Note `bb.emit` in the place of `bb.emit_te`: there is no tensor expression, just a call.
#
# ### Your turn
#
# First register `env.conv2d`, which computes the convolution with PyTorch or NumPy. Whether it
# takes the bias too, or the bias is added later, is up to you. Then build the network again, with
# the convolution done by your function and the rest as in part 1.
#
# The points: 10 for a convolution that is really done by the function, 5 for writing the output
# argument, 15 for outputs that equal PyTorch's. One line looks right and is not:
#
# ```python
# out = torch.conv2d(x, weight)
# ```
#
# It makes a new tensor and calls it `out`. The memory that TVM passed in stays as it was, and the
# next layer reads what happens to be there. It may even pass a test, when the memory still holds
# the right numbers of an earlier run.

# %% [markdown] lang="zh"
# 请注意，这里用的是 `bb.emit` 而不是 `bb.emit_te`：没有张量表达式，只有一次调用。
#
# ### 轮到你了
#
# 先注册 `env.conv2d`，让它用 PyTorch 或 NumPy 计算卷积。偏置是由它一并加上，还是之后再加，
# 由你决定。然后再搭建一次网络：卷积交给你的函数，其余部分和第 1 部分相同。
#
# 分数是这样分配的：卷积确实由这个函数完成，得 10 分；结果写进了输出参数，得 5 分；
# 输出与 PyTorch 相同，得 15 分。下面这行代码看起来正确，其实是错的：
#
# ```python
# out = torch.conv2d(x, weight)
# ```
#
# 它创建了一个新张量，并给它取名为 `out`。TVM 传进来的那块内存没有变，
# 下一层读到的是那里碰巧留下的内容。如果内存里还留着上一次运行的正确结果，它甚至能通过测试。

# %% [markdown] lang="ko"
# `bb.emit_te` 대신 `bb.emit`을 쓴 점에 주목하세요. 여기에는 텐서 표현식이 없고 호출만 있습니다.
#
# ### 여러분 차례입니다
#
# 먼저 합성곱을 PyTorch나 NumPy로 계산하는 `env.conv2d`를 등록하세요. 편향까지 이 함수가 더할지,
# 나중에 더할지는 자유입니다. 그런 다음 네트워크를 다시 만드세요. 합성곱은 여러분의 함수가 맡고,
# 나머지는 파트 1과 같습니다.
#
# 배점은 다음과 같습니다. 합성곱을 정말로 그 함수가 계산하면 10점, 출력 인자에 결과를 쓰면 5점,
# 출력이 PyTorch와 같으면 15점입니다. 다음 한 줄은 맞아 보이지만 틀렸습니다.
#
# ```python
# out = torch.conv2d(x, weight)
# ```
#
# 이 줄은 새 텐서를 만들어 `out`이라는 이름을 붙입니다. TVM이 넘겨준 메모리는 그대로이고, 다음
# 레이어는 거기에 우연히 남아 있던 값을 읽습니다. 앞선 실행의 올바른 값이 메모리에 남아 있으면
# 테스트를 통과하기까지 합니다.


# %%
# Register "env.conv2d" here: a function of the inputs and, at the end, the output.
# zh: 在这里注册 "env.conv2d"：一个函数，参数先是各个输入，最后是输出。
# ko: 여기에 "env.conv2d"를 등록하세요. 입력들을 받고 마지막으로 출력을 받는 함수입니다.
### BEGIN SOLUTION
@tvm.register_global_func("env.conv2d", override=True)
def torch_conv2d(x, weight, bias, out):
    x, weight, bias, out = (torch.from_dlpack(tensor) for tensor in (x, weight, bias, out))
    out.copy_(nn.functional.conv2d(x, weight, bias))


### END SOLUTION


# %%
def create_model_with_torch_func():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(input_shape, "float32"))

    conv2d_weight = constant("conv2d_weight")
    conv2d_bias = constant("conv2d_bias")
    linear0_weight = constant("linear0_weight")
    linear0_bias = constant("linear0_bias")
    linear1_weight = constant("linear1_weight")
    linear1_bias = constant("linear1_bias")

    with bb.function("main", [x]):
        with bb.dataflow():
            # The convolution by call_dps_packed, the rest by emit_te.
            # zh: 卷积用 call_dps_packed，其余部分用 emit_te。
            # ko: 합성곱은 call_dps_packed로, 나머지는 emit_te로.
            ### BEGIN SOLUTION
            arguments = relax.Tuple([x, conv2d_weight, conv2d_bias])
            result_type = R.Tensor((batch_size, 32, 26, 26), "float32")
            hidden = bb.emit(relax.op.call_dps_packed("env.conv2d", arguments, result_type))
            hidden = bb.emit_te(topi.nn.relu, hidden)
            hidden = bb.emit_te(topi.nn.pool2d, hidden, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
            hidden = bb.emit_te(topi.nn.flatten, hidden)
            hidden = bb.emit_te(topi.nn.dense, hidden, linear0_weight, linear0_bias)
            hidden = bb.emit_te(topi.nn.relu, hidden)
            hidden = bb.emit_te(topi.nn.dense, hidden, linear1_weight, linear1_bias)
            output = bb.emit_output(bb.emit_te(topi.nn.softmax, hidden, 1))
            ### END SOLUTION
        bb.emit_func_output(output)

    return bb.get()


# %% tags=["self-check"]
# %grader check torch_extern


# %% tags=["raises-exception"]
mod = create_model_with_torch_func()
mod["main"].show()
check_equivalence(mod)

# %% [markdown]
# ## Part 3. A faster convolution
#
# Now back to the module of part 1, whose loops belong to you. A **schedule** rewrites them, one
# primitive at a time, and checks that each rewriting keeps the meaning. Four small examples come
# first.
#
# ### Inlining
#
# `compute_inline` puts the computation of a block into the blocks that read its result. The buffer
# in between, and the loops that filled it, are gone.

# %% [markdown] lang="zh"
# ## 第 3 部分：更快的卷积
#
# 现在回到第 1 部分的模块，它的循环由你做主。**调度**（schedule）用一个个原语改写这些循环，
# 并检查每次改写都不改变含义。我们先看四个小例子。
#
# ### 内联
#
# `compute_inline` 把一个 block 的计算放进读取其结果的那些 block 中。两者之间的缓冲区，
# 以及填充它的循环，就都不再需要了。

# %% [markdown] lang="ko"
# ## 파트 3. 더 빠른 합성곱
#
# 이제 파트 1의 모듈로 돌아갑니다. 이 모듈의 루프는 여러분 마음대로 바꿀 수 있습니다.
# **스케줄**(schedule)은 루프를 프리미티브 하나씩 다시 쓰면서, 바꿀 때마다 의미가 그대로인지
# 검사합니다. 먼저 작은 예제 네 개를 봅시다.
#
# ### 인라인
#
# `compute_inline`은 블록의 계산을, 그 결과를 읽는 블록 안으로 옮깁니다. 둘 사이의 버퍼와, 그
# 버퍼를 채우던 루프가 사라집니다.


# %%
@T.prim_func(s_tir=True)
def brighten(image: T.Buffer((28, 28), "float32"), result: T.Buffer((28, 28), "float32")):
    bright = T.sblock_alloc_buffer((28, 28), "float32")
    for i, j in T.grid(28, 28):
        with T.sblock("multiply"):
            row, column = T.axis.remap("SS", [i, j])
            bright[row, column] = image[row, column] * T.float32(1.5)
    for i, j in T.grid(28, 28):
        with T.sblock("clip"):
            row, column = T.axis.remap("SS", [i, j])
            result[row, column] = T.min(bright[row, column], T.float32(1))


example = tvm.s_tir.Schedule(brighten)
example.compute_inline(example.get_sblock("multiply"))
example.show()

# %% [markdown]
# ### Fusing, splitting, and saying how a loop runs
#
# `fuse` makes one loop of several nested ones, `split` makes several of one. Together they cut the
# work into pieces of a good size. `parallel` spreads a loop over threads, `vectorize` does a short
# innermost loop with the processor's vector instructions, and `unroll` writes out its rounds one
# after another.

# %% [markdown] lang="zh"
# ### 融合、切分，以及循环如何运行
#
# `fuse` 把几层嵌套的循环合成一层，`split` 把一层拆成几层。两者合用，可以把工作切成大小合适的块。
# `parallel` 把一层循环分给多个线程，`vectorize` 用处理器的向量指令执行一段短的最内层循环，
# `unroll` 则把循环的每一轮依次写出来。

# %% [markdown] lang="ko"
# ### 합치기, 나누기, 그리고 루프를 실행하는 방법
#
# `fuse`는 중첩된 루프 여러 개를 하나로 합치고, `split`은 하나를 여럿으로 나눕니다. 둘을 함께 쓰면
# 일을 알맞은 크기의 조각으로 자를 수 있습니다. `parallel`은 루프를 여러 스레드에 나누어 맡기고,
# `vectorize`는 짧은 가장 안쪽 루프를 프로세서의 벡터 명령어로 처리하며, `unroll`은 루프의 각
# 회차를 차례로 펼쳐 씁니다.

# %%
i, j = example.get_loops(example.get_sblock("clip"))
pixels = example.fuse(i, j)
outer, inner = example.split(pixels, factors=[None, 16])
example.parallel(outer)
example.vectorize(inner)
example.show()

# %% [markdown]
# ### Decomposing a reduction
#
# A sum needs a start value. In TensorIR it stands in `T.init()`, in the midst of the loops, and is
# asked for again and again: is this the first round? `decompose_reduction(block, loop)` moves it
# into a block of its own, just before `loop`.
#
# Mind the order. Once a reduction is decomposed, its update block reads what it writes, and
# `vectorize` and `parallel` refuse to touch its loops (`ScheduleError`). So **annotate first,
# decompose last**: the annotated loops inside of `loop` are copied to the new block along with
# their annotations.

# %% [markdown] lang="zh"
# ### 分解归约
#
# 求和需要一个初始值。在 TensorIR 里，初始值写在循环深处的 `T.init()` 中，于是每一轮都要问一遍：
# 这是第一轮吗？`decompose_reduction(block, loop)` 把初始化移到一个单独的 block 里，
# 放在 `loop` 之前。
#
# 请注意顺序。归约一旦分解，负责更新的 block 就会读取自己写入的内容，
# `vectorize` 和 `parallel` 便拒绝处理它的循环（报 `ScheduleError`）。所以要**先标注，后分解**：
# `loop` 以内已经标注的循环，会连同标注一起复制到新的 block 中。

# %% [markdown] lang="ko"
# ### 축약 분해하기
#
# 합을 구하려면 초깃값이 필요합니다. TensorIR에서 초깃값은 루프 한가운데의 `T.init()`에 있어서,
# 매번 "지금이 첫 회차인가?"를 다시 묻게 됩니다. `decompose_reduction(block, loop)`은 초기화를
# 별도의 블록으로 빼내 `loop` 바로 앞에 둡니다.
#
# 순서에 주의하세요. 축약을 분해하고 나면 갱신하는 블록이 자기가 쓴 값을 읽게 되므로,
# `vectorize`와 `parallel`이 그 루프를 거부합니다(`ScheduleError`). 그러니 **표시를 먼저 하고
# 분해는 마지막에** 하세요. `loop` 안쪽에 표시해 둔 루프는 그 표시와 함께 새 블록으로 복사됩니다.


# %%
def row_sums(x):
    k = te.reduce_axis((0, 64), name="k")
    return te.compute((32,), lambda i: te.sum(x[i, k], axis=k), name="row_sums")


matrix = te.placeholder((32, 64), name="matrix")
example = tvm.s_tir.Schedule(te.create_prim_func([matrix, row_sums(matrix)]))
block = example.get_sblock("row_sums")
i, k = example.get_loops(block)
outer, inner = example.split(i, factors=[None, 8])
example.reorder(outer, k, inner)
example.vectorize(inner)
example.decompose_reduction(block, k)
example.show()

# %% [markdown]
# ### Packing, and loops that do not come out even
#
# The last example needs more of TVM than the points for the steps do. It is for those who want to
# be fast.
#
# A processor's vectors have 4, 8 or 16 floats, and one load takes that many neighbours from memory.
# Where a loop does not read neighbours, or not enough of them, it may be worth copying the input
# once into an order that suits the loop. `reindex_cache_read` makes the copy: the function that you
# give it says, for the iterators of the block, where in the copy a number shall stand.
# `compute_at(copy, loop)` then makes the copy inside of a loop, a part at a time, so that it is
# still in the cache when it is used. And `transform_block_layout` gives a block other iterators:
# one that counts the pixels of an image, for example, in place of two for lines and columns.
#
# `loop_partition` cuts a loop into pieces that run one after the other. A `split` by a factor that
# does not divide the loop would ask in every round whether there is still something to do, and
# could not be vectorised. Cut the rest off first: 100 is 96 and 4, and 96 is 6 times 16. Each piece
# has a copy of the block, which `get_child_blocks` finds, to be scheduled on its own.

# %% [markdown] lang="zh"
# ### 打包，以及除不尽的循环
#
# 最后一个例子用到的 TVM 知识，比拿到步骤分所需要的更多。它是为想写出快代码的人准备的。
#
# 处理器的一个向量有 4、8 或 16 个浮点数，一次加载会从内存中取出这么多个相邻的数。
# 如果一个循环读的不是相邻的数，或者相邻的数不够多，那么先把输入复制一次，排成适合这个循环的顺序，
# 也许是值得的。`reindex_cache_read` 负责复制：你传给它的函数根据 block 的迭代变量，
# 说明一个数应该放在副本的什么位置。之后 `compute_at(copy, loop)` 把复制放进某层循环里，
# 一次只复制一部分，这样用到的时候数据还在缓存中。
# 而 `transform_block_layout` 给 block 换上另一组迭代变量，例如用一个给图片的像素计数的变量，
# 代替行和列两个变量。
#
# `loop_partition` 把一个循环切成先后运行的几段。如果用除不尽的因子做 `split`，
# 每一轮都要问还有没有剩下的工作，也就无法向量化。应当先把零头切下来：100 等于 96 加 4，
# 而 96 是 6 乘 16。每一段都有 block 的一份副本，可以用 `get_child_blocks` 找到，再分别调度。

# %% [markdown] lang="ko"
# ### 패킹, 그리고 나누어떨어지지 않는 루프
#
# 마지막 예제는 단계 점수를 받는 데 필요한 것보다 TVM을 더 많이 씁니다. 더 빠르게 만들고 싶은
# 사람을 위한 것입니다.
#
# 프로세서의 벡터는 부동소수점 수 4개, 8개 또는 16개로 이루어지고, 한 번의 로드는 메모리에서
# 그만큼의 이웃한 값을 가져옵니다. 루프가 이웃한 값을 읽지 않거나 이웃이 충분하지 않다면, 그
# 루프에 맞는 순서로 입력을 한 번 복사해 두는 편이 나을 수 있습니다. `reindex_cache_read`가 그
# 복사본을 만듭니다. 여러분이 넘기는 함수는 블록의 반복자를 받아, 값이 복사본의 어느 자리에 놓여야
# 하는지 알려 줍니다. 그다음 `compute_at(copy, loop)`은 복사를 루프 안으로 옮겨 조금씩 나누어 하게
# 합니다. 그러면 값을 쓸 때 아직 캐시에 남아 있습니다. `transform_block_layout`은 블록의 반복자를
# 다른 것으로 바꿉니다. 예를 들어 행과 열이라는 두 반복자 대신, 이미지의 픽셀을 세는 반복자 하나를
# 쓸 수 있습니다.
#
# `loop_partition`은 루프를 차례로 실행되는 여러 조각으로 자릅니다. 루프를 나누어떨어지지 않는
# 인수로 `split` 하면, 할 일이 남았는지를 매 회차 묻게 되어 벡터화할 수 없습니다. 나머지를 먼저
# 잘라 내세요. 100은 96과 4이고, 96은 16의 6배입니다. 조각마다 블록의 사본이 하나씩 있으며,
# `get_child_blocks`로 찾아 따로 스케줄할 수 있습니다.


# %%
def moving_sums(x):
    k = te.reduce_axis((0, 3), name="k")
    return te.compute((100,), lambda i: te.sum(x[i + k], axis=k), name="moving_sums")


signal = te.placeholder((102,), name="signal")
example = tvm.s_tir.Schedule(te.create_prim_func([signal, moving_sums(signal)]))
block = example.get_sblock("moving_sums")
example.reindex_cache_read(block, 0, "global", lambda i, k: (k, i))
i, k = example.get_loops(block)
most, rest = example.loop_partition(i, factors=[96, None])
(block,) = example.get_child_blocks(most)
i, k = example.get_loops(block)
outer, inner = example.split(i, factors=[None, 16])
example.reorder(outer, k, inner)
example.vectorize(inner)
example.decompose_reduction(block, k)
example.show()

# %% [markdown]
# ### Time for the convolution alone
#
# Most of the network's time goes into the first linear layer. The time of the whole network would
# not tell you anything about the convolution, so compile and measure that one function.
# `time_evaluator` calls it many times; take the smallest of several results, as other programs on
# your computer can only make it slower.

# %% [markdown] lang="zh"
# ### 只测卷积的时间
#
# 网络的大部分时间花在第一个线性层上。整个网络的时间说明不了卷积的快慢，
# 所以我们单独编译并测量这一个函数。`time_evaluator` 会多次调用它；请取几次结果中最小的一个，
# 因为电脑上的其他程序只会让它变慢。

# %% [markdown] lang="ko"
# ### 합성곱만의 시간
#
# 네트워크의 시간은 대부분 첫 번째 선형 레이어에서 쓰입니다. 네트워크 전체의 시간으로는 합성곱에
# 대해 아무것도 알 수 없으니, 그 함수 하나만 컴파일해서 측정합니다. `time_evaluator`는 함수를 여러
# 번 부릅니다. 여러 결과 중 가장 작은 값을 쓰세요. 컴퓨터의 다른 프로그램은 측정값을 늘리기만 하기
# 때문입니다.


# %%
def time_function(mod, name, repeat=5):
    """Return the time of one call of a TensorIR function of the module, in microseconds."""
    function = mod[name].with_attr("global_symbol", "main")
    executable = tvm.compile(function, tvm.target.Target.from_device("cpu"))
    shapes = [[int(extent) for extent in parameter.shape] for parameter in function.params]
    tensors = [tvm.runtime.tensor(np.random.rand(*shape).astype("float32")) for shape in shapes]
    evaluator = executable.mod.time_evaluator("main", tvm.cpu(), number=200, repeat=repeat)
    return 1e6 * min(evaluator(*tensors).results)


# %% [markdown]
# ### Your turn
#
# Print the module of part 1 and find the function that does the convolution: its name, the names
# of its blocks, its loops. (Depending on how you wrote part 1, yours may have a block for padding
# or none, and a block for the bias or none.)

# %% [markdown] lang="zh"
# ### 轮到你了
#
# 打印第 1 部分的模块，找到做卷积的那个函数：它叫什么名字，有哪些 block，有哪些循环。
# （根据第 1 部分写法的不同，你的函数里可能有填充 block，也可能没有；偏置的 block 也是这样。）

# %% [markdown] lang="ko"
# ### 여러분 차례입니다
#
# 파트 1의 모듈을 출력해서 합성곱을 하는 함수를 찾으세요. 함수의 이름, 블록들의 이름, 루프를
# 확인합니다. (파트 1을 어떻게 썼느냐에 따라 패딩 블록이 있을 수도 없을 수도 있고, 편향 블록도
# 마찬가지입니다.)

# %% tags=["raises-exception"]
mod = create_model_via_emit_te()
mod.show()

# %% [markdown]
# Then schedule it. The points: 15 for the steps (3 for inlining, 4 each for reorganising,
# annotating and decomposing), and 15 for how much faster than the function of part 1 the
# convolution becomes. Both count only if the network still computes the same. The speed is
# measured on the machine that grades, with one thread, and compared with a schedule of ours: as
# fast as that gives full points, and a schedule that is slower than doing nothing gives none for
# speed. A `parallel` loop brings nothing there and costs little; on your own computer it helps.
#
# Do not expect it to be fast at the first attempt. Measure, change one thing, measure again. Think
# of:
#
# * The unscheduled function is not bad: LLVM vectorises what it can. A `parallel` loop with very
#   short rounds costs more than it brings, as each round must be handed to a thread.
# * The innermost loop should walk through neighbouring memory. How long is a row of the output, and
#   how many floats fit into a vector register? A vector of 13 floats is loaded in three pieces.
#   Where are the neighbours of a row's last pixels?
# * With a few filters and pixels in the innermost loops, a number that was loaded once is used many
#   times, and sums can stay in registers. A processor has 16 or 32 of these.
# * What is the least time it could take? Count the multiplications and additions, and look up how
#   many of them your processor does in a second.

# %% [markdown] lang="zh"
# 然后对它做调度。分数是这样分配的：步骤共 15 分（内联 3 分，重组、标注、分解各 4 分）；
# 卷积比第 1 部分的函数快多少，共 15 分。只有网络的计算结果不变，这两项才算分。
# 速度在评分的机器上用一个线程测量，并与我们的调度比较：和它一样快就得满分，
# 比什么都不做还慢的调度，速度分为零。在那里，`parallel` 循环没有好处，代价也很小；
# 在你自己的电脑上，它是有用的。
#
# 不要指望第一次尝试就很快。测量，改动一处，再测量。可以想想这些问题：
#
# * 不做调度的函数并不差：LLVM 会把能向量化的都向量化。如果 `parallel` 循环的每一轮都很短，
#   得到的还不如付出的多，因为每一轮都要交给一个线程。
# * 最内层的循环应当沿着相邻的内存走。输出的一行有多长，一个向量寄存器能放下几个浮点数？
#   13 个浮点数的向量要分三次加载。一行末尾那几个像素的邻居又在哪里？
# * 如果最内几层循环里有几个滤波器和几个像素，那么加载一次的数就能用上很多次，
#   累加的和也可以一直留在寄存器里。处理器有 16 个或 32 个这样的寄存器。
# * 最少要用多少时间？数一数乘法和加法的次数，再查一查你的处理器一秒能做多少次。

# %% [markdown] lang="ko"
# 그런 다음 스케줄하세요. 배점은 단계에 15점(인라인 3점, 재구성·표시·분해 각 4점), 합성곱이 파트
# 1의 함수보다 얼마나 빨라졌는지에 15점입니다. 두 점수 모두 네트워크의 계산 결과가 그대로일 때만
# 인정됩니다. 속도는 채점하는 컴퓨터에서 스레드 하나로 측정해서 저희의 스케줄과 비교합니다. 그만큼
# 빠르면 만점이고, 아무것도 하지 않은 것보다 느린 스케줄은 속도 점수가 없습니다. 그곳에서
# `parallel` 루프는 이득도 없고 비용도 적습니다. 여러분의 컴퓨터에서는 도움이 됩니다.
#
# 첫 시도부터 빠르기를 기대하지는 마세요. 측정하고, 하나를 바꾸고, 다시 측정합니다. 다음을 생각해
# 보세요.
#
# * 스케줄하지 않은 함수도 나쁘지 않습니다. LLVM이 벡터화할 수 있는 것은 벡터화하기 때문입니다. 각
#   회차가 아주 짧은 `parallel` 루프는 얻는 것보다 드는 것이 많습니다. 회차마다 스레드에 일을
#   넘겨야 하기 때문입니다.
# * 가장 안쪽 루프는 이웃한 메모리를 따라가야 합니다. 출력의 한 행은 얼마나 길고, 벡터 레지스터
#   하나에는 부동소수점 수가 몇 개 들어갈까요? 13개짜리 벡터는 세 조각으로 나누어 로드됩니다. 행의
#   마지막 픽셀들의 이웃은 어디에 있을까요?
# * 가장 안쪽 루프들에 필터 몇 개와 픽셀 몇 개를 함께 두면, 한 번 로드한 값을 여러 번 쓰고 합을
#   레지스터에 둘 수 있습니다. 프로세서에는 이런 레지스터가 16개 또는 32개 있습니다.
# * 아무리 빨라도 걸릴 수밖에 없는 시간은 얼마일까요? 곱셈과 덧셈의 횟수를 세고, 여러분의
#   프로세서가 1초에 몇 번 할 수 있는지 찾아보세요.

# %% tags=["raises-exception"]
sch = tvm.s_tir.Schedule(mod)

# Step 1. Get the block of the convolution: sch.get_sblock(name, func_name=...).
# zh: 第 1 步：取得卷积的 block：sch.get_sblock(name, func_name=...)。
# ko: 1단계. 합성곱의 블록을 얻습니다: sch.get_sblock(name, func_name=...).
### BEGIN SOLUTION
block = sch.get_sblock("conv2d_nchw", func_name="conv2d")
### END SOLUTION

# Step 2. Inline the padding block, if your convolution has one.
# zh: 第 2 步：如果你的卷积有填充 block，就把它内联。
# ko: 2단계. 합성곱에 패딩 블록이 있으면 인라인합니다.
### BEGIN SOLUTION
sch.compute_inline(sch.get_sblock("pad_temp", func_name="conv2d"))
### END SOLUTION

# Step 3, if you like. Pack what the convolution reads.
# zh: 第 3 步（可选）：把卷积要读的数据打包。
# ko: 3단계(선택). 합성곱이 읽는 데이터를 패킹합니다.
### BEGIN SOLUTION
# Nine rows for each image: the image moved by 0 to 2 lines and columns, its pixels without line
# ends. Now the convolution is a product of two matrices: the weight, 32 by 9, and this, 9 by 676.
# A row starts at a multiple of 16 floats, so that no vector lies on two cache lines.
packed = sch.reindex_cache_read(
    block, 0, "global", lambda n, _, y, x, i, dy, dx: (n, i, dy, dx, 26 * y + x)
)
sch.storage_align(packed, buffer_index=0, axis=3, factor=16, offset=0)

# Let the block count pixels from 0 to 675, in place of lines and columns.
sch.transform_block_layout(block, lambda n, c, y, x, i, dy, dx: (n, c, 26 * y + x, i, dy, dx))
### END SOLUTION

# Step 4. Get the loops of the convolution and reorganise them: split, fuse, partition, reorder.
# zh: 第 4 步：取得卷积的循环并重新组织：切分、融合、分段、重排。
# ko: 4단계. 합성곱의 루프를 얻어 재구성합니다: split, fuse, partition, reorder.
### BEGIN SOLUTION
# A tile of 2 filters by 3 vectors of 16 pixels has 6 sums, which stay in the registers of AVX-512.
# Without it a vector has 8 numbers and there are half as many registers: 1 filter by 6 vectors.
cpu = tvm.target.Target.from_device("cpu")
is_wide = tvm.target.codegen.llvm_cpu_has_features("avx512f", cpu)
filters, count, width = (2, 3, 16) if is_wide else (1, 6, 8)

n, c, pixel, i, dy, dx = sch.get_loops(block)
c0, c1 = sch.split(c, factors=[None, filters])
sch.reorder(n, c0, pixel, i, dy, dx, c1)

# An image is packed just before its first filters, whole lines at a time.
sch.compute_at(packed, n, preserve_unit_loops=True)
y, x, *window = sch.get_loops(packed)[-5:]
sch.reorder(*window, y, x)

# 672 pixels are 14 tiles of 48; the last four pixels have a loop of their own.
most, rest = sch.loop_partition(pixel, factors=[672, None])
(block,) = sch.get_child_blocks(most)
(rest_block,) = sch.get_child_blocks(rest)

pixel, i, dy, dx, c1 = sch.get_loops(block)[-5:]
tile, vectors, lanes = sch.split(pixel, factors=[None, count, width])
sch.reorder(tile, i, dy, dx, c1, vectors, lanes)

rest_lanes, rest_i, rest_dy, rest_dx, rest_c1 = sch.get_loops(rest_block)[-5:]
sch.reorder(rest_i, rest_dy, rest_dx, rest_c1, rest_lanes)
### END SOLUTION

# Step 5. Say which loops run in parallel, vectorised or unrolled.
# zh: 第 5 步：指定哪些循环并行、向量化或展开。
# ko: 5단계. 어떤 루프를 병렬화, 벡터화, 언롤할지 정합니다.
### BEGIN SOLUTION
sch.parallel(n)
for loop in (x, lanes, rest_lanes):
    sch.vectorize(loop)
for loop in (dy, dx, c1, vectors, rest_dy, rest_dx, rest_c1):
    sch.unroll(loop)
### END SOLUTION

# Step 6. Decompose the reduction.
# zh: 第 6 步：分解归约。
# ko: 6단계. 축약을 분해합니다.
### BEGIN SOLUTION
sch.decompose_reduction(block, i)
sch.decompose_reduction(rest_block, rest_i)
### END SOLUTION

sch.show()

# %% tags=["self-check"]
# %grader check schedule

# %% [markdown] tags=["instructor"]
# **How good is this schedule?** It does 1.56 million multiplications and additions, and moves 0.36
# megabytes. On an AVX-512 processor at 3.8 GHz, which does two multiply-adds of 16 floats in a
# cycle, that takes one thread 6.4 microseconds of arithmetic and 2 of memory (the second cache
# level), which overlap: so arithmetic is the limit. `benchmarks/reference_schedule.py` measures it
# on the machine at hand.
#
# Measured there, in microseconds: unscheduled 27, best of 256 MetaSchedule trials 10.4, this
# schedule 7.6, which is 1.2 times the limit. What remains: 0.9 for packing the images, whose lines
# of 26 are stored in three pieces; 0.2 for the last four pixels, which cost as many instructions as
# 16; 0.1 for storing the sums, as three of four filters' images do not begin at a cache line.
#
# Where the others lose: a tile along a line of 26 pixels wastes 6 of 32 places of two vectors, and
# LLVM has no vectors of 13 or 26, so that each load and store becomes three. LLVM's own schedule
# of the plain loops keeps no sums in registers.
#
# Compiled for AVX2, on an Intel processor with AVX-512: unscheduled 30, 2 filters by 3 vectors of 16
# pixels 31 to 33, 1 filter by 6 vectors of 8 pixels 21. `benchmarks/processors.py` compares them.
#
# Few submissions will pack. Tiles of 8 filters, 2 lines and 13 pixels come to 10.4 without it.

# %% [markdown]
# Is it still the same network, and is the convolution faster? If your function is not called
# `conv2d`, put its name here.

# %% [markdown] lang="zh"
# 还是同一个网络吗，卷积是不是更快了？如果你的函数不叫 `conv2d`，请在这里换成它的名字。

# %% [markdown] lang="ko"
# 여전히 같은 네트워크이고, 합성곱은 더 빨라졌나요? 여러분의 함수 이름이 `conv2d`가 아니면 여기에
# 그 이름을 넣으세요.

# %% tags=["raises-exception"]
check_equivalence(sch.mod)
before, after = time_function(mod, "conv2d"), time_function(sch.mod, "conv2d")
print(f"{before:.1f} us before, {after:.1f} us after: {before / after:.1f} times as fast")

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
# ## 제출하기
#
# 커널을 다시 시작하고 모든 셀을 실행한 뒤, 오류로 끝난 셀이 있는지 확인하세요. 그런 다음 이
# 파일을 제출하세요.
