"""The grader as a tool of LTI 1.3: its private key, and the tokens that an LMS gives for it.

The key is a person's, as a token is: it stands in a file outside of the course, in the environment
or in a keyring. What goes over the wire is a signed statement that counts for a minute.
"""

import base64
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import jwt
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt.algorithms import RSAAlgorithm

from grader.course_settings import LtiSettings
from grader.decoding import prepared
from grader.errors import LmsError, UsageError
from grader.language import say
from grader.lms.sync.session import LmsSession, RefusedError, Sleep, site_of, unreadable
from grader.lms.sync.tokens import SERVICE, Lookup, Token, from_keyring

Clock = Callable[[], datetime]

KEY, KEY_FILE = "LTI_KEY", "LTI_KEY_FILE"
"""Variables of the environment: the key itself as PEM, and the path of its file."""

_AGS = "https://purl.imsglobal.org/spec/lti-ags/scope"
_NRPS = "https://purl.imsglobal.org/spec/lti-nrps/scope"
_READING = f"{_AGS}/lineitem.readonly"
SCOPES = (
    f"{_AGS}/lineitem",
    f"{_AGS}/result.readonly",
    f"{_AGS}/score",
    f"{_NRPS}/contextmembership.readonly",
)
_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

_ASSERTED = timedelta(minutes=1)
_EARLY = timedelta(minutes=1)
"""So long before a token expires another one is asked for."""

_WRONG = 400
"""The status of a request for scopes that the tool may not have, and for other mistakes."""

_FOREVER = 10**9
_LARGEST_KEY = 2**16
_SMALLEST = 2048
_OTHERS = 0o077


class ToolKey:
    """A private RSA key that no formatting shows."""

    def __init__(self, key: RSAPrivateKey) -> None:
        self._key = key
        self._public: dict[str, Any] = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)

    def __repr__(self) -> str:
        return "ToolKey(***)"

    @property
    def thumbprint(self) -> str:
        """What the key is called where nobody has named it (RFC 7638)."""
        named = {name: self._public[name] for name in ("e", "kty", "n")}
        digest = hashlib.sha256(msgspec.json.encode(named, order="sorted")).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def public(self, key_id: str = "") -> dict[str, str]:
        """Return the public key as a JWK."""
        known = {name: str(self._public[name]) for name in ("kty", "n", "e")}
        return {**known, "alg": "RS256", "use": "sig", "kid": key_id or self.thumbprint}

    def sign(self, claims: Mapping[str, object], key_id: str) -> str:
        """Return a signed statement."""
        headers = {"kid": key_id or self.thumbprint}
        return jwt.encode(dict(claims), self._key, algorithm="RS256", headers=headers)


def find_tool_key(
    host: str,
    environment: Mapping[str, str],
    inside: Sequence[Path],
    lookup: Lookup | None = None,
) -> ToolKey:
    """Return the key for a host. Raises UsageError where there is none, or it is malformed.

    A file within one of the folders `inside` is refused: those are shared and kept.
    """
    told = environment.get(KEY, "").encode()
    place = environment.get(KEY_FILE, "")
    if not told and place:
        told = _read_key(Path(place).expanduser(), inside)
    if not told:
        told = ((lookup or from_keyring)(SERVICE, _kept_as(host)) or "").encode()
    if not told:
        raise UsageError(
            say("no-private-key-for", host=host),
            say(
                "set-key-file-or-keyring",
                file=KEY_FILE,
                key=KEY,
                command=f"keyring set {SERVICE} {_kept_as(host)} < key.pem",
            ),
        )
    return _key_of(told, host)


def _kept_as(host: str) -> str:
    """Return what the key is called in a keyring, beside a token for the same host."""
    return f"{host}/lti"


def _read_key(path: Path, inside: Sequence[Path]) -> bytes:
    """Return the content of a key's file. Raises UsageError where others may have it."""
    try:
        found = path.resolve(strict=True)
        if any(found.is_relative_to(each.resolve()) for each in inside):
            raise UsageError(
                say("private-key-within-course", path=str(path)), say("move-key-out-of-course")
            )
        with found.open("rb") as file:
            content = file.read(_LARGEST_KEY)
        mode = found.stat().st_mode
    except OSError as error:
        raise UsageError(
            say("cannot-read-private-key", path=str(path), reason=str(error.strerror)),
            say("name-file-of-key", file=KEY_FILE),
        ) from None
    if mode & _OTHERS:
        raise UsageError(
            say("others-may-read-private-key", path=str(path)),
            say("chmod-run", command=f"chmod 600 {path}"),
        )
    return content


def _key_of(content: bytes, host: str) -> ToolKey:
    """Return a key as PEM. Its library's errors are not shown: they may quote it."""
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, RSAPrivateKey) or key.key_size < _SMALLEST:
        raise UsageError(
            say("private-key-not-rsa", host=host, bits=_SMALLEST),
            say("make-key-with", command=f"openssl genrsa -out key.pem {_SMALLEST}"),
        )
    return ToolKey(key)


class _Granted(msgspec.Struct, frozen=True):
    access_token: Annotated[str, msgspec.Meta(pattern=r"\A[!-~]{1,16384}\Z")]
    expires_in: float | None = None


class ToolToken:
    """A token that the LMS gives for the key, and gives again before it expires."""

    def __init__(self, settings: LtiSettings, key: ToolKey, sleep: Sleep, clock: Clock) -> None:
        self._settings, self._key, self._clock = settings, key, clock
        self._session = LmsSession(
            site_of(settings.token_url), Token(""), bearer=False, sleep=sleep
        )
        self._value = ""
        self._until: datetime | None = None

    def __repr__(self) -> str:
        return "ToolToken(***)"

    def close(self) -> None:
        """Close its connections."""
        self._session.close()

    def reveal(self) -> str:
        """Return a token that counts. Raises LmsError."""
        if not self._value or (self._until is not None and self._clock() >= self._until):
            self._ask()
        return self._value

    def renew(self) -> bool:
        """Forget the token."""
        self._value = ""
        return True

    def _ask(self) -> None:
        """Ask for a token, and where columns cannot be made with one, for a lesser one."""
        asked = self._clock()
        try:
            granted = self._granted(SCOPES)
        except RefusedError as error:
            if error.status != _WRONG:
                raise _no_token(self._session.site) from None
            try:
                granted = self._granted((_READING, *SCOPES[1:]))
            except RefusedError:
                raise _no_token(self._session.site) from None
        self._value, self._until = granted.access_token, None
        lasting = granted.expires_in
        if lasting is not None and 0 < lasting < _FOREVER:
            span = timedelta(seconds=lasting)
            self._until = asked + max(span - _EARLY, span / 2)

    def _granted(self, scopes: Sequence[str]) -> _Granted:
        told = self._settings
        fields = {
            "grant_type": "client_credentials",
            "client_assertion_type": _BEARER,
            "client_assertion": self._key.sign(self._claims(), told.key_id),
            "scope": " ".join(scopes),
        }
        answer = self._session.post(told.token_url, data=fields, follows=False).json()
        try:
            return msgspec.convert(answer, type=prepared(_Granted))
        except msgspec.ValidationError:  # it is not told why: that would quote the token
            raise unreadable() from None

    def _claims(self) -> dict[str, object]:
        told, now = self._settings, self._clock()
        return {
            "iss": told.client_id,
            "sub": told.client_id,
            "aud": told.audience or told.token_url,
            "iat": int(now.timestamp()),
            "exp": int((now + _ASSERTED).timestamp()),
            "jti": secrets.token_urlsafe(24),
        }


def _no_token(site: str) -> LmsError:
    return LmsError(
        say("lms-gives-tool-no-token", site=site), say("check-tools-registration-in-course-toml")
    )
