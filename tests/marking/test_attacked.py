"""Objections and shared marking, attacked: whose something is, who is named, what gets lost."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from grader.cli.gradebook import CommandOutput
from grader.cli.objecting import (
    AnswerOptions,
    add_objection,
    answer_objection,
    import_objections,
)
from grader.errors import UsageError
from grader.gradebook.book import Gradebook, OvertakenError
from grader.gradebook.database import open_database
from grader.gradebook.entries import find_student
from grader.marking.queue import AnswerToMark, Session, Share, read_share
from tests.marking.factory import ASSIGNMENT, COURSE, enrol, grade_of, hand_in, make_class
from tests.marking.test_pages import Visitor

TOLD = CommandOutput(None)
MARKUP = "<img src=x onerror=alert(1)> [a](javascript:alert(1)) {{ 7 * 7 }} `x` [red]\x1b[2J\u202e"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    shutil.copytree(COURSE, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def book(course: Path) -> Iterator[Gradebook]:
    url = f"sqlite:///{course / 'gradebook.sqlite'}"
    with closing(Gradebook(open_database(url, make=True))) as found:
        make_class(found)
        yield found


def asked(book: Gradebook) -> dict[str, list[str]]:
    """Return the texts of objections by the login of whose they are."""
    accounts = book.accounts()
    found = {
        each.login: [e.text for own in accounts.get(each.id, {}).values() for e in own.objections]
        for each in book.students()
    }
    return {login: texts for login, texts in found.items() if texts}


class TestOwners:
    """Whose an objection is, nothing says that a student can type."""

    def enter(self, course: Path, student: str) -> None:
        path = course / "asked.csv"
        path.write_text(f'student,text\n"{student}",Mine.\n')
        import_objections(path, "written", "eve", course, TOLD)

    @pytest.mark.parametrize("student", ["", " ", "\u00a0"])
    def test_nobody_is_not_who_has_no_address(
        self, course: Path, book: Gradebook, student: str
    ) -> None:
        """One student alone had no e-mail: an empty cell was that student's."""
        for each in book.students():
            if each.login != "ada":
                book.forget(each.id)
        with pytest.raises(UsageError, match="No student in the roster"):
            find_student(book.students(), student)
        with pytest.raises(UsageError, match="line 2"):
            self.enter(course, student)
        assert {} == asked(book)

    @pytest.mark.parametrize("student", ["Ada Lovelace", "ada-on-github", "ADA LOVELACE"])
    def test_a_name_in_a_table_is_nobodys(
        self, course: Path, book: Gradebook, student: str
    ) -> None:
        """A form's field for the name is typed by whoever fills it in."""
        from grader.gradebook.entries import RosterEntry, plan

        entry = RosterEntry("ada", {"github": "ada-on-github", "email": "ada@x.org"}, {})
        book.change_students(plan(book.students(), [entry]))
        with pytest.raises(UsageError, match="No student in the roster"):
            self.enter(course, student)
        self.enter(course, "ada@x.org")
        self.enter(course, "ada")
        assert {"ada": ["Mine."]} == asked(book)


class TestTexts:
    """What students and markers write is text, wherever it is shown."""

    def test_markup_stays_text_on_the_page_and_the_terminal(
        self, course: Path, book: Gradebook, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from rich.console import Console

        from grader.cli.lms import FeedbackOptions, run_feedback
        from grader.cli.objecting import list_objections

        add_objection("bob", "written", "model", MARKUP, MARKUP, course, TOLD)
        answer_objection(AnswerOptions(1, MARKUP, MARKUP), course, TOLD)
        capsys.readouterr()
        list_objections(None, None, course, TOLD)
        assert not re.search("[\x1b\u202e]", capsys.readouterr().out)
        options = FeedbackOptions(assignment="written", output=course / "pages", course=course)
        run_feedback(options, Console(quiet=True))
        page = (course / "pages" / "bob.html").read_text("utf-8")
        assert "<img src=x" not in page
        assert 'href="javascript' not in page
        for told in ("&lt;img src=x onerror=alert(1)&gt;", "{{ 7 * 7 }}"):
            assert 3 == page.count(told), "question, answer and who answered"
        assert not re.search("[\x1b\u202e]", page)


class TestPoints:
    """Points that an answer moves neither mark a part nor get lost."""

    def test_a_part_that_is_not_marked_is_not_marked_by_an_answer(
        self, course: Path, book: Gradebook
    ) -> None:
        """+1 made 1 of 6 of it, and nobody was asked to mark it any more."""
        add_objection("ada", "written", "why", "When?", "eve", course, TOLD)
        with pytest.raises(UsageError, match="Part why is not marked yet"):
            answer_objection(AnswerOptions(1, "Here.", "eve", Decimal(1)), course, TOLD)
        assert 10 == grade_of(book, "ada").open
        answer_objection(AnswerOptions(1, "Soon.", "eve"), course, TOLD)

    def test_a_marking_that_is_saved_as_it_was_keeps_what_an_objection_moved(
        self, course: Path, book: Gradebook
    ) -> None:
        """Enter on a marked answer took the points of the objection back."""
        session = Session(book, ASSIGNMENT, "eve")
        session.mark(session.answers()[0], ["memory"], "Yes.", seen=0)
        add_objection("ada", "written", "why", "And caches?", "eve", course, TOLD)
        answer_objection(AnswerOptions(1, "True.", "eve", Decimal(1)), course, TOLD)
        before = grade_of(book, "ada").points
        answer = session.answers()[0]
        session.mark(answer, ["memory"], " Yes. ", answer.seen)
        assert before == grade_of(book, "ada").points == Decimal(12)
        with pytest.raises(OvertakenError):
            session.mark(answer, ["memory"], "Yes.", 0)
        session.mark(answer, [], "Yes.", answer.seen)
        assert Decimal(8) == grade_of(book, "ada").points

    def test_no_points_can_still_be_given_after_an_adjustment(self, book: Gradebook) -> None:
        session = Session(book, ASSIGNMENT, "eve")
        answer = session.answers()[0]
        book.adjust(answer.attempt.id, part="why", points=Decimal(4), reason="so", who="eve")
        answer = session.answers()[0]
        session.mark(answer, [], "", answer.seen)
        assert Decimal(8) == grade_of(book, "ada").points


class TestShares:
    """Nobody's answer is two markers' first, and none is nobody's."""

    MARKERS = ("ana", "ben", "cho")
    ANSWERS = tuple(("written", part, f"s{n}") for n in range(400) for part in ("why", "plot"))

    @pytest.mark.parametrize("twice", [0.0, 20.0, 100.0])
    def test_fractions_and_names_of_as_many_markers_are_the_same_shares(self, twice: float) -> None:
        """Ana by name and the others by fractions left a ninth of the answers to nobody."""
        shares = [read_share(text, self.MARKERS, twice) for text in ("ana", "2/3", "3/3")]
        for answer in self.ANSWERS:
            places = [place for each in shares if (place := each.place(*answer)) is not None]
            assert 1 == places.count(0)
            assert len(places) == len({*places}) <= 2

    def test_of_a_class_each_answer_is_one_markers(self, book: Gradebook) -> None:
        logins = {f"s{n}": f"S {n}" for n in range(40)}
        for student in enrol(book, **logins).values():
            hand_in(book, student, "Because.")
        every = [each.place for each in Session(book, ASSIGNMENT, "eve").answers()]
        own = [
            each.place
            for number in (1, 2, 3)
            for each in Session(
                book, ASSIGNMENT, "eve", share=read_share(f"{number}/3", (), 0.0)
            ).answers()
        ]
        assert sorted(every) == sorted(own)

    def test_two_who_mark_the_same_at_once_mark_it_once(
        self, course: Path, book: Gradebook
    ) -> None:
        url = f"sqlite:///{course / 'gradebook.sqlite'}"
        books = [Gradebook(open_database(url)) for _ in range(4)]
        sessions = [Session(each, ASSIGNMENT, f"m{n}") for n, each in enumerate(books)]
        answers = [each.answers()[0] for each in sessions]
        barrier, overtaken = threading.Barrier(4), []

        def mark(session: Session, answer: AnswerToMark) -> None:
            barrier.wait()
            try:
                session.mark(answer, ["memory"], session.who, seen=0)
            except OvertakenError:
                overtaken.append(session.who)

        threads = [
            threading.Thread(target=mark, args=e) for e in zip(sessions, answers, strict=True)
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        for each in books:
            each.close()
        assert 3 == len(overtaken)
        assert Decimal(11) == grade_of(book, "ada").points

    def test_who_marks_second_has_no_page_of_the_first(self, book: Gradebook) -> None:
        share = {own: Share(("ana", "ben"), own, 100.0) for own in ("ana", "ben")}
        ana = Session(book, ASSIGNMENT, "ana", share=share["ana"])
        for each in ana.answers():
            if not each.is_second:
                ana.mark(each, [each.table.item[0].id], "Words of Ana.", seen=0)
        visitor = Visitor(book, share=share["ben"], is_anonymous=True).enter()
        for answer, place in zip(visitor.session.answers(), visitor.places(), strict=True):
            text = visitor.get(f"{place}?show=all").text
            if answer.is_second:
                assert "Words of Ana." not in text and "by ana" not in text
                assert "checked" not in text.replace("data-unchecked", "")


class TestAnonymous:
    """Without names nothing tells whose an answer is."""

    def test_addresses_do_not_count_students_in_the_order_of_their_names(
        self, book: Gradebook
    ) -> None:
        """Attempts are numbered as a batch records them: by the students' folders."""
        visitor = Visitor(book, is_anonymous=True).enter()
        ids = {str(each.attempt.id) for each in visitor.session.answers()}
        first = visitor.get("/").headers["location"]
        addresses = [first, *visitor.places()]
        addresses += re.findall(r"/answer/[^\"'<> ]+", visitor.get(first).text)
        named = {each.split("/")[2] for each in addresses}
        assert not named & ids
        assert all(re.fullmatch("[0-9a-f]{16}", each) for each in named)
        assert 404 == visitor.get(f"/answer/{min(ids)}/why").status_code
        other = Visitor(book, is_anonymous=True)
        assert not {*visitor.places()} & {*other.places()}

    def test_nothing_of_a_page_but_the_notebook_names_anybody(self, book: Gradebook) -> None:
        for student in enrol(book, zoe="Zoë Zimmer").values():
            hand_in(book, student, "Because of registers.")
        visitor = Visitor(book, is_anonymous=True).enter()
        for place in visitor.places():
            for more in ("", "?show=all", "?notebook=whole"):
                text = visitor.get(place + more).text
                assert not re.search("Ada|ada|Bob|bob|Lovelace|leilei|李雷|zoe|Zimmer|ipynb", text)
