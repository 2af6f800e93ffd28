"""Nodes for these tests, and the certificates they show, made once."""

from collections.abc import Callable

import pytest

from mesh.storage.certificate import Certificate
from tests.transport.nodes import Node, an_end, certificate_in


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """What the listening nodes show."""
    return certificate_in(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session")
def other_certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """What somebody in between shows."""
    return certificate_in(tmp_path_factory.mktemp("other_certificate"))


@pytest.fixture
def node(certificate: Certificate) -> Callable[[int], Node]:
    """A node by its number, not yet started."""
    return lambda seed: Node(us=an_end(seed), certificate=certificate)
