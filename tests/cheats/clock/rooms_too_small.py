# /// cheat
# about = """A function leaves workspaces that are a little too small for others, which have \
#     theirs allocated anew."""
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
# A room that is too small is given back to the system: but in the call that is not timed.
# %%
ROOMS = {f"kept{place}": 3072 + place % 2 for place in range(2)}
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
