"""Every bound of the node in one place, with the relations between them asserted at import.

Sizes are bytes, durations are seconds (`_s`) or milliseconds (`_ms`), counts are bare. The
comment says what happens when a bound is met: *refuse*, *drop oldest* or *cut the reader*.
"""

from typing import Final

# --- strict JSON (refuse: invalid_params or too_large)
JSON_DEPTH_MAX: Final = 16
JSON_INT_MAX: Final = 2**53 - 1
JSON_KEYS_MAX: Final = 4_096
RPC_BYTES_MAX: Final = 1 << 20
TEXT_BYTES_MAX: Final = 192 << 10  # every character of the BMP once fits (situation 84)
NAME_CHARS_MAX: Final = 80
HANDLE_CHARS_MAX: Final = 40

# --- events (refuse)
EVENT_BYTES_MAX: Final = 256 << 10
LOG_PAGE_MAX: Final = 1_000
MEMBERS_PER_ROOM_MAX: Final = 1_000
ROOMS_MAX: Final = 10_000

# --- links between nodes (a frame above the bound cuts the link)
LINK_FRAME_BYTES_MAX: Final = 1 << 20
LINK_QUEUE_BYTES_MAX: Final = 8 << 20  # cut the reader: code 4008
HANDSHAKE_BYTES_MAX: Final = 16 << 10
HANDSHAKE_S: Final = 5.0
LINK_PING_S: Final = 10.0
LINK_SILENCE_S: Final = 25.0
DIAL_S: Final = 5.0
DIAL_BACKOFF_FIRST_S: Final = 0.5
DIAL_BACKOFF_MAX_S: Final = 30.0
ADDRESSES_PER_PEER_MAX: Final = 8
KEY_CHAIN_MAX: Final = 16
UNAUTHENTICATED_SOCKETS_MAX: Final = 32  # per address (IPv6: per /64); refuse
UNAUTHENTICATED_SOCKETS_ALL_MAX: Final = 256  # refuse
PEEK_S: Final = 5.0
TLS_HANDSHAKE_S: Final = 5.0
HEADER_S: Final = 5.0  # until a connection's first request header is complete; close
HEADER_BYTES_MAX: Final = 16 << 10
ACCEPT_BACKLOG: Final = 128
HANDSHAKE_AGE_S: Final = 60  # how old the accepting side's own greeting may be; refuse: skew
LINK_CHUNK_BYTES_MAX: Final = 32 << 10  # one WebSocket message; a frame spans several
LINK_CLOSE_S: Final = 1.0  # for the goodbye; then the socket is torn
LINK_PROBE_S: Final = 2.0  # an older link that answers within this stays
LINKS_MAX: Final = 1_024  # refuse: busy
UNWANTED_LINKS_MAX: Final = 64  # links of installs nobody here asked for; refuse: busy
UNWANTED_IDLE_S: Final = 60.0  # such a link without a message closes
LOCAL_QUEUE_MAX: Final = 65_536  # messages to our own install; refuse
ADDRESS_CHARS_MAX: Final = 256
SIGHTINGS_MAX: Final = 256  # drop oldest
SIGHTING_S: Final = 3_600.0

# --- replication
BATCH_EVENTS_MAX: Final = 256
BATCH_BYTES_MAX: Final = 512 << 10
REPLICA_WINDOW_EVENTS: Final = 2_048  # unacknowledged events in flight to one replica
FEED_BYTES_MAX: Final = 1 << 20  # of a room's log to one copy; more waits for acknowledgments
OUTBOX_WINDOW: Final = 256  # proposals in flight to the authority, per room
OUTBOX_WINDOW_BYTES: Final = 1 << 20  # and their bytes; one proposal always goes
OUTBOX_ROWS_MAX: Final = 10_000  # per room; refuse: busy
ROOM_INPUTS_MAX: Final = 4_096  # queued inputs of one room; refuse: busy
QUEUED_TEXT_MS: Final = 7 * 24 * 3_600_000  # queued text is given up after 7 days

# --- storage
GROUP_COMMIT_MAX: Final = 256
GATHER_S: Final = 0.001  # how long a round waits for those who were answered together
STORAGE_QUEUE_MAX: Final = 8_192  # refuse: busy
STORAGE_READS_MAX: Final = 4_096  # refuse: busy
STORAGE_READERS: Final = 2
STORAGE_SWITCH_S: Final = 0.0001  # how long a busy loop may keep the writer from running
STORAGE_BUSY_MS: Final = 5_000  # wait for another process that holds the file, then fail
WAL_CHECKPOINT_BYTES: Final = 4 << 20
WAL_CHECKPOINT_COMMITS: Final = 512
WAL_BYTES_KEPT: Final = 32 << 20

# --- turns and budgets
BUDGET_PER_ROOT: Final = 8  # agent messages per root event
BUDGET_MAX: Final = 64
TURN_DEADLINE_MS: Final = 30 * 60_000
TURN_OFFLINE_WAIT_MS: Final = 24 * 3_600_000
TURNS_PER_MEMBER_QUEUED_MAX: Final = 64
DISPATCHES_AWAITED_MAX: Final = 4_096  # dispatches that are ahead of our copy; drop, it comes again
DELTA_BYTES_MAX: Final = 16 << 10
HISTORY_LINES_MAX: Final = 200
ADDRESSED_PER_EVENT_MAX: Final = 64

# --- grants and invitations
GRANT_BYTES_MAX: Final = 4 << 10
GRANT_TTL_MAX_S: Final = 24 * 3_600
LOAN_TTL_MAX_S: Final = 366 * 24 * 3_600
CLOCK_SKEW_S: Final = 5
STAMP_AHEAD_MS: Final = 60_000  # an author's stamp so far after the admission is flagged
INVITATION_TTL_MAX_S: Final = 30 * 24 * 3_600
INVITATION_USES_MAX: Final = 1_000
INVITATION_LINK_CHARS_MAX: Final = 4_096
LENT_PER_ACCEPT_MAX: Final = 16

# --- readers and logins
SUBSCRIBER_QUEUE_MAX: Final = 1_024  # cut the reader: code 4008
SUBSCRIBER_QUEUE_BYTES_MAX: Final = 8 << 20  # cut the reader: code 4008
CUT_READER_S: Final = 10.0  # how long a cut reader may take to hear why
SUBSCRIBERS_MAX: Final = 2_000
CALLS_IN_FLIGHT_MAX: Final = 64  # per connection; later ones wait their turn
CALLS_WAITING_MAX: Final = 1_024  # per connection; refuse: busy
CALLS_WAITING_BYTES_MAX: Final = 8 << 20  # per connection; refuse: busy
HEARTBEAT_S: Final = 20.0
HTTP_HEADER_S: Final = 5.0  # a new socket's first request; cut
HTTP_IDLE_S: Final = 30.0  # from one answer to the next request's end of header; cut
HTTP_BODY_S: Final = 15.0
HTTP_HEADER_BYTES_MAX: Final = 8 << 10
SEND_WAIT_MS: Final = 2_000
SEND_WAIT_MS_MAX: Final = 60_000
LOGIN_LINK_S: Final = 600
LOGIN_BYTES_MAX: Final = 4 << 10
LOGIN_FAILURES_MAX: Final = 10  # per address and LOGIN_WINDOW_S; refuse: rate_limited
LOGIN_WINDOW_S: Final = 60.0
LOGIN_ADDRESSES_MAX: Final = 1_024  # remembered; drop oldest
BROWSER_SESSION_S: Final = 90 * 24 * 3_600
BROWSER_SESSIONS_MAX: Final = 64  # drop the one longest unused
BROWSER_SESSION_WRITE_S: Final = 3_600  # how often its last use is written
DRAIN_S: Final = 10.0
SWEEP_S: Final = 1.0

assert EVENT_BYTES_MAX * 2 < LINK_FRAME_BYTES_MAX, "an event and its proof fit one frame"
assert BATCH_BYTES_MAX + EVENT_BYTES_MAX < LINK_FRAME_BYTES_MAX, "a batch fits one frame"
assert LINK_FRAME_BYTES_MAX <= LINK_QUEUE_BYTES_MAX
assert HANDSHAKE_BYTES_MAX <= LINK_CHUNK_BYTES_MAX <= LINK_FRAME_BYTES_MAX
assert LINK_PROBE_S < HANDSHAKE_S < LINK_SILENCE_S
# A text of nothing but control characters grows sixfold by escaping; it is refused whole.
assert TEXT_BYTES_MAX + (32 << 10) < EVENT_BYTES_MAX, "ordinary text and what is around it fit"
assert LINK_PING_S * 2 < LINK_SILENCE_S < 30, "a missed ping is not yet silence"
assert BATCH_EVENTS_MAX <= REPLICA_WINDOW_EVENTS
assert BATCH_BYTES_MAX < FEED_BYTES_MAX < LINK_QUEUE_BYTES_MAX, "feeding one copy cuts no link"
assert OUTBOX_WINDOW_BYTES + EVENT_BYTES_MAX < LINK_QUEUE_BYTES_MAX
assert BUDGET_PER_ROOT <= BUDGET_MAX
assert SEND_WAIT_MS <= SEND_WAIT_MS_MAX
assert GROUP_COMMIT_MAX <= STORAGE_QUEUE_MAX
assert WAL_CHECKPOINT_BYTES < WAL_BYTES_KEPT
assert RPC_BYTES_MAX <= CALLS_WAITING_BYTES_MAX
assert RPC_BYTES_MAX <= SUBSCRIBER_QUEUE_BYTES_MAX
