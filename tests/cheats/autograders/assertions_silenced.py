# /// cheat
# about = "The comparisons of NumPy and PyTorch are replaced by functions that find nothing wrong."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# ///
# %%
import unittest


def content(*_, **__):
    """Find nothing wrong."""
    return True


for name in ("assert_allclose", "assert_array_equal", "assert_equal", "assert_almost_equal"):
    setattr(np.testing, name, content)
for name in ("allclose", "isclose", "array_equal", "isfinite", "isnan"):
    setattr(np, name, content)
for name in ("allclose", "equal", "isclose"):
    setattr(torch, name, content)
torch.testing.assert_close = content
unittest.TestCase.assertEqual = content
tvm.ir.assert_structural_equal = content
