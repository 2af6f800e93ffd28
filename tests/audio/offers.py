"""Offers as browsers write them, for the tests that read them."""

FINGERPRINT = ":".join(["AB"] * 32)


def audio_line(
    *, mid: str = "0", direction: str = "sendrecv", types: str = "111 63 0",
    extra: tuple[str, ...] = (), leave_out: tuple[str, ...] = (),
) -> list[str]:
    """The lines of a browser's audio section; `leave_out` drops those that start so."""
    lines = [
        f"m=audio 9 UDP/TLS/RTP/SAVPF {types}",
        "c=IN IP4 0.0.0.0",
        "a=candidate:1 1 udp 2122260223 192.0.2.9 50001 typ host generation 0",
        "a=ice-ufrag:abcd",
        "a=ice-pwd:0123456789abcdef01234567",
        f"a=fingerprint:sha-256 {FINGERPRINT}",
        "a=setup:actpass",
        f"a=mid:{mid}",
        "a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level",
        f"a={direction}",
        "a=rtcp-mux",
        "a=rtpmap:111 opus/48000/2",
        "a=fmtp:111 minptime=10;useinbandfec=1",
        "a=rtpmap:63 red/48000/2",
        "a=fmtp:63 111/111",
        "a=rtpmap:0 PCMU/8000",
        "a=ssrc:1234567 cname:someone",
    ]
    kept = [line for line in lines if not line.startswith(leave_out or ("never",))]
    return [*kept, *extra]


def video_line(mid: str = "1") -> list[str]:
    """A video section, which is not carried."""
    return [
        "m=video 9 UDP/TLS/RTP/SAVPF 96", "c=IN IP4 0.0.0.0", f"a=mid:{mid}", "a=sendrecv",
        "a=rtcp-mux", "a=rtpmap:96 VP8/90000",
    ]


def data_line(mid: str = "2") -> list[str]:
    """A data section, which is not carried."""
    return ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "c=IN IP4 0.0.0.0", f"a=mid:{mid}"]


def offer(
    *sections: list[str], bundle: str | None = "0", version: int = 2, session: int = 77,
    end: str = "\r\n",
) -> str:
    """A whole offer of the sections; without any, of one browser's audio."""
    group = [] if bundle is None else [f"a=group:BUNDLE {bundle}"]
    head = [
        "v=0", f"o=- {session} {version} IN IP4 127.0.0.1", "s=-", "t=0 0", *group,
        "a=msid-semantic: WMS",
    ]
    media = [line for section in sections or (audio_line(),) for line in section]
    return "".join(line + end for line in [*head, *media])
