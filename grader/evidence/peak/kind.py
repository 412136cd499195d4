"""The kind of evidence `peak`: how it is gathered, and how it is shown."""

from grader.evidence.peak.found import PEAK
from grader.evidence.peak.gather import gather_peak
from grader.evidence.peak.view import show_peak
from grader.evidence.plug import EvidenceKind

KIND = EvidenceKind(PEAK, gather_peak, show_peak)
