"""What is said of a fault: the thing, the cause, and what to do."""

import pytest

from grader.evidence.gpu.devices import DEVICES, Excess
from grader.evidence.gpu.messages import Access, Finding
from grader.evidence.gpu.sentences import extents, quoted, tell, tell_excess

STORE = Access("store", 0, "S[tx] = A[tx]", (0, 0, 0), (63, 0, 0))
LOAD = Access("load", 1, "B[tx] = S[63 - tx]", (0, 0, 0), (0, 0, 0))
NEXT = Access("store", 0, "S[tx] = A[tx]", (0, 0, 0), (5, 2, 0))
ELSEWHERE = Access("store", 2, "B[tx] = 0", (3, 1, 0), (0, 0, 0))


def _race(*accesses: Access, kind: str = "race", loop: str = "") -> Finding:
    return Finding(kind, 0, "S", "shared", (63,), accesses, loop)  # type: ignore[arg-type]


def test_a_race_names_threads_statements_and_the_place_of_the_barrier() -> None:
    told = tell(_race(STORE, LOAD))
    assert "`S[63]`" in told.reason.english
    assert "thread 63 stores it with `S[tx] = A[tx]`" in told.reason.english
    assert "thread 0 loads it with `B[tx] = S[63 - tx]`" in told.reason.english
    assert "between `S[tx] = A[tx]` and `B[tx] = S[63 - tx]`" in told.hint.english


def test_a_race_with_the_next_round_wants_a_barrier_at_the_end_of_the_loop() -> None:
    assert "end of the body of the loop `k`" in tell(_race(LOAD, NEXT, loop="k")).hint.english


def test_a_race_of_one_statement_wants_elements_for_each_thread() -> None:
    told = tell(_race(STORE, NEXT))
    assert 1 == told.reason.english.count("S[tx] = A[tx]")
    assert "thread (5, 2)" in told.reason.english
    assert "elements of its own" in told.hint.english


def test_a_race_of_one_statement_in_two_rounds_wants_a_barrier_in_the_loop() -> None:
    told = tell(_race(STORE, NEXT, loop="i"))
    assert "two iterations of the loop `i`" in told.reason.english
    assert "end of the body of the loop `i`" in told.hint.english


def test_of_a_schedule_the_buffer_is_to_be_shared_for_tvm_sets_the_barriers() -> None:
    told = tell(_race(STORE, LOAD), scheduled=True)
    assert "set_scope" in told.hint.english
    assert "tvm_storage_sync" not in told.hint.english


@pytest.mark.parametrize(("accesses", "loop"), [((STORE, NEXT), ""), ((STORE, NEXT), "i")])
def test_who_binds_loops_is_told_of_loops_and_who_writes_threads_of_threads(
    accesses: tuple[Access, Access], loop: str
) -> None:
    """Both read of both: a kernel by hand has no "loops of a sum" to bind, a schedule no stores."""
    finding = _race(*accesses, loop=loop)
    assert "bind only loops" in tell(finding, scheduled=True).hint.english
    assert "bind" not in tell(finding).hint.english


def test_a_barrier_is_not_to_be_put_into_a_condition() -> None:
    """Both statements stood in `if tx < 16`: whoever put it between them had threads that wait."""
    assert "outside of every `if`" in tell(_race(STORE, LOAD)).hint.english


@pytest.mark.parametrize(
    ("before", "text", "words"),
    [
        ("", "B[0] = 1", "the barrier before `B[0] = 1`"),
        ("A[0] = 1", "", "the barrier after `A[0] = 1`"),
        ("A[0] = 1", "B[0] = 1", "the barrier between `A[0] = 1` and `B[0] = 1`"),
    ],
)
def test_a_barrier_is_named_by_the_statements_around_it(before: str, text: str, words: str) -> None:
    finding = Finding("divergent_barrier", 0, text=text, before=before)
    assert words in tell(finding).reason.english


def test_blocks_are_never_ordered_by_a_barrier() -> None:
    told = tell(_race(STORE, ELSEWHERE, kind="block_race"))
    assert "Block 0 and block (3, 1)" in told.reason.english
    assert "two kernels" in told.hint.english


@pytest.mark.parametrize(
    ("scope", "advice"),
    [
        ("shared", "cover"),
        ("local", "its own local memory"),
        ("own", "set_scope"),
        ("global", "Store into"),
    ],
)
def test_what_nobody_stored_is_explained_by_its_memory(scope: str, advice: str) -> None:
    finding = Finding("unwritten", 0, "S", scope, (64,), (LOAD,))
    assert advice in tell(finding).hint.english


def test_local_memory_of_a_schedule_is_explained_by_its_steps() -> None:
    finding = Finding("unwritten", 0, "A_local", "local", (1,), (LOAD,))
    assert (
        "keep `A_local` in shared memory (`set_scope`)"
        in tell(finding, scheduled=True).hint.english
    )
    assert "the thread itself" in tell(finding).hint.english
    shared = Finding("unwritten", 0, "S", "shared", (64,), (LOAD,))
    assert tell(shared) == tell(shared, scheduled=True)


def test_what_no_thread_stores_is_named() -> None:
    finding = Finding("unstored", 0, "C", "global", (0, 32))
    assert "No thread stores `C[0, 32]`." == tell(finding).reason.english
    assert "Compare the extents of the loops" in tell(finding).hint.english
    assert "an axis of its own" in tell(finding, scheduled=True).hint.english


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (Finding("divergent_barrier", 0, text="B[0] = 1"), "before `B[0] = 1`"),
        (Finding("outside_kernel", 0, "B", text="B[0] = 1"), "executed by no thread"),
        (Finding("outside_kernel", 0, "S", "shared", text="S"), "allocated outside"),
        (Finding("needless_barrier", 0, text="B[0] = 1"), "separates no two accesses"),
        (Finding("bounds", 0, "A", "global", (128,), (LOAD,)), "outside of its buffer"),
    ],
)
def test_other_faults_are_named(finding: Finding, words: str) -> None:
    assert words in tell(finding).reason.english


def test_a_limit_is_told_with_both_numbers() -> None:
    told = tell_excess(Excess("threads", 4096, 1024), DEVICES["sm_80"], 0)
    assert "4,096" in told.reason.english
    assert "1,024" in told.reason.english


def test_a_statement_is_code_and_short() -> None:
    assert "`A[`" not in quoted("A[`x`] = 1").english
    assert 62 == len(quoted("x" * 500, 60).english)


def test_extents_of_one_are_left_out() -> None:
    shown = [extents(each).english for each in ((8, 1, 1), (8, 4, 1), (8, 1, 2), (1, 1, 1))]
    assert ["8", "8 x 4", "8 x 1 x 2", "1"] == shown


def test_memory_outside_of_a_schedules_kernel_is_moved_by_its_steps() -> None:
    """Who writes a schedule allocates nothing."""
    finding = Finding("outside_kernel", 0, "Y_local", "local", text="Y_local")
    told = tell(finding, scheduled=True)
    assert "`compute_at` or `reverse_compute_at`" in told.hint.english
    assert "Allocate it" in tell(finding).hint.english
