"""What a student's kernel says of a loop's variable in a block, for the student.

`grader/inside/kernel/well_formed.py` names the variable and the axis in English, as TVM's own
errors are. The text comes from a student's process and may be anything.
"""

from __future__ import annotations

import re

from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, say

_TOLD = re.compile(
    r'In block "(?P<block>[^"\n]{1,80})" of `(?P<function>\w{1,80})`, `(?P<name>\w{1,40})` is a'
    r" loop's variable and (?:not the axis `(?P<axis>\w{1,40})`"
    r"|has no axis, which is `(?P<declared>T\.axis\.(?:spatial|reduce)\([\w .()*+,/-]{1,60}\))`)\."
)

_LOOKED_AT = 2_000
"""Characters of a message that are looked at: the kernel's own have 500."""


def advice_on_loop_variable(message: str) -> Text:
    """Return what belongs in place of a loop's variable; empty for another message."""
    found = _TOLD.search(message[:_LOOKED_AT])
    if found is None:
        return NOTHING
    values = {each: shown(found[each]) for each in ("block", "function", "name")}
    if found["axis"]:
        return say(
            "In block {block} of {function}, write {axis} in place of {name}: {name} is the loop's"
            " variable, and {axis} the axis that the block has for it.",
            **values,
            axis=shown(found["axis"]),
        )
    return say(
        "In block {block} of {function}, {name} is a loop's variable, and the block has no axis for"
        " it: declare {declared}, and write {axis} in place of {name}.",
        **values,
        axis=shown(f"v{found['name']}"),
        declared=shown(f"v{found['name']} = {found['declared']}"),
    )
