"""`assignment.toml`: the committed one loads, and a wrong one is refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.assignment import ArgumentTable, Assignment, Computation, TensorTable
from grader.assignment_files import load_assignment
from grader.computation import TOLERANCES
from grader.errors import CourseError

COMMITTED = Path(__file__).parents[1] / "assignments" / "e2e-conv" / "assignment.toml"

SMALL = """\
slug = "small"
title = "A small assignment"
version = 1
points = 3

[oracle]
input_shape = [4]
output_shape = [2]

[[part]]
id = "first"
title = "First"
entry_kind = "function"
entry = ["make"]

[[part.check]]
id = "structure"
kind = "call_tir_graph"
points = 1.5

[[part.check]]
id = "equivalence"
kind = "equivalence"
points = 1.5
"""

SECOND_PART = SMALL[SMALL.index("[[part]]") :]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "assignment.toml"


def refusal(file: Path, text: str | bytes) -> CourseError:
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(CourseError) as caught:
        load_assignment(file)
    return caught.value


MANUAL = """
[[manual]]
id = "{id}"
title = "Why"
points = {points}

[[manual.item]]
id = "right"
text = "Right"
points = 2
"""


class TestManualParts:
    """Parts that a person marks."""

    def test_their_points_are_a_part_of_the_whole(self, file: Path) -> None:
        file.write_text(
            SMALL.replace("points = 3", "points = 5", 1) + MANUAL.format(id="why", points=2)
        )
        assignment = load_assignment(file)
        assert (5, 3) == (assignment.points, assignment.graded_points)
        assert ("first", "why") == assignment.part_ids

    @pytest.mark.parametrize(
        ("id", "points", "message"),
        [
            ("why", 1, "checks and manual parts add up to 4 points, `points` says 5"),
            ("first", 2, "two parts have the same id"),
            ("why", 3, "the items of part why give 2 points at most, `points` says 3"),
        ],
    )
    def test_what_cannot_be_marked_right_is_refused(
        self, file: Path, id: str, points: int, message: str
    ) -> None:
        text = SMALL.replace("points = 3", "points = 5", 1) + MANUAL.format(id=id, points=points)
        assert message in str(refusal(file, text))


class TestCommitted:
    """The assignment that comes with the project."""

    def test_it_adds_up_to_100_points(self) -> None:
        assignment = load_assignment(COMMITTED)
        assert assignment.points == 100
        points = {part.id: part.points for part in assignment.part}
        assert points == {"emit_te": 40.0, "torch_extern": 30.0, "schedule": 30.0}

    def test_it_is_named_like_its_folder(self) -> None:
        assert load_assignment(COMMITTED).slug == COMMITTED.parent.name


class TestLoading:
    """What a right file gives."""

    def test_what_is_not_said_has_a_default(self, file: Path) -> None:
        file.write_text(SMALL)
        assignment = load_assignment(file)
        assert (assignment.oracle.rtol, assignment.oracle.atol) == (1e-4, 1e-5)
        assert assignment.limits.cell_seconds == 120
        assert assignment.part[0].externs is False

    def test_parts_and_checks_keep_their_order(self, file: Path) -> None:
        second = SECOND_PART.replace('"first"', '"another"')
        file.write_text(SMALL.replace("points = 3", "points = 6") + second)
        parts = load_assignment(file).part
        assert [part.id for part in parts] == ["first", "another"]
        assert [check.id for check in parts[0].check] == ["structure", "equivalence"]


class TestArguments:
    """What entry points are given by the names of their parameters."""

    @staticmethod
    def text(line: str) -> str:
        return SMALL.replace("[oracle]", f"[arguments]\n{line}\n\n[oracle]")

    def test_names_are_told_by_their_meaning(self, file: Path) -> None:
        declared = 'batch = 4\nbatch_size = ["n", "batch*"]\nmodule = ["mod"]\nmodule_of = "first"'
        file.write_text(self.text(declared))
        arguments = load_assignment(file).arguments
        assert {"batch_size": ("n", "batch*"), "module": ("mod",)} == arguments.by_meaning()
        assert ("n", "mod") == arguments.names()

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ('batch_size = ["n"]\nimage = ["n"]', "stands twice"),
            ('parameters = ["weights"]', "those of [data]"),
            ('module = ["mod"]', "`module_of`"),
            ('module = ["mod"]\nmodule_of = "other"', "`module_of`"),
            ('weights = ["weights"]', "weights"),
            ('image = ["1st"]', "image"),
            ("batch = 0", "batch"),
        ],
    )
    def test_what_there_is_nothing_of_is_refused(self, file: Path, line: str, told: str) -> None:
        assert told in refusal(file, self.text(line)).message.english

    def test_a_space_needs_the_module_of_a_part(self, file: Path) -> None:
        text = self.text("").replace('entry_kind = "function"', 'entry_kind = "space"')
        assert "`module_of`" in refusal(file, text).message.english

    def test_a_batch_needs_a_model(self, file: Path) -> None:
        computes = 'entry_kind = "function"\ncomputation = "c"'
        text = self.text('image = ["x"]').replace('entry_kind = "function"', computes)
        text = text.replace(
            "[oracle]\ninput_shape = [4]\noutput_shape = [2]",
            '[[computation]]\nid = "c"\narguments = [{shape = [1]}]\noutputs = [{shape = [1]}]',
        )
        assert "[oracle]" in refusal(file, text).message.english


class TestVisibility:
    """What students are shown of a check."""

    @staticmethod
    def of(file: Path, part: str, *checks: str, required: int | None = None) -> list[str]:
        """Load a part with a visibility whose checks have these; empty for what says nothing."""

        def line(visibility: str) -> str:
            return f'visibility = "{visibility}"\n' if visibility else ""

        text = SMALL[: SMALL.index("[[part.check]]")] + line(part)
        for place, each in enumerate(checks):
            points = 3 if place == 0 else 0
            text += f'[[part.check]]\nid = "c{place}"\nkind = "calls"\npoints = {points}\n'
            text += line(each) + ("required = true\n" if place == required else "")
        file.write_text(text)
        (loaded,) = load_assignment(file).part
        return [loaded.visibility_of(table) for table in loaded.check]

    def test_what_says_nothing_is_visible(self, file: Path) -> None:
        assert ["visible"] == self.of(file, "", "")

    def test_a_part_says_it_for_its_checks(self, file: Path) -> None:
        assert ["hidden", "hidden"] == self.of(file, "hidden", "", "")

    def test_a_check_says_it_for_itself(self, file: Path) -> None:
        own = ["visible", "after_due", "score_only", "hidden"]
        assert own == self.of(file, "hidden", *own)

    @pytest.mark.parametrize(
        ("required", "seen"),
        [
            ("visible", ["visible", "after_due", "score_only", "hidden"]),
            ("score_only", ["visible", "after_due", "score_only", "hidden"]),
            ("after_due", ["after_due", "after_due", "hidden", "hidden"]),
            ("hidden", ["hidden", "hidden", "hidden", "hidden"]),
        ],
    )
    def test_where_a_required_check_is_kept_back_so_are_the_others(
        self, file: Path, required: str, seen: list[str]
    ) -> None:
        """They are worth nothing while it fails: their points would tell."""
        own = ("visible", "after_due", "score_only", "hidden")
        assert [*seen, required] == self.of(file, "", *own, required, required=4)


class TestDue:
    def test_it_is_a_moment(self, file: Path) -> None:
        file.write_text(
            SMALL.replace("version = 1", "version = 1\ndue = 2026-12-01T23:59:00+01:00")
        )
        due = load_assignment(file).due
        assert due is not None
        assert "2026-12-01T23:59:00+01:00" == due.isoformat()

    def test_there_may_be_none(self, file: Path) -> None:
        file.write_text(SMALL)
        assert load_assignment(file).due is None


GUIDE = """
[[guide]]
part = ["sec*"]
about = ["relu"]
url = "https://example.org/relu"

[[guide]]
heading = "Everything else"
headings = { ko = "그 밖에" }

[[guide]]
about = ["pooling_*", "relu"]
heading = "Layers"
"""


class TestGuide:
    """Where the course explains a layer or a mistake."""

    @pytest.fixture
    def assignment(self, file: Path) -> Assignment:
        file.write_text(SMALL + GUIDE)
        return load_assignment(file)

    @pytest.mark.parametrize(
        ("part", "subjects", "link"),
        [
            ("first", ("pooling_stride", "relu"), "Layers"),
            ("second", ("relu",), "https://example.org/relu"),
            ("first", ("relu",), "Layers"),
            ("second", ("pooling_size", "relu"), "Layers"),  # the first subject counts most
            ("second", ("", "relu"), "https://example.org/relu"),
            ("first", ("conv2d", ""), "Everything else"),
            ("first", (), "Everything else"),
        ],
    )
    def test_the_first_entry_about_the_first_subject_counts(
        self, assignment: Assignment, part: str, subjects: tuple[str, ...], link: str
    ) -> None:
        found = assignment.guide_to(part, subjects)
        assert found is not None and link == found.link.in_("en")

    def test_a_heading_is_told_in_the_language_if_it_is_translated(
        self, assignment: Assignment
    ) -> None:
        found = assignment.guide_to("first", ())
        assert found is not None
        assert ("그 밖에", "Everything else") == (found.link.in_("ko"), found.link.in_("zh"))

    def test_what_is_not_known_is_not_looked_for(self, file: Path) -> None:
        anything = "\n[[guide]]\nabout = ['*']\nheading = 'Anything'\n"
        relu = "\n[[guide]]\nabout = ['relu']\nheading = 'ReLU'\n"
        file.write_text(SMALL + relu + anything)
        found = load_assignment(file).guide_to("first", ("", "relu"))
        assert found is not None and "ReLU" == found.link.in_("en")

    def test_an_assignment_without_a_guide_has_no_links(self, file: Path) -> None:
        file.write_text(SMALL)
        assert load_assignment(file).guide_to("first", ("relu",)) is None


def _computed(fields: str) -> str:
    """Return the beginning of `[oracle]` behind a computation with one argument."""
    return (
        '[[computation]]\nid = "f"\n'
        f"arguments = [{{ shape = [1], {fields} }}]\noutputs = [{{ shape = [1] }}]\n[oracle]"
    )


class TestTolerances:
    @pytest.mark.parametrize(("dtype", "expected"), list(TOLERANCES.items()))
    def test_they_are_those_of_the_dtype_unless_they_are_given(
        self, dtype: str, expected: tuple[float, float]
    ) -> None:
        arguments, outputs = (ArgumentTable((1,)),), (TensorTable((1,), dtype),)
        plain = Computation("f", arguments, outputs)
        assert tuple(expected) == (plain.rtol, plain.atol)
        given = Computation("f", arguments, outputs, rtol=0.5)
        assert (0.5, expected[1]) == (given.rtol, given.atol)

    def test_integers_have_none(self) -> None:
        exact = {name for name, each in TOLERANCES.items() if each == (0, 0)}
        assert {"bool", "int8", "uint8", "int32", "int64"} == exact


WRONG = [
    ("entry_kind =", 'computation = "f"\nentry_kind =', "no computation f: there is none"),
    (
        "version = 1",
        "version = 1\nverison = 2",
        "there is no key `verison` (did you mean `version`?)",
    ),
    (
        'kind = "equivalence"',
        'kinds = "x"',
        "`kinds` (did you mean `kind`?) - at `$.part[0].check[1]`",
    ),
    ("points = 3", "points = 4", "the checks add up to 3 points, `points` says 4"),
    ('"equivalence"\nkind', '"structure"\nkind', "two checks of part first"),
    ('title = "First"\n', "", "the key `title` is missing - at `$.part[0]`"),
    ('entry = ["make"]', "entry = []", "`$.part[0].entry`"),
    ('entry = ["make"]', 'entry = ["make()"]', "`entry` must be a Python name"),
    ('entry = ["make"]', 'entry = [""]', "`entry` must be a Python name"),
    ('title = "First"', 'title = ""', "`title` must not be empty - at `$.part[0].title`"),
    ('entry_kind = "function"', 'entry_kind = "class"', "entry_kind"),
    ("points = 1.5", "points = -1.5", "`$.part[0].check[0].points`"),
    ("points = 1.5", "points = nan", "`$.part[0].check[0].points`"),
    ("points = 1.5", "points = inf", "`$.part[0].check[0].points`"),
    ("points = 1.5", "points = true", "`$.part[0].check[0].points`"),
    ("[4]", '["4"]', "`$.oracle.input_shape[0]`"),
    ("[4]", "[0]", "`$.oracle.input_shape[0]`"),
    ('slug = "small"', 'slug = "../small"', "`$.slug`"),
    ('slug = "small"', 'slug = "small\\n"', "`$.slug`"),
    ("version = 1", "version = 0", "`$.version`"),
    ("[oracle]", "[oracle", "cannot be read as an assignment"),
    ("version = 1", "version = 1\ndue = 2026-12-01T23:59:00", "needs its offset from UTC"),
    ("version = 1", "version = 1\ndue = 2026-12-01", "`$.due`"),
    ("version = 1", 'version = 1\ndue = "2026-12-01T23:59:00Z"', "`$.due`"),
    ("points = 1.5", 'points = 1.5\nvisibility = "later"', "part[0].check[0].visibility`"),
    ('title = "First"', 'title = "First"\nvisibility = 1', "`$.part[0].visibility`"),
    ("[oracle]", "[[guide]]\nabout = ['relu']\n[oracle]", "a `heading` or a `url`"),
    (
        "[oracle]",
        _computed('dtype = "int4"'),
        "use one of bool, int8, uint8, int32, int64",
    ),
    ("[oracle]", _computed('dtype = "int8", range = [0, 128]'), "no `range` from 0 to 128"),
    ("[oracle]", _computed("range = [0, 1]"), "float32 has no `range`"),
    (
        "[oracle]",
        _computed('name = "x" }, { shape = [2], name = "x"'),
        "two arguments of the same `name`",
    ),
    ("version = 1", "version = True", "write booleans as `true` or `false`"),
    ("[oracle]", _computed('dtype = "int8", range = [2, 1]'), "no `range` from 2 to 1"),
    ("[oracle]", "[[guide]]\nheading = 'A'\nurl = 'B'\n[oracle]", "a `heading` or a `url`"),
]


class TestRefusal:
    """Whatever is wrong, a CourseError names the file and what is wrong."""

    def test_a_wrong_file_is_refused_with_the_place(
        self, file: Path, subtests: pytest.Subtests
    ) -> None:
        for old, new, words in WRONG:
            with subtests.test(words, new=new):
                assert old in SMALL
                error = refusal(file, SMALL.replace(old, new, 1))
                assert words in error.message.english
                assert str(file) in error.message.english
                assert error.message.english.endswith(".")
                assert error.hint.english == "See docs/assignment.md."

    def test_two_parts_of_one_name_are_refused(self, file: Path) -> None:
        error = refusal(file, SMALL.replace("points = 3", "points = 6") + SECOND_PART)
        assert "two parts have the same id" in error.message.english

    @pytest.mark.parametrize(
        "content",
        [b"", b"\xff\xfe", SMALL.encode("utf-16"), b"points = " + b"[" * 20_000, b"\x00"],
        ids=["empty", "not UTF-8", "UTF-16", "deep", "null byte"],
    )
    def test_a_file_that_is_not_toml_is_refused(self, file: Path, content: bytes) -> None:
        assert "cannot be read as an assignment" in refusal(file, content).message.english

    def test_of_a_byte_order_mark_it_is_told_what_to_do(self, file: Path) -> None:
        told = refusal(file, SMALL.encode("utf-8-sig")).message.english
        assert "save it as UTF-8 without BOM" in told

    def test_a_missing_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CourseError) as caught:
            load_assignment(tmp_path / "none.toml")
        assert (
            caught.value.message.english
            == f"Cannot read {tmp_path}/none.toml: No such file or directory."
        )
        assert caught.value.hint

    def test_a_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CourseError, match="Is a directory"):
            load_assignment(tmp_path)
