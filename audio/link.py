"""Between two engines: each of the loudest once, as he was sent, under his own name.

A link is one WebRTC session of three audio lines, negotiated once; the engine with the lower id
offers. Each line is a slot that carries one talker's own packets, never a mix: the last engine
mixes, so a second hop adds no second delay, and everybody still knows who speaks.

Whose voice is in a slot is said beside the media, in an application packet of RTCP under the same
encryption: an *origin* (engine id, "/", participant id) and the hops it has made. It is sent
before a slot's first packets and with every report. The guard against loops: an origin of our own
is dropped, an origin that comes by another link already is dropped, and nothing goes further than
`LINK_HOPS_MAX`. It refuses sound without an origin.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from audio.errors import PacketMalformed
from audio.incoming import Frame
from audio.limits import ID_CHARS_MAX, LINK_HOPS_MAX, TALKERS_MAX

_APPLICATION: Final = 204
_NAME: Final = b"ORIG"
_VERSION: Final = 1
# A slot that carried nothing for so long is free for another voice.
_SLOT_FREE_S: Final = 0.4
# Packets of a new voice before which its tag is said again: one of them will arrive.
_TAGGED_PACKETS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """Whose voice a slot carries, and over how many links it came."""

    origin: str
    hops: int


def tags_bytes(ssrc: int, tags: tuple[Tag | None, ...]) -> bytes:
    """The application packet that names the slots."""
    assert len(tags) <= TALKERS_MAX
    body = bytes((_VERSION, len(tags)))
    for tag in tags:
        name = b"" if tag is None else tag.origin.encode()
        body += bytes((0 if tag is None else tag.hops,)) + struct.pack("!H", len(name)) + name
    body += b"\0" * (-len(body) % 4)
    return struct.pack("!BBHI", 0x80, _APPLICATION, 2 + len(body) // 4, ssrc) + _NAME + body


def tags_of(data: bytes) -> tuple[Tag | None, ...] | None:
    """The tags in a packet of RTCP; None if it is another packet. Raises PacketMalformed."""
    if len(data) < 14 or data[1] != _APPLICATION or data[8:12] != _NAME:
        return None
    version, count = data[12], data[13]
    if version != _VERSION or count > TALKERS_MAX:
        raise PacketMalformed("A link's tags are of another kind.")
    tags: list[Tag | None] = []
    at = 14
    for _ in range(count):
        if at + 3 > len(data):
            raise PacketMalformed("A link's tags are cut short.")
        hops, size = data[at], int.from_bytes(data[at + 1 : at + 3], "big")
        name = data[at + 3 : at + 3 + size]
        at += 3 + size
        if len(name) != size:
            raise PacketMalformed("A link's tags are cut short.")
        if size == 0:
            tags.append(None)
            continue
        try:
            origin = name.decode()
        except UnicodeDecodeError:
            raise PacketMalformed("A link's tag is no text.") from None
        if len(origin) > 2 * ID_CHARS_MAX + 1 or "/" not in origin or not origin.isprintable():
            raise PacketMalformed("A link's tag is no origin.")
        tags.append(Tag(origin=origin, hops=hops))
    return tuple(tags)


class LinkPeer(Protocol):
    """What a link needs of its connection."""

    def play(self, frame: Frame, now_s: float, *, line: int = 0) -> bool:
        """Send a frame on a line."""

    def say(self, message: bytes) -> None:
        """Send a message beside the media."""


class Link:
    """One end of a link. `forward` our talkers; `take` theirs, which go to `on_frame`."""

    def __init__(
        self,
        engine_id: str,
        *,
        relays: bool = False,
        on_frame: Callable[[Tag, Frame, float], None],
    ) -> None:
        assert "/" not in engine_id
        self._own = engine_id + "/"
        self._relays = relays
        self._on_frame = on_frame
        self._slots: list[Tag | None] = [None] * TALKERS_MAX
        self._used_s = [float("-inf")] * TALKERS_MAX
        self._untold = [0] * TALKERS_MAX
        self._theirs: tuple[Tag | None, ...] = ()
        self.dropped = 0

    def forward(self, peer: LinkPeer, tag: Tag, frame: Frame, now_s: float) -> None:
        """Send a talker's packet in his slot. `tag.hops` is how far he has come to us."""
        if tag.hops >= LINK_HOPS_MAX or (tag.hops > 0 and not self._relays):
            return
        # Never back by the link that brought it.
        if tag.hops > 0 and any(one and one.origin == tag.origin for one in self._theirs):
            return
        slot = self._slot_of(replace(tag, hops=tag.hops + 1), now_s)
        if slot is None:
            self.dropped += 1
            return
        if self._untold[slot] > 0:
            self._untold[slot] -= 1
            self.tell(peer)
        self._used_s[slot] = now_s
        peer.play(frame, now_s, line=slot)

    def tell(self, peer: LinkPeer) -> None:
        """Say whose voice each slot carries."""
        peer.say(tags_bytes(0, tuple(self._slots)))

    def told(self, data: bytes) -> None:
        """Take what the other end says about its slots; other packets are not ours."""
        try:
            tags = tags_of(data)
        except PacketMalformed:
            self.dropped += 1
            return
        if tags is not None:
            self._theirs = tags

    def take(self, line: int, frame: Frame, now_s: float) -> None:
        """A frame that came in a slot: it goes on under its origin, or is dropped."""
        tag = self._theirs[line] if line < len(self._theirs) else None
        if tag is None or tag.origin.startswith(self._own) or not 0 < tag.hops <= LINK_HOPS_MAX:
            self.dropped += 1
            return
        # A slot's numbers go on when its voice changes; for us that is another source.
        self._on_frame(tag, replace(frame, source=f"{frame.source}:{tag.origin}"), now_s)

    def _slot_of(self, tag: Tag, now_s: float) -> int | None:
        for slot, held in enumerate(self._slots):
            if held is not None and held.origin == tag.origin:
                return slot
        oldest = min(range(TALKERS_MAX), key=lambda slot: self._used_s[slot])
        if now_s - self._used_s[oldest] < _SLOT_FREE_S:
            return None
        self._slots[oldest] = tag
        self._untold[oldest] = _TAGGED_PACKETS
        return oldest


class Origins:
    """Which link brings each remote voice: the first one does, until it falls silent."""

    def __init__(self) -> None:
        self._by: dict[str, tuple[str, float]] = {}

    def is_from(self, origin: str, link_id: str, now_s: float) -> bool:
        """Whether this voice is to be taken from this link. The first to bring it wins."""
        holder, heard_s = self._by.get(origin, (link_id, now_s))
        if holder != link_id and now_s - heard_s < 1.0:
            return False
        self._by[origin] = (link_id, now_s)
        return True

    def forget(self, link_id: str) -> tuple[str, ...]:
        """The voices that this link brought, which are gone with it."""
        gone = tuple(origin for origin, (holder, _) in self._by.items() if holder == link_id)
        for origin in gone:
            del self._by[origin]
        return gone
