# A function that counts its calls in memory that nobody clears, and takes its time by that number:
# no statement depends on it, but the sine of a large number takes fifteen times as long as that of
# zero.
COUNTING = """
    kept = T.sblock_alloc_buffer((900002,), "float32")
    idle = T.sblock_alloc_buffer((900000,), "float64")
    with T.sblock("count"):
        T.reads(kept[0:900002])
        T.writes(kept[0:900002])
        kept[900000] = T.min(T.max(kept[900000], T.float32(0)), T.float32(4194304)) + T.float32(1)
        kept[900001] = {quick}
        kept[0] = kept[900000]
    for k in range({sines}):
        with T.sblock("idle"):
            vk = T.axis.spatial({sines}, k)
            T.reads(kept[900001], x[0, 0, vk // 28 % 28, vk % 28])
            T.writes(idle[0:900000])
            idle[899999 - vk] = T.sin(
                (T.float64(1) - T.Cast("float64", kept[900001]))
                * T.float64(1e30)
                * (T.Cast("float64", x[0, 0, vk // 28 % 28, vk % 28]) + T.float64(7))
            )
    with T.sblock("whole"):
        T.reads(kept[900001])
        T.writes(idle[0:900000])
        idle[0] = T.Cast("float64", kept[900001])
"""
IDLE = "(idle[0] + idle[899999])"

SUM = """
    for n, f, i, j, c, p, q in T.grid(4, 32, 26, 26, 1, 3, 3):
        with T.sblock("conv2d_nchw"):
            vn, vf, vi, vj, vc, vp, vq = T.axis.remap("SSSSRRR", [n, f, i, j, c, p, q])
            T.reads(x[vn, vc, vi + vp, vj + vq], w[vf, vc, vp, vq])
            T.writes(y[vn, vf, vi, vj])
            with T.init():
                y[vn, vf, vi, vj] = T.float32(0)
            y[vn, vf, vi, vj] = y[vn, vf, vi, vj] + x[vn, vc, vi + vp, vj + vq] * w[vf, vc, vp, vq]
"""

CALLS = "kept[900000]"


def between(first, last, number=CALLS):
    """Return an expression that is 1 from one number on, and 0 again from another one on."""
    steps = [
        f"T.min(T.max({number} - T.float32({n}), T.float32(0)), T.float32(1))"
        for n in (first, last)
    ]
    return f"{steps[0]} - {steps[1]}"


def every(period, number=CALLS):
    """Return the number of a call modulo `period`."""
    return f"({number} - T.float32({period}) * T.floor({number} * T.float32({1 / period})))"


def tile(schedule):
    """Schedule the convolution as somebody might who gets two thirds of the points for speed."""
    block = schedule.get_sblock("conv2d_nchw", func_name="conv2d")
    image, channel, row, column, *window = schedule.get_loops(block)
    channels, filters = schedule.split(channel, [None, 2])
    schedule.reorder(image, channels, row, column, *window, filters)
    for part in schedule.loop_partition(column, [24, None]):
        (each,) = schedule.get_child_blocks(part)
        column, *window, filters = schedule.get_loops(each)[-5:]
        written_out = [*window[1:], filters]
        if schedule.get(column).extent == 24:
            tile, vector, column = schedule.split(column, [None, 3, 8])
            schedule.reorder(tile, *window, filters, vector, column)
            written_out.append(vector)
        else:
            schedule.reorder(*window, filters, column)
        schedule.vectorize(column)
        for loop in written_out:
            schedule.unroll(loop)
        schedule.decompose_reduction(each, window[0])
    return schedule


def uneven(quick, sines=215):
    """Return a tiled schedule that is quick where an expression is 1, and slow where it is 0."""
    return tile(install(COUNTING.format(quick=quick, sines=sines), IDLE, SUM))
