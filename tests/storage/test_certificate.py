"""The certificate that browsers see."""

import datetime
import ipaddress
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from mesh.core.errors import MeshError
from mesh.storage import certificate, private_file
from mesh.storage.certificate import given_certificate, open_certificate

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000


def on_disk(home: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate((home / certificate.CERTIFICATE).read_bytes())


def test_it_names_this_machine_and_lives_as_long_as_browsers_allow(tmp_path: Path) -> None:
    made = open_certificate(tmp_path, "Laptop.example.org", NOW_MS)
    found = on_disk(tmp_path)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "laptop", "laptop.local"]
    assert names.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
    ]
    life = found.not_valid_after_utc - found.not_valid_before_utc
    assert life == datetime.timedelta(days=397)
    key = found.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"
    assert made.ends_at_ms == int(found.not_valid_after_utc.timestamp() * 1000)
    assert stat.S_IMODE((tmp_path / certificate.KEY).stat().st_mode) == 0o600
    assert made.context.minimum_version is ssl.TLSVersion.TLSv1_3


def test_the_fingerprint_is_in_groups(tmp_path: Path) -> None:
    made = open_certificate(tmp_path, "laptop", NOW_MS)
    groups = made.fingerprint().split(" ")
    assert [len(group) for group in groups] == [4] * 16
    assert "".join(groups).lower() == made.sha256


def test_it_is_kept_until_thirty_days_before_its_end(tmp_path: Path) -> None:
    made = open_certificate(tmp_path, "laptop", NOW_MS)
    last_day_ms = made.ends_at_ms - 30 * DAY_MS - 1000
    assert open_certificate(tmp_path, "renamed", last_day_ms).sha256 == made.sha256
    renewed = open_certificate(tmp_path, "laptop", last_day_ms + 1000)
    assert renewed.sha256 != made.sha256
    assert renewed.ends_at_ms > made.ends_at_ms


@pytest.mark.parametrize("hostname", ["", "localhost", "häuschen", "a_b", "-x", "x" * 64])
def test_a_strange_hostname_is_left_out(tmp_path: Path, hostname: str) -> None:
    open_certificate(tmp_path, hostname, NOW_MS)
    names = on_disk(tmp_path).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == ["localhost"]


def test_halves_that_do_not_belong_together_are_remade(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first = open_certificate(tmp_path, "laptop", NOW_MS)
    open_certificate(tmp_path / "other", "laptop", NOW_MS)
    key = (tmp_path / "other" / certificate.KEY).read_bytes()
    private_file.replace(tmp_path / certificate.KEY, key)
    second = open_certificate(tmp_path, "laptop", NOW_MS)
    assert second.sha256 != first.sha256
    assert open_certificate(tmp_path, "laptop", NOW_MS).sha256 == second.sha256


def test_a_key_open_to_others_is_refused(tmp_path: Path) -> None:
    open_certificate(tmp_path, "laptop", NOW_MS)
    (tmp_path / certificate.KEY).chmod(0o644)
    with pytest.raises(MeshError, match="chmod 600"):
        open_certificate(tmp_path, "laptop", NOW_MS)


def test_a_given_certificate_is_shown(tmp_path: Path) -> None:
    made = open_certificate(tmp_path, "laptop", NOW_MS)
    paths = tmp_path / certificate.CERTIFICATE, tmp_path / certificate.KEY
    assert given_certificate(*paths).sha256 == made.sha256
    with pytest.raises(MeshError, match="cannot be used"):
        given_certificate(paths[0], tmp_path / "missing")
    with pytest.raises(MeshError, match="cannot be used"):
        given_certificate(paths[1], paths[1])
