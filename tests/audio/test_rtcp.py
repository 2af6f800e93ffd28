"""Reports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.errors import PacketMalformed
from audio.rtcp import (
    Reception,
    ReceptionReport,
    SenderReport,
    goodbye,
    middle_of,
    ntp_of,
    parse,
    serialize,
)

words = st.integers(0, 0xFFFFFFFF)
reports = st.builds(
    ReceptionReport,
    ssrc=words, fraction_lost=st.integers(0, 255).map(lambda n: n / 256),
    lost=st.integers(-(1 << 23), (1 << 23) - 1), highest_seq=words, jitter_samples=words,
    last_sender_report=words, since_it=words,
)
senders = st.builds(
    SenderReport, ssrc=words, ntp=st.integers(0, (1 << 64) - 1), at_samples=words, packets=words,
    octets=words,
)


@given(st.none() | senders, st.lists(reports, max_size=5), st.text("abc.-", min_size=1))
def test_what_is_written_is_read(
    sender: SenderReport | None, about: list[ReceptionReport], cname: str
) -> None:
    ssrc = sender.ssrc if sender else 7
    data = serialize(ssrc=ssrc, cname=cname, sender=sender, about=tuple(about))
    assert len(data) % 4 == 0
    read = parse(data)
    assert read.sender == sender and read.about == tuple(about) and read.bye == ()


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        parse(data)
    except PacketMalformed:
        return


def test_a_cut_report_is_refused() -> None:
    whole = serialize(ssrc=1, cname="a", sender=None, about=())
    for cut in (1, 5, len(whole) - 1):
        with pytest.raises(PacketMalformed):
            parse(whole[:cut])
    # The counts of blocks and sources are the sender's claim as well.
    with pytest.raises(PacketMalformed):
        parse(b"\x85" + whole[1:])
    with pytest.raises(PacketMalformed):
        parse(b"\x9f\xcb\x00\x01\x00\x00\x00\x01")


def test_a_goodbye_names_its_stream() -> None:
    assert parse(goodbye(0xABCD)).bye == (0xABCD,)


def test_the_present_in_ntp() -> None:
    assert ntp_of(0) >> 32 == 2_208_988_800
    assert middle_of(ntp_of(1.5)) & 0xFFFF == 0x8000


@given(st.sets(st.integers(0, 199), min_size=1), st.integers(0, 1 << 40))
def test_loss_is_what_did_not_come(came: set[int], base: int) -> None:
    reception = Reception(1)
    for seq in sorted(came):
        reception.count(base + seq, (base + seq) * 960, seq * 0.02)
    expected = max(came) - min(came) + 1
    report = reception.report(10.0)
    assert report.lost == expected - len(came)
    assert report.fraction_lost == pytest.approx(report.lost / expected)
    assert report.jitter_samples == 0
    assert reception.report(11.0).fraction_lost == 0, "a fraction is told once"


def test_a_report_quotes_the_sender() -> None:
    reception = Reception(1)
    reception.count(5, 960, 1.0)
    said = SenderReport(ssrc=1, ntp=ntp_of(1_000.25), at_samples=0, packets=1, octets=1)
    reception.heard(said, 2.0)
    report = reception.report(2.5)
    assert report.last_sender_report == middle_of(said.ntp) and report.since_it == 32_768
