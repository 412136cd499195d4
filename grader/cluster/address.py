"""Which scheduler is spoken to, whether anybody on the way could listen; settings of Dask.

Whoever reaches a scheduler without TLS can run any program on it and on its workers, and read
hidden inputs. On the machine itself that is its users; on a network it is everybody.
"""

import ipaddress
import logging
from pathlib import Path
from urllib.parse import urlsplit

from distributed.security import Security

from grader.errors import UsageError
from grader.language import say

_SCHEMES = ("tcp", "tls")


def checked(address: str, *, insecure: bool = False) -> str:
    """Return the address of a scheduler. Raises UsageError for none, and for one without TLS that
    is not on this machine, unless that was asked for (`insecure`).
    """
    try:
        parts = urlsplit(address)
        is_whole = parts.scheme in _SCHEMES and bool(parts.hostname) and bool(parts.port)
        # Dask takes addresses apart in its own way: what it reads as another host is none.
        is_plain = address == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc
    except ValueError:  # of the port
        is_whole = is_plain = False
    if not (is_whole and is_plain):
        raise UsageError(
            say("not-scheduler-address", address=address),
            say("copy-from-schedulers-log-such-as-tls"),
        )
    if parts.scheme == "tcp" and not insecure and not _is_here(str(parts.hostname)):
        raise UsageError(
            say("has-no-tls-everybody-who-can-reach", address=address),
            say("give-cluster-certificates-and-name-as-tls"),
        )
    return address


def security_of(address: str) -> Security:
    """Return Dask's own settings for an address, which name certificates: docs/cluster.md.

    Raises UsageError where TLS is asked for, and they name none.
    """
    is_encrypted = address.startswith("tls://")
    security = Security(require_encryption=is_encrypted)
    files = (security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
    if is_encrypted:
        for name, path in zip(("ca-file", "client.cert", "client.key"), files, strict=True):
            _need(f"distributed.comm.tls.{name}", path)
    return security


def _need(setting: str, path: str | None) -> None:
    if path is None or not Path(path).is_file():
        raise UsageError(
            say("for-tls-dasks-setting-must-name-file", setting=setting),
            say("docs-cluster-md-says-how-certificates-made"),
        )


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


PRELOAD = "grader.cluster.preload"

FEW_LOOKS = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
"""Settings of Dask. It would look a hundred times a second at which line each thread is, and fifty
times whether the loop of events is held up: a tenth of what a worker of one thread has to give."""


def quieten() -> None:
    """Leave it to a command to tell a person what has become of Dask's connections."""
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
