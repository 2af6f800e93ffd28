"""Where the node is, and being let in."""

import datetime
import hashlib
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mesh.client import RequestRejected, Unreachable, connect
from tests.http.edge import TOKEN, running_edge


async def test_a_wrong_token_is_said_and_not_tried_again() -> None:
    async with running_edge() as edge:
        with pytest.raises(RequestRejected) as error:
            async with connect(url=edge.url, token="x" * 43):
                pass
        assert error.value.reason == "unauthenticated"
        assert "x" * 43 not in str(error.value)


async def test_what_is_no_node_is_named() -> None:
    async with running_edge() as edge:
        with pytest.raises(Unreachable, match="is not a node"):
            async with connect(url=edge.url + "/web", token=TOKEN):
                pass


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[ssl.SSLContext, str]:
    """A self-signed certificate and its fingerprint."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "node")])
    begin = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=36_500))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    both = tmp_path / "tls.pem"
    both.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    digest = hashlib.sha256(made.public_bytes(serialization.Encoding.DER)).hexdigest()
    return context, digest


async def test_a_pinned_certificate_is_taken_and_no_other(
    certificate: tuple[ssl.SSLContext, str],
) -> None:
    context, digest = certificate
    colons = ":".join(digest[n : n + 2] for n in range(0, 64, 2)).upper()
    async with running_edge(tls=context) as edge:
        for pin in (digest, colons, f"sha256:{digest}"):
            async with connect(url=edge.url, token=TOKEN, fingerprint=pin) as node:
                assert await node.request("toy.who") == {"kind": "program"}
        with pytest.raises(Unreachable, match="another fingerprint"):
            async with connect(url=edge.url, token=TOKEN, fingerprint="0" * 64):
                pass
        with pytest.raises(Unreachable):
            async with connect(url=edge.url, token=TOKEN):
                pass
    with pytest.raises(ValueError):
        connect(url="https://x", token=TOKEN, fingerprint="none")
