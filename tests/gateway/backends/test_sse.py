"""Frames out of bytes: the same, however the network splits them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.backends.sse import SseParser
from gateway.errors import ReplyTooLarge
from gateway.limits import FRAME_BYTES_MAX


def parse(*chunks: bytes) -> list[bytes]:
    """The frames of a stream that comes in `chunks`."""
    parser = SseParser()
    return [data for chunk in chunks for data in parser.feed(chunk)]


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b"data: a\n\n", [b"a"]),
        (b"data:a\n\ndata:  b\n\n", [b"a", b" b"]),
        (b"data: a\r\n\r\ndata: b\r\r", [b"a", b"b"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data\ndata\n\n", [b"\n"]),
        (b": comment\n\n:\ndata: a\n: in between\n\n", [b"a"]),
        (b"event: x\nid: 7\nretry: 9\ndatax: no\n\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data: \xef\xbb\xbfa\n\n", [b"\xef\xbb\xbfa"]),
        (b"\n\n\ndata: a\n\n\n\n", [b"a"]),
        (b"data: whole\n\ndata: cut short\n", [b"whole"]),
        (b"", []),
    ],
)
def test_streams_at_once_and_byte_by_byte(stream: bytes, frames: list[bytes]) -> None:
    assert parse(stream) == frames
    assert parse(*(stream[i : i + 1] for i in range(len(stream)))) == frames


line_ends = st.sampled_from(["\n", "\r\n", "\r"])
values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=8)
noise = st.sampled_from([": keep-alive", "event: chunk", "id: 1", ""])


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """A stream written by the standard's rules, and the frames that it holds."""
    text, end = draw(st.sampled_from(["", "\ufeff"])), draw(line_ends)
    frames = []
    for lines in draw(st.lists(st.lists(values, min_size=1, max_size=3), max_size=5)):
        text += draw(noise) + end + "".join(f"data: {value}{end}" for value in lines) + end
        frames.append("\n".join(lines).encode())
    return text.encode(), frames


@given(streams(), st.lists(st.integers(0, 400), max_size=40))
def test_any_split_gives_the_same_frames(
    written: tuple[bytes, list[bytes]], cuts: list[int]
) -> None:
    stream, frames = written
    bounds = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    chunks = [stream[low:high] for low, high in pairwise(bounds)]
    assert parse(*chunks) == frames


@given(st.lists(st.binary(max_size=30)))
def test_junk_is_no_reason_to_break(chunks: list[bytes]) -> None:
    assert parse(*chunks) == parse(b"".join(chunks))


@pytest.mark.parametrize("part", [b"x" * 1_000, b"data: " + b"x" * 1_000 + b"\n"])
def test_a_frame_without_end_is_refused(part: bytes) -> None:
    with pytest.raises(ReplyTooLarge):
        parse(*[part] * (FRAME_BYTES_MAX // 1_000 + 1))


def test_frames_that_end_may_go_on_for_ever() -> None:
    frame = b"data: " + b"x" * 1_000 + b"\n\n"
    assert len(parse(*[frame] * (FRAME_BYTES_MAX // 1_000 + 10))) == FRAME_BYTES_MAX // 1_000 + 10
