"""The pages of a preview, asked within this process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from grader.preview import REPORT_POLICY, PreviewSession, make_preview
from tests.preview.test_session import graded

PORT, TOKEN = 4321, "a token"
HOST = f"http://127.0.0.1:{PORT}"


class Visitor:
    """A browser without a page: it keeps cookies."""

    def __init__(self, session: PreviewSession, language: str = "en") -> None:
        self._app = make_preview(session, language, TOKEN, PORT)
        self._cookies = httpx.Cookies()

    def get(self, path: str) -> httpx.Response:
        async def once() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(
                transport=transport, base_url=HOST, cookies=self._cookies
            ) as client:
                answer = await client.get(path)
                self._cookies = client.cookies
                return answer

        return asyncio.run(once())


@pytest.fixture
def visitor(session: PreviewSession) -> Visitor:
    found = Visitor(session)
    assert 200 == found.get(f"/open?token={TOKEN}").status_code
    return found


@pytest.mark.parametrize("path", ["/", "/template", "/release", "/graded", "/state", "/preview.js"])
def test_without_the_token_there_is_nothing(session: PreviewSession, path: str) -> None:
    assert 403 == Visitor(session).get(path).status_code


@pytest.mark.parametrize("path", ["/", "/template", "/release", "/graded"])
def test_pages_may_be_in_frames_of_one_another_alone(visitor: Visitor, path: str) -> None:
    headers = visitor.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'self'" in policy
    assert "SAMEORIGIN" == headers["x-frame-options"]
    assert "http" not in policy


def test_all_three_stand_side_by_side(visitor: Visitor) -> None:
    page = visitor.get("/?lang=zh&mutant=sum_not_initialised").text
    assert 3 == page.count("<iframe")
    assert 'src="/template?lang=zh"' in page
    assert 'src="/graded?mutant=sum_not_initialised"' in page
    assert '<option value="sum_not_initialised" selected>' in page


def test_what_nobody_knows_is_not_repeated(visitor: Visitor) -> None:
    page = visitor.get("/?lang=%3Cscript%3E&mutant=%22%3E%3Cscript%3E").text
    assert "<script>" not in page
    assert 'src="/template?lang=en"' in page


def test_the_panes_show_cells_and_files(visitor: Visitor) -> None:
    assert "YOUR CODE HERE" in visitor.get("/template?lang=en").text
    assert "assignments/layer/oracle.py" in visitor.get("/release").text


def test_a_mistake_is_told_in_the_pane(visitor: Visitor, course: Path) -> None:
    (course / "reference" / "layer.py").write_text("# %%\n### Begin solution\n")
    text = visitor.get("/template").text
    assert "which looks like a mark but is none" in text and "docs/masters.md" in text
    assert 200 == visitor.get("/").status_code


def test_a_report_comes_when_it_is_made_and_runs_no_script(
    visitor: Visitor, session: PreviewSession
) -> None:
    assert "is being graded" in visitor.get("/graded?mutant=sum_not_initialised").text
    assert not visitor.get("/state?mutant=sum_not_initialised").json()["graded"]
    graded(session, "sum_not_initialised")
    state = visitor.get("/state?mutant=sum_not_initialised").json()
    assert {"files": session.stamp(), "graded": True} == state
    answer = visitor.get("/graded?mutant=sum_not_initialised")
    assert "sum_not_initialised.ipynb" in answer.text
    assert REPORT_POLICY == answer.headers["content-security-policy"]
    assert "sandbox" in REPORT_POLICY and "script" not in REPORT_POLICY
