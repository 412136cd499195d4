"""Copies are found, whatever was done to hide them; who only shares the template is not."""

from __future__ import annotations

import random

import pytest
from plant_class import KINDS, PlantedClass, copied, make_class
from planted_notebooks import WritingPlan, handout, write

from grader.report import Cell
from grader.similarity.fragments import Writing, fragments_of, given_keys, writing_of
from grader.similarity.pairs import Similarities, compare

GIVEN = given_keys(handout())


def alike(made: PlantedClass, least: float = 0.5) -> Similarities:
    writings = [writing_of(each.id, each.id, "", each.cells) for each in made.students]
    return compare("e2e-conv", writings, GIVEN, least)


@pytest.fixture(scope="module")
def made() -> PlantedClass:
    return make_class(120, 60, seed=1)


@pytest.fixture(scope="module")
def found(made: PlantedClass) -> Similarities:
    return alike(made)


@pytest.mark.parametrize("kind", KINDS)
def test_nine_of_ten_copies_are_found(made: PlantedClass, found: Similarities, kind: str) -> None:
    pairs = {frozenset((each.one, each.other)) for each in found.pairs}
    planted = {pair for pair, how in made.copies.items() if how == kind}
    assert len(planted) == 10
    assert len(planted & pairs) >= 0.9 * len(planted)


def test_none_of_the_first_ten_pairs_is_false(made: PlantedClass, found: Similarities) -> None:
    first = {frozenset((each.one, each.other)) for each in found.pairs[:10]}
    assert first <= made.copies.keys()


def test_an_honest_class_has_no_pairs() -> None:
    assert () == alike(make_class(60, 0)).pairs


def test_three_who_share_are_a_group() -> None:
    plans = [WritingPlan(number, schedule=True) for number in range(20)]
    cells = {f"u{number}": write(plan) for number, plan in enumerate(plans)}
    for id, kind in (("copy", "renamed"), ("other", "permuted")):
        cells[id] = copied(plans[3], kind, random.Random(0))
    writings = [writing_of(id, id, "", own) for id, own in cells.items()]
    assert (("copy", "other", "u3"),) == compare("x", writings, GIVEN).clusters


def code(source: str) -> set[int]:
    return {each.key for each in fragments_of((source,))}


@pytest.mark.parametrize(
    "other",
    [
        "total = te.sum(image[y, x] * kernel[y, x], axis=[y, x])",
        "a = te.sum(b[c, d] * e[c, d],   # words\n    axis=[c, d])",
        "r = te.sum(k[i, j] * p[i, j], axis=[i, j])",
    ],
)
def test_names_layout_comments_and_order_of_factors_do_not_count(other: str) -> None:
    names = "y = x = image = kernel = a = b = c = d = e = r = k = p = i = j = 0\n"
    assert code(names + "total = te.sum(kernel[y, x] * image[y, x], axis=[y, x])") == code(
        names + other
    )


def test_another_function_of_a_library_counts() -> None:
    assert not code("a = np.exp(b[0]) + np.abs(b[1])") & code("a = np.sqrt(b[0]) + np.sin(b[1])")


def test_an_import_by_another_name_is_the_same() -> None:
    one = code("import numpy as np\na = np.exp(np.abs(b[0]), out=c)")
    assert one & code("import numpy as other\na = other.exp(other.abs(b[0]), out=c)")


SCHEDULE = """
sch = tvm.s_tir.Schedule(module)
one = sch.get_sblock("conv")
two = sch.get_sblock("pad")
n, c = sch.get_loops(one)
i, j = sch.get_loops(two)
outer, inner = sch.split(n, factors=[None, 4])
sch.parallel(outer)
sch.vectorize(j)
"""
TYPED_ANEW = """
s = tvm.s_tir.Schedule(mod)
b = s.get_sblock("padding")
p, q = s.get_loops(b)
s.vectorize(q)
a = s.get_sblock("convolution")
k, l = s.get_loops(a)
x, y = s.split(k, factors=[None, 32])
s.parallel(x)
"""


def steps(source: str) -> list[int]:
    return sorted(each.key for each in fragments_of((source,)) if each.kind == "schedule")


def test_a_schedule_typed_anew_in_another_order_is_the_same() -> None:
    assert steps(SCHEDULE) == steps(TYPED_ANEW)
    assert 3 == len(steps(SCHEDULE))


def test_a_schedule_of_other_loops_is_another() -> None:
    assert steps(SCHEDULE) != steps(SCHEDULE.replace("sch.vectorize(j)", "sch.vectorize(i)"))


def test_cells_of_the_handout_and_given_texts_are_nobodys_own() -> None:
    source = "def load(path):\n    return {name: np.load(path)[name] for name in np.load(path)}"
    handed = Cell("code", source, 1, given=True)
    assert () == writing_of("ada", "", "", [handed]).fragments
    own = [writing_of(each, "", "", [Cell("code", source, 1)]) for each in ("ada", "olga")]
    assert 1 == len(compare("x", own).pairs)
    assert () == compare("x", own, given_keys([source.replace("path", "place")])).pairs


@pytest.mark.parametrize(
    "source",
    [
        "x = (",
        "(" * 5000,
        "-" * 50_000 + "1",
        "1" + "+1" * 29_000,
        "a" + ".b" * 29_000,
        "x" * 70_000,
        "%%bash\necho $HOME",
    ],
    ids=lambda source: source[:4],
)
def test_what_is_no_python_or_means_harm_is_left_out(source: str) -> None:
    assert [] == [*fragments_of((source, "%time"))]
    found = compare("x", [writing_of("ada", "", "", [Cell("code", source, 1)])])
    assert (("ada",), ()) == (found.left_out, found.pairs)


@pytest.mark.parametrize(
    "source",
    [
        "if a: x = f(a, b, c, d, e)\n" + "elif a: x = f(a, b, c, d, e)\n" * 2000,
        "a = f(b, c, d, e, g)\n" * 3000,
        "".join(f"{' ' * n}if f(a, b, c, d, e):\n" for n in range(90)) + " " * 90 + "x = 1\n",
    ],
    ids=["branches", "statements", "depth"],
)
def test_of_long_and_deep_cells_a_bounded_part_is_compared(source: str) -> None:
    writing = writing_of("ada", "", "", [Cell("code", source, n) for n in range(20)])
    assert 0 < len(writing.fragments) <= 4_000


def test_nobody_is_no_error() -> None:
    assert () == compare("x", list[Writing]()).pairs
