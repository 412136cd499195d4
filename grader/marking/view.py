"""From what the gradebook has of an answer to what the page shows of it."""

from __future__ import annotations

from grader.gradebook.entries import show, signed
from grader.gradebook.grades import told_time
from grader.language import Text, foreign, join, say
from grader.marking.session import Answer, Place, Session, comments_on, following, preceding
from grader.render.html.local_pages import MarkingView, RubricRow
from grader.rubric import exact


def address_of(place: Place, *, shows_all: bool = False, shows_notebook: bool = False) -> str:
    """Return where the page of an answer is."""
    wanted = ["show=all"] if shows_all else []
    wanted += ["notebook=whole"] if shows_notebook else []
    attempt, part = place
    return f"/answer/{attempt}/{part}" + ("?" + "&".join(wanted) if wanted else "")


def view_of(
    session: Session,
    answers: tuple[Answer, ...],
    answer: Answer,
    *,
    shows_all: bool,
    shows_notebook: bool,
) -> MarkingView:
    """Return what the page shows of an answer among all of them."""
    here, table = answer.place, answer.table

    def leading_to(place: Place | None) -> str:
        return "" if place is None else address_of(place, shows_all=shows_all)

    return MarkingView(
        title=session.assignment.named,
        part=table.named,
        whose=_whose(session, answer),
        about=_about(session, answer),
        points=show(exact(table.points)),
        state=_state(answer),
        seen=answer.seen,
        rows=_rows(answer),
        comment=answer.marking.comment,
        comments=comments_on(answers, table.id),
        done=sum(bool(each.given) for each in answers),
        all=len(answers),
        shows_all=shows_all,
        shows_notebook=shows_notebook,
        own=address_of(here, shows_all=shows_all),
        previous=leading_to(preceding(answers, here)),
        next=leading_to(following(answers, here, unmarked=not shows_all)),
        other_filter=address_of(here, shows_all=True) if not shows_all else "/",
        other_extent=address_of(here, shows_all=shows_all, shows_notebook=not shows_notebook),
    )


def _whose(session: Session, answer: Answer) -> Text:
    if session.is_anonymous:
        return say("Submission {number}", number=answer.number)
    student = answer.student
    return foreign(", ".join(filter(None, (student.name, student.login))))


def _about(session: Session, answer: Answer) -> Text:
    number = say("Attempt {number}", number=answer.attempt.number)
    if session.is_anonymous:
        return number
    return say("{file}, {attempt}", file=answer.attempt.name, attempt=number)


def _state(answer: Answer) -> Text:
    """Say who has marked it, when, and what it came to."""
    if not answer.given:
        return say("Not marked yet.")
    last = answer.given[-1]
    told = say(
        "{points} of {possible}, by {who}, {time}.",
        points=show(answer.points),
        possible=show(exact(answer.table.points)),
        who=last.who,
        time=told_time(last.recorded),
    )
    chosen = [each.id for each in _rows(answer) if each.is_chosen]
    if answer.table.score(chosen) == answer.points:
        return told
    return join(told, say("That is not what the rubric's items that are chosen here come to."))


def _rows(answer: Answer) -> tuple[RubricRow, ...]:
    """Return the rubric, with what was chosen; of a group that is new since then the first one."""
    table, chosen = answer.table, {each.id for each in answer.marking.items}
    taken: set[str] = set()
    rows = []
    for each in table.item:
        is_chosen = each.id in chosen and each.group not in taken
        if is_chosen and each.group:
            taken.add(each.group)
        worth = signed(table.worth(each))
        rows.append(RubricRow(each.id, each.said, worth, each.group, is_chosen))
    return tuple(rows)
