"""The kind of evidence `target`: how it is gathered."""

from grader.evidence.plug import EvidenceKind
from grader.evidence.target.found import TARGET
from grader.evidence.target.gather import gather_target

KIND = EvidenceKind(TARGET, gather_target)
