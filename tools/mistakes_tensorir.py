"""Example submissions of tensorir with one typical mistake each."""

from __future__ import annotations

from textwrap import indent

from snippets_tensorir import (
    ADD_BODY,
    BMM_RELU,
    BMM_SUM,
    CONV_BODY,
    MY_ADD,
    MY_BMM,
    MY_CONV,
    SCHEDULE,
    SETUP,
    add,
    bmm,
    conv,
    module,
)

CONV_WITHOUT_INIT = CONV_BODY.replace(
    "        with T.init():\n            C[vn, vf, vy, vx] = T.int64(0)\n", ""
)

# The numbers are right: zeros are written first, and TVM does not ask what kind an axis is.
CONV_ALL_SPATIAL = """\
for n, f, y, x in T.grid(1, 2, 6, 6):
    with T.sblock("zero"):
        vn, vf, vy, vx = T.axis.remap("SSSS", [n, f, y, x])
        C[vn, vf, vy, vx] = T.int64(0)
""" + CONV_WITHOUT_INIT.replace("SSSSRRR", "SSSSSSS")

BMM_INIT_IN_EVERY_ROUND = BMM_SUM.replace("SSSR", "SSSS")

CONV_LOOP_WITHIN = """\
for n, f, y, x in T.grid(1, 2, 6, 6):
    with T.sblock("conv"):
        vn, vf, vy, vx = T.axis.remap("SSSS", [n, f, y, x])
        C[vn, vf, vy, vx] = T.int64(0)
        for i, j in T.grid(3, 3):
            C[vn, vf, vy, vx] += A[vn, 0, vy + i, vx + j] * B[vf, 0, i, j]
"""

# TVM refuses it: the cell ends in an error, and there is no module.
BMM_LOOP_VARIABLE = BMM_SUM.replace(
    'vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])',
    'vn, vi, vj = T.axis.remap("SSS", [n, i, j])',
).replace("vk", "k")

BMM_WITHOUT_RELU = BMM_RELU.replace("T.max(Y[vn, vi, vj], T.float32(0))", "Y[vn, vi, vj]")

# No step is refused: TVM vectorises a loop around a reduction that is decomposed afterwards. The
# unscheduled function has no name of its own: it would be graded, and timed, as a second candidate.
WRONG_SCHEDULE = f"""\
def schedule():
{indent(module("Unscheduled", bmm()), "    ")}
    s = tvm.s_tir.Schedule(Unscheduled)
    Y = s.get_sblock("Y", func_name="bmm_relu")
    C = s.get_sblock("C", func_name="bmm_relu")
    n, i, j, k = s.get_loops(Y)
    s.parallel(n)
    s.vectorize(j)
    s.reverse_compute_at(C, j)
    s.decompose_reduction(Y, k)
    return s


sch = schedule()
"""

MISTAKES: dict[str, tuple[str, ...]] = {
    "add_of_floats": (SETUP, module("MyAdd", add(dtype="float32")), MY_CONV),
    "add_to_columns": (
        SETUP,
        module("MyAdd", add(ADD_BODY.replace("B[vj]", "B[vi]"))),
        MY_CONV,
    ),
    "conv_kernel_flipped": (
        SETUP,
        MY_ADD,
        module("MyConv", conv(CONV_BODY.replace("vc, vi, vj]\n", "vc, 2 - vi, 2 - vj]\n"))),
    ),
    "conv_without_init": (SETUP, MY_ADD, module("MyConv", conv(CONV_WITHOUT_INIT))),
    "conv_all_axes_spatial": (SETUP, MY_ADD, module("MyConv", conv(CONV_ALL_SPATIAL))),
    "conv_loop_within_block": (SETUP, MY_ADD, module("MyConv", conv(CONV_LOOP_WITHIN))),
    "bmm_init_in_every_round": (
        SETUP,
        module("MyBmmRelu", bmm(BMM_INIT_IN_EVERY_ROUND + BMM_RELU)),
    ),
    "bmm_loop_variable_in_block": (
        SETUP,
        module("MyBmmRelu", bmm(BMM_LOOP_VARIABLE + BMM_RELU)),
    ),
    "bmm_transposed": (
        SETUP,
        module("MyBmmRelu", bmm(BMM_SUM.replace("B[vn, vk, vj]", "B[vn, vj, vk]") + BMM_RELU)),
    ),
    "bmm_without_relu": (SETUP, module("MyBmmRelu", bmm(BMM_SUM + BMM_WITHOUT_RELU))),
    "schedule_not_vectorized": (
        SETUP,
        MY_BMM,
        "".join(line for line in SCHEDULE.splitlines(keepends=True) if "vectorize" not in line),
    ),
    "schedule_changes_result": (SETUP, WRONG_SCHEDULE),
}
