"""The TLS certificate that this node shows.

Between nodes a certificate proves nothing by itself: the handshake signs the one that was seen.
For browsers it is a self-signed one for this machine's names (EC P-256, 397 days, the longest that
browsers take), kept until RENEW_DAYS before its end so that a click-through lasts, and not
remade when an address changes. With `--tls-cert` and `--tls-key` the operator's own is shown.
"""

import datetime
import hashlib
import ipaddress
import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mesh.core.errors import MeshError
from mesh.storage import private_file

CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
LIFE_DAYS: Final = 397
RENEW_DAYS: Final = 30
_PEM_BYTES_MAX: Final = 64 << 10
_HOSTNAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A certificate ready to be shown. `sha256` is of its DER form, in hex."""

    sha256: str
    ends_at_ms: int
    context: ssl.SSLContext

    def fingerprint(self) -> str:
        """SHA-256 in groups of four, as a person compares it."""
        text = self.sha256.upper()
        return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def open_certificate(home: Path, hostname: str, now_ms: int) -> Certificate:
    """The home's own certificate; made when there is none or it ends within RENEW_DAYS.

    Raises:
        MeshError: reason `key_unsafe`, a key file that others can read.
    """
    kept = _kept(home)
    renew_at_ms = now_ms + RENEW_DAYS * 86_400_000
    if kept is None or kept.ends_at_ms <= renew_at_ms:
        _make(home, hostname, now_ms)
        kept = _kept(home)
    assert kept is not None
    return kept


def given_certificate(certificate: Path, key: Path) -> Certificate:
    """The operator's own certificate.

    Raises:
        MeshError: reason `key_unsafe`: missing, unreadable, or the two do not belong together.
    """
    try:
        return _loaded(certificate, key)
    except (OSError, ValueError) as error:
        raise private_file.unsafe(
            f"{certificate} and {key} cannot be used as a certificate and its key ({error})."
        ) from None


def _kept(home: Path) -> Certificate | None:
    """The pair on disk; None if a part is missing or they do not belong together."""
    try:
        private_file.read(home / KEY, _PEM_BYTES_MAX)
        private_file.read(home / CERTIFICATE, _PEM_BYTES_MAX)
        return _loaded(home / CERTIFICATE, home / KEY)
    except FileNotFoundError:
        return None
    except (ssl.SSLError, ValueError):
        # Killed between the two files; the pair is not precious, unlike the install's key.
        return None


def _loaded(certificate: Path, key: Path) -> Certificate:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate, key, password=_no_password)
    found = x509.load_pem_x509_certificates(certificate.read_bytes())[0]
    return Certificate(
        sha256=hashlib.sha256(found.public_bytes(serialization.Encoding.DER)).hexdigest(),
        ends_at_ms=int(found.not_valid_after_utc.timestamp() * 1000),
        context=context,
    )


def _no_password() -> str:
    # Without this OpenSSL would ask the terminal, and a service would hang.
    raise MeshError("key_unsafe", "The TLS key is encrypted; give one without a password.")


def _make(home: Path, hostname: str, now_ms: int) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.fromtimestamp(now_ms // 1000, datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "roommesh node")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # A day earlier, for browsers on machines whose clock is behind.
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=LIFE_DAYS - 1))
        .add_extension(x509.SubjectAlternativeName(_names(hostname)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private_file.replace(
        home / KEY,
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
    private_file.replace(home / CERTIFICATE, made.public_bytes(serialization.Encoding.PEM))


def _names(hostname: str) -> list[x509.GeneralName]:
    names = ["localhost"]
    short = hostname.lower().split(".")[0]
    if _HOSTNAME.fullmatch(short) and short != "localhost":
        names += [short, f"{short}.local"]
    addresses = [ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")]
    return [*map(x509.DNSName, names), *map(x509.IPAddress, addresses)]
