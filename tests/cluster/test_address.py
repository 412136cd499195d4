"""Which schedulers are spoken to, and TLS with a certificate that is made here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dask
import pytest
from distributed import Client

from grader.cluster.address import checked, security_of
from grader.cluster.dispatch import Dispatch, Returned
from grader.errors import UsageError
from tests.cluster.farm import Farm, farm, named_by_settings
from tests.cluster.simulated import Anyone, simulate

pytestmark = pytest.mark.filterwarnings(  # what Dask leaves to the collector
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:1", "tls://10.0.0.5:8786"],
)
def test_this_machine_s_and_those_with_tls_are_spoken_to(address: str) -> None:
    assert address == checked(address)


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.5:8786", "tcp://localhost.evil.org:1", "tcp://0.0.0.0:8786"]
)
def test_without_tls_another_machine_s_is_refused_unless_that_is_asked_for(address: str) -> None:
    with pytest.raises(UsageError, match="has no TLS"):
        checked(address)
    assert address == checked(address, insecure=True)


@pytest.mark.parametrize(
    "address",
    [
        *("", "10.0.0.5:8786", "http://a:1", "tcp://a", "tcp://:1", "tcp://a:port"),
        *("TLS://10.0.0.5:8786", "tcp://a:1@127.0.0.1:1", "tls://a:1/b?c", "tcp://127.0.0.1:1#a"),
    ],
)
def test_what_is_no_address_is_said(address: str) -> None:
    with pytest.raises(UsageError, match="is not a scheduler address"):
        checked(address, insecure=True)


def test_tls_without_certificates_says_which_setting_is_missing() -> None:
    with pytest.raises(UsageError, match=r"distributed\.comm\.tls\.ca-file"):
        security_of("tls://127.0.0.1:1")


@pytest.fixture(scope="module")
def encrypted(certificate: Path) -> Iterator[Farm]:
    with farm(1, scheme="tls", environment=named_by_settings(certificate)) as made:
        yield made


def test_with_its_certificate_a_class_is_graded_and_without_nobody_answers(
    encrypted: Farm, certificate: Path
) -> None:
    cert, key = str(certificate / "cert.pem"), str(certificate / "key.pem")
    mine = {"ca-file": cert, "client.cert": cert, "client.key": key}
    settings = {f"distributed.comm.tls.{name}": path for name, path in mine.items()}
    with dask.config.set(settings):
        security = security_of(encrypted.address)
    with Client(encrypted.address, security=security, set_as_default=False, timeout=30) as client:
        jobs = {"a": b"nap", "b": b"nap"}
        found = list(Dispatch(client, simulate, b"", Anyone()).run(jobs, jobs.__getitem__))
    assert [Returned, Returned] == list(map(type, found))
    plain = encrypted.address.replace("tls", "tcp")
    with pytest.raises(OSError, match=r"Timed out|reset|closed"):
        Client(plain, set_as_default=False, timeout=2)
