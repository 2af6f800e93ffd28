"""Every bound of the gateway, in one place, with the relations between them.

Why: how much memory or time a profile may take is decided here, not by whoever writes to a room
or by a model server. Units stand in the names. When a bound is met the policy is *refuse*, with
a typed reason, except where a line says otherwise.
"""

# Profiles
PROFILE_FILE_BYTES_MAX = 64 * 1024
PROFILES_MAX = 64
DISPLAY_NAME_CHARS_MAX = 64
DESCRIPTION_CHARS_MAX = 280
OPTION_CHARS_MAX = 16 * 1024
OPTIONS_MAX = 32

# Runs
RUNS_PER_MOUNT_MAX = 8
REPLY_BYTES_MAX = 64 * 1024
ACTIVITIES_PER_RUN_MAX = 256
ACTIVITY_CHARS_MAX = 500  # Longer text is cut.
MESSAGE_CHARS_MAX = 1_000  # What a failure quotes of a partial answer or of an error; cut.

# Mounts
PROBE_S_MAX = 5
MOUNT_CLOSE_S_MAX = 5
MOUNT_RETRY_S_MIN = 1
MOUNT_RETRY_S_MAX = 60

# Memory of rooms; the oldest lines are forgotten first.
ROOM_LINES_MAX = 2_000
ROOM_LINES_BYTES_MAX = 1024 * 1024
ROOMS_IN_MEMORY_MAX = 32  # The least recently used leaves memory; its file stays.

# Built-in agents
DELTAS_MIN = 8
DELTAS_MAX = 200
PACE_MS_MAX = 1_000
QUOTE_CHARS_MAX = 160  # Longer text is cut.
SEARCH_HITS_MAX = 10
MINUTES_ITEMS_MAX = 20

# OpenAI-compatible endpoints
PROMPT_BYTES_MAX = 96 * 1024  # Older lines are left out, and the prompt says how many.
STREAM_BYTES_MAX = 32 * 1024 * 1024
FRAME_BYTES_MAX = 256 * 1024
ERROR_BODY_BYTES_MAX = 16 * 1024
MODELS_BODY_BYTES_MAX = 2 * 1024 * 1024
API_KEY_CHARS_MAX = 4 * 1024
RATE_LIMIT_RETRIES_MAX = 3
RATE_LIMIT_WAIT_S_DEFAULT = 1
CONNECT_TIMEOUT_S_DEFAULT = 5
IDLE_TIMEOUT_S_DEFAULT = 120
TIMEOUT_S_MAX = 3_600
LOCAL_MODEL_S_MAX = 0.3

assert DELTAS_MIN < DELTAS_MAX
assert QUOTE_CHARS_MAX * SEARCH_HITS_MAX * 4 < REPLY_BYTES_MAX, "a search must fit in a reply"
assert QUOTE_CHARS_MAX * MINUTES_ITEMS_MAX * 3 * 4 < REPLY_BYTES_MAX, "minutes must fit in a reply"
assert REPLY_BYTES_MAX < PROMPT_BYTES_MAX < ROOM_LINES_BYTES_MAX, "one reply must fit in a prompt"
assert REPLY_BYTES_MAX < FRAME_BYTES_MAX < STREAM_BYTES_MAX
assert OPTION_CHARS_MAX < PROFILE_FILE_BYTES_MAX
assert MOUNT_RETRY_S_MIN <= PROBE_S_MAX <= MOUNT_RETRY_S_MAX
