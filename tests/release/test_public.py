"""What students may read of an assignment."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grader.assignment import Assignment
from grader.assignment_files import load_assignment
from grader.release.write import encode_assignment, hidden_models, hidden_names, public_assignment
from grader.selfcheck.public import hidden_points, published
from tests.our_course import our_course

ROOT = Path(__file__).parents[2]
VISIBILITY = ROOT / "tests/courses/visibility/assignments/visibility/assignment.toml"
COURSES = (ROOT, *sorted(ROOT.glob("tests/courses/*")))
ASSIGNMENTS = [path for each in COURSES for path in each.glob("assignments/*/assignment.toml")]


def of(slug: str) -> tuple[Assignment, Assignment]:
    """Return an assignment of this repository, and its public part."""
    whole = our_course().get(slug).assignment
    return whole, public_assignment(whole)


def test_hidden_parts_are_left_out_and_their_points_counted() -> None:
    whole, public = of("from-torch")
    assert [part.id for part in whole.part if not part.hidden] == [part.id for part in public.part]
    assert (60, 40) == (public.points, public.withheld)
    assert {"deep", "unbiased", "functional", "branches", "nested"} == hidden_models(whole, public)
    assert not hidden_names(whole, public)


def test_what_is_given_of_a_hidden_part_is_left_out() -> None:
    whole = our_course().get("e2e-conv").assignment
    hidden = tuple(
        msgspec.structs.replace(part, hidden=part.id == "emit_te") for part in whole.part
    )
    public = public_assignment(msgspec.structs.replace(whole, part=hidden))
    assert ("", ()) == (public.arguments.module_of, public.arguments.module)
    assert whole.arguments.image == public.arguments.image


def test_timing_is_withheld_and_blocks_nothing() -> None:
    for slug in ("e2e-conv", "tensorir"):
        whole, public = of(slug)
        withheld = [each for part in public.part for each in part.check if each.withheld]
        assert ["speed"] == [each.kind for each in withheld]
        assert not any(each.required for each in withheld)
        assert whole.points == public.points


def test_checks_that_students_do_not_see_are_left_out_with_their_options() -> None:
    public = public_assignment(load_assignment(VISIBILITY))
    found = {part.id: [table.id for table in part.check] for part in public.part}
    assert {"model": ["structure", "dataflow"], "schedule": ["pure_tir", "equivalence"]} == found
    dataflow = public.part[0].check[1]
    assert dataflow.withheld
    assert "score_only" == dataflow.visibility
    assert 0 == public.withheld  # not even their points are told
    assert b"shapes" not in encode_assignment(public)


def test_options_of_what_is_shown_by_its_points_are_left_out() -> None:
    whole = load_assignment(VISIBILITY)
    model = whole.part[0]
    table = msgspec.structs.replace(model.check[0], visibility="score_only", required=True)
    part = msgspec.structs.replace(model, check=(table, *model.check[1:]))
    public = public_assignment(msgspec.structs.replace(whole, part=(part, *whole.part[1:])))
    found = public.part[0].check[0]
    assert ({}, False, True) == (found.options, found.required, found.withheld)


def test_a_model_that_only_hidden_parts_compute_goes_with_its_oracle() -> None:
    whole = load_assignment(ROOT / "tests/courses/kinds/assignments/images/assignment.toml")
    computed = load_assignment(ROOT / "assignments/tensorir/assignment.toml")
    hidden = (msgspec.structs.replace(part, hidden=True) for part in whole.part)
    both = msgspec.structs.replace(
        whole,
        part=(*hidden, computed.part[0]),
        computation=computed.computation,
        points=whole.points + computed.part[0].points,
    )
    public = public_assignment(both)
    assert public.oracle is None
    assert {"expected", "model", "conv2d", "bmm_relu"} == hidden_names(both, public)


@pytest.mark.parametrize("path", ASSIGNMENTS, ids=lambda path: path.parent.name)
def test_what_is_written_is_read_back(path: Path, tmp_path: Path) -> None:
    public = public_assignment(load_assignment(path))
    (tmp_path / "assignment.toml").write_bytes(encode_assignment(public))
    assert public == load_assignment(tmp_path / "assignment.toml")
    assert public == public_assignment(public)


@pytest.mark.parametrize("path", ASSIGNMENTS, ids=lambda path: path.parent.name)
def test_the_self_check_is_the_same_as_with_the_complete_course(path: Path) -> None:
    whole = load_assignment(path)
    public = public_assignment(whole)
    assert hidden_points(whole) == hidden_points(public)
    complete, released = published(whole), published(public)
    assert complete.points == released.points
    shown = [
        [
            (part.id, table.id, part.visibility_of(table))
            for part in each.part
            for table in part.check
        ]
        for each in (complete, released)
    ]
    assert shown[0] == shown[1]
