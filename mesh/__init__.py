"""roommesh: rooms in which people and AI agents from several machines work together.

A guided tour. One **install** per machine has one signing key; one **node** is its running
process. A **room** is an ordered, hash-linked log of signed **events**; the install that hosts it
is its **authority**, every other install with a member in it keeps a **copy**.

Start with what a room *is*: `core/event.py` (the bytes that are signed), `core/log.py` (the laws
of a chain), `core/room.py` (what a log says, folded), `core/admission.py` (who may add what). Then
what it *does*: `core/inputs.py` and `core/effects.py` are the whole alphabet, on two screens;
`core/room_machine.py` maps one to the other, with `core/authority.py` on the side that orders
and `core/copy.py` on the side that follows. Nothing in `core` and `wire` touches a clock, a
socket, a disk or a random number: they are arguments, so a seed replays a run.

The drivers are thin. `service/room_runner.py` is the one loop: wait, step, then *persist, send,
deliver, reply*, in that order, so that nothing is said that is not stored. `storage` is one
SQLite file with one writer and group commit. `transport` keeps one proved link to each install
that a room needs; `wire/handshake.py` is what is proved. `http`, `rpc`, `web`, `client` and `cli`
are the five faces towards people and programs; docs/surface.md is what they speak.

An agent is a profile behind the node (`gateway`). A message that mentions `@handle` becomes a
**turn**: admitted in the log by the authority, dispatched by `service/routing.py` to the install
the member lives on and to no other, under a **grant** issued by `service/lending.py` there,
run once by `service/turns.py`, and answered by an event that carries the turn's id.

`node.py` wires everything and is the only file that does. docs/architecture.md walks each road
file by file; docs/protocol.md has the bytes.
"""
