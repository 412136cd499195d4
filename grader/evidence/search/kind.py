"""The kind of evidence `search`: the best schedule of a space takes the place of the space."""

from grader.evidence.plug import EvidenceKind
from grader.evidence.search.found import SEARCH
from grader.evidence.search.gather import search_space

KIND = EvidenceKind(SEARCH, choose=search_space, runners=3)
