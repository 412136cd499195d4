# %% [markdown]
# # A layer
#
# Define `create_model`.

# %% [markdown] lang="zh"
# # 一个层
#
# 请定义 `create_model`。

# %% [markdown] lang="ko"
# # 한 층
#
# `create_model`을 정의하세요.

# %%
def create_model():
    ### BEGIN SOLUTION
    return None
    ### END SOLUTION


# %% [markdown]
# Why is a fused loop faster?

# %% [markdown] lang="zh"
# 为什么融合后的循环更快？

# %% [markdown] lang="ko"
# 합친 반복문은 왜 더 빠릅니까?

# %% [markdown] tags=["answer-why"]
# ### BEGIN SOLUTION
# What is between the loops is never written to memory.
# ### END SOLUTION

# %% tags=["times-plot"]
times = [1, 2]
### BEGIN SOLUTION
print(times)
### END SOLUTION
