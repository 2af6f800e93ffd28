"""Certificates for the nodes of these tests, made once."""

import pytest

from mesh.storage.certificate import Certificate
from tests.transport.nodes import certificate_in


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """What the listening nodes show."""
    return certificate_in(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session")
def other_certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """What somebody in between shows."""
    return certificate_in(tmp_path_factory.mktemp("other_certificate"))
