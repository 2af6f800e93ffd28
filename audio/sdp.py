"""Session descriptions: the audio-only part of SDP that browsers and our own nodes write.

A description is a stranger's text, so it is measured before it is read: bytes, then lines, then
each line, then the grammar. What it asks for beyond one bundled audio transport (video, data, more
lines) is not an error: those lines are answered as rejected. It is refused, with a reason, when
there is nothing left to answer, or when it lacks what secures the call: a fingerprint, the ICE
secrets, or RTP and RTCP on one port.

Pure. `answer` writes what is read here. Nothing of the text reaches a log or an error as it is.
"""

import re
from dataclasses import dataclass
from typing import Final

from audio import ice
from audio.errors import OfferRefused
from audio.limits import (
    CANDIDATES_MAX,
    MEDIA_LINES_MAX,
    PAYLOAD_TYPES_MAX,
    SDP_BYTES_MAX,
    SDP_LINE_BYTES_MAX,
    SDP_LINES_MAX,
)

LEVEL_URI: Final = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
DIRECTIONS: Final = ("sendrecv", "sendonly", "recvonly", "inactive")
_DIGEST_BYTES: Final = {"sha-256": 32, "sha-384": 48, "sha-512": 64}
_TOKEN: Final = re.compile(r"[!-~]{1,64}")
_ICE_TEXT: Final = re.compile(r"[A-Za-z0-9+/=_-]{4,256}")
_HEX_PAIRS: Final = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2})*")
_NUMBER: Final = re.compile(r"[0-9]{1,20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The digest of the certificate that the peer will show in the DTLS handshake."""

    algorithm: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLine:
    """One m-line. Those that are `usable` carry Opus in a way that we speak."""

    kind: str
    protocol: str
    formats: str
    mid: str
    direction: str
    usable: bool
    opus_type: int = -1
    red_type: int | None = None
    level_id: int | None = None
    ssrc: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """An offer, or the answer to one of ours."""

    session_id: str
    version: int
    media: tuple[MediaLine, ...]
    bundle: tuple[str, ...]
    ufrag: str
    password: str
    fingerprints: tuple[Fingerprint, ...]
    setup: str
    is_ice_lite: bool
    candidates: tuple[ice.Candidate | None, ...]

    @property
    def usable(self) -> tuple[MediaLine, ...]:
        """The lines that may be accepted, in their order."""
        return tuple(line for line in self.media if line.usable)


@dataclass(slots=True, kw_only=True)
class _Section:
    """The lines of one section: its m-line (empty for the session) and its attributes."""

    media: str
    attributes: list[tuple[str, str]]

    def first(self, name: str) -> str | None:
        """The value of an attribute, "" for a bare one, None if it is not there."""
        return next((value for key, value in self.attributes if key == name), None)

    def all(self, name: str) -> list[str]:
        """All values of an attribute."""
        return [value for key, value in self.attributes if key == name]


def read(text: str) -> Description:
    """Read a description. Raises OfferRefused with `too_large`, `invalid_params` or `unsupported`.
    """
    session_id, version, sections = _split(text)
    session, *media_sections = sections
    if not media_sections:
        raise OfferRefused("invalid_params", "The offer has no media line.")
    bundle = _bundle_of(session)
    media = _read_media(session, media_sections, bundle)
    chosen = next((index for index, line in enumerate(media) if line.usable), None)
    if chosen is None:
        raise OfferRefused(
            "unsupported", "The offer has no audio line with Opus.",
            next="Offer one audio track with the Opus codec.",
        )
    section = media_sections[chosen]
    in_bundle = [
        one for one, line in zip(media_sections, media, strict=True)
        if one is section or (line.mid in bundle and media[chosen].mid in bundle)
    ]
    return Description(
        session_id=session_id,
        version=version,
        media=media,
        bundle=bundle,
        ufrag=_secret(session, section, "ice-ufrag"),
        password=_secret(session, section, "ice-pwd"),
        fingerprints=_fingerprints(session, section),
        setup=_setup(session, section),
        is_ice_lite=session.first("ice-lite") is not None,
        candidates=_candidates(in_bundle),
    )


def _split(text: str) -> tuple[str, int, list[_Section]]:
    """Measure the text, then cut it into its origin and sections."""
    # The sizes come first: nothing below costs more than these allow.
    size = len(text) if len(text) > SDP_BYTES_MAX else len(text.encode("utf-8", "surrogatepass"))
    if size > SDP_BYTES_MAX:
        raise OfferRefused(
            "too_large", f"The offer is larger than {SDP_BYTES_MAX // 1024} KiB."
        )
    if any(ord(letter) < 32 and letter not in "\r\n\t" for letter in text):
        raise OfferRefused("invalid_params", "The offer contains control characters.")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if len(lines) > SDP_LINES_MAX:
        raise OfferRefused("too_large", f"The offer has more than {SDP_LINES_MAX} lines.")
    if any(len(line) > SDP_LINE_BYTES_MAX for line in lines):
        raise OfferRefused("too_large", "A line of the offer is too long.")
    if any("\r" in line for line in lines):
        raise OfferRefused("invalid_params", "The offer's lines do not end in a line feed.")
    lines = [line for line in lines if line]
    if len(lines) < 2 or lines[0] != "v=0" or not lines[1].startswith("o="):
        raise OfferRefused("invalid_params", "The text is no session description.")
    origin = lines[1].removeprefix("o=").split()
    if len(origin) != 6 or not _NUMBER.fullmatch(origin[2]):
        raise OfferRefused("invalid_params", "The offer's origin line is damaged.")
    return origin[1][:64], int(origin[2]), _sections(lines[2:])


def _sections(lines: list[str]) -> list[_Section]:
    sections = [_Section(media="", attributes=[])]
    for line in lines:
        if len(line) < 2 or line[1] != "=" or not line[0].isalpha():
            raise OfferRefused("invalid_params", "A line of the offer has no type.")
        if line[0] == "m":
            if len(sections) > MEDIA_LINES_MAX:
                raise OfferRefused(
                    "too_large", f"The offer has more than {MEDIA_LINES_MAX} media lines.",
                    next="Offer one audio track only.",
                )
            sections.append(_Section(media=line[2:], attributes=[]))
        elif line[0] == "a":
            name, _, value = line[2:].partition(":")
            sections[-1].attributes.append((name, value.strip()))
    return sections


def _read_media(
    session: _Section, sections: list[_Section], bundle: tuple[str, ...]
) -> tuple[MediaLine, ...]:
    media: list[MediaLine] = []
    first: MediaLine | None = None
    for section in sections:
        line = _media_line(session, section)
        if any(line.mid == other.mid for other in media):
            raise OfferRefused("invalid_params", "Two media lines of the offer have one mid.")
        if line.usable and first is not None and not {line.mid, first.mid} <= set(bundle):
            # A second transport is a second handshake: only what shares the first is carried.
            line = _rejected(line)
        if line.usable and first is None:
            first = line
        media.append(line)
    return tuple(media)


def _rejected(line: MediaLine) -> MediaLine:
    return MediaLine(
        kind=line.kind, protocol=line.protocol, formats=line.formats, mid=line.mid,
        direction="inactive", usable=False,
    )


def _media_line(session: _Section, section: _Section) -> MediaLine:
    parts = section.media.split()
    if len(parts) < 4 or not _NUMBER.fullmatch(parts[1]):
        raise OfferRefused("invalid_params", "A media line of the offer is damaged.")
    if len(parts) > PAYLOAD_TYPES_MAX + 3:
        raise OfferRefused("too_large", "A media line of the offer has too many formats.")
    kind, port, protocol, *formats = parts
    if not all(_TOKEN.fullmatch(part) for part in (kind, protocol, *formats)):
        raise OfferRefused("invalid_params", "A media line of the offer is damaged.")
    mid = section.first("mid")
    if mid is None or not _TOKEN.fullmatch(mid):
        raise OfferRefused("invalid_params", "A media line of the offer has no usable mid.")
    line = MediaLine(
        kind=kind, protocol=protocol, formats=" ".join(formats), mid=mid,
        direction="inactive", usable=False,
    )
    # Port 0 is a rejected line, unless the line is bundle-only.
    is_off = int(port) == 0 and section.first("bundle-only") is None
    if kind != "audio" or is_off or protocol != "UDP/TLS/RTP/SAVPF":
        return line
    opus_type = _opus_type(section, formats)
    if opus_type is None:
        return line
    if section.first("rtcp-mux") is None:
        raise OfferRefused("unsupported", "The offer wants RTCP on a port of its own.")
    direction = _direction(session, section)
    return MediaLine(
        kind=kind, protocol=protocol, formats=line.formats, mid=mid, direction=direction,
        usable=True, opus_type=opus_type, red_type=_red_type(section, formats, opus_type),
        level_id=_level_id(session, section), ssrc=_ssrc(section),
    )


def _bundle_of(session: _Section) -> tuple[str, ...]:
    for value in session.all("group"):
        semantics, *mids = value.split()[: MEDIA_LINES_MAX + 1] or [""]
        if semantics == "BUNDLE":
            return tuple(mids)
    return ()


def _direction(session: _Section, section: _Section) -> str:
    for place in (section, session):
        for name, _ in place.attributes:
            if name in DIRECTIONS:
                return name
    return "sendrecv"


def _codecs(section: _Section, formats: list[str]) -> list[tuple[int, str]]:
    """Payload types and their codecs (lower case), in the order of the m-line."""
    named: dict[str, str] = {}
    for value in section.all("rtpmap")[:PAYLOAD_TYPES_MAX]:
        number, _, codec = value.partition(" ")
        named.setdefault(number, codec.strip().lower())
    return [
        (int(number), named[number]) for number in formats
        if number in named and number.isascii() and number.isdigit() and int(number) < 128
    ]


def _opus_type(section: _Section, formats: list[str]) -> int | None:
    return next(
        (number for number, codec in _codecs(section, formats) if codec == "opus/48000/2"), None
    )


def _red_type(section: _Section, formats: list[str], opus_type: int) -> int | None:
    """The type of redundant audio that wraps this Opus, if the offer says exactly that."""
    for number, codec in _codecs(section, formats):
        if codec not in ("red/48000/2", "red/48000"):
            continue
        for value in section.all("fmtp"):
            name, _, inner = value.partition(" ")
            blocks = inner.strip().split("/")
            if name == str(number) and set(blocks) == {str(opus_type)} and len(blocks) > 1:
                return number
    return None


def _level_id(session: _Section, section: _Section) -> int | None:
    for value in [*section.all("extmap"), *session.all("extmap")]:
        parts = value.split()
        if len(parts) >= 2 and parts[1] == LEVEL_URI:
            number = parts[0].split("/")[0]
            if number.isascii() and number.isdigit() and 0 < int(number[:4]) < 15:
                return int(number)
    return None


def _ssrc(section: _Section) -> int | None:
    value = section.first("ssrc")
    number = value.split()[0] if value else ""
    return int(number) if _NUMBER.fullmatch(number) and int(number) < 1 << 32 else None


def _secret(session: _Section, section: _Section, name: str) -> str:
    value = section.first(name) or session.first(name)
    if value is None or not _ICE_TEXT.fullmatch(value):
        raise OfferRefused("invalid_params", f"The offer has no usable {name}.")
    if name == "ice-pwd" and len(value) < 22:
        raise OfferRefused("invalid_params", "The offer's ice-pwd is too short.")
    return value


def _fingerprints(session: _Section, section: _Section) -> tuple[Fingerprint, ...]:
    """The certificate's digests. Without one anybody on the path could take the call over."""
    found: list[Fingerprint] = []
    for value in [*section.all("fingerprint"), *session.all("fingerprint")][:8]:
        algorithm, _, digest = value.partition(" ")
        algorithm, digest = algorithm.lower(), digest.strip()
        size = _DIGEST_BYTES.get(algorithm)
        if size is None:
            continue
        if not _HEX_PAIRS.fullmatch(digest) or len(digest) != 3 * size - 1:
            raise OfferRefused("invalid_params", "A fingerprint of the offer is damaged.")
        one = Fingerprint(algorithm=algorithm, value=digest.upper())
        if one not in found:
            found.append(one)
    if not found:
        raise OfferRefused("invalid_params", "The offer has no fingerprint of SHA-256 or better.")
    return tuple(found)


def _setup(session: _Section, section: _Section) -> str:
    value = section.first("setup") or session.first("setup") or "actpass"
    if value not in ("actpass", "active", "passive"):
        raise OfferRefused("unsupported", "The offer holds its connection back.")
    return value


def _candidates(sections: list[_Section]) -> tuple[ice.Candidate | None, ...]:
    lines = [value for section in sections for value in section.all("candidate")]
    if len(lines) > CANDIDATES_MAX:
        raise OfferRefused("too_large", f"The offer has more than {CANDIDATES_MAX} candidates.")
    return tuple(ice.parse(line) for line in lines)
