# /// cheat
# about = """A forged trace claims steps that were not done, and would have code compiled where it \
#     is replayed."""
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# reason_contains = [
#     "Done: the padding is inlined, a loop is vectorized, parallelized or unrolled (parallel).",
#     "graded only on its result: the annotation `pragma_import_llvm` cannot be replayed here",
# ]
#
# [expect.part.schedule.check]
# equivalence = "passed"
# steps = "partial"
# ///
# %%
# The schedule is a plain one. Its trace says something else: the steps of a better one, and an
# annotation that has whoever replays it compile code of ours.
sch = tvm.s_tir.Schedule(create_model_via_emit_te())
block = sch.get_sblock("conv2d_nchw", func_name="conv2d")
sch.compute_inline(sch.get_sblock("pad_temp", func_name="conv2d"))
sch.parallel(sch.get_loops(block)[0])

code = "define void @{linger}() { unreachable }"


def as_json(self, remove_postproc=False):
    return [
        [
            ["GetSBlock", [], ["conv2d_nchw", "conv2d"], ["b0"]],
            ["GetLoops", ["b0"], [], [f"l{number}" for number in range(1, 8)]],
            ["Reorder", ["l2", "l1"], [], []],
            ["Vectorize", ["l4"], [], []],
            ["Annotate", ["l1", f'"{code}"'], ["pragma_import_llvm"], []],
        ],
        [],
    ]


type(sch.trace).as_json = as_json
