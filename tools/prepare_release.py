"""What is done for a release alone: compare its tag with the version, and the README's links.

    python tools/prepare_release.py --tag v0.1.0
    python tools/prepare_release.py --repository https://github.com/OWNER/NAME/blob/v0.1.0

The first ends with 1 unless the tag is that of the version in pyproject.toml. The second has links
of README.md to files of the repository lead there: on a package index there is no file beside it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?P<before>!?\[(?:[^\[\]]|\n)*\]\()(?P<target>[^)\s]+)(?=\))")
PICTURES = (".png", ".svg")


def main(words: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Do what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag")
    parser.add_argument("--repository")
    options = parser.parse_args(words)
    if options.tag is not None:
        version = version_of((root / "pyproject.toml").read_text(encoding="utf-8"))
        if options.tag != f"v{version}":
            print(f"The tag is {options.tag}, and the version {version}: tag v{version}.")
            return 1
    if options.repository is not None:
        readme = root / "README.md"
        text = readme.read_text(encoding="utf-8")
        readme.write_text(with_links(text, options.repository), encoding="utf-8")
    return 0


def version_of(project: str) -> str:
    """Return the version in a project's settings, which Python 3.10 has no reader for."""
    (version,) = re.findall(r'^version = "([^"]+)"$', project, re.MULTILINE)
    return str(version)


def with_links(text: str, repository: str) -> str:
    """Return Markdown whose relative links lead below an address; pictures, to their bytes."""
    return LINK.sub(lambda match: match["before"] + _absolute(match["target"], repository), text)


def _absolute(target: str, repository: str) -> str:
    if re.match(r"[a-z]+:|#|/", target):
        return target
    raw = "?raw=true" if target.endswith(PICTURES) else ""
    return f"{repository.rstrip('/')}/{target}{raw}"


if __name__ == "__main__":
    sys.exit(main())
