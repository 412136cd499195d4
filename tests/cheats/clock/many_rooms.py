# /// cheat
# about = "A function takes forty workspaces at a time, which others have to search through."
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "b_wild", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = { max = 1 }
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# ///
# The pool's list of free rooms is searched at each allocation: the baseline allocates one, the
# reference one.
# %%
sch = install(
    """
    kept0 = T.sblock_alloc_buffer((4096,), "float32")
    kept1 = T.sblock_alloc_buffer((4160,), "float32")
    kept2 = T.sblock_alloc_buffer((4224,), "float32")
    kept3 = T.sblock_alloc_buffer((4288,), "float32")
    kept4 = T.sblock_alloc_buffer((4352,), "float32")
    kept5 = T.sblock_alloc_buffer((4416,), "float32")
    kept6 = T.sblock_alloc_buffer((4480,), "float32")
    kept7 = T.sblock_alloc_buffer((4544,), "float32")
    kept8 = T.sblock_alloc_buffer((4608,), "float32")
    kept9 = T.sblock_alloc_buffer((4672,), "float32")
    kept10 = T.sblock_alloc_buffer((4736,), "float32")
    kept11 = T.sblock_alloc_buffer((4800,), "float32")
    kept12 = T.sblock_alloc_buffer((4864,), "float32")
    kept13 = T.sblock_alloc_buffer((4928,), "float32")
    kept14 = T.sblock_alloc_buffer((4992,), "float32")
    kept15 = T.sblock_alloc_buffer((5056,), "float32")
    kept16 = T.sblock_alloc_buffer((5120,), "float32")
    kept17 = T.sblock_alloc_buffer((5184,), "float32")
    kept18 = T.sblock_alloc_buffer((5248,), "float32")
    kept19 = T.sblock_alloc_buffer((5312,), "float32")
    kept20 = T.sblock_alloc_buffer((5376,), "float32")
    kept21 = T.sblock_alloc_buffer((5440,), "float32")
    kept22 = T.sblock_alloc_buffer((5504,), "float32")
    kept23 = T.sblock_alloc_buffer((5568,), "float32")
    kept24 = T.sblock_alloc_buffer((5632,), "float32")
    kept25 = T.sblock_alloc_buffer((5696,), "float32")
    kept26 = T.sblock_alloc_buffer((5760,), "float32")
    kept27 = T.sblock_alloc_buffer((5824,), "float32")
    kept28 = T.sblock_alloc_buffer((5888,), "float32")
    kept29 = T.sblock_alloc_buffer((5952,), "float32")
    kept30 = T.sblock_alloc_buffer((6016,), "float32")
    kept31 = T.sblock_alloc_buffer((6080,), "float32")
    kept32 = T.sblock_alloc_buffer((6144,), "float32")
    kept33 = T.sblock_alloc_buffer((6208,), "float32")
    kept34 = T.sblock_alloc_buffer((6272,), "float32")
    kept35 = T.sblock_alloc_buffer((6336,), "float32")
    kept36 = T.sblock_alloc_buffer((6400,), "float32")
    kept37 = T.sblock_alloc_buffer((6464,), "float32")
    kept38 = T.sblock_alloc_buffer((6528,), "float32")
    kept39 = T.sblock_alloc_buffer((6592,), "float32")
    with T.sblock("take0"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept0[0])
        kept0[0] = x[0, 0, 0, 0]
    with T.sblock("take1"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept1[0])
        kept1[0] = x[0, 0, 0, 0]
    with T.sblock("take2"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept2[0])
        kept2[0] = x[0, 0, 0, 0]
    with T.sblock("take3"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept3[0])
        kept3[0] = x[0, 0, 0, 0]
    with T.sblock("take4"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept4[0])
        kept4[0] = x[0, 0, 0, 0]
    with T.sblock("take5"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept5[0])
        kept5[0] = x[0, 0, 0, 0]
    with T.sblock("take6"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept6[0])
        kept6[0] = x[0, 0, 0, 0]
    with T.sblock("take7"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept7[0])
        kept7[0] = x[0, 0, 0, 0]
    with T.sblock("take8"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept8[0])
        kept8[0] = x[0, 0, 0, 0]
    with T.sblock("take9"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept9[0])
        kept9[0] = x[0, 0, 0, 0]
    with T.sblock("take10"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept10[0])
        kept10[0] = x[0, 0, 0, 0]
    with T.sblock("take11"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept11[0])
        kept11[0] = x[0, 0, 0, 0]
    with T.sblock("take12"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept12[0])
        kept12[0] = x[0, 0, 0, 0]
    with T.sblock("take13"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept13[0])
        kept13[0] = x[0, 0, 0, 0]
    with T.sblock("take14"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept14[0])
        kept14[0] = x[0, 0, 0, 0]
    with T.sblock("take15"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept15[0])
        kept15[0] = x[0, 0, 0, 0]
    with T.sblock("take16"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept16[0])
        kept16[0] = x[0, 0, 0, 0]
    with T.sblock("take17"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept17[0])
        kept17[0] = x[0, 0, 0, 0]
    with T.sblock("take18"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept18[0])
        kept18[0] = x[0, 0, 0, 0]
    with T.sblock("take19"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept19[0])
        kept19[0] = x[0, 0, 0, 0]
    with T.sblock("take20"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept20[0])
        kept20[0] = x[0, 0, 0, 0]
    with T.sblock("take21"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept21[0])
        kept21[0] = x[0, 0, 0, 0]
    with T.sblock("take22"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept22[0])
        kept22[0] = x[0, 0, 0, 0]
    with T.sblock("take23"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept23[0])
        kept23[0] = x[0, 0, 0, 0]
    with T.sblock("take24"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept24[0])
        kept24[0] = x[0, 0, 0, 0]
    with T.sblock("take25"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept25[0])
        kept25[0] = x[0, 0, 0, 0]
    with T.sblock("take26"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept26[0])
        kept26[0] = x[0, 0, 0, 0]
    with T.sblock("take27"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept27[0])
        kept27[0] = x[0, 0, 0, 0]
    with T.sblock("take28"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept28[0])
        kept28[0] = x[0, 0, 0, 0]
    with T.sblock("take29"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept29[0])
        kept29[0] = x[0, 0, 0, 0]
    with T.sblock("take30"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept30[0])
        kept30[0] = x[0, 0, 0, 0]
    with T.sblock("take31"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept31[0])
        kept31[0] = x[0, 0, 0, 0]
    with T.sblock("take32"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept32[0])
        kept32[0] = x[0, 0, 0, 0]
    with T.sblock("take33"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept33[0])
        kept33[0] = x[0, 0, 0, 0]
    with T.sblock("take34"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept34[0])
        kept34[0] = x[0, 0, 0, 0]
    with T.sblock("take35"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept35[0])
        kept35[0] = x[0, 0, 0, 0]
    with T.sblock("take36"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept36[0])
        kept36[0] = x[0, 0, 0, 0]
    with T.sblock("take37"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept37[0])
        kept37[0] = x[0, 0, 0, 0]
    with T.sblock("take38"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept38[0])
        kept38[0] = x[0, 0, 0, 0]
    with T.sblock("take39"):
        T.reads(x[0, 0, 0, 0])
        T.writes(kept39[0])
        kept39[0] = x[0, 0, 0, 0]
    """
)
