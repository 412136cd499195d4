"""Where a student asks about a grade: the address on the student's page, with what it is about.

It has the assignment, the part and the student's id in the roster: nothing that the student's own
page does not have. Whose an objection is, is said by the instructor who enters it.
"""

import re
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

FIELDS: Final = ("assignment", "part", "student")
"""What an address may name in braces."""

_LONGEST = 1_000
_FORM = re.compile(
    r"(mailto:[^\s<>\"'\\`?@]+@[^\s<>\"'\\`?@]+(\?[^\s<>\"'\\`]*)?|https?://[^\s<>\"'\\`]+)"
)
_FIELD = re.compile(r"\{([^{}]*)\}")


def checked_address(address: str) -> str:
    """Return an address to ask at, or nothing. Raises ValueError for what is none."""
    if not address:
        return ""
    if len(address) > _LONGEST or not address.isprintable() or not _FORM.fullmatch(address):
        raise ValueError("`address` is mailto:NAME@HOST or a URL that begins with https://")
    fields = set(_FIELD.findall(address))
    if not fields <= set(FIELDS) or set("{}") & set(_FIELD.sub("", address)):
        raise ValueError("`address` may have {assignment}, {part} and {student} in braces")
    return address


class AskAddress(NamedTuple):
    """Where one student asks about one assignment; `template` is the course's address."""

    template: str
    assignment: str
    student: str

    def of(self, part: str = "") -> str:
        """Return the address for a part, or for the whole."""
        values = {"assignment": self.assignment, "part": part, "student": self.student}
        if _FIELD.search(self.template):
            return _FIELD.sub(lambda found: quote(values[found[1]], safe=""), self.template)
        address, mark, fragment = self.template.partition("#")
        joint = "&" if "?" in address else "?"
        if self.template.startswith("mailto:"):
            about = ", ".join(filter(None, (self.assignment, part, self.student)))
            return f"{address}{joint}subject={quote(about, safe='')}"
        return f"{address}{joint}{urlencode(values)}{mark}{fragment}"
