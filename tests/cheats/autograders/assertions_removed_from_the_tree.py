# /// cheat
# about = "A transformer of the syntax tree drops all assertions and calls of later cells."
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
import ast


class Remover(ast.NodeTransformer):
    """Drops assertions and bare expressions."""

    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)

    def visit_Expr(self, node):
        return ast.copy_location(ast.Pass(), node)


get_ipython().ast_transformers.append(Remover())

# %%
raise_if_wrong = create_model()
assert raise_if_wrong is None, "dropped"
