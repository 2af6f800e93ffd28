"""Verifies a room's whole log from its bytes alone: chain, digests, signatures.

    python verify_log.py FILE        one event a line: {"p", "author_sig", "h", "authority_sig"},
                                     each base64; prints what it found, exits 1 at the first fault

It imports nothing of the project, so that a fault in the product cannot hide behind itself: what
it knows of the formats it has from docs/protocol.md. Keys are those that the log itself names:
the founder's in the first event, each install's in the seat of its first member.
"""

import base64
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

EVENT_DOMAIN: Final = b"roommesh/v1/event\0"
PROPOSAL_DOMAIN: Final = b"roommesh/v1/proposal\0"
GENESIS: Final = "0" * 64


class Fault(Exception):
    """The log is not what it says it is."""


def canonical(value: Any) -> bytes:
    """RFC 8785 for the values that occur here: integers, text, lists, ASCII keys."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
    ).encode()


def parsed(data: bytes) -> dict[str, Any]:
    """A strict JSON object whose bytes are its canonical form. Raises Fault."""
    value: Any = json.loads(data, object_pairs_hook=_without_duplicates)
    if not isinstance(value, dict) or canonical(value) != data:
        raise Fault("the bytes are not canonical JSON")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise Fault("a key occurs twice")
    return made


def check_signature(key: bytes, domain: bytes, data: bytes, signature: bytes, whose: str) -> None:
    """Raises Fault unless the key's owner signed that."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, domain + data)
    except InvalidSignature:
        raise Fault(f"the {whose}'s signature does not hold") from None


class Log:
    """What the events so far have established."""

    def __init__(self) -> None:
        self.seq = 0
        self.hash = GENESIS
        self.room_id = ""
        self.authority = ""
        self.keys: dict[str, bytes] = {}
        self.homes: dict[str, str] = {}
        self.ids: set[tuple[str, str]] = set()

    def take(self, p: bytes, author_sig: bytes, h: bytes, authority_sig: bytes) -> None:
        """Check the next event and learn from it. Raises Fault."""
        said, header = parsed(p), parsed(h)
        self._check_place(said, header, p)
        self._learn(said)
        home = self.homes.get(said["member_id"])
        if home is None:
            raise Fault("its author was never seated")
        check_signature(self.keys[home], PROPOSAL_DOMAIN, p, author_sig, "author")
        check_signature(self.keys[self.authority], EVENT_DOMAIN, h, authority_sig, "authority")
        self.seq = header["seq"]
        self.hash = hashlib.sha256(EVENT_DOMAIN + h).hexdigest()

    def _check_place(self, said: dict[str, Any], header: dict[str, Any], p: bytes) -> None:
        self.room_id = self.room_id or said["room_id"]
        if said["room_id"] != self.room_id or header["room_id"] != self.room_id:
            raise Fault("it belongs to another room")
        if header["seq"] != self.seq + 1:
            raise Fault(f"seq {header['seq']} comes after {self.seq}")
        if header["prev_hash"] != self.hash:
            raise Fault("it does not link to the event before")
        if header["epoch"] != (0 if header["seq"] == 1 else 1):
            raise Fault(f"epoch {header['epoch']} was never proved")
        if header["digest"] != hashlib.sha256(p).hexdigest():
            raise Fault("its header is about another proposal")
        if any(header[name] != said[name] for name in ("kind", "event_id")):
            raise Fault("its header names another kind or id")
        name = (said["member_id"], said["event_id"])
        if name in self.ids:
            raise Fault("its id occurs twice")
        self.ids.add(name)

    def _learn(self, said: dict[str, Any]) -> None:
        """Seats name members, their installs and the installs' keys."""
        payload = said["payload"]
        if said["kind"] == "room.created":
            if self.seq != 0:
                raise Fault("the room is created twice")
            self.authority = payload["authority_gateway_id"]
            self._seat(payload["founder"])
            self.homes[self.authority] = self.authority
            if payload["founder"]["install_id"] != self.authority:
                raise Fault("the founder does not live on the authority")
        elif self.seq == 0:
            raise Fault("the log does not begin with the room's creation")
        elif said["kind"] == "member.joined":
            self._seat(payload["member"])

    def _seat(self, seat: dict[str, Any]) -> None:
        install, key = seat["install_id"], bytes.fromhex(seat["public_key"])
        if install != "install:" + hashlib.sha256(key).hexdigest()[:32]:
            raise Fault("an install's key is not the one it is named after")
        self.keys.setdefault(install, key)
        self.homes[seat["member_id"]] = install


def read(path: str) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    """The events of a file."""
    decode: Callable[[str], bytes] = base64.b64decode
    with open(path, encoding="ascii") as file:
        for line in file:
            row = json.loads(line)
            yield (
                decode(row["p"]), decode(row["author_sig"]),
                decode(row["h"]), decode(row["authority_sig"]),
            )


def main(path: str) -> int:
    """Verify a file. Returns 0, or 1 after saying what is wrong."""
    log = Log()
    for event in read(path):
        try:
            log.take(*event)
        except Fault as fault:
            print(f"event {log.seq + 1}: {fault}")
            return 1
    print(f"{log.seq} events, {2 * log.seq} signatures, head {log.hash}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python verify_log.py FILE")
    sys.exit(main(sys.argv[1]))
