"""What a file is by its first bytes, where it is no submission; and the encoding a script names.

A download that was a page of a sign-in, a pointer of Git LFS and an archive are all "not JSON", and
no student knows what to do about that.
"""

import re

from grader.errors import SubmissionError
from grader.language import Text, say

_ARCHIVE = say("file-archive-not-notebook")
_UNPACK = say("unpack-and-hand-in-notebook")
_PICTURE = say("file-picture-not-notebook")
_ITSELF = say("hand-in-ipynb-file-itself-as-jupyter")

_KINDS: tuple[tuple[bytes, Text, Text], ...] = (
    (b"PK\x03\x04", say(_ARCHIVE, format="zip"), _UNPACK),
    (b"\x1f\x8b", say(_ARCHIVE, format="gzip"), _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", say(_ARCHIVE, format="7z"), _UNPACK),
    (b"Rar!\x1a\x07", say(_ARCHIVE, format="rar"), _UNPACK),
    (b"\xfd7zXZ\0", say(_ARCHIVE, format="xz"), _UNPACK),
    (b"%PDF-", say("file-pdf-not-notebook"), _ITSELF),
    (b"\x89PNG\r\n", _PICTURE, _ITSELF),
    (b"\xff\xd8\xff", _PICTURE, _ITSELF),
    (
        b"version https://git-lfs.github.com/spec/",
        say("file-pointer-git-lfs-notebook-itself"),
        say("run-git-lfs-pull-and-hand"),
    ),
)

_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,1000}<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_NOTEBOOK = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,1000}\{\s{0,1000}\"(?:cells|nbformat|metadata)\"")


def refuse_other_kinds(content: bytes, *, is_text: bool) -> None:
    """Raise SubmissionError for a file of another kind; `is_text` is by name no notebook."""
    for begin, problem, hint in _KINDS:
        if content.startswith(begin):
            raise SubmissionError(problem, hint)
    if _PAGE.match(content):
        raise SubmissionError(
            say("file-page-web-html-not-notebook"),
            say("download-notebook-itself-on-github-behind-download"),
        )
    if is_text and _NOTEBOOK.match(content):
        raise SubmissionError(
            say("file-notebook-with-name-script-or-text"), say("let-name-end-in-ipynb-and-hand")
        )


ENCODINGS = (
    *("ascii", "latin-1", "iso8859-2", "iso8859-15", "cp1250", "cp1251", "cp1252", "koi8-r"),
    *("gb2312", "gbk", "gb18030", "big5", "euc-kr", "cp949", "johab", "shift_jis", "cp932"),
    "euc_jp",
)
"""Encodings that a script may name, beside UTF-8; codecs with code of their own are not among
them: `idna` takes quadratic time."""

_SHORT = {re.sub(r"[-_]", "", name): name for name in ENCODINGS}
_SHORT |= {"iso88591": "latin-1", "windows1252": "cp1252", "windows1251": "cp1251"}
_COOKIE = re.compile(rb"[ \t\f]{0,100}#[^\n]{0,200}?coding[:=][ \t]{0,20}([-\w.]{1,40})")


def text_of_script(content: bytes) -> str | None:
    """Return a script in the encoding that its first two lines name; None where they name none.

    As for Python (PEP 263) a mark of byte order counts more.
    """
    for line in content[:1000].split(b"\n")[:2]:
        found = _COOKIE.match(line)
        if found is not None:
            short = re.sub(r"[-_]", "", found[1].decode("ascii", "replace").lower())
            encoding = _SHORT.get(short)
            return None if encoding is None else content.decode(encoding, errors="replace")
        if line.strip() and not line.lstrip().startswith(b"#"):
            return None
    return None
