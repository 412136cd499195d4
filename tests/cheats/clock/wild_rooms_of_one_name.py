# /// cheat
# about = "Buffers of odd vectors have the names that the room made for them would have."
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
# score = 0
# reason_contains = ["Your schedule is slower than the unscheduled function"]
#
# [expect.part.schedule.check]
# pure_tir = "passed"
# equivalence = "passed"
# steps = "failed"
# speed = "failed"
# ///
# %%
# Room for vectors of three is made by another buffer of twice the size, `loc_room`. Here is one
# already, beside a third that would be the room's own room; all of them have rows of threes.
sch = install(
    """
    loc = T.sblock_alloc_buffer((30000, 3), "float32")
    loc_room = T.sblock_alloc_buffer((30000, 3), "float32")
    loc_room_room = T.sblock_alloc_buffer((30000, 3), "float32")
    for k in range(30000):
        with T.sblock("write"):
            vk = T.axis.spatial(30000, k)
            T.reads(x[0, 0, 0, 0:3])
            T.writes(loc[vk, 0:3], loc_room[vk, 0:3], loc_room_room[vk, 0:3])
            for lane in T.vectorized(3):
                loc[vk, lane] = x[0, 0, 0, lane]
            for lane in T.vectorized(3):
                loc_room[vk, lane] = x[0, 0, 1, lane]
            for lane in T.vectorized(3):
                loc_room_room[vk, lane] = x[0, 0, 2, lane]
    for k in range(30000):
        with T.sblock("read"):
            vk = T.axis.spatial(30000, k)
            T.reads(loc[vk, 0:3], loc_room[vk, 0:3], loc_room_room[vk, 0:3])
            T.writes(y[0, 0, 0, 0:3])
            for lane in T.vectorized(3):
                y[0, 0, 0, lane] = loc[vk, lane] + loc_room[vk, lane] + loc_room_room[vk, lane]
    """
)
