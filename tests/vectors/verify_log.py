"""Verifies a whole exported log with nothing of this project: a second reading of docs/protocol.md.

    python tests/vectors/verify_log.py LOG.jsonl [LOG.jsonl ...]

A line is one event: `{"p", "author_sig", "h", "authority_sig"}`, each base64. Checked for every
event: P and H are canonical bytes; H is about this P; seq is dense and prev_hash is the hash of
the event before; the epoch never goes back; the authority that the first event names signed H;
the author was seated at that seq and its install signed P; no event id occurs twice. Several
files must agree as far as the shorter of them goes. Prints a line per file; exits 1 on a fault.

It imports only the standard library and `cryptography`: not our code, not our Ed25519.
"""

import base64
import hashlib
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

P_FIELDS = {"room_id", "event_id", "kind", "member_id", "payload", "cause", "created_at_ms"}
H_FIELDS = {
    "room_id", "epoch", "seq", "prev_hash", "kind", "event_id", "digest", "admitted_at_ms",
}
BY_AUTHORITY = {
    "turn.admitted", "turn.started", "turn.settled", "turn.passed", "turn.failed",
    "turn.uncertain", "route.registered", "route.revoked", "proposal.voided",
}


class BrokenLogError(Exception):
    """The log is not what it claims to be; says at which line and why."""


@dataclass
class Log:
    """What was read and found right so far. `hashes[n]` is the hash of seq n + 1."""

    room_id: str = ""
    authority_id: str = ""
    authority_key: bytes = b""
    epoch: int = 0
    hashes: list[str] = field(default_factory=list)
    keys: dict[str, bytes] = field(default_factory=dict)
    homes: dict[str, tuple[str, str]] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)


def verify(lines: Iterable[str]) -> Log:
    """Read a log from its first event on.

    Raises:
        BrokenLogError: at the first event that does not hold.
    """
    log = Log()
    for number, line in enumerate(lines, 1):
        try:
            _take(log, line)
        except (BrokenLogError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BrokenLogError(f"line {number}: {error!r}") from error
    return log


def _take(log: Log, line: str) -> None:
    parts = json.loads(line)
    _need(parts.keys() == {"p", "author_sig", "h", "authority_sig"}, "fields of the line")
    p_bytes, author_sig, h_bytes, authority_sig = (
        base64.b64decode(parts[name], validate=True)
        for name in ("p", "author_sig", "h", "authority_sig")
    )
    p, h = _canonical(p_bytes, P_FIELDS), _canonical(h_bytes, H_FIELDS)
    _need(h["digest"] == hashlib.sha256(p_bytes).hexdigest(), "H is not about this P")
    for name in ("room_id", "kind", "event_id"):
        _need(h[name] == p[name], f"P and H differ in {name}")
    _need(h["seq"] == len(log.hashes) + 1, "seq is not dense")
    _need(h["prev_hash"] == (log.hashes[-1] if log.hashes else "0" * 64), "the chain is broken")
    _need(h["epoch"] >= log.epoch, "the epoch goes back")
    if not log.hashes:
        _found(log, p)
    _need(p["room_id"] == log.room_id, "another room")
    event_key = hashlib.sha256(f"{p['member_id']}\0{p['event_id']}".encode()).hexdigest()
    _need(event_key not in log.ids, "an event id occurs twice")
    _signed(log.authority_key, b"event", h_bytes, authority_sig)
    _signed(_author_key(log, p), b"proposal", p_bytes, author_sig)
    _seat(log, p)
    log.ids.add(event_key)
    log.epoch = h["epoch"]
    log.hashes.append(hashlib.sha256(b"roommesh/v1/event\0" + h_bytes).hexdigest())


def _found(log: Log, p: dict[str, Any]) -> None:
    _need(p["kind"] == "room.created", "the first event creates no room")
    seat = p["payload"]["founder"]
    log.room_id, log.authority_id = p["room_id"], p["payload"]["authority_gateway_id"]
    log.authority_key = _own_key(seat)
    _need(seat["install_id"] == log.authority_id, "the founder lives elsewhere")


def _author_key(log: Log, p: dict[str, Any]) -> bytes:
    if p["kind"] in BY_AUTHORITY:
        _need(p["member_id"] == log.authority_id, "an authority's kind by somebody else")
        return log.authority_key
    if p["kind"] in {"room.created", "member.joined"}:
        seat = p["payload"]["founder" if p["kind"] == "room.created" else "member"]
        _need(seat["member_id"] == p["member_id"], "a seat is taken by another member")
        _need(seat["member_id"] not in log.keys, "a member is seated twice")
        return _own_key(seat)
    _need(p["member_id"] in log.homes, "the author is not in the room")
    return log.keys[p["member_id"]]


def _seat(log: Log, p: dict[str, Any]) -> None:
    if p["kind"] in {"room.created", "member.joined"}:
        seat = p["payload"]["founder" if p["kind"] == "room.created" else "member"]
        log.keys[seat["member_id"]] = _own_key(seat)
        log.homes[seat["member_id"]] = (seat["kind"], seat["install_id"])
    elif p["kind"] == "member.left":
        kind, install_id = log.homes.pop(p["payload"]["member_id"])
        if kind == "person":  # who leaves takes its agents along
            log.homes = {m: (k, i) for m, (k, i) in log.homes.items() if i != install_id}


def _own_key(seat: dict[str, Any]) -> bytes:
    key = bytes.fromhex(seat["public_key"])
    named = "install:" + hashlib.sha256(key).hexdigest()[:32]
    _need(seat["install_id"] == named, "the key is not that install's")
    return key


def _signed(key: bytes, kind: bytes, data: bytes, signature: bytes) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(
            signature, b"roommesh/v1/" + kind + b"\0" + data
        )
    except InvalidSignature:
        raise BrokenLogError(f"the signature of the {kind.decode()} does not hold") from None


def _canonical(data: bytes, fields: set[str]) -> dict[str, Any]:
    """Read strict JSON and compare it with its one spelling."""

    def no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _need(len(dict(pairs)) == len(pairs), "a key occurs twice")
        return dict(pairs)

    value = json.loads(data.decode("utf-8"), object_pairs_hook=no_doubles)
    _need(isinstance(value, dict) and value.keys() == fields, "unknown fields")
    _need(_spell(value).encode() == data, "bytes that are not canonical")
    found: dict[str, Any] = value
    return found


def _spell(value: Any) -> str:
    """RFC 8785 with integers only."""
    if isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be"))
        return "{" + ",".join(f"{_spell(k)}:{_spell(v)}" for k, v in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_spell, value)) + "]"
    _need(not isinstance(value, float), "a number with a fraction")
    if type(value) is int:
        _need(abs(value) < 2**53, "a number too large")
    return json.dumps(value, ensure_ascii=False)


def _need(right: bool, what: str) -> None:
    if not right:
        raise BrokenLogError(what)


def main(paths: list[str]) -> int:
    """Verify each file and compare them. Returns the exit status."""
    logs: list[tuple[str, Log]] = []
    for path in paths:
        try:
            with Path(path).open(encoding="utf-8") as lines:
                logs.append((path, verify(lines)))
        except (BrokenLogError, OSError) as error:
            print(f"{path}: BROKEN: {error}")
            return 1
    for path, log in logs:
        head = log.hashes[-1] if log.hashes else "-"
        print(f"{path}: {len(log.hashes)} events, {len(log.keys)} members, head {head}")
    longest = max((log.hashes for _, log in logs), key=len, default=[])
    for path, log in logs:
        if longest[: len(log.hashes)] != log.hashes:
            print(f"{path}: FORK: another log than the longest")
            return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(str(__doc__))
    sys.exit(main(sys.argv[1:]))
