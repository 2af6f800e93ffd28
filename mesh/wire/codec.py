"""Link messages as bytes, and the stream of frames that carries them.

A *frame* is a 4-byte big-endian length and that many bytes of MessagePack: one LinkMessage. A
*chunk* is the content of one WebSocket message: a piece of the stream of frames, cut anywhere.
Small messages share a chunk (cheap), a large one spans several (a slow line still shows life
between them, and a ping need not wait for the whole of it).

Refuses, before work is done for it: a frame above LINK_FRAME_BYTES_MAX, by its length alone;
anything that is not exactly one known message. Nesting deeper than the interpreter's bound ends
in `Malformed` too: no message nests more than a few levels, only fields we do not know could.
"""

import struct
from typing import Final

import msgspec

from mesh.core.errors import Malformed
from mesh.core.limits import LINK_FRAME_BYTES_MAX
from mesh.core.link_messages import LinkMessage

_LENGTH: Final = struct.Struct(">I")
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder[LinkMessage](LinkMessage)


def encode(message: LinkMessage) -> bytes:
    """One message as MessagePack.

    Raises:
        Malformed: reason `too_large`; a sender must split what does not fit a frame.
    """
    data = _ENCODER.encode(message)
    if len(data) > LINK_FRAME_BYTES_MAX:
        raise _too_large(len(data))
    return data


def decode(data: bytes) -> LinkMessage:
    """The message in `data`.

    Raises:
        Malformed: `too_large`, or `invalid_params` for anything that is not exactly one message.
    """
    if len(data) > LINK_FRAME_BYTES_MAX:
        raise _too_large(len(data))
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(
            "invalid_params", f"The bytes are not a link message ({str(error)[:120]})."
        ) from None


def frame(message: LinkMessage) -> bytes:
    """One message as a frame, ready for the stream. Raises like `encode`."""
    data = encode(message)
    return _LENGTH.pack(len(data)) + data


class FrameReader:
    """Cuts the stream of chunks into the frames' contents. Holds at most one unfinished frame."""

    def __init__(self) -> None:
        self._rest = bytearray()

    @property
    def held_bytes(self) -> int:
        """How much of an unfinished frame is kept."""
        return len(self._rest)

    def feed(self, chunk: bytes) -> tuple[bytes, ...]:
        """Take the next chunk; return the contents of the frames it completes, in order.

        Raises:
            Malformed: reason `too_large`, when a frame announces more than is allowed. The
                reader must not be used after that.
        """
        rest = self._rest
        rest += chunk
        found: list[bytes] = []
        at, end = 0, len(rest)
        while end - at >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(rest, at)
            if size > LINK_FRAME_BYTES_MAX:
                raise _too_large(size)
            start = at + _LENGTH.size
            if end - start < size:
                break
            at = start + size
            found.append(bytes(rest[start:at]))
        del rest[:at]
        assert len(rest) < _LENGTH.size + LINK_FRAME_BYTES_MAX
        return tuple(found)


def _too_large(size_bytes: int) -> Malformed:
    return Malformed(
        "too_large",
        f"A frame of {size_bytes} bytes is above {LINK_FRAME_BYTES_MAX}.",
        limit=LINK_FRAME_BYTES_MAX,
    )
