"""Invitations on the inviting side: issued, shown once, previewed, redeemed, revoked.

The invitation is an event with the digest of its secret; the link with the secret is returned
once and never stored. A guest may dial any install of the room: one that is not the authority
relays the redemption, which it can neither forge nor keep (the seats are signed by the guest).
"""

import hashlib
import hmac
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final

from mesh.core import ids
from mesh.core.canonical import encode
from mesh.core.errors import Malformed, MeshError, Refused
from mesh.core.invitation import Invitation, InvitationLink, check_terms, preview_mac
from mesh.core.limits import ADDRESSES_PER_PEER_MAX, INVITATION_TTL_MAX_S
from mesh.core.link_messages import Preview, PreviewResult, Redeem, RedeemResult
from mesh.ports import Clock, Entropy, Links
from mesh.service.conversation import Conversation
from mesh.service.open_rooms import OpenRooms
from mesh.service.operator import Operator
from mesh.service.reach import Reach
from mesh.service.room_runner import RoomRunner
from mesh.stores import InvitationNotes, NoteRow

_RELAYED_MAX: Final = 1_024
_SECRET_BYTES: Final = 32

Spawn = Callable[[Coroutine[Any, Any, None]], None]


class Invitations:
    """Everything an install does for those it invites."""

    def __init__(
        self,
        *,
        rooms: OpenRooms,
        conversation: Conversation,
        operator: Operator,
        notes: InvitationNotes,
        links: Links,
        reach: Reach,
        clock: Clock,
        entropy: Entropy,
        spawn: Spawn,
        changed: Callable[[str], None],
    ) -> None:
        self._rooms = rooms
        self._conversation = conversation
        self._operator = operator
        self._notes = notes
        self._links = links
        self._reach = reach
        self._clock = clock
        self._entropy = entropy
        self._spawn = spawn
        self._changed = changed
        self._previewed: dict[str, NoteRow] = {}
        self._relayed: dict[str, str] = {}

    async def load(self) -> None:
        """Read the notes."""
        self._previewed = {row.invitation_id: row for row in await self._notes.all()}

    # --- what the operator does ------------------------------------------------------------

    async def create(self, room_id: str, ttl_s: int, uses: int, role: str) -> dict[str, Any]:
        """Issue an invitation and make its link, which is shown once."""
        check_terms(uses, role)
        if not 1 <= ttl_s <= INVITATION_TTL_MAX_S:
            raise Malformed(
                "invalid_params",
                f"ttl_seconds is 1 to {INVITATION_TTL_MAX_S}.",
                field="ttl_seconds",
            )
        runner = self._rooms.get(room_id)
        me = self._operator.me(runner.state)
        now_ms = self._clock.now().wall_ms
        secret = self._entropy.bytes(_SECRET_BYTES)
        expires_at_s = now_ms // 1_000 + ttl_s
        invitation_id = self._operator.new_id("i")
        made = await self._conversation.control(
            room_id,
            "invitation.issued",
            {
                "invitation_id": invitation_id,
                "secret_sha256": hashlib.sha256(secret).hexdigest(),
                "role": role,
                "uses": uses,
                "expires_at": expires_at_s * 1_000,
                "issuer_member_id": me.member_id,
            },
        )
        if not made["accepted"]:
            # Issued later, it would be an invitation whose link nobody has.
            with suppress(Refused):
                await self._conversation.discard(room_id, made["event_id"])
            raise Refused("peer_offline", "The room's host is not reachable; nobody can join now.")
        await self._note(invitation_id, room_id, None)
        base = self._reach.base()
        link = InvitationLink(
            room_id=room_id,
            invitation_id=invitation_id,
            inviter_key=self._operator.key.public,
            addresses=tuple(self._operator.addresses())[:ADDRESSES_PER_PEER_MAX],
            secret=secret,
            expires_at_s=expires_at_s,
        ).encode(base)
        self._changed("invitations")
        return {
            "invitation_id": invitation_id,
            "link": link,
            "reach": self._reach.word(),
            "expires_at": expires_at_s * 1_000,
            "qr_svg": _qr_svg(link),
        }

    def list(self, room_id: str | None) -> dict[str, Any]:
        """Invitations of one room, or of all rooms, the newest first."""
        runners = self._rooms.all() if room_id is None else (self._rooms.get(room_id),)
        found = [
            self._json(runner, invitation)
            for runner in runners
            for invitation in runner.state.invitations.values()
        ]
        return {"invitations": sorted(found, key=lambda i: -int(i["created_at"]))}

    def show(self, invitation_id: str) -> dict[str, Any]:
        """One invitation. Raises Refused `not_found`."""
        runner, invitation = self._find(invitation_id)
        return self._json(runner, invitation)

    async def revoke(self, invitation_id: str) -> dict[str, Any]:
        """End an invitation early; who came in by it stays."""
        runner, _invitation = self._find(invitation_id)
        made = await self._conversation.control(
            runner.room_id, "invitation.revoked", {"invitation_id": invitation_id}
        )
        self._changed("invitations")
        return made

    # --- what guests ask over links --------------------------------------------------------

    def on_preview(self, install_id: str, asked: Preview) -> None:
        """A guest looks at an invitation. Who cannot prove the secret learns nothing."""
        try:
            body = self._preview(install_id, asked)
            answer = PreviewResult(invitation_id=asked.invitation_id, body=encode(body))
        except MeshError as refusal:
            answer = PreviewResult(invitation_id=asked.invitation_id, reason=refusal.reason)
        self._links.send(install_id, answer)

    def _preview(self, install_id: str, asked: Preview) -> dict[str, Any]:
        runner = self._rooms.find(asked.room_id)
        invitation = runner.state.invitations.get(asked.invitation_id) if runner else None
        if runner is None or invitation is None:
            raise Refused("not_found", "There is no such invitation.")
        proof = preview_mac(invitation.secret_sha256, asked.nonce)
        if not asked.nonce or not hmac.compare_digest(proof, asked.mac):
            raise Refused("not_found", "There is no such invitation.")
        now_ms = self._clock.now().wall_ms
        invitation.check_open(now_ms)
        if runner.state.disbanded_at_ms is not None:
            raise Refused("disbanded", "The room was closed.")
        issuer = runner.state.members[invitation.issuer_member_id]
        self._spawn(self._note(invitation.invitation_id, runner.room_id, now_ms))
        return {
            "room_id": runner.room_id,
            "room_name": runner.state.name,
            "inviter": {
                "display_name": issuer.display_name,
                "install_id": issuer.install_id,
                "install_name": issuer.install_name,
            },
            "role": invitation.role,
            "uses_left": invitation.uses - len(invitation.redeemed),
            "expires_at": invitation.expires_at_ms,
            "members": [
                {"display_name": m.display_name, "handle": m.handle, "kind": m.kind}
                for m in list(runner.state.present())[:20]
            ],
            "already_member": runner.state.person_of(install_id) is not None,
            "server_time": now_ms,
        }

    def on_redeem(self, install_id: str, asked: Redeem) -> bool:
        """Relay a redemption to the authority; False where this install is the authority."""
        runner = self._rooms.find(asked.room_id)
        if runner is not None and runner.machine.is_authority:
            self._changed("invitations")
            return False
        sent = (
            runner is not None
            and not asked.relayed_for
            and self._links.send(
                runner.machine.authority_install_id,
                Redeem(
                    request_id=asked.request_id,
                    room_id=asked.room_id,
                    invitation_id=asked.invitation_id,
                    secret=asked.secret,
                    proposals=asked.proposals,
                    relayed_for=install_id,
                ),
            )
        )
        if sent:
            while len(self._relayed) >= _RELAYED_MAX:
                self._relayed.pop(next(iter(self._relayed)))
            self._relayed[asked.request_id] = install_id
        else:
            self._links.send(
                install_id,
                RedeemResult(
                    request_id=asked.request_id,
                    room_id=asked.room_id,
                    state="pending",
                    reason="peer_offline" if runner else "not_found",
                ),
            )
        return True

    def on_result(self, result: RedeemResult) -> bool:
        """Pass a relayed answer on; False if it is for this install itself."""
        guest = self._relayed.get(result.request_id)
        if not result.relayed_for or guest != result.relayed_for:
            return False
        del self._relayed[result.request_id]
        self._links.send(
            guest,
            RedeemResult(
                request_id=result.request_id,
                room_id=result.room_id,
                state=result.state,
                reason=result.reason,
                message=result.message,
                authority_install_id=result.authority_install_id,
                authority_addresses=self._host_addresses(result.room_id),
            ),
        )
        return True

    def _host_addresses(self, room_id: str) -> tuple[str, ...]:
        runner = self._rooms.find(room_id)
        if runner is None:
            return ()
        host = runner.machine.authority_install_id
        seats: Sequence[str] = [
            a for m in runner.state.present() if m.install_id == host for a in m.addresses
        ]
        return tuple(dict.fromkeys(seats))[:ADDRESSES_PER_PEER_MAX]

    # --- shapes ----------------------------------------------------------------------------

    def _find(self, invitation_id: str) -> tuple[RoomRunner, Invitation]:
        ids.check(ids.INVITATION, invitation_id, "invitation_id")
        for runner in self._rooms.all():
            found = runner.state.invitations.get(invitation_id)
            if found is not None:
                return runner, found
        raise Refused("not_found", "There is no such invitation.")

    async def _note(self, invitation_id: str, room_id: str, previewed_at_ms: int | None) -> None:
        before = self._previewed.get(invitation_id)
        row = NoteRow(
            invitation_id=invitation_id,
            room_id=room_id,
            created_at_ms=before.created_at_ms if before else self._clock.now().wall_ms,
            previewed_at_ms=previewed_at_ms,
        )
        self._previewed[invitation_id] = row
        await self._notes.put(row)
        self._changed("invitations")

    def _json(self, runner: RoomRunner, invitation: Invitation) -> dict[str, Any]:
        note = self._previewed.get(invitation.invitation_id)
        issuer = runner.state.members[invitation.issuer_member_id]
        return {
            "invitation_id": invitation.invitation_id,
            "room_id": runner.room_id,
            "room_name": runner.state.name,
            "role": invitation.role,
            "uses": invitation.uses,
            "used": len(invitation.redeemed),
            "state": str(invitation.state(self._clock.now().wall_ms)),
            "created_at": invitation.created_at_ms,
            "expires_at": invitation.expires_at_ms,
            "issuer": {"member_id": issuer.member_id, "display_name": issuer.display_name},
            "previewed_at": note.previewed_at_ms if note else None,
            "redeemed_by": [
                {"member_id": r.member_id, "display_name": r.display_name, "at": r.at_ms}
                for r in invitation.redeemed
            ],
        }


def _qr_svg(link: str) -> str:
    import segno

    return segno.make(link, error="l").svg_inline(scale=4, border=2)
