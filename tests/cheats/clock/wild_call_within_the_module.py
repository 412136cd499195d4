# /// cheat
# about = """A function calls another one of its module, with less than that takes its argument to \
#     be."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_wild", "@"]
#
# [expect]
# score = 40
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = 0
# reason_contains = ["TVM could not build the module"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "not_graded"
# steps = "not_graded"
# speed = "not_graded"
# ///
# %%
# A function of the same module is given a buffer of eight items and takes it for one of 4096: each
# of its own accesses is within what it says of its argument, and what was proven of it is a lie.
from tvm.script import ir as I

HEAD = """
@I.ir_module
class Wild:
    @T.prim_func(s_tir=True)
    def beyond(a: T.Buffer((4096,), "float32")):
        for k in range(4096):
            with T.sblock("beyond"):
                vk = T.axis.spatial(4096, k)
                T.writes(a[vk])
                a[vk] = T.float32(0)
"""
CALL = """
loc = T.sblock_alloc_buffer((8,), "float32")
Wild.beyond(loc.data)
"""
text = HEAD + textwrap.indent(BEFORE + textwrap.indent(CALL, "    ") + AFTER, "    ")
functions = tvm.script.from_source(text, extra_vars={"I": I, "T": T})
model = create_model_via_emit_te()
beyond = functions.get_global_var("beyond")
model[beyond] = functions[beyond]
model.update_func(model.get_global_var("conv2d"), functions["wild"])
sch = tvm.s_tir.Schedule(model)
