"""What a self-check looks like."""

from __future__ import annotations

import re

import msgspec

from grader.language import foreign
from grader.messages.kernel import EntrySpec
from grader.report import Check, Origin, Part
from grader.selfcheck import show
from grader.selfcheck.messages import AssignmentCard, Checked, PartCard
from grader.selfcheck.show import WIDTH, Bundle, show_message, show_parts
from tests.sample_reports import HOSTILE
from tests.selfcheck.pages import section

MARKUP = '<script>alert("&")</script>'


def part(name: str, score: float) -> Part:
    verdict = "passed" if score == 10 else "failed"
    check = Check(
        "same",
        foreign(f"It is right {MARKUP}"),
        score,
        10,
        verdict,
        foreign(f"Why {HOSTILE}"),
        foreign(MARKUP),
    )
    return Part(name, foreign(f"Part {MARKUP}"), score, 10, (check,), Origin(f"f {MARKUP}", 3))


def show_checked(answer: Checked, notes: tuple[str, ...] = ()) -> Bundle:
    return show.show_checked(answer, notes, identity="abc")


def checked(*parts: Part, undecided: float = 0) -> Checked:
    return Checked("Title", "en", parts, undecided, (foreign("Not this."),), (foreign("On that."),))


class TestText:
    def test_a_part_looks_as_in_the_report(self) -> None:
        assert show_checked(checked(part("a", 0)))["text/plain"].startswith(section(part("a", 0)))

    def test_several_parts_have_a_table_before_them(self) -> None:
        lines = show_checked(checked(part("a", 0), part("b", 10)))["text/plain"].splitlines()
        assert "Title" == lines[0]
        assert ["Part", "Points"] == lines[2].split()
        assert "0 of 10" in lines[4]
        assert "10 of 10" in lines[5]

    def test_points_are_those_so_far(self) -> None:
        text = show_checked(checked(part("a", 0), part("b", 10)))["text/plain"]
        assert "10 of 20 points" in text
        assert "Decided" not in text

    def test_at_the_end_it_says_what_was_not_checked(self) -> None:
        text = show_checked(checked(part("a", 10), undecided=2.5))["text/plain"]
        decided, *others = text.splitlines()[-3:]
        assert "2.5 points" in decided
        assert ["Not this.", "On that."] == others

    def test_notes_stand_before_the_points(self) -> None:
        text = show_checked(checked(part("a", 10)), ("Look here.",))["text/plain"]
        assert text.index("Look here.") < text.index("So far")

    def test_no_line_is_wider_than_a_cell(self) -> None:
        text = show_checked(checked(part("a", 0), part("b", 10)))["text/plain"]
        assert max(map(len, text.splitlines())) <= WIDTH

    def test_parts_have_names_and_points(self) -> None:
        entry = EntrySpec("a", "function", ("make_a", "make_a*"))
        card = AssignmentCard("slug", "Title", "en", (PartCard(entry, "First", 2.5),))
        text = show_parts(card)["text/plain"]
        assert "Title (slug)" in text
        assert re.search(r"^a +make_a, make_a\* +First +2\.5$", text, re.MULTILINE)

    def test_a_message_has_its_next_step_below(self) -> None:
        text = show_message(foreign("No."), foreign("Do."))["text/plain"]
        assert "No.\nWhat to do: Do." == text


class TestHtml:
    def test_everything_is_escaped(self) -> None:
        entry = EntrySpec("a", "function", (MARKUP,))
        bundles = (
            show_checked(checked(part("a", 0), part(MARKUP, 10)), (MARKUP,)),
            show_parts(AssignmentCard("slug", MARKUP, "en", (PartCard(entry, MARKUP, 2.5),))),
            show_message(foreign(MARKUP), foreign(MARKUP)),
        )
        for bundle in bundles:
            assert "<script" not in bundle["text/html"]
            assert "&lt;script&gt;" in bundle["text/html"]

    def test_control_characters_are_gone(self) -> None:
        html = show_checked(checked(part("a", 0)))["text/html"]
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", html)

    def test_it_says_the_same_as_the_text(self) -> None:
        bundle = show_message(foreign("It's so."), foreign("Do & look."))
        bare = re.sub("<style>.*</style>|<[^>]*>", "", bundle["text/html"], flags=re.DOTALL)
        assert ["It&#39;s so.", "What to do: Do &amp; look."] == bare.split("\n")[2:-3]

    def test_a_check_says_its_points_and_what_was_not_checked(self) -> None:
        html = show_checked(checked(part("a", 0), part("b", 10)), ("Look here.",))["text/html"]
        for sentence in ("So far 10 of 20 points.", "Not this.", "On that.", "Look here."):
            assert sentence in html

    def test_a_row_says_which_name_is_graded(self) -> None:
        entry = EntrySpec("a", "function", ("make_a", "make_a*"))
        html = show_parts(AssignmentCard("slug", "Title", "en", (PartCard(entry, "First", 2.5),)))
        assert "<code>make_a, make_a*</code>" in html["text/html"]
        assert '<td class="end">2.5</td>' in html["text/html"]


def test_a_language_that_nobody_speaks_is_english() -> None:
    other = msgspec.structs.replace(checked(part("a", 10)), language="xx")
    assert show_checked(checked(part("a", 10))) == show_checked(other)
