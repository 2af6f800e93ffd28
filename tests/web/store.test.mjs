// The state of a room: events once and in order, holes noticed, other histories noticed.
import assert from "node:assert/strict";
import test from "node:test";

import { applyAnswer, applyEvent, applyOlder, emptyRoom, trimmed } from "../../mesh/web/store.js";
import { AGENT, admitted, answers, event, ME, member, ROOM, says } from "./plain_room.mjs";

const read = (events, since = 0) => events.reduce(applyEvent, emptyRoom(ROOM, since));
const seqs = (state) => state.events.map((one) => one.seq);

test("events are taken in order", () => {
  const state = read([says(1, "a"), says(2, "b"), says(3, "c")]);
  assert.deepEqual(seqs(state), [1, 2, 3]);
  assert.equal(state.last_seq, 3);
});

test("an event that is already here changes nothing at all", () => {
  const state = read([says(1, "a"), says(2, "b")]);
  assert.equal(applyEvent(state, says(1, "a")), state);
  assert.equal(applyEvent(state, says(2, "b")), state);
});

test("an event older than the window is not taken for a new one", () => {
  const state = read([says(11, "a")], 10);
  assert.equal(applyEvent(state, says(4, "old")), state);
});

test("an event from further ahead is not taken, and the hole is known", () => {
  const state = applyEvent(read([says(1, "a")]), says(4, "d"));
  assert.deepEqual(seqs(state), [1]);
  assert.equal(state.missing_from, 1);
  assert.equal(state.latest_seq, 4);
});

test("the hole closes when everything up to the newest was read", () => {
  const hole = applyEvent(read([says(1, "a")]), says(4, "d"));
  const almost = [says(2, "b"), says(3, "c")].reduce(applyEvent, hole);
  assert.equal(almost.missing_from, 3);
  assert.equal(applyEvent(almost, says(4, "d")).missing_from, null);
});

test("another hash for a seq that is here is another history", () => {
  const state = read([says(1, "a"), says(2, "b")]);
  assert.equal(applyEvent(state, says(2, "b", { hash: "other" })).forked, true);
  assert.equal(state.forked, false);
});

test("older events fit only right before the first one", () => {
  const state = read([says(6, "f")], 5);
  assert.deepEqual(seqs(applyOlder(state, [says(4, "d"), says(5, "e")])), [4, 5, 6]);
  assert.equal(applyOlder(state, [says(3, "c"), says(4, "d")]), state);
  assert.equal(applyOlder(state, []), state);
});

test("a turn whose admission is further up keeps its end", () => {
  const state = read([answers(6, "yes", "t1")], 5);
  const whole = applyOlder(state, [says(4, "@agent?"), admitted(5, "t1", 4)]);
  assert.equal(whole.turns.get("t1").state, "settled");
  assert.equal(whole.turns.get("t1").trigger_seq, 4);
});

test("trimming keeps the newest and the arithmetic of seq", () => {
  const state = trimmed(read([says(1, "a"), says(2, "b"), says(3, "c")]), 2);
  assert.deepEqual(seqs(state), [2, 3]);
  assert.equal(state.first_seq, 2);
  assert.equal(applyOlder(state, [says(1, "a")]).first_seq, 1);
});

test("members join, are muted, leave, and stay known", () => {
  const seat = member(AGENT);
  const joined = applyEvent(read([]), event(1, "member.joined", { member: seat }));
  assert.equal(joined.members.get(AGENT).presence, "joining");
  const muted = applyEvent(joined, event(2, "member.muted", { member_id: AGENT, muted: true }));
  assert.equal(muted.members.get(AGENT).muted, true);
  const left = applyEvent(muted, event(3, "member.left", { member_id: AGENT, reason: "left" }));
  assert.equal(left.members.get(AGENT).presence, "left");
});

test("a withdrawn loan shows on the member", () => {
  const state = read([event(1, "member.joined", { member: member(AGENT) })]);
  const after = applyEvent(state, event(2, "grant.revoked", { member_id: AGENT, reason: "x" }));
  assert.equal(after.members.get(AGENT).presence, "withdrawn");
});

test("the name and the end of a room come from the log", () => {
  const renamed = read([event(1, "room.created", { name: "A" }), event(2, "room.renamed", { name: "B" })]);
  assert.equal(renamed.room.name, "B");
  const closed = applyEvent(renamed, event(3, "room.disbanded"));
  assert.notEqual(closed.room.disbanded_at, null);
});

test("the answer of groups.state replaces members, outbox and rules", () => {
  const queued = { event_id: "e1", kind: "message.user", text: "x", queued_at: 1, state: "waiting" };
  const answer = {
    room: ROOM, members: [member(ME)], authority: { gateway_id: "install:aa", epoch: 2 },
    turns: [], outbox: [queued], policy: { budget: 3 }, latest_seq: 9, protected_seq: 8,
  };
  const state = applyAnswer(read([says(1, "a")]), answer);
  assert.equal(state.stated, true);
  assert.equal(state.latest_seq, 9);
  assert.equal(state.policy.budget, 3);
  assert.equal(state.outbox.get("e1").text, "x");
  assert.equal(applyEvent(state, says(2, "x", { event_id: "e1" })).outbox.size, 0);
});

test("somebody else's event with our event_id does not take our message off the outbox", () => {
  const queued = { event_id: "e1", kind: "message.user", text: "x", queued_at: 1, state: "waiting" };
  const state = { ...read([]), outbox: new Map([["e1", queued]]) };
  const after = applyEvent(state, says(1, "no", { event_id: "e1", by: AGENT }));
  assert.equal(after.outbox.size, 1);
});
