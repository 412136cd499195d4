"""Reports whose foreign texts mean harm: one text in every field that somebody else writes."""

from __future__ import annotations

import msgspec

from grader.language import foreign
from grader.report import (
    Cell,
    CellOutput,
    CellProblem,
    Diagnosis,
    Graph,
    Node,
    Origin,
    Report,
    Scripts,
    Step,
)
from tests import sample_reports

CONTROLS = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0), 0xDFFF, 0xD800)))

HARMFUL = (
    sample_reports.HOSTILE,
    "start" + CONTROLS,
    "\ufffe\uffff\U0001fffe \ud800 \udfff end",
    "<script>alert(1)</script><img src=x onerror=alert(1)><!-- -->",
    "[link](https://evil.example) ![image](https://evil.example/a.png) <https://evil.example>",
    "https://evil.example www.evil.example mailto:a@evil.example ftp://evil.example a@evil.example",
    "@everyone #12 GH-12 owner/name#3 :tada: $x^2$",
    "# heading\n\n- item\n\n1. item\n1) item\n\n> quote\n\n---\n\n***\n\n===\n+ item\n    code",
    "```\nfence\n```\n~~~\nfence\n~~~\n`code` ``code`` | a | b |\n|---|---|\n| 1 | 2 |",
    "[ref]: https://evil.example\n\n[ref] [^1]\n\n[^1]: note",
    "`@everyone` #12 `https://evil.example <b> [a](b) ![c](d) $x^2$ :tada: | \\` @everyone",
    "``a` `b`@everyone`c``d` `@everyone` `` `<b>",
    "`a`" * 30 + "@everyone",
    "*a* **a** _a_ __a__ ~~a~~ &lt;b&gt; &#60;b&#62; \\<b> \\",
    "\\*a\\* \\`b\\` \\_c\\_",
    "|a\n|---",
    "a\n===",
    "a\n---",
    "a | b\n:-",
    "a\n:--:",
    "    code\n    code",
    "\n::error::mine\n  ::add-mask::a\n::stop-commands::x\n##[error]mine ::set-output name=a::b",
    "a%0A::error::mine,line=1:x%25",
    "]]><failure/>&amp;<![CDATA[",
    "漢字と*強調*、한국어 **굵게**。",
)
"""What has a meaning in one format or another."""


def everywhere(text: str, language: str = "en") -> Report:
    """Return a report with a text in every field that a student or an instructor writes."""
    report = sample_reports.typical()
    part = report.parts[1]
    check = msgspec.structs.replace(part.checks[2], title=text, reason=text, hint=text)
    box = Node("tir", text, text, (text, 4), text)
    step = Step(text, text, (1,), "wrong", foreign(text))
    submission = msgspec.structs.replace(report.submission, name=text, cells=1)
    return msgspec.structs.replace(
        report,
        assignment=msgspec.structs.replace(report.assignment, title=text),
        submission=submission,
        parts=(
            msgspec.structs.replace(
                part,
                title=text,
                checks=(check, msgspec.structs.replace(check, id="other")),
                origin=Origin(text, 1),
                graph=Graph(nodes=(box, box), edges=((0, 1),), output=1),
                diagnosis=Diagnosis(
                    (step,),
                    0,
                    foreign(text),
                    (1,),
                    "bias",
                    foreign(text),
                    foreign(text),
                    foreign(text),
                ),
                scripts=Scripts(text, text, text),
            ),
            msgspec.structs.replace(report.parts[0], title=text),
        ),
        problems=(CellProblem(1, text, text, 1, foreign(text)), CellProblem(2, text, text * 400)),
        notes=(text, text),
        timing=msgspec.structs.replace(
            sample_reports.TIMING, function=text, target=text, notes=(text,)
        ),
        environment=msgspec.structs.replace(report.environment, cpu=text),
        cells=(
            Cell("markdown", text, None, 3),
            Cell("code", text, 1, 7, (CellOutput("stdout", text), CellOutput("error", text))),
        ),
        language=language,
    )


def with_cells() -> Report:
    """A typical report with its notebook: seventeen code cells of ten lines, ten lines apart.

    Its first cell begins on line 5, in a file that Jupyter saved.
    """
    report = sample_reports.typical()
    source = "\n".join(f"line_{number}" for number in range(1, 7))
    cells = tuple(Cell("code", source, number, 10 * number - 5) for number in range(1, 18))
    return msgspec.structs.replace(report, cells=cells)
