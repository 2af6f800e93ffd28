"""The fault barrier: an agent's breakdown stays the agent's, and is never silent.

Why: a backend is code that other people's servers and files feed. If it breaks, its turn must end
with a typed failure, and neither the node nor another profile may notice. This is the gateway's
one broad catch, so that there is one place to look at; everything else catches by name.

It refuses to hold cancellation, which passes through, and to repeat an unknown exception's own
words to a room: a library's message can quote a header, and with it a key.
"""

import logging
from types import TracebackType
from typing import Self

from gateway.errors import GatewayError
from gateway.exchange import Failed

_log = logging.getLogger(__name__)


class FaultBarrier:
    """`with` block that ends quietly on any Exception and keeps it, told, in `failed`."""

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self.failed: Failed | None = None

    def __enter__(self) -> Self:
        assert self.failed is None, "a barrier is used once"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        if isinstance(error, GatewayError):
            self.failed = Failed.because(error)
            return True
        _log.error("the agent %s broke down", self._profile, exc_info=error)
        self.failed = Failed(
            reason="backend_failed",
            message=f"The agent {self._profile} broke down ({type(error).__name__}).",
            next="The node's log has the details; ask again, or reload the profile.",
        )
        return True
