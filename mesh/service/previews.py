"""Invitations that this install was given, looked at: whoever invites is reached and asked.

The inviter's key stands in the link, so nobody else can answer for it; every address is a hint.
A preview proves knowledge of the secret by an HMAC and spends nothing.
"""

import asyncio
from typing import Any, Final, Protocol

from mesh.core import ids
from mesh.core.canonical import decode_object
from mesh.core.errors import REASONS, MeshError, Refused
from mesh.core.invitation import InvitationLink, decode_link
from mesh.core.link_messages import Preview, PreviewResult
from mesh.ports import Entropy, Links
from mesh.service.peers import Peers
from mesh.telemetry import Log
from mesh.wire.handshake import PeerHello

ANSWER_S: Final = 10.0
# Of several addresses that failed, the one that answered wrongly tells most.
_TELLING: Final = ("peer_identity_mismatch", "duplicate_instance", "not_a_node", "unsupported")


class Dials(Protocol):
    """What this module needs of the link table."""

    async def dial_once(self, address: str, expected_install_id: str | None) -> PeerHello:
        """Dial an address now. Raises MeshError with what went wrong."""
        ...


class Previews:
    """Reaches inviters, and asks them what they invite to."""

    def __init__(
        self, *, peers: Peers, links: Links, dials: Dials, entropy: Entropy, log: Log
    ) -> None:
        self._peers = peers
        self._links = links
        self._dials = dials
        self._entropy = entropy
        self._log = log
        # (inviter, invitation) -> everybody here who waits for the inviter's answer
        self._previews: dict[tuple[str, str], list[asyncio.Future[PreviewResult]]] = {}

    async def preview(self, link_text: str) -> dict[str, Any]:
        """Who invites to what. Nothing is spent.

        Raises:
            MeshError: `invitation_damaged`, `not_reachable`, `not_a_node`,
                `peer_identity_mismatch`, or why the invitation is refused.
        """
        link = decode_link(link_text)
        inviter = await self.reach(link)
        nonce = self._entropy.bytes(32)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[PreviewResult] = loop.create_future()
        waiting = self._previews.setdefault((inviter, link.invitation_id), [])
        waiting.append(answer)
        asked = Preview(
            invitation_id=link.invitation_id,
            room_id=link.room_id,
            nonce=nonce,
            mac=link.preview_mac(nonce),
        )
        self._links.send(inviter, asked)
        try:
            async with asyncio.timeout(ANSWER_S):
                result = await answer
        except TimeoutError:
            raise Refused("not_reachable", "The inviting machine does not answer.") from None
        finally:
            waiting.remove(answer)
            if not waiting:
                self._previews.pop((inviter, link.invitation_id), None)
        if result.reason:
            raise refused_there(result.reason, "")
        return decode_object(result.body)

    async def reach(self, link: InvitationLink) -> str:
        """A link to the inviter, proved by the key in the invitation."""
        inviter = ids.install_id(link.inviter_key)
        if self._links.is_up(inviter):
            return inviter
        failure: MeshError | None = None
        known = self._peers.addresses(inviter, ())
        for address in dict.fromkeys((*link.addresses, *known)):
            try:
                await self._dials.dial_once(address, inviter)
            except MeshError as error:
                self._log.info("joining.dial", address=address, reason=error.reason)
                if _tells(error) > _tells(failure):
                    failure = error
            else:
                return inviter
        raise failure or Refused(
            "not_reachable", "The inviting machine cannot be reached from here."
        )

    def on_result(self, install_id: str, result: PreviewResult) -> None:
        """The inviter's answer to a preview; nobody else's counts."""
        for waiting in self._previews.get((install_id, result.invitation_id), ()):
            if not waiting.done():
                waiting.set_result(result)


def refused_there(reason: str, message: str) -> MeshError:
    """What another install refused with, in words that are known here."""
    known = reason if reason in REASONS else "forbidden"
    return Refused(known, message or f"The invitation was refused: {known}.")


def _tells(error: MeshError | None) -> int:
    """How much a failed dial says about the address: 0 where it says nothing."""
    if error is None or error.reason not in _TELLING:
        return 0
    return len(_TELLING) - _TELLING.index(error.reason)
