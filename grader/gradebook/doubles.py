"""What several people of a roster have in common that is meant to say who one is.

Such a word finds nobody: folders that are called by it are no one's, and commands refuse it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from grader.gradebook.entries import RosterEntry, Student, folded


def shared_emails(
    students: Iterable[Student], entries: Iterable[RosterEntry]
) -> dict[str, tuple[str, ...]]:
    """Return who has an e-mail that another has, too, once a roster is read: logins, by e-mail.

    Who has withdrawn counts as long as they are in the gradebook: they are found by it as well.
    """
    emails = {folded(each.login): (each.login, each.email) for each in students}
    for entry in entries:
        login, email = emails.get(folded(entry.login), (entry.login, ""))
        emails[folded(entry.login)] = login, entry.fields.get("email", email)
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for login, email in emails.values():
        if email:
            found[folded(email)][login] = email
    return {next(iter(each.values())): tuple(each) for each in found.values() if len(each) > 1}
