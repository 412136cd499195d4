"""What a report shows of a module's peak: a bar for each thing that holds memory, and the limit."""

from grader.evidence.peak.found import FoundPeak
from grader.evidence.peak.messages import Holder
from grader.ir.vocabulary import shown
from grader.language import Text, say
from grader.report import Bar, Bars, Section, Verdict


def show_peak(found: FoundPeak) -> Section | None:
    """Return the section; None where nothing is known."""
    total = found.bytes
    if total is None:
        return None
    verdict: Verdict = "passed" if total <= found.most else "failed"
    bars = [_bar(say("peak-of-module"), total, verdict)]
    if found.between is not None:
        bars.append(_part(say("peak-between-calls"), found.between))
    if found.largest is not None:
        bars.append(_part(say("peak-in-function", name=shown(found.largest.name)), found.largest))
    limit = say("peak-at-most", most=found.most)
    return Section(
        title=say("peak-memory"),
        blocks=(Bars(tuple(bars), float(found.most), limit),),
        figures={"bytes": total, "most": found.most},
    )


def _part(label: Text, holder: Holder) -> Bar:
    return _bar(label, holder.bytes or 0)


def _bar(label: Text, bytes: int, verdict: Verdict | None = None) -> Bar:
    return Bar(label, float(bytes), say("peak-bytes", bytes=bytes), verdict)
