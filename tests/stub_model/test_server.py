"""The stub is itself checked, with the official client: what it speaks is the real protocol."""

from collections.abc import AsyncIterator, Iterator

import openai
import pytest

from tests.stub_model.process import StubModel

TEXT = "two words and a grin 😀 at the end"


@pytest.fixture(scope="module")
def stub() -> Iterator[StubModel]:
    with StubModel() as running:
        yield running


@pytest.fixture
async def client(stub: StubModel) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=stub.url, api_key="any", max_retries=0) as ready:
        yield ready


async def streamed(client: openai.AsyncOpenAI, model: str) -> list[str]:
    """The pieces of a streamed answer to TEXT."""
    chunks = await client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": TEXT}], stream=True
    )
    deltas = [c.choices[0].delta.content async for c in chunks if c.choices]
    return [delta for delta in deltas if delta]


async def test_models(client: openai.AsyncOpenAI) -> None:
    names = [model.id async for model in client.models.list()]
    assert "stub-echo" in names


async def test_whole_answer(client: openai.AsyncOpenAI) -> None:
    done = await client.chat.completions.create(
        model="stub-echo", messages=[{"role": "user", "content": TEXT}]
    )
    assert done.choices[0].message.content == TEXT


@pytest.mark.parametrize("model", ["stub-echo", "stub-split"])
async def test_streams(client: openai.AsyncOpenAI, model: str) -> None:
    pieces = await streamed(client, model)
    assert "".join(pieces) == TEXT
    assert len(pieces) == len(TEXT.split(" "))


async def test_tools(client: openai.AsyncOpenAI) -> None:
    chunks = await client.chat.completions.create(
        model="stub-tool", messages=[{"role": "user", "content": TEXT}], stream=True
    )
    calls = [
        call.function
        async for chunk in chunks
        if chunk.choices
        for call in chunk.choices[0].delta.tool_calls or ()
    ]
    assert [call.name for call in calls if call and call.name] == ["look_up"]
    assert "".join(call.arguments or "" for call in calls if call) == '{"word":"room"}'


async def test_refusals_have_their_classes(client: openai.AsyncOpenAI) -> None:
    for model, kind in (
        ("stub-401", openai.AuthenticationError),
        ("stub-404", openai.NotFoundError),
        ("stub-429", openai.RateLimitError),
        ("stub-500", openai.InternalServerError),
    ):
        with pytest.raises(kind):
            await streamed(client, model)
    assert "".join(await streamed(client, "stub-429")) == TEXT, "only every other one is refused"


async def test_a_cut_is_no_end(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.APIError):
        await streamed(client, "stub-cut")


async def test_a_reader_that_leaves_is_seen(client: openai.AsyncOpenAI, stub: StubModel) -> None:
    chunks = await client.chat.completions.create(
        model="stub-slow", messages=[{"role": "user", "content": TEXT}], stream=True
    )
    async for chunk in chunks:
        if chunk.choices[0].delta.content:
            break
    await chunks.close()
    await stub.abandoned("stub-slow")
