# /// cheat
# about = """An error imitates what the kernel says of a loop's variable, with orders for a \
#     terminal and a page."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
# ///
# %%
def create_model_via_emit_te(image=None):
    raise ValueError(
        'In block "\x1b[2J<script>alert(1)</script>` " of `f`, `i` is a loop\'s variable and has no'
        " axis, which is `T.axis.spatial(1)`. " + 'In block "' * 200
    )
