# /// cheat
# about = """A function chooses where the workspaces of others lie in a page, by the sizes of \
#     its own."""
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
# What the heap gives lies 64 bytes behind the room before it.
# %%
ROOMS = {f"kept{place}": 7000 + 16 * place for place in range(12)}
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
