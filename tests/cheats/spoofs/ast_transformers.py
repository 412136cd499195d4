# /// cheat
# about = "Assertions are taken out of every later cell."
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
import ast


class Forgiving(ast.NodeTransformer):
    """Takes out what could fail."""

    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)


get_ipython().ast_transformers.append(Forgiving())
# %%
assert 1 == 2, "a test that fails"
