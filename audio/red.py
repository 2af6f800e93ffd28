"""Redundant audio (RFC 2198): each packet may carry copies of the ones before it.

`unpack` splits a payload into its blocks; `Redundant` adds the last frame to the next one, for a
listener that took the format. A copy never crosses a change of talker, because the listener would
mend one voice with another. Blocks that are too old or too long to be named are left out; a
payload that does not add up is refused.
"""

from dataclasses import dataclass

from audio.errors import PacketMalformed
from audio.limits import RED_BLOCK_BYTES_MAX, RED_BLOCKS_MAX, RED_OFFSET_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One frame of a redundant packet; `samples_ago` is 0 for the newest."""

    payload_type: int
    samples_ago: int
    payload: bytes


def unpack(payload: bytes) -> tuple[Block, ...]:
    """The blocks, oldest first; the last one is the newest. Raises PacketMalformed."""
    headers: list[tuple[int, int, int]] = []
    at = 0
    while True:
        if at >= len(payload):
            raise PacketMalformed("A redundant packet ends inside its headers.")
        first = payload[at]
        if not first & 0x80:
            newest_type = first
            at += 1
            break
        if at + 4 > len(payload):
            raise PacketMalformed("A redundant packet ends inside its headers.")
        if len(headers) == RED_BLOCKS_MAX:
            raise PacketMalformed("A redundant packet has too many blocks.")
        word = int.from_bytes(payload[at + 1 : at + 4], "big")
        headers.append((first & 0x7F, word >> 10, word & 0x3FF))
        at += 4
    blocks: list[Block] = []
    for payload_type, samples_ago, size in headers:
        if at + size > len(payload):
            raise PacketMalformed("A redundant block is longer than its packet.")
        # Senders fill their first packets with empty blocks.
        if size and samples_ago:
            blocks.append(Block(
                payload_type=payload_type, samples_ago=samples_ago, payload=payload[at : at + size],
            ))
        at += size
    blocks.append(Block(payload_type=newest_type, samples_ago=0, payload=payload[at:]))
    return tuple(sorted(blocks, key=lambda block: -block.samples_ago))


def pack(blocks: tuple[Block, ...]) -> bytes:
    """The payload of blocks, oldest first and the newest last."""
    assert blocks and blocks[-1].samples_ago == 0
    assert len(blocks) <= RED_BLOCKS_MAX + 1
    parts: list[bytes] = []
    for block in blocks[:-1]:
        assert 0 < block.samples_ago <= RED_OFFSET_MAX
        assert len(block.payload) <= RED_BLOCK_BYTES_MAX
        word = block.samples_ago << 10 | len(block.payload)
        parts.append(bytes((0x80 | block.payload_type,)) + word.to_bytes(3, "big"))
    parts.append(bytes((blocks[-1].payload_type,)))
    return b"".join([*parts, *(block.payload for block in blocks)])


class Redundant:
    """Adds to each frame for one listener a copy of the frame before it, of the same source."""

    def __init__(self, payload_type: int) -> None:
        assert 0 <= payload_type < 128
        self._payload_type = payload_type
        self._source: str | None = None
        self._last: tuple[int, bytes] | None = None

    def wrap(self, source: str, at_samples: int, frame: bytes) -> bytes:
        """The redundant payload of a frame that stands at the (unwrapped) media time."""
        if source != self._source:
            self._source, self._last = source, None
        newest = Block(payload_type=self._payload_type, samples_ago=0, payload=frame)
        blocks: tuple[Block, ...] = (newest,)
        if self._last is not None:
            last_at, last_frame = self._last
            ago = (at_samples - last_at) & 0xFFFFFFFF
            if 0 < ago <= RED_OFFSET_MAX and len(last_frame) <= RED_BLOCK_BYTES_MAX:
                copy = Block(
                    payload_type=self._payload_type, samples_ago=ago, payload=last_frame
                )
                blocks = (copy, newest)
        self._last = (at_samples, frame)
        return pack(blocks)
