"""Hooks of mkdocs: pages from the top of the repository, and links to files that are no pages.

The pages are written to be read in the repository, where a link to a module or to ../README.md is
right. On the site a link to a page leads to the page, and one to any other file of the repository
to that file in it: SITE_REPOSITORY says where files are read there, as in
https://example.org/me/grader/blob/main, and on GitHub and GitLab their own variables do. Where
nobody says it, the words of such a link stay and lead nowhere. What is not there at all is left to
mkdocs, which takes it for the error that it is.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

FROM_THE_TOP = {
    "README.md": "start.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Files of the repository that are pages of the site, beside those of docs/."""

AFTER_INLINE = 15
"""A priority: links are elements by then, and mkdocs, at 0, has not looked at them yet."""


def repository(environment: Mapping[str, str]) -> str:
    """Return the address below which a file of the repository is read, without one ""."""
    if "SITE_REPOSITORY" in environment:
        return environment["SITE_REPOSITORY"].rstrip("/")
    if "GITHUB_REPOSITORY" in environment:
        server = environment.get("GITHUB_SERVER_URL", "https://github.com")
        return f"{server}/{environment['GITHUB_REPOSITORY']}/blob/{environment['GITHUB_SHA']}"
    if "CI_PROJECT_URL" in environment:
        return f"{environment['CI_PROJECT_URL']}/-/blob/{environment['CI_COMMIT_SHA']}"
    return ""


class Links:
    """Where the links of one page after the other lead to."""

    def __init__(self, root: Path, address: str) -> None:
        self.root, self.address = root, address
        self.page = ""  # where the page being made is in the repository

    def follow(self, target: str) -> str | None:
        """Return what a link becomes on the site, None for one that leads nowhere there."""
        parts = urlsplit(target)
        if parts.scheme or parts.netloc or not parts.path or parts.path.startswith("/"):
            return target
        place = posixpath.normpath(posixpath.join(posixpath.dirname(self.page), parts.path))
        if place in FROM_THE_TOP:
            on_site = FROM_THE_TOP[place]
        elif place.startswith("docs/"):
            on_site = place.removeprefix("docs/")
        elif place.startswith("..") or not (self.root / place).exists():
            return target
        else:
            return f"{self.address}/{place}" if self.address else None
        here = posixpath.dirname(_on_site(self.page))
        return parts._replace(path=posixpath.relpath(on_site, here or ".")).geturl()


def _on_site(page: str) -> str:
    return FROM_THE_TOP.get(page) or page.removeprefix("docs/")


class _Follow(Treeprocessor):  # type: ignore[misc]
    """Changes the links of a page that was read."""

    def __init__(self, links: Links) -> None:
        super().__init__()
        self._links = links

    def run(self, root: Element) -> None:
        """Change every element with an address."""
        for element in root.iter():
            for name in {"href", "src"} & element.attrib.keys():
                target = self._links.follow(element.attrib.pop(name))
                if target is None:
                    element.tag = "span"
                else:
                    element.set(name, target)


class _Extension(Extension):  # type: ignore[misc]
    def __init__(self, links: Links) -> None:
        super().__init__()
        self._links = links

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown calls it so
        """Have links changed where Markdown has made elements of them."""
        md.treeprocessors.register(_Follow(self._links), "site_links", AFTER_INLINE)


_links = Links(Path(), "")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Begin with a site."""
    _links.root = Path(config.config_file_path).resolve().parent
    _links.address = repository(os.environ)
    config.markdown_extensions.append(_Extension(_links))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from the top of the repository."""
    for name, page in FROM_THE_TOP.items():
        path = str(_links.root / name)
        files.append(File.generated(config, page, abs_src_path=path))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Remember which page comes now."""
    names = {on_site: name for name, on_site in FROM_THE_TOP.items()}
    _links.page = names.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    return markdown
