"""What we write: answers to a member's offer, and the offer of a link between two engines.

An answer repeats the numbers of its offer, because they differ between browsers: payload types,
the level's extension id, the order of the lines. RED is answered only to those who offered it, and
then first, which is how a browser is told to send it. Lines that we do not carry are answered with
port 0, as the standard asks.

Pure. It refuses to write a line for a description that was not read by `sdp`.
"""

from dataclasses import dataclass

from audio import ice
from audio.negotiation import answered_direction
from audio.sdp import LEVEL_URI, Description, Fingerprint, MediaLine

_OPUS_FORMAT = "minptime=10;useinbandfec=1;usedtx=1;stereo=0;sprop-stereo=0"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEnd:
    """Our side of one transport, as both kinds of description say it."""

    ufrag: str
    password: str
    fingerprints: tuple[Fingerprint, ...]
    candidates: tuple[ice.Candidate, ...]
    session_id: int
    version: int
    cname: str
    ssrcs: tuple[int, ...]


def accepted(offer: Description, *, lines_max: int) -> tuple[MediaLine, ...]:
    """The lines of an offer that are carried: the first usable ones, at most `lines_max`."""
    assert lines_max > 0
    return offer.usable[:lines_max]


def write_answer(
    offer: Description, local: LocalEnd, *, lines_max: int = 1, may_send: bool = True,
    may_receive: bool = True,
) -> str:
    """The answer's text. `may_receive` is False for a participant who only listens."""
    taken = accepted(offer, lines_max=lines_max)
    assert len(local.ssrcs) >= len(taken)
    setup = "passive" if offer.setup == "active" else "active"
    mids = [line.mid for line in taken if line.mid in offer.bundle]
    parts = [_head(local, mids)]
    ssrcs = iter(local.ssrcs)
    for line in offer.media:
        if line not in taken:
            parts.append(_rejection(line))
            continue
        direction = answered_direction(
            line.direction, may_send=may_send, may_receive=may_receive
        )
        # The transport is written once, with the line that carries the bundle.
        candidates = local.candidates if line is taken[0] else ()
        parts.append(_audio(
            line, local, direction=direction, setup=setup, candidates=candidates,
            ssrc=next(ssrcs),
        ))
    return "".join(parts)


def write_offer(local: LocalEnd) -> str:
    """The offer of a link: one audio line for each of our SSRCs, all on one transport."""
    mids = [str(index) for index in range(len(local.ssrcs))]
    parts = [_head(local, mids)]
    for index, ssrc in enumerate(local.ssrcs):
        line = MediaLine(
            kind="audio", protocol="UDP/TLS/RTP/SAVPF", formats="111 63", mid=str(index),
            direction="sendrecv", usable=True, opus_type=111, red_type=63, level_id=1,
        )
        parts.append(_audio(
            line, local, direction="sendrecv", setup="actpass",
            candidates=local.candidates if index == 0 else (), ssrc=ssrc,
        ))
    return "".join(parts)


def _head(local: LocalEnd, mids: list[str]) -> str:
    lines = [
        "v=0",
        f"o=- {local.session_id} {local.version} IN IP4 0.0.0.0",
        "s=-",
        "t=0 0",
    ]
    if mids:
        lines.append("a=group:BUNDLE " + " ".join(mids))
    lines.append("a=msid-semantic:WMS *")
    return _text(lines)


def _rejection(line: MediaLine) -> str:
    return _text([
        f"m={line.kind} 0 {line.protocol} {line.formats}",
        "c=IN IP4 0.0.0.0",
        f"a=mid:{line.mid}",
        "a=inactive",
    ])


def _audio(
    line: MediaLine, local: LocalEnd, *, direction: str, setup: str,
    candidates: tuple[ice.Candidate, ...], ssrc: int,
) -> str:
    types = [line.opus_type] if line.red_type is None else [line.red_type, line.opus_type]
    lines = [
        # The port says only that the line is taken; addresses stand in the candidates.
        "m=audio 9 UDP/TLS/RTP/SAVPF " + " ".join(str(number) for number in types),
        "c=IN IP4 0.0.0.0",
        f"a=mid:{line.mid}",
        f"a={direction}",
        "a=rtcp-mux",
        f"a=rtpmap:{line.opus_type} opus/48000/2",
        f"a=fmtp:{line.opus_type} {_OPUS_FORMAT}",
    ]
    if line.red_type is not None:
        lines.append(f"a=rtpmap:{line.red_type} red/48000/2")
        lines.append(f"a=fmtp:{line.red_type} {line.opus_type}/{line.opus_type}")
    if line.level_id is not None:
        lines.append(f"a=extmap:{line.level_id} {LEVEL_URI}")
    if "send" in direction:
        lines.append(f"a=msid:{local.cname} {local.cname}-{line.mid}")
        lines.append(f"a=ssrc:{ssrc} cname:{local.cname}")
    lines += [
        f"a=ice-ufrag:{local.ufrag}",
        f"a=ice-pwd:{local.password}",
        *(f"a=fingerprint:{one.algorithm} {one.value}" for one in local.fingerprints),
        f"a=setup:{setup}",
        *(f"a=candidate:{candidate.line}" for candidate in candidates),
    ]
    if candidates:
        lines.append("a=end-of-candidates")
    return _text(lines)


def _text(lines: list[str]) -> str:
    return "".join(line + "\r\n" for line in lines)
