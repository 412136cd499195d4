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
ROOMS = {f"kept{place}": 4096 + 64 * place for place in range(40)}
TAKE = """
    {room} = T.sblock_alloc_buffer(({size},), "float32")
    with T.sblock("take_{room}"):
        T.reads(x[0, 0, 0, 0:2])
        T.writes({room}[0:{size}])
        {room}[0] = x[0, 0, 0, 0]
        {room}[{size} - 1] = x[0, 0, 0, 1]
"""
sch = install(
    "".join(TAKE.format(room=room, size=size) for room, size in ROOMS.items()),
    used="(" + " + ".join(f"{room}[0] + {room}[{size} - 1]" for room, size in ROOMS.items()) + ")",
)
