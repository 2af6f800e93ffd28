"""Every bound of the media engine, in one place, with what happens when it is reached.

Sound is 48 kHz, mono, 16 bit inside the engine; Opus and RTP count in those samples. Whoever
needs another number writes it here, with its relation to its neighbours asserted below.
It refuses to read a setting: the owner passes what differs per call as an argument.
"""

from typing import Final

# ---- the clock of the media -----------------------------------------------------------------
SAMPLE_RATE: Final = 48_000
TICK_SAMPLES: Final = 960
TICK_S: Final = TICK_SAMPLES / SAMPLE_RATE
# Opus knows no frame of more than 120 ms and none of less than 2.5 ms.
FRAME_SAMPLES_MAX: Final = 5_760
FRAME_SAMPLES_MIN: Final = 120

# ---- offers: refuse ---------------------------------------------------------------------------
SDP_BYTES_MAX: Final = 64 * 1024
SDP_LINES_MAX: Final = 2_000
SDP_LINE_BYTES_MAX: Final = 2_048
MEDIA_LINES_MAX: Final = 4
PAYLOAD_TYPES_MAX: Final = 64
CANDIDATES_MAX: Final = 64
# What is really tried of them: the most promising. The rest is ignored.
CANDIDATES_TRIED_MAX: Final = 8
# STUN requests that one peer can make us send to addresses of its choice: drop.
CHECKS_PER_S_MAX: Final = 20
# STUN requests of one peer that we answer, and how many of them may come at once: drop.
STUN_PER_S_MAX: Final = 50
STUN_BURST_MAX: Final = 100
# Streams that one peer may open on its transport: each one costs memory. Drop the others.
STREAMS_MAX: Final = 8
# Datagrams that wait for the DTLS handshake of one peer: drop-newest.
HANDSHAKE_DATAGRAMS_MAX: Final = 64

# ---- packets: drop ---------------------------------------------------------------------------
PACKET_BYTES_MAX: Final = 1_500
# For each line. Opus at 20 ms is 50 packets a second, at 10 ms 100. Drop above.
PACKETS_PER_S_MAX: Final = 120
PACKETS_BURST_MAX: Final = 60
RED_BLOCKS_MAX: Final = 4
# A redundant block must tell its age in 14 bits and its size in 10.
RED_OFFSET_MAX: Final = (1 << 14) - 1
RED_BLOCK_BYTES_MAX: Final = (1 << 10) - 1
RTCP_BLOCKS_MAX: Final = 31

# ---- play-out: drop-oldest -------------------------------------------------------------------
JITTER_PACKETS_MAX: Final = 50
# Depth that lateness may ask for, and depth that copies of lost packets may ask for.
JITTER_DEPTH_MAX_S: Final = 0.120
RECOVERY_DEPTH_MAX_S: Final = 0.040
# A jump of the media clock beyond this is a new beginning, not a gap.
CLOCK_JUMP_MAX_S: Final = 1.0
CONCEAL_MAX_S: Final = 0.100

# ---- the call: refuse ------------------------------------------------------------------------
PARTICIPANTS_MAX: Final = 128
CALLS_MAX: Final = 256
TALKERS_MAX: Final = 3
LINK_HOPS_MAX: Final = 2
LINKS_MAX: Final = 8
ID_CHARS_MAX: Final = 128

# ---- waiting: close --------------------------------------------------------------------------
GATHER_MAX_S: Final = 1.0
CONNECT_MAX_S: Final = 15.0
SILENT_PEER_S: Final = 3.0
# How often a peer proves that it lives even when it says nothing.
REPORT_EVERY_S: Final = 1.0
CLOSE_MAX_S: Final = 2.0

# ---- the worker: close the pipe --------------------------------------------------------------
MESSAGE_BYTES_MAX: Final = 256 * 1024
REQUEST_MAX_S: Final = 5.0
REQUESTS_MAX: Final = 64
EVENTS_QUEUED_MAX: Final = 1_000
SPEAKING_EVERY_S: Final = 0.1
STATS_EVERY_S: Final = 1.0

assert TICK_SAMPLES * 50 == SAMPLE_RATE
assert FRAME_SAMPLES_MIN < TICK_SAMPLES < FRAME_SAMPLES_MAX
assert SDP_LINE_BYTES_MAX < SDP_BYTES_MAX < MESSAGE_BYTES_MAX
assert CANDIDATES_TRIED_MAX <= CANDIDATES_MAX
assert TICK_S <= RECOVERY_DEPTH_MAX_S < JITTER_DEPTH_MAX_S < CLOCK_JUMP_MAX_S
assert JITTER_PACKETS_MAX * FRAME_SAMPLES_MIN / SAMPLE_RATE >= JITTER_DEPTH_MAX_S
assert TICK_SAMPLES <= RED_OFFSET_MAX
assert REPORT_EVERY_S * 2 < SILENT_PEER_S < CONNECT_MAX_S
assert GATHER_MAX_S < REQUEST_MAX_S
assert TALKERS_MAX <= PARTICIPANTS_MAX
