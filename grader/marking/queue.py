"""What there is to mark, who is next, and writing down what was chosen.

The gradebook is asked anew each time: others may mark at the same moment.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from msgspec.structs import replace

from grader.assignment import Assignment
from grader.errors import UsageError
from grader.gradebook.book import Gradebook
from grader.gradebook.entries import Adjustment, Attempt, Chosen, Marking, Student
from grader.gradebook.grades import Account, derive, ending
from grader.language import in_a_row, say
from grader.rubric import ManualTable

# Who marks which answers, where several divide them: the same each time, whoever asks. Each answer
# ranks the markers by its own digest, and the first of them marks it. So nothing moves when a
# student is added, and where a marker is added, only what that one gets.


MOST_MARKERS: Final = 100
_OF_SEVERAL = re.compile(r"([1-9][0-9]{0,2})/([1-9][0-9]{0,2})")


class Share(NamedTuple):
    """What one of several markers marks. `twice` percent of all answers are marked by two."""

    markers: tuple[str, ...]
    own: str
    twice: float = 0.0

    def place(self, *answer: str) -> int | None:
        """Return 0 where this marker's marking of an answer counts, 1 where it is the second one.

        None where others mark it. An answer is named by its assignment, its part and its student.
        """
        ranked = sorted(self.markers, key=lambda each: _digest("marker", each, *answer))
        is_twice = _fraction(_digest("twice", *answer)) < self.twice / 100
        place = ranked.index(self.own)
        return place if place <= is_twice else None


def _digest(*words: str) -> bytes:
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).digest()


def _fraction(digest: bytes) -> float:
    return int.from_bytes(digest[:6], "big") / 2**48


def read_share(text: str, markers: Sequence[str], twice: float) -> Share:
    """Return the share that is meant: 2/3, or the name of one of the course's markers.

    Of a course with three markers, 2/3 is the second one's: some may use names, others fractions.
    Raises UsageError.
    """
    if text in markers:
        return Share(tuple(markers), text, twice)
    found = _OF_SEVERAL.fullmatch(text)
    if found is None or not int(found[1]) <= int(found[2]) <= MOST_MARKERS:
        known = say("write-1-3")
        if markers:
            known = say("write-1-3-or-one", names=in_a_row(markers))
        raise UsageError(say("there-no-share", text=repr(text)), known)
    number, count = int(found[1]), int(found[2])
    named = tuple(markers if count == len(markers) else map(str, range(1, count + 1)))
    return Share(named, named[number - 1], twice)


MOST_COMMENTS = 12
"""Comments that are offered again."""

_NOTHING = Decimal(0)

Place = tuple[int, str]
"""An answer: the id of an attempt, and a part."""


class AnswerToMark(NamedTuple):
    """What is to be marked: the answer of an attempt to a part. `number` stands for who gave it.

    `given` are the entries that count, newest last; there are none as long as nobody has marked it.
    Where it `is_second` they are those of the second marking, which gives no points: whoever gives
    it does not see the first one.
    """

    table: ManualTable
    student: Student
    attempt: Attempt
    number: int
    given: tuple[Adjustment, ...]
    is_second: bool = False

    @property
    def place(self) -> Place:
        """What names it."""
        return self.attempt.id, self.table.id

    @property
    def seen(self) -> int:
        """The number of the newest entry, 0 where there is none."""
        return self.given[-1].id if self.given else 0

    @property
    def points(self) -> Decimal:
        """The points that were given."""
        return sum((each.points or _NOTHING for each in self.given), _NOTHING)

    @property
    def marking(self) -> Marking:
        """What was chosen last; nothing where nobody has marked it on the page."""
        marked = (each.marking for each in reversed(self.given) if each.marking is not None)
        return next(marked, Marking())


class Session:
    """One person who marks an assignment, or a share of it where several do.

    Students have numbers alone where it `is_anonymous`.
    """

    def __init__(
        self,
        book: Gradebook,
        assignment: Assignment,
        who: str,
        *,
        is_anonymous: bool = False,
        share: Share | None = None,
    ) -> None:
        if not assignment.manual:
            raise UsageError(
                say("has-no-part-mark-by-hand", slug=assignment.slug),
                say("add-manual-assignment-toml-see-docs-assignment-md"),
            )
        self.book = book
        self.assignment = assignment
        self.who = who
        self.is_anonymous = is_anonymous
        self.share = share
        self._salt = secrets.token_bytes(16)

    def answers(self) -> tuple[AnswerToMark, ...]:
        """Return all answers that can be marked: part by part, and in each student by student."""
        students = [each for each in self.book.students() if each.withdrawn is None]
        accounts = self.book.accounts()
        seconds = {} if self.share is None else self.book.second_markings()
        numbered = list(enumerate(sorted(students, key=self._order), 1))
        found = [
            answer
            for number, student in numbered
            for found in self._of(student, number, accounts.get(student.id, {}))
            for answer in self._shared(found, seconds)
        ]
        order = [table.id for table in self.assignment.manual]
        return tuple(sorted(found, key=lambda each: order.index(each.table.id)))

    def mark(self, answer: AnswerToMark, chosen: Iterable[str], comment: str, seen: int) -> None:
        """Write down a marking. Raises ValueError for items that cannot be chosen together.

        One that is as it was changes nothing: an objection may have moved points since then. Raises
        OvertakenError where somebody has marked it since entry `seen`.
        """
        table = answer.table
        items = tuple(
            Chosen(each.id, each.text, table.worth(each), each.texts)
            for each in table.items(chosen)
        )
        points = table.score(each.id for each in items)
        marking = Marking(items, comment.strip())
        is_marked = any(each.marking is not None for each in answer.given)
        if is_marked and marking == answer.marking and seen == answer.seen:
            return
        self._write_for(answer)(*answer.place, points, marking, seen=seen, who=self.who)

    def name_of(self, attempt: int) -> str:
        """Return what an attempt is called in addresses.

        Where the session is anonymous it is no number: those count students in the order in which
        a batch records them, which is that of their names.
        """
        if not self.is_anonymous:
            return str(attempt)
        return hashlib.sha256(self._salt + b"attempt %d" % attempt).hexdigest()[:16]

    def take_back(self, answer: AnswerToMark, seen: int) -> None:
        """Take back what was given. Raises OvertakenError."""
        self._write_for(answer)(*answer.place, None, Marking(), seen=seen, who=self.who)

    def _write_for(self, answer: AnswerToMark) -> Callable[..., None]:
        return self.book.mark_second if answer.is_second else self.book.mark

    def _shared(
        self, answer: AnswerToMark, seconds: Mapping[Place, Adjustment]
    ) -> Iterator[AnswerToMark]:
        """Yield an answer as this session marks it, if it does."""
        if self.share is None:
            yield answer
            return
        names = self.assignment.slug, answer.table.id, answer.student.login
        place = self.share.place(*names)
        if place == 0:
            yield answer
        elif place == 1:
            second = seconds.get(answer.place)
            yield answer._replace(given=() if second is None else (second,), is_second=True)

    def _of(
        self, student: Student, number: int, own: Mapping[str, Account]
    ) -> Iterator[AnswerToMark]:
        account = own.get(self.assignment.slug)
        for attempt in () if account is None else attempts_that_may_count(account):
            asked = {part.id for part in attempt.gradings[-1].parts if part.open}
            for table in self.assignment.manual:
                if table.id in asked:
                    yield AnswerToMark(table, student, attempt, number, attempt.given(table.id))

    def _order(self, student: Student) -> str | bytes:
        """Return what students are sorted by: with numbers in an order that tells nothing."""
        if not self.is_anonymous:
            return student.login
        return hashlib.sha256(self._salt + student.login.encode()).hexdigest()


def attempts_that_may_count(account: Account) -> tuple[Attempt, ...]:
    """Return the attempts of which one is the grade, or may become it when its answers are marked.

    That is one where the first or the last counts. Of the best it is the one that counts, and what
    could still come to more.
    """
    graded = [each for each in account.attempts if each.gradings]
    graded = [*ending(graded, account.rules.counts)]
    if len(graded) < 2:
        return tuple(graded)
    grades = [derive(replace(account, attempts=(each,))) for each in graded]
    points = [each.points or _NOTHING for each in grades]
    best = points.index(max(points))
    return tuple(
        attempt
        for at, attempt in enumerate(graded)
        if at == best or points[at] + grades[at].open > points[best]
    )


def comments_on(answers: Sequence[AnswerToMark], part: str) -> tuple[str, ...]:
    """Return the comments on a part that count, the newest first, each once."""
    entries = [entry for each in answers if each.table.id == part for entry in each.given]
    newest = sorted(entries, key=lambda each: each.id, reverse=True)
    said = (each.marking.comment for each in newest if each.marking is not None)
    return tuple(dict.fromkeys(filter(None, said)))[:MOST_COMMENTS]


def following(answers: Sequence[AnswerToMark], place: Place, *, unmarked: bool) -> Place | None:
    """Return the answer after one, None at the end.

    Where the `unmarked` ones are gone through, those that are marked are passed over, and after the
    last one comes the first one.
    """
    at = [each.place for each in answers].index(place)
    if not unmarked:
        return answers[at + 1].place if at + 1 < len(answers) else None
    return first_unmarked((*answers[at + 1 :], *answers[:at]))


def preceding(answers: Sequence[AnswerToMark], place: Place) -> Place | None:
    """Return the answer before one, marked or not, so that one can go back to what one did."""
    at = [each.place for each in answers].index(place)
    return answers[at - 1].place if at else None


def first_unmarked(answers: Sequence[AnswerToMark]) -> Place | None:
    """Return the first answer that nobody has marked, None where there is none."""
    return next((each.place for each in answers if not each.given), None)
