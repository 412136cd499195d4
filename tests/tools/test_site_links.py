"""Where a link of a page in the repository leads to on the site."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "site_links.py"))
HOME = "https://example.org/me/grader/blob/main"


def follow(page: str, target: str, address: str = HOME) -> str | None:
    links = TOOL["Links"](ROOT, address)
    links.page = page
    return links.follow(target)


class TestLinks:
    @pytest.mark.parametrize(
        ("page", "target", "expected"),
        [
            ("docs/ci.md", "security.md#levels", "security.md#levels"),
            ("docs/ci.md", "../README.md#help", "start.md#help"),
            ("README.md", "docs/ci.md#releases", "ci.md#releases"),
            ("README.md", "docs/images/report.png", "images/report.png"),
            ("README.md", "CONTRIBUTING.md", "contributing.md"),
            ("CONTRIBUTING.md", "docs/architecture.md", "architecture.md"),
        ],
    )
    def test_a_link_to_a_page_leads_to_the_page(
        self, page: str, target: str, expected: str
    ) -> None:
        assert expected == follow(page, target)

    @pytest.mark.parametrize(
        ("page", "target", "place"),
        [
            ("docs/ci.md", "../grader/grading/pipeline.py", "grader/grading/pipeline.py"),
            ("README.md", "LICENSE", "LICENSE"),
            ("CONTRIBUTING.md", "grader/checks/kinds", "grader/checks/kinds"),
        ],
    )
    def test_a_link_to_another_file_leads_to_the_repository(
        self, page: str, target: str, place: str
    ) -> None:
        assert f"{HOME}/{place}" == follow(page, target)

    def test_it_leads_nowhere_where_nobody_says_where_the_repository_is(self) -> None:
        assert follow("README.md", "LICENSE", address="") is None

    @pytest.mark.parametrize(
        "target", ["https://tvm.apache.org", "#levels", "mailto:a@example.org", "/top"]
    )
    def test_what_is_no_path_is_left_as_it_is(self, target: str) -> None:
        assert target == follow("docs/ci.md", target)

    @pytest.mark.parametrize("target", ["../grader/nowhere.py", "../../etc/passwd"])
    def test_what_is_not_in_the_repository_is_left_to_mkdocs(self, target: str) -> None:
        assert target == follow("docs/ci.md", target)


class TestRepository:
    @pytest.mark.parametrize(
        ("variables", "expected"),
        [
            ({}, ""),
            ({"SITE_REPOSITORY": f"{HOME}/"}, HOME),
            (
                {"GITHUB_REPOSITORY": "me/grader", "GITHUB_SHA": "1a"},
                "https://github.com/me/grader/blob/1a",
            ),
            (
                {"CI_PROJECT_URL": "https://lab.example.org/g", "CI_COMMIT_SHA": "1a"},
                "https://lab.example.org/g/-/blob/1a",
            ),
        ],
    )
    def test_it_is_where_the_service_that_builds_has_it(
        self, variables: dict[str, str], expected: str
    ) -> None:
        assert expected == TOOL["repository"](variables)

    def test_what_somebody_says_counts_first(self) -> None:
        service = {"GITHUB_REPOSITORY": "me/grader", "GITHUB_SHA": "1a"}
        assert TOOL["repository"]({**service, "SITE_REPOSITORY": HOME}) == HOME
