"""@model: found where it is, asked for by URL, or said not to be there."""

from collections.abc import Iterator

import pytest

from mesh.cli.demo_model import Model, find_model
from mesh.cli.failure import Failed
from tests.stub_model.process import StubModel


@pytest.fixture(scope="module")
def stub() -> Iterator[StubModel]:
    """A model server in a process of its own."""
    with StubModel() as server:
        yield server


async def test_the_first_model_of_an_endpoint_is_taken(stub: StubModel) -> None:
    found = await find_model(stub.url + "/")
    assert found is not None and found.base_url == stub.url
    assert found.name and found.is_local
    assert found.place == f"127.0.0.1:{stub.port}"


async def test_a_name_behind_the_url_is_taken_unseen() -> None:
    found = await find_model("https://models.example/v1#large")
    assert found == Model(base_url="https://models.example/v1", name="large")
    assert not found.is_local


@pytest.mark.parametrize(
    ("url", "reason"),
    [("models.example", "invalid_params"), ("http://127.0.0.1:9/v1", "backend_unreachable")],
)
async def test_what_is_not_there_is_said(url: str, reason: str) -> None:
    with pytest.raises(Failed) as refusal:
        await find_model(url)
    assert refusal.value.reason == reason
    assert refusal.value.next
