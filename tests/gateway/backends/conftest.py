"""What the backends' tests share: a stub model server in its own process."""

from collections.abc import Iterator

import pytest

from tests.stub_model.process import StubModel


@pytest.fixture(scope="module")
def stub() -> Iterator[StubModel]:
    """A running stub model server."""
    with StubModel() as running:
        yield running
