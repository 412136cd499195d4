"""Requests to a learning management system: bounded, patient, and careful with the token.

The token goes to the system's own address alone, over HTTPS; HTTP is for this machine. A redirect
elsewhere is followed without it. What the system answers is untrusted: answers and files are cut
off at a limit. A full bucket (403 or 429) is waited for, a failure (5xx, a broken connection) is
tried again, except of a request that may have been done: that is an UnsureError, and the caller
looks at what stands there now.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urljoin, urlsplit
from weakref import WeakSet

import msgspec
import requests
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import parse_header_links

from grader.decoding import prepared
from grader.errors import LmsError, UsageError
from grader.language import Text, say
from grader.lms.sync.tokens import Credential
from grader.report import utc_now

# A time for each read ends a server that says nothing. One that sends a byte a minute says
# something: the lines of its head alone may last for years.


ANSWER_SECONDS = 180.0
ANSWER_BYTES = 4 * 2**20
"""So long an answer may take for its head and so much of its body, and for as much again."""


class SlowServers:
    """Ends the connections of a session on which an answer takes too long."""

    def __init__(self, session: requests.Session) -> None:
        self._sockets = WeakSet[socket.socket]()
        self._timer: threading.Timer | None = None
        self._is_late = False
        for scheme in ("https://", "http://"):
            session.mount(scheme, _Adapter(self._sockets))

    @contextmanager
    def refused(self) -> Iterator[None]:
        """Bound the body. Raises ReadTimeout where it took too long.

        What has no length ends with its connection, and would be taken for whole.
        """
        self._is_late = False
        self.begin_again()
        try:
            yield
        finally:
            self._cancel()
        if self._is_late:
            raise requests.ReadTimeout

    def begin_again(self) -> None:
        """Give an answer of which enough has come as long again."""
        self._cancel()
        self._timer = threading.Timer(ANSWER_SECONDS, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        self._is_late = True
        for each in [*self._sockets]:
            with suppress(OSError):  # of one that is closed
                socket.socket.shutdown(each, socket.SHUT_RDWR)


class _Adapter(HTTPAdapter):
    """Notes the sockets of its connections."""

    def __init__(self, sockets: WeakSet[socket.socket]) -> None:
        self._known = sockets
        super().__init__()

    def get_connection_with_tls_context(self, *given: Any, **named: Any) -> Any:
        """Return a pool whose connections are noted."""
        pool = super().get_connection_with_tls_context(*given, **named)
        if "ConnectionCls" not in vars(pool):
            pool.ConnectionCls = _noting(pool.ConnectionCls, self._known)
        return pool


def _noting(kind: Any, sockets: WeakSet[socket.socket]) -> Any:
    class Noting(kind):  # type: ignore[misc]
        def connect(self) -> None:
            super().connect()
            sockets.add(self.sock)

    return Noting


Told = TypeVar("Told")
Sleep = Callable[[float], None]
Method = Literal["GET", "POST", "PUT"]

_TRIES = 6
_HOPS = 5
_LONGEST_WAIT = 300.0
_ANSWER = 32 * 2**20
_PIECE = 2**16
_TIMEOUT = (10.0, 60.0)
_LINKS, _LISTED = 5_000, 2**28
"""Pages of listings, and bytes of those that have a next one: a server that always names one is
left, which had 160 GB of memory until then."""

_LOW = 50.0
"""Of X-Rate-Limit-Remaining. Canvas fills 700 and refuses at 0; a request costs about 1."""

_REFUSED_BY_LIMIT = b"rate limit exceeded"


class RefusedError(LmsError):
    """Raised when the answer to a request has a status that means no."""

    def __init__(self, message: Text, hint: Text, status: int) -> None:
        super().__init__(message, hint)
        self.status = status


class TokenRefusedError(RefusedError):
    """Raised when the token does not count, or no longer."""


class UnsureError(LmsError):
    """Raised when a request failed that may have been done all the same."""


class NotFoundError(RefusedError):
    """Raised when there is nothing at an address, or the token's owner may not see it."""


class TooLargeError(LmsError):
    """Raised when an answer or a file is larger than allowed."""


class Answer:
    """A whole answer within bounds, as much of `requests.Response` as `canvasapi` asks for."""

    def __init__(self, status: int, headers: CaseInsensitiveDict[str], content: bytes) -> None:
        self.status_code, self.headers, self.content = status, headers, content

    @property
    def text(self) -> str:
        """The content, where it is UTF-8."""
        return self.content.decode("utf-8", errors="replace")

    def json(self) -> Any:
        """Return the content as JSON. Raises LmsError."""
        try:
            return msgspec.json.decode(self.content)  # has no NaN, and no half of a character
        except (ValueError, RecursionError):
            raise unreadable() from None

    @property
    def links(self) -> dict[str, dict[str, str]]:
        """The links of the header, by what they are."""
        found = parse_header_links(self.headers.get("link", ""))
        return {each["rel"]: each for each in found if "rel" in each}


def unreadable() -> LmsError:
    """Return what is said of an answer that is not as the API describes it."""
    return LmsError(
        say("answer-lms-not-as-api-describes"), say("check-address-proxy-or-page-for-signing")
    )


def decoded(told: object, kind: type[Told]) -> Told:
    """Return what was told, as a declared type. Raises LmsError."""
    try:
        return msgspec.convert(told, type=prepared(kind))
    except msgspec.ValidationError as error:
        raise LmsError(
            say("answer-lms-not-as-api-describes"), say("report-this-title", error=str(error))
        ) from None


def site_of(url: str) -> str:
    """Return scheme, host and port of an address. Raises UsageError for HTTP to other machines."""
    parts = _parts(url)
    if parts is None:
        raise UsageError(
            say("not-address", url=repr(url)), say("copy-address-assignments-page-from-browser")
        )
    scheme, host, port = parts
    if scheme != "https" and not is_loopback(host):
        raise UsageError(
            say("would-asked-without-encryption", host=host), say("write-https-before-host")
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}" + ("" if port is None else f":{port}")


def _parts(url: str) -> tuple[str, str, int | None] | None:
    try:
        found = urlsplit(url)
        scheme, host, port = found.scheme, found.hostname, found.port
    except ValueError:
        return None
    if not host or scheme not in _PORTS or "@" in found.netloc:
        return None
    return scheme, host, port


_PORTS = {"https": 443, "http": 80}


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class LmsSession:
    """A connection to one site. `get`, `post` and `put` are as `canvasapi` calls them.

    `bearer` puts the token into the header of requests to the site. `sleep` waits for seconds.
    """

    def __init__(
        self, site: str, token: Credential, *, bearer: bool, sleep: Sleep = time.sleep
    ) -> None:
        self.site = site_of(site)
        self.token = token
        self._bearer = bearer
        self._sleep = sleep
        self._links = self._listed = 0
        self._requests = requests.Session()
        self._requests.auth = _keep_headers
        self._slow = SlowServers(self._requests)

    def close(self) -> None:
        """Close its connections."""
        self._requests.close()

    def get(self, url: str, headers: Any = None, params: Any = None) -> Answer:
        """Ask for something."""
        return self.send("GET", url, headers=headers, params=params)

    def post(
        self,
        url: str,
        headers: Any = None,
        data: Any = None,
        files: Any = None,
        *,
        follows: bool = True,
    ) -> Answer:
        """Send something that may be sent twice, such as a file that nothing refers to yet."""
        return self.send("POST", url, headers=headers, data=data, files=files, follows=follows)

    def put(self, url: str, headers: Any = None, data: Any = None) -> Answer:
        """Change something. Raises UnsureError where that may have been done."""
        return self.send("PUT", url, is_repeatable=False, headers=headers, data=data)

    def send(
        self,
        method: Method,
        url: str,
        *,
        is_repeatable: bool = True,
        follows: bool = True,
        **what: Any,
    ) -> Answer:
        """Send a request until it is answered. Raises LmsError."""

        def ask() -> Answer:
            with self._opened(method, url, what, follows=follows) as response:
                content = b"".join(self._pieces(response, _ANSWER))
                return Answer(response.status_code, response.headers, content)

        answer = self._until_answered(ask, is_repeatable=is_repeatable)
        self._check_next(answer)
        return answer

    def download(
        self, url: str, target: Path, limit: int, data: Mapping[str, str] | None = None
    ) -> None:
        """Write a file of at most `limit` bytes; `data` goes to the site alone. Raises LmsError."""
        method: Method = "POST" if data is not None and self.is_own(url) else "GET"
        what = {"data": data} if method == "POST" else _WITH_TOKEN

        def ask() -> Answer:
            with self._opened(method, url, what, follows=True) as response:
                if response.status_code >= _FAULT:
                    content = b"".join(self._pieces(response, _ANSWER))
                    return Answer(response.status_code, response.headers, content)
                with target.open("wb") as file:
                    for piece in self._pieces(response, limit):
                        file.write(piece)
                return Answer(response.status_code, response.headers, b"")

        self._until_answered(ask, is_repeatable=True)

    def _until_answered(self, ask: Callable[[], Answer], *, is_repeatable: bool) -> Answer:
        may_renew = True
        for tried in range(_TRIES + 1):
            try:
                answer = ask()
            except (requests.RequestException, OSError) as error:
                if isinstance(error, OSError) and not isinstance(error, requests.RequestException):
                    raise  # of the disk
                self._give_up(tried, 0, is_repeatable=is_repeatable)
                self._sleep(_backoff(tried))
                continue
            if _is_limited(answer):
                if tried + 1 >= _TRIES:
                    raise LmsError(
                        say("lms-refuses-more-requests-for-now"),
                        say("run-same-command-again-later-continues"),
                    )
                self._sleep(_told_wait(answer, tried))
            elif answer.status_code == _REFUSED and may_renew and self.token.renew():
                may_renew = False  # it was refused, so nothing was done: once more
            elif answer.status_code >= _FAILURE:
                self._give_up(tried, answer.status_code, is_repeatable=is_repeatable)
                self._sleep(_told_wait(answer, tried))
            else:
                self._slow_down(answer)
                return _checked(answer)
        raise AssertionError("the last try returns or raises")

    def _give_up(self, tried: int, status: int, *, is_repeatable: bool) -> None:
        """Raise LmsError where a request is not tried again."""
        again = say("run-same-command-again-continues-where-stopped")
        failed = say("cannot-reached", site=self.site)
        if status:
            failed = say("failed-with-status", site=self.site, status=status)
        if not is_repeatable:
            raise UnsureError(failed, again) from None
        if tried + 1 >= _TRIES:
            raise LmsError(failed, again) from None

    def _slow_down(self, answer: Answer) -> None:
        """Wait a little where the bucket is nearly empty, before it refuses."""
        try:
            left = float(answer.headers.get("x-rate-limit-remaining", _LOW))
        except ValueError:
            return
        if left < _LOW:
            self._sleep(1.0)

    def _check_next(self, answer: Answer) -> None:
        """Refuse a next page elsewhere, where the token would go, and endless pages."""
        next_page = answer.links.get("next")
        if next_page is None:
            return
        self._links += 1
        self._listed += len(answer.content)
        is_endless = self._links > _LINKS or self._listed > _LISTED
        if is_endless or not self.is_own(next_page.get("url", "")):
            raise unreadable()

    def is_own(self, url: str) -> bool:
        """Say whether an address is of the site: the token goes nowhere else."""
        return _origin(url) == _origin(self.site)

    @contextmanager
    def _opened(
        self, method: Method, url: str, what: Mapping[str, Any], *, follows: bool
    ) -> Iterator[requests.Response]:
        """Yield the answer at the end of all redirects, its body yet to be read."""
        for _ in range(_HOPS):
            self._refuse_plain(url)
            with self._slow.refused(), self._ask(method, url, what) as response:
                if not response.is_redirect:
                    yield response
                    return
                if not follows or method == "PUT" or response.status_code in (307, 308):
                    raise LmsError(
                        say("has-moved", site=self.site), say("name-new-address-as-browser-shows")
                    )
                url, method, what = _joined(url, response.headers["location"]), "GET", _WITH_TOKEN
        raise unreadable()

    def _pieces(self, response: requests.Response, limit: int) -> Iterator[bytes]:
        """Yield a body in pieces. Raises TooLargeError; unpacking is counted, so no bomb passes."""
        size, enough = 0, ANSWER_BYTES
        for piece in response.iter_content(_PIECE):
            size += len(piece)
            if size > limit:
                raise TooLargeError(say("answer-lms-too-large"))
            if size > enough:
                enough = size + ANSWER_BYTES
                self._slow.begin_again()
            yield piece

    def _ask(self, method: Method, url: str, what: Mapping[str, Any]) -> requests.Response:
        given = dict(what.get("headers") or {})
        asked = (
            given.pop("Authorization", None) is not None
        )  # it has none where `canvasapi` uploads
        if asked and self._bearer and self.is_own(url):
            given["Authorization"] = f"Bearer {self.token.reveal()}"
        _rewind(what.get("files"))
        rest = {key: value for key, value in what.items() if key != "headers"}
        try:
            return self._requests.request(
                method,
                url,
                headers=given,
                allow_redirects=False,
                stream=True,
                timeout=_TIMEOUT,
                **rest,
            )
        except requests.RequestException:
            raise
        except ValueError:  # of an address that is none, here or in the answer
            raise unreadable() from None

    def _refuse_plain(self, url: str) -> None:
        """Refuse an address without encryption, unless the site itself is of this machine."""
        parts = _parts(url)
        ours = _parts(self.site)
        is_plain = parts is not None and parts[0] == "http"
        if parts is None or (
            is_plain and not (is_loopback(parts[1]) and ours and ours[0] == "http")
        ):
            raise LmsError(
                say("sends-address-without-encryption", site=self.site),
                say("ask-who-runs-nothing-sent-there"),
            )


_FAULT, _REFUSED, _FAILURE = 400, 401, 500
_WITH_TOKEN: Mapping[str, Any] = {"headers": {"Authorization": ""}}
"""Of a request with the token, if it goes to the site and `bearer` says so."""


def _joined(url: str, location: str) -> str:
    """Return where an answer leads. Raises LmsError where that is no address."""
    try:
        return urljoin(url, location)
    except ValueError:
        raise unreadable() from None


def _keep_headers(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Return a request as it is: without this, `requests` adds passwords from ~/.netrc."""
    return request


def _origin(url: str) -> tuple[str, str, int] | None:
    parts = _parts(url)
    return None if parts is None else (parts[0], parts[1], parts[2] or _PORTS[parts[0]])


def _rewind(files: Any) -> None:
    """Put files at their beginning, where a request is sent once more."""
    for each in files.values() if isinstance(files, Mapping) else ():
        file = each[1] if isinstance(each, Sequence) and not isinstance(each, bytes) else each
        if hasattr(file, "seek"):
            file.seek(0)


def _is_limited(answer: Answer) -> bool:
    if answer.status_code == 429:
        return True
    return answer.status_code == 403 and _REFUSED_BY_LIMIT in answer.content[:500].lower()


def _told_wait(answer: Answer, tried: int) -> float:
    """Return for how many seconds to wait, as the answer says or longer each time."""
    told = answer.headers.get("retry-after", "")
    seconds = _backoff(tried)
    try:
        seconds = float(told) if told else seconds
    except ValueError:
        try:
            until = parsedate_to_datetime(told)
            seconds = (until - utc_now()).total_seconds()
        except (TypeError, ValueError, OverflowError):  # of a year with twenty digits
            pass
    return min(max(seconds, 0.0), _LONGEST_WAIT) if seconds == seconds else _backoff(tried)


def _backoff(tried: int) -> float:
    return float(2**tried)


def _checked(answer: Answer) -> Answer:
    status = answer.status_code
    if status == _REFUSED:
        raise token_refused()
    if status == 403:
        raise RefusedError(
            say("lms-does-not-allow"), say("use-token-somebody-who-may-grade"), status
        )
    if status == 404:
        raise NotFoundError(
            say("lms-does-not-find"), say("check-address-and-whether-tokens-owner"), status
        )
    if status >= _FAULT:
        raise RefusedError(
            say("lms-refuses-request-with-status", status=status),
            say("nothing-changed-by-check-assignments-settings-there"),
            status,
        )
    return answer


def token_refused() -> TokenRefusedError:
    """Return what is said where the token does not count, or no longer."""
    return TokenRefusedError(
        say("lms-does-not-accept-token-wrong-has"),
        say("make-new-one-and-run-same-command"),
        _REFUSED,
    )
