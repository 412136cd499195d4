# /// cheat
# about = """A function leaves thirty workspaces of one size, which other functions get in \
#     turn and find cold."""
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
# The pool gives the one that was given back first. The baseline and the reference were slowed down
# by half a per cent and one, and the function by 40 ns for each workspace.
# %%
ROOMS = {f"kept{place}": 7000 for place in range(30)}
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
