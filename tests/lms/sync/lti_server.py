"""A system of this machine that knows the grader as a tool of LTI 1.3, with its failures.

Written from the specifications: LTI Security Framework (client credentials by a signed assertion),
AGS 2.0 (line items, scores, results) and NRPS 2.0 (memberships), with addresses as Moodle has them.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.lms.sync.servers import Reply, Request, Site, told

CLIENT = "client-7"
AGS = "https://purl.imsglobal.org/spec/lti-ags/scope"
MEMBERS = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
LEARNER = "http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"
_KINDS = {
    "items": "application/vnd.ims.lis.v2.lineitemcontainer+json",
    "results": "application/vnd.ims.lis.v2.resultcontainer+json",
    "members": "application/vnd.ims.lti-nrps.v2.membershipcontainer+json",
}

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


class Lti(Site):
    """A course 5. `uses` is how many requests a token counts for, `may_make` if columns are."""

    page = 50

    def __init__(self) -> None:
        super().__init__()
        self.users: list[dict[str, Any]] = []
        self.items: dict[int, dict[str, Any]] = {}
        self.results: dict[tuple[int, str], dict[str, Any]] = {}
        self.tokens: dict[str, int] = {}
        self.assertions: list[dict[str, Any]] = []
        self.headers: list[dict[str, Any]] = []
        self.uses = 10**6
        self.expires: int | None = 3600
        self.may_make = True
        self.keeps_tags = True
        self.maximum: float | None = None

    @property
    def line_items(self) -> str:
        return f"{self.url}/lti/5/lineitems?type_id=3"

    @property
    def settings(self) -> str:
        """What stands in course.toml."""
        return (
            f'[lti]\nclient_id = "{CLIENT}"\ntoken_url = "{self.url}/token"\n'
            f'line_items = "{self.line_items}"\nmemberships = "{self.url}/lti/5/memberships"\n'
        )

    def write_settings(self, folder: Path) -> None:
        (folder / "course.toml").write_text(self.settings)

    def enrol(self, user: object, login: str, *roles: str, status: str = "Active") -> None:
        self.users.append(
            {
                "user_id": str(user),
                "name": login.title(),
                "email": f"{login}@example.org",
                "lis_person_sourcedid": login,
                "roles": [*(roles or (LEARNER,))],
                "status": status,
            }
        )

    def add_item(self, label: str, maximum: float = 10, **fields: Any) -> int:
        number = len(self.items) + 1
        place = f"{self.url}/lti/5/lineitems/{number}/lineitem?type_id=3"
        self.items[number] = {"id": place, "label": label, "scoreMaximum": maximum, **fields}
        return number

    def enter(self, user: object, points: float | None, comment: str = "", item: int = 1) -> None:
        """Enter a grade as a person does."""
        self.results[item, str(user)] = {"score": points, "comment": comment}

    def standing(self, item: int = 1) -> dict[str, float]:
        return {
            user: each["score"]
            for (number, user), each in self.results.items()
            if number == item and each["score"] is not None
        }

    def serve(self, request: Request) -> Reply:
        if request.path == "/token":
            return self._grant(request)
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.tokens.get(given, 0) < 1:
            return told({"error": "invalid_token"}, 401)
        self.tokens[given] -= 1
        return self._service(request)

    def _grant(self, request: Request) -> Reply:
        assert request.method == "POST"
        assert "Authorization" not in request.headers
        assert "client_credentials" == request.one("grant_type")
        kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        assert kind == request.one("client_assertion_type")
        said = request.one("client_assertion")
        try:
            claims = jwt.decode(
                said,
                KEY.public_key(),
                algorithms=["RS256"],
                audience=f"{self.url}/token",
                issuer=CLIENT,
                options={"require": ["iss", "sub", "aud", "iat", "exp", "jti"]},
            )
        except jwt.PyJWTError:
            return told({"error": "invalid_client"}, 400)
        if claims["jti"] in [each["jti"] for each in self.assertions]:
            return told({"error": "invalid_grant"}, 400)
        self.assertions.append(claims)
        self.headers.append(jwt.get_unverified_header(said))
        scopes = request.one("scope").split()
        if not self.may_make and f"{AGS}/lineitem" in scopes:
            return told({"error": "invalid_scope"}, 400)
        token = f"secret-token-{len(self.tokens)}"
        self.tokens[token] = self.uses
        found = {"access_token": token, "token_type": "Bearer", "scope": " ".join(scopes)}
        return told(found if self.expires is None else {**found, "expires_in": self.expires})

    def _service(self, request: Request) -> Reply:
        if request.path == "/lti/5/memberships":
            assert _KINDS["members"] == request.headers["Accept"]
            return self._listing(
                request, self.users, lambda rows: {"id": "m", "context": {}, "members": rows}
            )
        assert "3" == request.one("type_id"), "the query of an address belongs to it"
        if request.path == "/lti/5/lineitems":
            if request.method == "POST":
                return self._make(request)
            assert _KINDS["items"] == request.headers["Accept"]
            return self._listing(request, [*self.items.values()])
        match = re.fullmatch(r"/lti/5/lineitems/(\d+)/lineitem(/\w+)?", request.path)
        if match is None or int(match[1]) not in self.items:
            return 404, {}, b""
        number = int(match[1])
        if match[2] == "/results":
            assert _KINDS["results"] == request.headers["Accept"]
            rows = [self._shown(number, user) for item, user in self.results if item == number]
            if wanted := request.one("user_id"):
                rows = [each for each in rows if each["userId"] == wanted]
            return self._listing(request, rows)
        assert match[2] == "/scores"
        return self._score(number, request)

    def _make(self, request: Request) -> Reply:
        assert "application/vnd.ims.lis.v2.lineitem+json" == request.headers["Content-Type"]
        if not self.may_make:
            return 403, {}, b""
        what = json.loads(request.body)
        kept = ("resourceId", "tag") if self.keeps_tags else ()
        number = self.add_item(
            what["label"], what["scoreMaximum"], **{name: what[name] for name in kept}
        )
        return told(self.items[number], 201)

    def _shown(self, item: int, user: str) -> dict[str, Any]:
        found = self.results[item, user]
        most = self.items[item]["scoreMaximum"]
        row = {"id": f"r{user}", "scoreOf": self.items[item]["id"], "userId": user}
        if found["comment"]:
            row["comment"] = found["comment"]
        if found["score"] is None:
            return row
        if self.maximum is None:
            return {**row, "resultScore": found["score"], "resultMaximum": most}
        row["resultScore"] = found["score"] / most * self.maximum
        return row if self.maximum == 1 else {**row, "resultMaximum": self.maximum}

    def _score(self, item: int, request: Request) -> Reply:
        assert "application/vnd.ims.lis.v1.score+json" == request.headers["Content-Type"]
        score = json.loads(request.body)
        assert ("Completed", "FullyGraded") == (score["activityProgress"], score["gradingProgress"])
        at = datetime.fromisoformat(score["timestamp"])
        assert at.tzinfo is not None
        before = self.results.get((item, score["userId"]), {"score": None, "comment": ""})
        if at < before.get("at", at):
            return 409, {}, b""
        self.writes[score["userId"]] += 1
        most = self.items[item]["scoreMaximum"]
        self.results[item, score["userId"]] = {
            "score": round(score["scoreGiven"] * most / score["scoreMaximum"], 5),
            "comment": score.get("comment", before["comment"]),
            "at": at,
        }
        return 204, {}, b""

    def _listing(self, request: Request, rows: list[Any], form: Any = lambda rows: rows) -> Reply:
        size = min(int(request.one("limit", "100")), self.page)
        page = int(request.one("page", "0"))
        part = rows[page * size : (page + 1) * size]
        if (page + 1) * size >= len(rows):
            return told(form(part))
        query = f"limit={size}&page={page + 1}"
        if request.one("type_id"):
            query += "&type_id=3"
        return told(form(part), Link=f'<{self.url}{request.path}?{query}>; rel="next"')
