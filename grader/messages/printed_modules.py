"""What TVM prints of modules in its errors: names of blocks and loops, and what it leaves out."""

import re

_LOOKED_AT = 200_000
"""Characters of a message in which a printed module is looked for."""

_REFERENCE = re.compile(r"\b[a-z_.]{1,40}\.(?:SBlock|For)#\d{1,4}\b")
_PRINTED = re.compile(
    r"^ *# (?P<reference>[a-z_.]{1,40}\.(?:SBlock|For)#\d{1,4})\n"
    r" *(?:with \w{1,20}\.sblock\(\"(?P<block>[\w.]{1,100})\"|for (?P<loop>\w{1,100})\b)",
    re.MULTILINE,
)


_OMITTED = re.compile(r"\n# Metadata omitted\.[^\n]{0,80}? to show it\.")


def without_omissions(message: str) -> str:
    """Return a message without TVM's remark that a constant was left out.

    It breaks the sentence in which the constant stands: what comes after it, such as the lengths
    that do not fit, is then on another line.
    """
    return _OMITTED.sub("", message)


_OPERATOR = re.compile(
    r"\bir\.Op\(span=.{0,80}?name=\"([\w.]{1,100})\".{0,4000}?support_level=\d{1,9}\)"
)


def with_operators(text: str) -> str:
    """Return a text with the names of operators that TVM prints with all that they have."""
    return _OPERATOR.sub(r"\1", text)


def with_names(line: str, message: str) -> str:
    """Return a line of a message with names, between backquotes, in place of TVM's numbers.

    The numbers stand in comments of the module that the message prints: `# s_tir.SBlock#0` over
    `with T.sblock("C"):`. A number that stands nowhere stays.
    """
    printed = _PRINTED.finditer(message[:_LOOKED_AT])
    names = {each["reference"]: f"`{each['block'] or each['loop']}`" for each in printed}
    return _REFERENCE.sub(lambda found: names.get(found[0], found[0]), line)
