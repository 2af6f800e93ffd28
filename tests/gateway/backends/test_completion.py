"""A completion: whole when it says so, and honest about everything else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.backends.completion import Completion, problem_of
from gateway.errors import BackendCut, BackendFailed, GatewayError, NotAModel, ToolsUnsupported
from gateway.exchange import Activity, Delta, Final

WHERE = "http://127.0.0.1:1/v1"


def frame(finish: str | None = None, **delta: Any) -> bytes:
    """One frame with one choice."""
    return json.dumps({"choices": [{"delta": delta, "finish_reason": finish}]}).encode()


def call(name: str | None, index: int = 0) -> dict[str, Any]:
    """A piece of a tool call, as it stands in a delta."""
    return {"tool_calls": [{"index": index, "function": {"name": name, "arguments": "{"}}]}


def fed(*frames: bytes) -> tuple[Completion, list[Delta | Activity]]:
    """A completion after `frames`, and what they gave."""
    completion = Completion(WHERE)
    return completion, [update for data in frames for update in completion.feed(data)]


def test_an_answer_with_a_finish_reason_or_with_done_is_whole() -> None:
    for last in (frame("stop"), b"[DONE]", b" [DONE] "):
        completion, updates = fed(
            frame(role="assistant"), frame(content="a"), frame(content="b"), last
        )
        assert updates == [Delta(text="a"), Delta(text="b")]
        assert completion.close() == ([], Final(text="ab"))


def test_a_stream_that_just_ends_was_cut_and_keeps_its_words() -> None:
    completion, _ = fed(frame(content="half a"))
    with pytest.raises(BackendCut) as cut:
        completion.close()
    assert cut.value.partial == "half a"
    assert "half a" in cut.value.message


def test_figures_of_usage_are_no_text() -> None:
    completion, updates = fed(frame("stop"), b'{"choices":[],"usage":{"total_tokens":3}}')
    assert updates == []
    assert completion.close() == ([], Final(text=""))


def test_a_tool_that_the_endpoint_runs_is_shown() -> None:
    completion, updates = fed(
        frame(**call("look_up")), frame(**call(None)), frame(content="found"), frame("stop")
    )
    assert updates[0] == Activity(tool="look_up", text="", state="started")
    assert completion.close() == (
        [Activity(tool="look_up", text="", state="finished")],
        Final(text="found"),
    )


def test_a_tool_that_the_model_wants_from_us_is_not_run() -> None:
    completion, _ = fed(frame(**call("rm_rf")), frame("tool_calls"))
    with pytest.raises(ToolsUnsupported, match="rm_rf"):
        completion.close()
    completion, _ = fed(frame(content="Let me see."), frame(**call("look_up")), frame("tool_calls"))
    activities, final = completion.close()
    assert [activity.state for activity in activities] == ["failed"]
    assert final.text == "Let me see."


@pytest.mark.parametrize(("finish", "said"), [("length", "length"), ("content_filter", "filter")])
def test_an_answer_that_was_stopped_says_so(finish: str, said: str) -> None:
    completion, _ = fed(frame(content="a"), frame(finish))
    (activity,), final = completion.close()
    assert said in activity.text
    assert final.text == "a"


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"{",
        b"not a frame",
        b"[]",
        b"{}",
        b'{"choices":7}',
        b'{"choices":[{"delta":{"content":7}}]}',
        b'{"choices":[{"delta":{"content":"\\ud800"}}]}',
        b'{"choices":[{"delta":{"content":"\xff"}}]}',
        b'{"choices":' + b"[" * 5_000,
        b'{"x":' + b"[" * 100_000,
    ],
)
def test_a_frame_that_is_none_is_named(junk: bytes) -> None:
    with pytest.raises(NotAModel):
        fed(junk)


@given(st.binary(max_size=60))
def test_no_frame_breaks_it_in_another_way(data: bytes) -> None:
    try:
        fed(data)
    except GatewayError as error:
        assert isinstance(error, NotAModel | BackendFailed)


def test_an_error_in_the_stream_is_told() -> None:
    for error in ({"message": "out of\nmemory", "code": 500}, "out of memory"):
        with pytest.raises(BackendFailed, match="out of memory"):
            fed(frame(content="a"), json.dumps({"error": error}).encode())


def test_problems_are_read_where_there_are_any() -> None:
    assert problem_of(b'{"error":{"message":"no such model","param":null}}') == "no such model"
    assert problem_of(b'{"error":"no such model"}') == "no such model"
    assert problem_of(b"<html>Not Found</html>") is None
    assert problem_of(b'{"detail":"x"}') is None
