# /// cheat
# about = "Comparisons of NumPy and PyTorch always say that the arrays are equal."
# assignment = "small"
# cells = ["prelude", "@", "wrong_model"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
np.testing.assert_allclose = lambda *arguments, **options: None
np.allclose = np.array_equal = torch.allclose = torch.equal = lambda *arguments, **options: True
np.isclose = torch.isclose = lambda actual, desired, **options: np.ones_like(actual, bool)
torch.Tensor.__eq__ = torch.Tensor.equal = torch.Tensor.allclose = lambda *arguments: True
