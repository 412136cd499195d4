"""What of a report is a finding, what to mend first, and how it was graded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, permutations
from typing import Final, NamedTuple

from msgspec.structs import replace

from grader.language import NOTHING, Sentence, Sentences, Text, in_a_row, join, say
from grader.render import wording
from grader.render.speech import tell
from grader.render.timings import speed_sentence
from grader.report import Cell, CellProblem, Check, Diagnosis, Part, Report, Submission, Timing
from grader.report.parts import CheckCode

_COMPARING, _TIMING = "equivalence", "speed"
"""The kinds of checks that a diagnosis, and the timing, explain."""

_ADDRESS = re.compile(r"https?://[\w.-]+(?:/[\w./#%?&=~-]*)?", re.ASCII)


def is_graded(report: Report) -> bool:
    """Say whether there are verdicts, though none may be for the eyes of the report's audience."""
    return bool(report.parts or report.assignment.slug)


def is_lost(check: Check) -> bool:
    """Say whether a check asks for something to be done: it failed, or points are missing."""
    return check.verdict != "passed" or check.score < check.max_score


def titled(part: Part, check: Check) -> str:
    """Return what a check is called where it stands apart from its part."""
    return f"{wording.one_line(part.title)}: {wording.one_line(check.title)}"


def lost_checks(part: Part) -> Iterator[list[Check]]:
    """Yield the checks that were lost; neighbours with the same reason and hint come together."""
    for _, group in groupby(part.checks, key=lambda check: (check.reason, check.hint)):
        lost = [check for check in group if is_lost(check)]
        if lost:
            yield lost


def told_together(checks: Iterable[Check]) -> Iterator[list[Check]]:
    """Yield the checks; neighbours that lost their points for the same reason come together."""
    for _, group in groupby(checks, key=_explanation):
        yield list(group)


def _explanation(check: Check) -> tuple[Text, Text] | str:
    return (check.reason, check.hint) if is_lost(check) else check.id


def diagnosis_of(part: Part, check: Check) -> Diagnosis | None:
    """Return the diagnosis that explains a check, None where there is none.

    Where several checks of a part compare outputs, it is not known which of them it explains: then
    it belongs to none that is shown otherwise than another.
    """
    comparing = [each for each in part.checks if _kind(each) == _COMPARING]
    if check not in comparing or not is_lost(check):
        return None
    alike = all(each.visibility == check.visibility for each in comparing)
    return part.diagnosis if alike else None


def timing_of(report: Report, check: Check) -> Timing | None:
    """Return the timing that explains a check, None where there is none, or another part's."""
    timing = report.timing
    if timing is None or _kind(check) != _TIMING:
        return None
    others = [part for part in report.parts if timing.part and part.id != timing.part]
    return None if any(check in part.checks for part in others) else timing


def _kind(check: Check) -> str:
    return check.kind or check.id  # what is not known is what the name says


def explanation(part: Part, check: Check, report: Report) -> list[str]:
    """Return what is to be said of a check, as plain text: why, what to do, and what explains it.

    Of a check that nothing was lost by that is its reason. What a reason says of the diagnosis is
    not said again.
    """
    said = [wording.plain(check.reason)]
    if is_lost(check):
        said.append(advice(check.hint))
    diagnosis = diagnosis_of(part, check)
    if diagnosis is not None:
        if not check.tells_diagnosis:
            said += [wording.plain(diagnosis.message), advice(diagnosis.advice)]
        said.append(reading(tell(diagnosis.link)))
    timing = timing_of(report, check)
    if timing is not None:
        said.append(wording.plain(speed_sentence(timing)))
    return [each for each in said if each]


def advice(hint: Text) -> str:
    """Say what to do next, and that it is that; nothing where there is no hint."""
    return tell("what-do") + wording.plain(hint) if hint else ""


def is_address(link: str) -> bool:
    """Say whether a link of a diagnosis leads to a page, and not to a heading of the notebook."""
    return _ADDRESS.fullmatch(link) is not None


def reading(link: str) -> str:
    """Say where the course explains it; nothing where there is no link."""
    if not link:
        return ""
    if is_address(link):
        return tell("read-again-title", link=link)
    return tell("read-again-in-notebook-heading", heading=wording.one_line(link))


def left_to_people(part: Part, report: Report) -> str:
    """Say that a person marks a part, and whether an answer was found; else nothing."""
    if not part.open:
        return ""
    marked = say("this-part-marked-by-hand-and-has")
    if part.answer or not report.cells:
        return tell(marked)
    return tell(join(marked, say("no-cell-notebook-marked-as-answer")))


def place_of(problem: CellProblem, report: Report) -> str:
    """Say in which cell, or on which line of a script, something is."""
    if problem.line is None:
        return tell("code-cell", cell=problem.cell)
    if report.submission.starts:
        return tell("line", line=problem.line)
    return tell("code-cell-line", cell=problem.cell, line=problem.line)


def line_in_file(report: Report, cell: int, line: int | None = None) -> int | None:
    """Return the line of the submitted file, from 1, where a line of a code cell is.

    `cell` counts code cells from 1, `line` lines in it, None for where the cell begins; of a script
    or Markdown it is the line of the file already. Jupyter writes a line of a cell on a line of the
    file; where a cell has no room for that before the next one begins, the result is the last line
    that can be right. None where the report does not know.
    """
    starts = report.submission.starts
    if starts:
        return line if line is not None else _at(starts, cell - 1)
    cells = report.cells
    place = next((at for at, each in enumerate(cells) if each.number == cell), None)
    if place is None:
        return None
    begin = cells[place].line
    if begin is None or line is None:
        return begin
    return max(begin, min(begin + line - 1, _last_line(cells, place, begin)))


def _last_line(cells: tuple[Cell, ...], place: int, begin: int) -> int:
    """Return the last line that a cell's text can have."""
    if begin == 1:  # not even the bracket before the cells has its own line
        return 1
    if place + 1 < len(cells):
        return (cells[place + 1].line or begin + 1) - 1
    return begin + cells[place].source.count("\n")


def _at(numbers: tuple[int, ...], index: int) -> int | None:
    return numbers[index] if 0 <= index < len(numbers) else None


_HIDDEN = say("hidden-random-input"), say("hidden-random-inputs")
_IMAGES = say("test-image"), say("test-images")
_CORES = say("count-core"), say("count-cores")
_STAGES = {"data": say("data-2"), "notebook": say("notebook-2"), "parts": say("parts-2")}
"""What is said of the stages of a grading."""


def told_stage(name: str) -> str:
    """Return what a stage of a grading is called; one of another version has its own name."""
    return tell(_STAGES[name]) if name in _STAGES else name


def circumstances(report: Report) -> Iterator[tuple[str, str]]:
    """Yield what is to be said, each with its name; foreign text in it is on one line."""
    for name, value in (
        (tell("assignment"), _assignment(report)),
        (tell("dialect"), _dialect(report)),
        (tell("data"), _data(report)),
        (tell("isolation"), _with_detail(report.sandbox.level, report.sandbox.detail)),
        (tell("machine"), _machine(report)),
        (tell("versions"), _versions(report)),
        (tell("seed"), str(report.seed or "")),  # 0 where the audience may not know it
        (tell("graded"), _graded(report)),
        (tell("duration"), _duration(report)),
    ):
        if value:
            yield name, wording.one_line(value)


def cells_run(submission: Submission) -> str:
    """Say how many of the code cells ran."""
    executed, cells = submission.executed, submission.cells
    if not cells:
        return tell("no-code-cell-run")
    if executed == cells == 1:
        return tell("code-cell-ran-end")
    if executed == cells:
        return tell("all-code-cells-ran-their-end", cells=cells)
    if cells == 1:
        return tell("1-code-cell-ran-end", executed=executed)
    return tell("code-cells-ran-end", executed=executed, cells=cells)


def _assignment(report: Report) -> str:
    assignment = report.assignment
    if not assignment.slug:
        return ""
    return tell("version", slug=assignment.slug, version=assignment.version)


def _graded(report: Report) -> str:
    if report.graded is None:
        return ""
    return f"{report.graded:%Y-%m-%d %H:%M %Z}"


def _dialect(report: Report) -> str:
    if report.dialect == "current":
        return ""
    return tell("tvm-as-in-run-in-todays-spelling", dialect=report.dialect)


def _data(report: Report) -> str:
    data = report.data
    if not data.name:
        return ""
    hidden = wording.counted(data.hidden, *_HIDDEN)
    if data.name == "none":
        return _with_detail(hidden, data.detail)
    images = wording.counted(data.images, *_IMAGES)
    compared = tell("name-images-and-hidden", name=data.name, images=images, hidden=hidden)
    return _with_detail(compared, data.detail)


def _with_detail(text: str, detail: Text) -> str:
    return tell("text-detail", text=text, detail=detail) if detail else text


def _machine(report: Report) -> str:
    environment = report.environment
    cores = wording.counted(environment.cores, *_CORES)
    return tell("cpu-cores", cpu=environment.cpu, cores=cores)


def _versions(report: Report) -> str:
    environment = report.environment
    packages = [f"{name} {version}" for name, version in environment.packages.items()]
    return ", ".join([f"Python {environment.python}", *packages])


def _duration(report: Report) -> str:
    duration = report.duration
    total = wording.seconds(duration.total)
    stages = in_a_row(
        f"{told_stage(name)} {wording.seconds(value)}" for name, value in duration.stages.items()
    )
    return tell("total-stages", total=total, stages=stages) if stages else total


# What to mend first: the causes of lost points that a student reads before all others.


_FAILED: Final[frozenset[CheckCode]] = frozenset({"unreadable", "unfinished_cell"})
"""Codes of a file that is no notebook, and of a cell that did not run to its end: nothing after the
error was done."""

_MISSING: Final[frozenset[CheckCode]] = frozenset({"absent", "unsolved"})
"""Codes of what is not there yet. So is what a cell of the handout was to make that failed, as it
does where the cells before it are not solved: nobody is told to mend the handout."""

_BETTER: Final[frozenset[CheckCode]] = frozenset({"slower"})
"""Codes of what is right, and no faster than nothing; so is all that a check of speed took."""

_WRONG: Final[frozenset[CheckCode]] = frozenset(
    {
        "unmet", "incomplete", "values", "shape", "dtype", "not_finite", "unwritten", "raised",
        "needs_arguments", "not_captured", "given", "refused", "signature", "not_built",
        "run_failed", "extern_failed", "out_of_bounds", "not_deterministic", "changed_inputs",
        "other_computation", "time_limit", "crashed",
    }
)  # fmt: skip
"""Codes of what is there and not as it was asked for, though it may have earned some points."""

_ORDER: Final = (_FAILED, _WRONG, _MISSING, _BETTER)

_DEPENDENT: Final[frozenset[CheckCode]] = frozenset({"waits", "not_run", "untimed"})
"""Codes of checks that cannot be made before another one of their part holds."""

_REWRITING: Final = ("operators", "fused")
"""Kinds of checks of what a pass made of a model."""

_LEAST: Final = 1e-6
"""Points are rounded to as much."""


class Cause(NamedTuple):
    """Why points were lost. `points` are most that mending it brings, in all of `parts`.

    `check` is the first check that lost points for this reason, in `part`; parts count from 0.
    """

    part: int
    check: Check
    points: float
    parts: frozenset[int]


def first_causes(report: Report, most: int = 3) -> tuple[Cause, ...]:
    """Return what to mend first, at most so many causes; none where nobody knows of any.

    A cell that failed comes first, as the rest of it was not run, but for what has to be right
    before that counts. Then comes what is wrong in what
    the student built, also where it has some of its points: nothing is nearer to more of them. Then
    what is missing, and at last what is right and could be faster. Of these, what brings the most
    points; of equals, what comes first in the assignment.

    Nothing is advised but what a check itself says, and nothing that the submission does not
    decide: a check that waits for the instructor, for a free machine, or of which students see the
    points alone is no cause.
    """
    given = _given_cells(report)
    causes: dict[object, Cause] = {}
    for key, cause in _lost(report):
        known = causes.get(key)
        if known is not None:
            points, parts = known.points + cause.points, known.parts | cause.parts
            cause = known._replace(points=points, parts=parts)
        causes[key] = cause

    order = {
        key: (_rank(cause.check, given), -round(cause.points, 6), 1)
        for key, cause in causes.items()
    }
    for key, needed in _first_needed(report):
        order[needed] = min(order[needed], (*order[key][:2], 0))
    ranked = sorted(causes, key=order.__getitem__)
    return tuple(causes[key] for key in ranked if causes[key].points > _LEAST)[:most]


_ROOM: Final = 400
"""Characters of a cause that stands in a list: of a longer one the list has the beginning."""


def told_cause(cause: Cause, report: Report) -> str:
    """Return why points were lost, on one line: of outputs that differ the mistake alone.

    How many samples are wrong, and by how much, stands in the part.
    """
    said = _said(cause.check, report.parts[cause.part])
    return wording.one_line(said or cause.check.hint, _ROOM)


def as_listed(report: Report, causes: Iterable[Cause]) -> Report:
    """Return a report for whoever has read a list of these causes: nothing is said twice.

    Of a reason that the list has, the number is left, and what the list leaves out; what to do
    stands in the first part of those that have the number. Two parts may lack a schedule: each is
    another number then, as each needs its own.
    """
    numbers: dict[object, tuple[int, Text]] = {}
    for number, cause in enumerate(causes, start=1):
        part = report.parts[cause.part]
        said = _said(cause.check, part)
        if len(tell(said)) <= _ROOM:
            numbers[_key(part, cause.check)] = number, said
    listing = _Listing(numbers)
    return replace(report, parts=tuple(map(listing.part, report.parts)))


class _Listing:
    """Leaves out what the list of causes, and the parts before, have said.

    `numbers` are the places in the list, with what it says there.
    """

    def __init__(self, numbers: Mapping[object, tuple[int, Text]]) -> None:
        self._numbers = numbers
        self._advised: set[tuple[int, Text]] = set()
        self._drawn: list[Diagnosis] = []

    def part(self, part: Part) -> Part:
        """Return a part as it is told behind those that were told."""
        found = [(check, self._number(part, check)) for check in part.checks]
        given: dict[tuple[int, Text], Text] = {}
        checks = tuple(self._check(check, at, given) for check, at in found)
        self._advised |= given.keys()
        hints = [check.hint for check in part.checks if is_lost(check)]
        return replace(self._once(part, hints), checks=_advised_once(checks))

    def _number(self, part: Part, check: Check) -> tuple[int, Text] | None:
        """Return the place of a check's reason in the list, and what of it is said there."""
        number, said = self._numbers.get(_key(part, check), (0, NOTHING))
        is_said = _said(check, part) == said or any(
            each in _sentences(said) for each in _sentences(check.reason)
        )
        return (number, said) if said and is_lost(check) and is_said else None

    def _check(
        self, check: Check, at: tuple[int, Text] | None, given: dict[tuple[int, Text], Text]
    ) -> Check:
        """Return a check as it is told; `given` is the advice of its part, with the reasons.

        Checks with one reason are told together, with what to do.
        """
        if at is None:
            return check
        number, said = at
        reason = join(say("see-at-top", number=number), _rest(check.reason, said))
        told = number, check.hint
        is_given = told in self._advised or given.setdefault(told, reason) != reason
        return replace(check, reason=reason, hint=NOTHING if is_given else check.hint)

    def _once(self, part: Part, hints: list[Text]) -> Part:
        """Return a part whose diagnosis gives no advice that a check has given already.

        A schedule is made of the model of another part: the same steps are drawn once.
        """
        diagnosis = part.diagnosis
        if diagnosis is None:
            return part
        drawn = [(each.steps, each.wrong) for each in self._drawn]
        if wording.is_told(part) and (diagnosis.steps, diagnosis.wrong) in drawn:
            return replace(part, diagnosis=None, sample=None)
        self._drawn.append(diagnosis)
        is_advised = bool(diagnosis.advice) and diagnosis.advice in hints
        told = replace(diagnosis, advice=NOTHING) if is_advised else diagnosis
        return replace(part, diagnosis=told)


def _advised_once(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """Return checks of which one that says something else has no advice that another one gives."""
    first: dict[Text, Text] = {}
    return tuple(
        replace(each, hint=NOTHING)
        if each.hint and first.setdefault(each.hint, each.reason) != each.reason
        else each
        for each in checks
    )


def _sentences(text: Text) -> Sequence[Text]:
    return text.parts if isinstance(text, Sentences) else (text,)


def failed_cells(report: Report) -> Iterator[CellProblem]:
    """Yield the cells that ended in an error, without sentences that a check has said already.

    Of a step that TVM refuses, the check that lacks it knows more, as of the steps before it.
    """
    lost = [check for part in report.parts for check in part.checks if is_lost(check)]
    stopped = {_cell(check) for check in lost if _is_of_a_step(check)}
    said = [wording.plain(each) for check in lost for each in (check.reason, check.hint) if each]
    for problem in report.problems:
        sentences = _sentences(problem.hint)
        fresh = (each for each in sentences if not any(wording.plain(each) in one for one in said))
        is_said = problem.cell in stopped
        yield replace(problem, hint=NOTHING if is_said else join(*fresh))


def _is_of_a_step(check: Check) -> bool:
    sentences = _sentences(check.reason)
    return any(isinstance(each, Sentence) and each.id in _STOPS for each in sentences)


_STOPS = frozenset(
    {
        "schedule-stops-in-cell-where-step-raised",
        "schedule-stops-in-cell-line-where-step",
        "schedule-stops-in-cell-line-raised",
    }
)


def _said(check: Check, part: Part) -> Text:
    """Return the mistake that a diagnosis names where it explains a check, else its reason.

    Of a run that an error ended, the error says more than where it ended.
    """
    diagnosis = part.diagnosis
    if check.code == "run_failed" and diagnosis is not None and not diagnosis.mistake:
        return _leading(check.reason)
    is_told = diagnosis is not None and bool(diagnosis.message)
    is_told = is_told and (check.tells_diagnosis or _is_rewritten_wrong(part, check))
    return _leading(diagnosis.message if is_told and diagnosis is not None else check.reason)


def _is_rewritten_wrong(part: Part, check: Check) -> bool:
    """Say whether a pass lacks operators because it put others there: that changes the numbers.

    A gelu in place of a silu is told as such, and not as a silu that is not there.
    """
    is_known = part.diagnosis is not None and bool(part.diagnosis.mistake)
    is_waiting = any(each.code == "waits" for each in part.checks)
    return is_known and is_waiting and check.code == "unmet" and _kind(check) in _REWRITING


def _leading(text: Text) -> Text:
    """Return as many whole sentences as there is room for, at least the first one.

    What else has to hold before the points count, and whether a schedule is proven, the part says.
    """
    whole = _sentences(text)
    parts = [each for each in whole if not _is_for_the_part(each)] or [*whole]
    while len(parts) > 1 and len(tell(join(*parts))) > _ROOM:
        parts.pop()
    return join(*parts)


_FOR_THE_PART = frozenset(
    {
        "counts-only-once-this-holds",
        "schedule-proven-one-step-applied-unscheduled-module",
        "schedule-proven-steps-applied-unscheduled-module-give",
    }
)


def _is_for_the_part(text: Text) -> bool:
    return isinstance(text, Sentence) and text.id in _FOR_THE_PART


def _rest(reason: Text, said: Text) -> Text:
    gone = _sentences(said)
    return join(*(each for each in _sentences(reason) if each not in gone))


def worth(cause: Cause) -> str:
    """Return how many points mending it may bring."""
    told = wording.points(cause.points)
    if len(cause.parts) > 1:
        return tell("worth-up-points-in-parts", points=told, parts=len(cause.parts))
    one, many = say("worth-up-point"), say("worth-up-points")
    return tell(one if cause.points == 1 else many, points=told)


def missing_parts(report: Report) -> frozenset[int]:
    """Return the places, from 0, of parts in which no check found anything to grade yet."""
    given = _given_cells(report)
    return frozenset(place for place, part in enumerate(report.parts) if _is_missing(part, given))


def _is_missing(part: Part, given: frozenset[int]) -> bool:
    missing = [_is_absent(check, given) for check in part.checks]
    rest = [check for check in part.checks if not _is_absent(check, given)]
    return any(missing) and all(each.code in _DEPENDENT for each in rest) and not part.score


def _given_cells(report: Report) -> frozenset[int]:
    return frozenset(cell.number for cell in report.cells if cell.given and cell.number)


def _is_absent(check: Check, given: frozenset[int]) -> bool:
    return check.code in _MISSING or _cell(check) in given


def _lost(report: Report) -> Iterator[tuple[object, Cause]]:
    """Yield what each check lost, under what it was lost for: neighbours may have one reason."""
    for place, part in enumerate(report.parts):
        lost = [check for check in part.checks if is_lost(check)]
        causes = [check for check in lost if _is_cause(check)]
        keys = {_key(part, check) for check in causes}
        for check in causes:
            yield _key(part, check), _cause(place, check, check)
        for check in lost:
            # Of two causes the one counts that it says it waits for, unless both are one.
            named = [each for each in causes if _waits_for(check, each)]
            named = [each for each in named if _key(part, each) != _key(part, check)]
            if check.code in _DEPENDENT and len(keys) == 1:
                named = causes
            for why in named[:1]:
                yield _key(part, why), _cause(place, why, check)


def _first_needed(report: Report) -> Iterator[tuple[object, object]]:
    """Yield the key of a cause of which nothing counts before another one is mended, and of that.

    A schedule that stops may begin on a function that is wrong already.
    """
    for part in report.parts:
        causes = [check for check in part.checks if is_lost(check) and _is_cause(check)]
        for one, other in permutations(causes, 2):
            if _waits_for(one, other):
                yield _key(part, one), _key(part, other)


def _waits_for(check: Check, other: Check) -> bool:
    return check.reason.holds(other.title)


def _cause(place: int, why: Check, lost: Check) -> Cause:
    return Cause(place, why, lost.max_score - lost.score, frozenset({place}))


def _is_cause(check: Check) -> bool:
    is_known = any(check.code in codes for codes in _ORDER)
    return is_known and not check.again and bool(check.reason or check.hint)


def _key(part: Part, check: Check) -> object:
    """Return what is the same for checks that one thing mends.

    That is the cell that failed, the mistake that a diagnosis names with the advice on it and the
    function that makes it (a model that computes the mean is scheduled, too), the function in which
    the run ended, what a pass does not do, or the words.
    """
    cell = _cell(check)
    if cell is not None:
        return check.code, cell
    diagnosis = part.diagnosis
    if diagnosis is not None and diagnosis.mistake:
        if check.tells_diagnosis:
            # An addition and a ReLU that each leave numbers out are two things to mend.
            return diagnosis.mistake, check.hint, _callee(diagnosis)
        if _is_rewritten_wrong(part, check):
            return diagnosis.mistake, diagnosis.advice
    place = _raised_at(check)
    if place is not None:
        return check.code, place
    # An external function that raised is called in several modules, with other shapes in each.
    if check.code == "run_failed" and diagnosis is not None and diagnosis.steps:
        return check.code, diagnosis.steps[diagnosis.wrong].callee
    # One pass is applied to several models: names of functions and counts differ.
    is_own = check.code in ("unmet", "incomplete") and _kind(check) in _REWRITING
    if is_own and isinstance(check.reason, Sentence):
        return check.reason.id, check.hint
    return check.reason, check.hint


def _callee(diagnosis: Diagnosis) -> str:
    """Return what the step calls that is the first to differ; empty where no step is known."""
    return "".join(each.callee for each in diagnosis.steps[diagnosis.wrong : diagnosis.wrong + 1])


def _raised_at(check: Check) -> object:
    """Return where a function of the notebook raised, and what: other entry points call it, too."""
    told = check.reason
    if check.code != "raised" or not isinstance(told, Sentence) or "line" not in told.values:
        return None
    where = told.values.get("where")
    cell = where.values.get("cell") if isinstance(where, Sentence) else None
    # An importer is tried on models of several widths, which the message has.
    message = re.sub(r"\b\d+\b", "", str(told.values.get("message")))
    return cell, told.values.get("line"), told.values.get("error"), message


def _cell(check: Check) -> object:
    """Return the cell that did not run to its end, None where it is another reason or not told."""
    if check.code != "unfinished_cell":
        return None
    sentences = _sentences(check.reason)
    first = next((each for each in sentences if isinstance(each, Sentence)), None)
    return None if first is None else first.values.get("cell")


def _rank(check: Check, given: frozenset[int]) -> int:
    if _is_absent(check, given):
        return _ORDER.index(_MISSING)
    if check.code == "incomplete" and _kind(check) == _TIMING:
        return _ORDER.index(_BETTER)
    return next(rank for rank, codes in enumerate(_ORDER) if check.code in codes)
