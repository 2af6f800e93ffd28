"""Joining by an invitation, on the guest's side: accepted once, with a receipt.

    preview -> receipt with the signed seats (durable) -> loans (durable) -> redeem -> copy

The seats are signed once and stored in the receipt; whatever is lost on the way, the same bytes
are sent again, and the room seats them once. A process that dies in between finishes at its next
start. The secret is dropped from the receipt at its end.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from mesh.core import ids
from mesh.core.canonical import encode
from mesh.core.errors import Malformed, MeshError, Refused
from mesh.core.event import Proposal, parse_proposal
from mesh.core.invitation import InvitationLink, decode_link
from mesh.core.limits import LENT_PER_ACCEPT_MAX, LOAN_TTL_MAX_S
from mesh.core.link_messages import Redeem, RedeemResult, WireProposal
from mesh.core.member import Lent, Member, parse_permissions, parse_seat
from mesh.ports import Clock, Links
from mesh.service.lending import Lending
from mesh.service.open_rooms import OpenRooms
from mesh.service.operator import Operator
from mesh.service.peers import Peers
from mesh.service.previews import ANSWER_S, Previews, refused_there
from mesh.stores import ReceiptRow, ReceiptStore
from mesh.telemetry import Log

_ACCEPT_S: Final = 30.0
_RETRY_S: Final = 5.0
_GIVE_UP_S: Final = 24 * 3_600
OPERATION: Final = "invitations.accept"
OWNER: Final = "operator"

Spawn = Callable[[Coroutine[Any, Any, None]], None]


class Joining:
    """Invitations that this install was given."""

    def __init__(
        self,
        *,
        rooms: OpenRooms,
        lending: Lending,
        peers: Peers,
        receipts: ReceiptStore,
        operator: Operator,
        links: Links,
        previews: Previews,
        clock: Clock,
        spawn: Spawn,
        log: Log,
    ) -> None:
        self._rooms = rooms
        self._lending = lending
        self._peers = peers
        self._receipts = receipts
        self._operator = operator
        self._links = links
        self._previews = previews
        self._clock = clock
        self._spawn = spawn
        self._log = log
        # (inviter, request) -> the one attempt that is under way
        self._results: dict[tuple[str, str], asyncio.Future[RedeemResult]] = {}
        self._under_way: dict[str, asyncio.Event] = {}

    async def preview(self, link_text: str) -> dict[str, Any]:
        """Who invites to what. Nothing is spent. Raises as `Previews.preview`."""
        return await self._previews.preview(link_text)

    # --- accept ----------------------------------------------------------------------------

    async def accept(
        self,
        link_text: str,
        request_id: str,
        display_name: str | None,
        lend: Sequence[dict[str, Any]],
    ) -> dict[str, Any]:
        """Join, and lend what is named. The same request_id asks for the same thing for ever."""
        link = decode_link(link_text)
        ids.check(ids.OPAQUE, request_id, "request_id")
        if len(lend) > LENT_PER_ACCEPT_MAX:
            raise Malformed("invalid_params", "Too many profiles at once.", field="lend")
        asked = {
            "link": hashlib.sha256(link.secret).hexdigest(),
            "display_name": display_name or "",
            "lend": list(lend),
        }
        input_sha256 = hashlib.sha256(encode(asked)).hexdigest()
        row = await self._receipts.get(request_id, OWNER)
        if row is None:
            row = await self._prepare(link_text, request_id, display_name, lend)
        # Asked again, the store compares the input and answers with what it has.
        claim = replace(row, input_sha256=input_sha256, status="pending")
        row = await self._receipts.open(claim)
        if row.status == "pending":
            ended = self._begin(row)
            with suppress(TimeoutError):  # it goes on; the receipt is asked for by its id
                async with asyncio.timeout(_ACCEPT_S):
                    await ended.wait()
            row = await self._receipts.get(request_id, OWNER) or row
        return receipt_json(row)

    async def _prepare(
        self,
        link_text: str,
        request_id: str,
        display_name: str | None,
        lend: Sequence[dict[str, Any]],
    ) -> ReceiptRow:
        """A new receipt with its signed seats, not stored yet; or the one that came first."""
        agents = [self._agent(wish) for wish in lend]
        # Asking first costs nothing and says what is wrong before anything is written.
        offered = await self.preview(link_text)
        if offered.get("already_member") is True:
            # The same request may have been carried out while the preview was under way.
            earlier = await self._receipts.get(request_id, OWNER)
            if earlier is None:
                raise Refused("conflict", "You are a member of that room already.")
            return earlier
        person = self._operator.person(str(offered.get("role")), display_name)
        return self._row(decode_link(link_text), request_id, [person, *agents])

    async def operation(self, request_id: str) -> dict[str, Any]:
        """The receipt. Never executes anything."""
        row = await self._receipts.get(request_id, OWNER)
        if row is None:
            raise Refused("not_found", "There is no receipt with this id.")
        return receipt_json(row)

    async def load(self) -> None:
        """Finish what the last process began."""
        for row in await self._receipts.unfinished():
            if row.operation == OPERATION:
                self._begin(row)

    def _agent(self, wish: dict[str, Any]) -> Member:
        permissions = parse_permissions(list(wish.get("permissions") or ("dispatch", "stop")))
        until = wish.get("until") or 0
        now_ms = self._clock.now().wall_ms
        if type(until) is not int or (until and until <= now_ms):
            raise Malformed("invalid_params", "until is an instant to come.", field="until")
        if until > now_ms + LOAN_TTL_MAX_S * 1_000:
            raise Malformed("invalid_params", "A loan lasts a year at most.", field="until")
        lent = Lent(permissions=permissions, until_ms=until)
        return self._lending.agent(str(wish["profile"]), wish.get("handle"), lent)

    def _row(
        self,
        link: InvitationLink,
        request_id: str,
        members: Sequence[Member],
    ) -> ReceiptRow:
        seats = [self._propose(link, member) for member in members]
        now_ms = self._clock.now().wall_ms
        return ReceiptRow(
            request_id=request_id,
            operation=OPERATION,
            owner=OWNER,
            input_sha256="",
            status="pending",
            reason="",
            message="",
            result={},
            state={
                "link": link.encode("https://-"),
                "seats": [[ids.b64(p.raw), ids.b64(p.signature)] for p in seats],
            },
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
        )

    def _propose(self, link: InvitationLink, member: Member) -> Proposal:
        payload: dict[str, Any] = {"member": member.to_seat()}
        if not member.is_agent:
            payload["invitation_id"] = link.invitation_id
        return self._operator.propose(
            link.room_id, "member.joined", member.member_id, payload, event_id="join"
        )

    def _begin(self, row: ReceiptRow) -> asyncio.Event:
        """Carry a pending receipt out, once at a time; the event tells its end."""
        ended = self._under_way.get(row.request_id)
        if ended is None:
            ended = self._under_way[row.request_id] = asyncio.Event()
            self._spawn(self._carry_out(row))
        return ended

    async def _carry_out(self, row: ReceiptRow) -> None:
        try:
            await self._redeem(row)
        except MeshError as refusal:
            status = "uncertain" if refusal.reason == "uncertain" else "rejected"
            await self._end(row, status, refusal, {})
        finally:
            self._under_way.pop(row.request_id).set()

    async def _redeem(self, row: ReceiptRow) -> None:
        link = decode_link(row.state["link"])
        wires = [
            WireProposal(ids.unb64(raw, "seat"), ids.unb64(sig, "seat"))
            for raw, sig in row.state["seats"]
        ]
        members = [parse_seat(parse_proposal(w.raw, w.signature).payload["member"]) for w in wires]
        for member in members[1:]:
            await self._lending.seat(link.room_id, member)
        result = await self._ask(row.request_id, link, tuple(wires))
        if result.state == "rejected":
            raise refused_there(result.reason, result.message)
        await self._enter(row, link, result, members)

    async def _ask(
        self, request_id: str, link: InvitationLink, wires: tuple[WireProposal, ...]
    ) -> RedeemResult:
        """Send the redemption until there is a final answer; sent twice, it seats once."""
        asked = Redeem(
            request_id=request_id,
            room_id=link.room_id,
            invitation_id=link.invitation_id,
            secret=link.secret,
            proposals=wires,
        )
        inviter = ids.install_id(link.inviter_key)
        give_up_ms = (link.expires_at_s + _GIVE_UP_S) * 1_000
        while self._clock.now().wall_ms < give_up_ms:
            answer: asyncio.Future[RedeemResult] = asyncio.get_running_loop().create_future()
            self._results[inviter, request_id] = answer
            try:
                await self._previews.reach(link)
                if self._links.send(inviter, asked):
                    async with asyncio.timeout(ANSWER_S):
                        result = await answer
                    if result.state in {"applied", "rejected"}:
                        return result
            except TimeoutError:
                self._log.info("joining.no_answer", request_id=request_id)
            except MeshError as error:
                self._log.info("joining.unreachable", reason=error.reason)
            finally:
                self._results.pop((inviter, request_id), None)
            await asyncio.sleep(_RETRY_S)
        raise Refused("uncertain", "The room's host was never heard again.")

    async def _enter(
        self,
        row: ReceiptRow,
        link: InvitationLink,
        result: RedeemResult,
        members: Sequence[Member],
    ) -> None:
        host = result.authority_install_id
        runner = await self._rooms.keep_copy(link.room_id, host)
        self._peers.want(host, (*result.authority_addresses, *link.addresses))
        person = members[0].member_id
        await runner.until(lambda state: person in state.members)
        joined = {
            "room_id": link.room_id,
            "member_id": person,
            "lent": [m.member_id for m in members[1:]],
        }
        await self._end(row, "applied", None, joined)

    async def _end(
        self,
        row: ReceiptRow,
        status: str,
        refusal: MeshError | None,
        result: dict[str, Any],
    ) -> None:
        await self._receipts.update(
            row.request_id,
            status=status,
            reason=refusal.reason if refusal else "",
            message=refusal.message if refusal else "",
            result=result,
            state={},
            now_ms=self._clock.now().wall_ms,
        )

    # --- links -----------------------------------------------------------------------------

    def on_result(self, install_id: str, result: RedeemResult) -> None:
        """The room's answer to a redemption, by the install that was asked."""
        waiting = self._results.get((install_id, result.request_id))
        if waiting is not None and not waiting.done():
            waiting.set_result(result)


def receipt_json(row: ReceiptRow) -> dict[str, Any]:
    """A receipt as clients see it."""
    return {
        "request_id": row.request_id,
        "operation": row.operation,
        "status": row.status,
        "reason": row.reason,
        "message": row.message,
        "result": row.result,
        "created_at": row.created_at_ms,
        "updated_at": row.updated_at_ms,
    }
