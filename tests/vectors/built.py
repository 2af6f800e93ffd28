"""What the golden vectors say, made by the present code from fixed inputs.

The files beside this one were written once from here and are compared with it since. A byte that
changes here is a new protocol: nodes that speak the old one would refuse it.
"""

import base64
import json
from typing import Any

from mesh.core import canonical, ids
from mesh.core.event import Cause, Event, admit, propose
from mesh.core.grant import Grant, issue
from mesh.core.identity import KeyChain, SigningKey
from mesh.core.invitation import InvitationLink
from tests.core.world import World

AUTHOR_SEED, AUTHORITY_SEED = b"\x01" * 32, b"\x02" * 32
AT_MS = 1_790_000_000_000

SPELLINGS: tuple[Any, ...] = (
    {},
    {"b": 1, "a": [True, False, None], "B": {"": 0}},
    "\x00\x08\t\n\x0b\x0c\r\x1f \"\\/\x7f\x80\u2028\u20ac\U0001f600",
    [0, -1, 2**53 - 1, -(2**53) + 1],
)


def proposal() -> dict[str, Any]:
    """P, its digest, the log's key, and the author's signature."""
    made = propose(SigningKey.from_seed(AUTHOR_SEED), **fields())
    return {
        "author_seed": AUTHOR_SEED.hex(),
        "p": made.raw.decode(),
        "digest": made.digest,
        "key": made.key,
        "author_sig": made.signature.hex(),
    }


def fields() -> dict[str, Any]:
    """What the vectors' proposal says."""
    return {
        "room_id": "r_" + "11" * 16,
        "event_id": "event-1",
        "kind": "message.member",
        "member_id": "m_" + "22" * 16,
        "payload": {"text": "Gr\xfc\xdfe, \u4e16\u754c \U0001f30d\n", "turn_id": "t_" + "33" * 16},
        "cause": Cause(root="event-0", hop=1, turn_id="t_" + "33" * 16),
        "created_at_ms": AT_MS,
    }


def event() -> dict[str, Any]:
    """H over that proposal, its hash, and the authority's signature."""
    made = admit(
        SigningKey.from_seed(AUTHORITY_SEED),
        propose(SigningKey.from_seed(AUTHOR_SEED), **fields()),
        epoch=1,
        seq=7,
        prev_hash="ab" * 32,
        admitted_at_ms=AT_MS + 5,
    )
    return {
        "authority_seed": AUTHORITY_SEED.hex(),
        "h": made.header.decode(),
        "hash": made.hash,
        "authority_sig": made.signature.hex(),
    }


def grant() -> dict[str, Any]:
    """A grant as it travels."""
    lender, home = SigningKey.from_seed(AUTHOR_SEED), SigningKey.from_seed(AUTHORITY_SEED)
    made = Grant(
        grant_id="g_" + "44" * 16,
        issuer=ids.install_id(lender.public),
        audience=ids.install_id(home.public),
        holder_key=home.public,
        room_id="r_" + "11" * 16,
        member_id="m_" + "22" * 16,
        authority_install_id=ids.install_id(home.public),
        authority_epoch=1,
        profile="echo",
        catalog_digest="55" * 32,
        policy_digest="66" * 32,
        permissions=("dispatch", "status", "stop"),
        issued_at_s=AT_MS // 1_000,
        not_before_s=AT_MS // 1_000,
        expires_at_s=AT_MS // 1_000 + 86_400,
        continuation=True,
    )
    return {
        "lender_seed": AUTHOR_SEED.hex(),
        "claims": made.to_claims(),
        "token": issue(lender, made).decode(),
    }


def invitation() -> dict[str, Any]:
    """An invitation link, and what is proved of it."""
    link = InvitationLink(
        room_id="r_" + "11" * 16,
        invitation_id="i_" + "77" * 16,
        inviter_key=SigningKey.from_seed(AUTHORITY_SEED).public,
        addresses=("https://192.0.2.7:7420", "https://[2001:db8::7]:7420"),
        secret=b"\x05" * 32,
        expires_at_s=AT_MS // 1_000,
    )
    return {
        "link": link.encode("https://192.0.2.7:7420"),
        "secret": link.secret.hex(),
        "secret_sha256": link.secret_sha256,
        "preview_nonce": (b"\x06" * 16).hex(),
        "preview_mac": link.preview_mac(b"\x06" * 16).hex(),
    }


def key_chain() -> dict[str, Any]:
    """An install that changed its key twice."""
    keys = [SigningKey.from_seed(bytes([n]) * 32) for n in (1, 2, 3)]
    chain = KeyChain(
        keys=tuple(key.public for key in keys),
        signatures=tuple(
            keys[n].sign("rotation", keys[n + 1].public) for n in range(len(keys) - 1)
        ),
    )
    chain.check()
    return {
        "seeds": [(bytes([n]) * 32).hex() for n in (1, 2, 3)],
        "keys": [key.hex() for key in chain.keys],
        "signatures": [signature.hex() for signature in chain.signatures],
        "install_id": chain.install_id,
    }


def names() -> dict[str, Any]:
    """Ids that are digests, and the spelling of JSON values."""
    return {
        "turn_id": ids.turn_id("r_" + "11" * 16, "event-0", "88" * 32, "m_" + "22" * 16, 1),
        "event_key": ids.event_key("m_" + "22" * 16, "event-1"),
        "canonical": [canonical.encode(value).hex() for value in SPELLINGS],
    }


def log() -> list[dict[str, str]]:
    """A whole log: two installs, an agent, a turn answered, somebody leaves."""
    world = World("desktop", "laptop")
    world.seat("laptop", "echo")
    world.say("desktop", "Hello @echo", event_id="hello")
    (turn,) = world["desktop"].machine.state.open_turns()
    world.report("laptop", turn.turn_id, "running")
    world.answer("laptop", turn.turn_id, "Hello yourself \U0001f44b")
    world.do("desktop", "room.renamed", {"name": "Lab"})
    guest = world["laptop"].person.member_id
    world.do("laptop", "member.left", {"member_id": guest, "reason": "left"})
    return [line(e) for e in world["desktop"].disk.events]


def line(made: Event) -> dict[str, str]:
    """One event as `verify_log` reads it."""
    parts = {
        "p": made.proposal.raw,
        "author_sig": made.proposal.signature,
        "h": made.header,
        "authority_sig": made.signature,
    }
    return {name: base64.b64encode(data).decode() for name, data in parts.items()}


def as_lines(events: list[dict[str, str]]) -> str:
    """A log as JSON Lines."""
    return "".join(json.dumps(event) + "\n" for event in events)


VECTORS = {
    "proposal": proposal,
    "event": event,
    "grant": grant,
    "invitation": invitation,
    "key_chain": key_chain,
    "names": names,
}
