"""The books of one link, without a socket and without a clock."""

import pytest

from mesh.core.limits import (
    LINK_CHUNK_BYTES_MAX,
    LINK_PING_S,
    LINK_QUEUE_BYTES_MAX,
    LINK_SILENCE_S,
)
from mesh.wire import link
from mesh.wire.link import MOVES, Due, Link, Move, Status

START_S = 1_000.0


def test_the_table_knows_every_state_and_move() -> None:
    assert set(MOVES) == {(status, move) for status in Status for move in Move}
    assert all(MOVES[Status.CLOSED, move] is Status.CLOSED for move in Move)


def test_small_frames_share_a_chunk_and_large_ones_span_several() -> None:
    books = Link(START_S)
    frames = [b"a" * 10, b"b" * 20, b"c" * (2 * LINK_CHUNK_BYTES_MAX), b"d"]
    for frame in frames:
        assert books.queue(frame, START_S)
    assert books.queued_bytes == sum(map(len, frames))
    chunks = []
    while chunk := books.take():
        chunks.append(chunk)
    assert b"".join(chunks) == b"".join(frames)
    assert [len(chunk) for chunk in chunks] == [LINK_CHUNK_BYTES_MAX] * 2 + [31]
    assert books.queued_bytes == 0
    assert books.is_flushed


def test_a_slow_reader_is_cut_at_the_bound_and_its_queue_given_back() -> None:
    books = Link(START_S)
    piece = bytes(LINK_QUEUE_BYTES_MAX // 8)
    assert all(books.queue(piece, START_S) for _ in range(8))
    assert not books.queue(b"x", START_S)
    assert (books.status, books.code) == (Status.CLOSED, link.SLOW_READER)
    assert books.queued_bytes == 0
    assert books.take() == b""


def test_reading_makes_room() -> None:
    books = Link(START_S)
    piece = bytes(LINK_QUEUE_BYTES_MAX)
    assert books.queue(piece, START_S)
    taken = len(books.take())
    assert books.queue(bytes(taken), START_S)
    assert books.status is Status.OPEN


def test_a_ping_is_due_at_once_and_then_every_interval() -> None:
    books = Link(START_S)
    assert books.tick(START_S) is Due.PING
    books.ping(START_S)
    assert books.tick(START_S + LINK_PING_S - 0.1) is Due.NOTHING
    assert books.deadline_s() == START_S + LINK_PING_S
    assert books.tick(books.deadline_s()) is Due.PING


def test_silence_closes_the_link_and_anything_heard_postpones_it() -> None:
    books = Link(START_S)
    books.ping(START_S)
    books.heard(START_S + 20)
    assert books.tick(START_S + LINK_SILENCE_S) is Due.PING
    assert books.status is Status.OPEN
    books.ping(START_S + LINK_SILENCE_S)
    assert books.tick(START_S + 20 + LINK_SILENCE_S) is Due.CUT
    assert (books.status, books.code) == (Status.CLOSED, link.SILENT)
    assert books.tick(START_S + 1_000) is Due.NOTHING


def test_an_hour_of_sleep_is_silence() -> None:
    books = Link(START_S)
    assert books.tick(START_S + 3_600) is Due.CUT


def test_the_round_trip_comes_from_the_echo() -> None:
    books = Link(START_S)
    echo = books.ping(START_S)
    assert books.ponged(echo, START_S + 0.25)
    assert books.rtt_us == 250_000


@pytest.mark.parametrize("echo", [b"", b"short", bytes(8), b"\xff" * 8, bytes(9)])
def test_an_echo_that_is_not_ours_tells_nothing(echo: bytes) -> None:
    books = Link(START_S)
    books.ping(START_S)
    assert not books.ponged(echo, START_S + 0.25)
    assert books.rtt_us is None


def test_pings_do_not_count_against_idleness_and_messages_do() -> None:
    books = Link(START_S)
    books.ponged(books.ping(START_S), START_S + 5)
    books.heard(START_S + 6)
    assert books.idle_s(START_S + 10) == 10
    books.heard(START_S + 10, is_message=True)
    assert books.idle_s(START_S + 12) == 2
    books.queue(b"x", START_S + 13)
    assert books.idle_s(START_S + 13) == 0


def test_a_draining_link_sends_what_waits_and_takes_nothing_new() -> None:
    books = Link(START_S)
    books.queue(b"held", START_S)
    books.drain()
    assert not books.queue(b"late", START_S)
    assert books.take() == b"held"
    books.close(link.DRAIN)
    assert books.code == link.DRAIN


def test_the_first_reason_stays() -> None:
    books = Link(START_S)
    books.close(link.REPLACED)
    books.close(link.SILENT)
    books.drain()
    assert (books.status, books.code) == (Status.CLOSED, link.REPLACED)


def test_codes_and_words_agree() -> None:
    for reason in ("peer_identity_mismatch", "unsupported", "duplicate_instance", "busy", "skew"):
        assert link.word_of(link.code_of(reason)) == reason
    assert link.word_of(link.code_of("bad_signature")) == "peer_identity_mismatch"
    assert link.word_of(link.code_of("invalid_params")) == "protocol"
    assert link.word_of(None) == "peer_offline"
    assert link.word_of(4999) == "protocol"
    assert link.word_of(link.SLOW_READER) == "slow_reader"
