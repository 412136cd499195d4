# %%
def create_model_via_emit_te(image=None):
    raise ValueError(
        'In block "\x1b[2J<script>alert(1)</script>` " of `f`, `i` is a loop\'s variable and has no'
        " axis, which is `T.axis.spatial(1)`. " + 'In block "' * 200
    )
