"""Names of blocks and loops in errors of TVM's schedules, which number them."""

import re

_LOOKED_AT = 200_000
"""Characters of a message in which a printed module is looked for."""

_REFERENCE = re.compile(r"\b[a-z_.]{1,40}\.(?:SBlock|For)#\d{1,4}\b")
_PRINTED = re.compile(
    r"^ *# (?P<reference>[a-z_.]{1,40}\.(?:SBlock|For)#\d{1,4})\n"
    r" *(?:with \w{1,20}\.sblock\(\"(?P<block>[\w.]{1,100})\"|for (?P<loop>\w{1,100})\b)",
    re.MULTILINE,
)


def with_names(line: str, message: str) -> str:
    """Return a line of a message with names, between backquotes, in place of TVM's numbers.

    The numbers stand in comments of the module that the message prints: `# s_tir.SBlock#0` over
    `with T.sblock("C"):`. A number that stands nowhere stays.
    """
    printed = _PRINTED.finditer(message[:_LOOKED_AT])
    names = {each["reference"]: f"`{each['block'] or each['loop']}`" for each in printed}
    return _REFERENCE.sub(lambda found: names.get(found[0], found[0]), line)
