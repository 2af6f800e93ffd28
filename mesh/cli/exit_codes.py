"""What the command's exit status says. Scripts may rely on it.

0 ok    1 error    2 usage    3 time-out    4 refused    5 unreachable    6 uncertain    130 Ctrl-C
"""

from typing import Final

OK: Final = 0
ERROR: Final = 1
USAGE: Final = 2
TIMED_OUT: Final = 3
REFUSED: Final = 4
UNREACHABLE: Final = 5
UNCERTAIN: Final = 6
INTERRUPTED: Final = 130

_BY_REASON: Final = {
    "invalid_params": USAGE,
    "invalid_request": USAGE,
    "timeout": TIMED_OUT,
    "unreachable": UNREACHABLE,
    "peer_offline": UNREACHABLE,
    "not_a_node": UNREACHABLE,
    "uncertain": UNCERTAIN,
    "interrupted": UNCERTAIN,
    "internal": ERROR,
    "storage_failed": ERROR,
    "storage_full": ERROR,
    "backend_failed": ERROR,
    "port_taken": ERROR,
    "key_unsafe": ERROR,
}


def of_reason(reason: str) -> int:
    """The exit status for a stable reason; every other reason is a refusal."""
    return _BY_REASON.get(reason, REFUSED)
