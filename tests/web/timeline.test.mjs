// Rows: stable keys, so that a draft becomes its message in place; groups, days, what is new.
import assert from "node:assert/strict";
import test from "node:test";

import { joined, withMessage, withState } from "../../mesh/web/pending.js";
import { applySignal } from "../../mesh/web/signal.js";
import { applyEvent, emptyRoom } from "../../mesh/web/store.js";
import { rowsOf, unreadOf } from "../../mesh/web/timeline.js";
import {
  AGENT, admitted, answers, delta, event, ME, member, MINUTE, ROOM, says,
} from "./plain_room.mjs";

const read = (...events) => events.reduce(applyEvent, emptyRoom(ROOM, 0));
const rows = (state, pending = [], unread_after = null) => rowsOf(state, pending, { unread_after });
const keys = (list) => list.map((row) => row.key);

test("a draft and its message have one key", () => {
  const asked = read(says(1, "@agent?"), admitted(2, "t1", 1));
  const writing = applySignal(asked, delta("t1", 0, "ye"), 0);
  const done = applyEvent(writing, answers(3, "yes", "t1"));
  assert.equal(rows(writing).at(-1).type, "draft");
  assert.equal(rows(done).at(-1).type, "message");
  assert.equal(rows(writing).at(-1).key, rows(done).at(-1).key);
});

test("an answer that is expected has a row before its first piece", () => {
  const last = rows(read(says(1, "@agent?"), admitted(2, "t1", 1))).at(-1);
  assert.deepEqual([last.type, last.turn.state], ["draft", "queued"]);
});

test("a message on its way and its event have one key, and never stand there twice", () => {
  const pending = withMessage([], "evt_x", "hello", 1);
  const before = rows(read(says(1, "a")), pending);
  const after = rows(read(says(1, "a"), says(2, "hello", { event_id: "evt_x" })), pending);
  assert.equal(before.at(-1).key, after.at(-1).key);
  assert.equal(after.filter((row) => row.key === "sent:evt_x").length, 1);
});

test("keys are unique", () => {
  const state = read(says(1, "a"), says(2, "b", { event_id: "evt_1", by: AGENT }),
    admitted(3, "t1", 1), answers(4, "c", "t1"), event(5, "room.renamed", { name: "x" }));
  assert.equal(new Set(keys(rows(state))).size, rows(state).length);
});

test("one author within five minutes stands under one head", () => {
  const at = new Date(2026, 0, 5, 12, 0).getTime();
  const list = rows(read(says(1, "a", { at }), says(2, "b", { at: at + MINUTE }),
    says(3, "c", { at: at + 20 * MINUTE }), says(4, "d", { at: at + 21 * MINUTE, by: AGENT })));
  assert.deepEqual(list.slice(1).map((row) => row.head), [true, false, true, true]);
});

test("a new day begins with its line", () => {
  const at = new Date(2026, 0, 5, 23, 59).getTime();
  const list = rows(read(says(1, "a", { at }), says(2, "b", { at: at + 2 * MINUTE })));
  assert.deepEqual(list.map((row) => row.type), ["day", "message", "day", "message"]);
  assert.equal(list[3].head, true);
});

test("what is new begins once, and not with our own message", () => {
  const state = read(says(1, "a"), says(2, "b", { by: AGENT }), says(3, "c", { by: AGENT }));
  assert.equal(rows(state, [], 1).filter((row) => row.type === "unread").length, 1);
  assert.equal(rows(state, [], 3).filter((row) => row.type === "unread").length, 0);
  const own = rows(read(says(1, "a"), says(2, "mine"), says(3, "b", { by: AGENT })), [], 1);
  assert.deepEqual(own.map((row) => row.type), ["day", "message", "message", "unread", "message"]);
});

test("unread counts messages of others and knows a mention", () => {
  const state = read(event(1, "member.joined", { member: member(ME, { handle: "Ada" }) }),
    says(2, "hi @ada", { by: AGENT }), says(3, "mine"), event(4, "room.renamed", { name: "x" }));
  assert.deepEqual(unreadOf(state, 1), { count: 1, mentioned: true });
  assert.deepEqual(unreadOf(state, 2), { count: 0, mentioned: false });
});

test("an answer says what it answers, unless that stands right above", () => {
  const right = read(says(1, "@agent?"), admitted(2, "t1", 1), answers(3, "yes", "t1"));
  assert.equal(rows(right).at(-1).reply, null);
  const later = read(says(1, "@agent?"), admitted(2, "t1", 1), says(3, "and?"),
    answers(4, "yes", "t1"));
  assert.equal(rows(later).at(-1).reply.seq, 1);
});

test("a turn that waits for a machine is said under the message it answers", () => {
  const state = read(says(1, "@agent?"), admitted(2, "t1", 1));
  const turn = { ...state.turns.get("t1"), state: "offline" };
  const list = rows(applySignal(state, { kind: "turn.state", turn }, 0));
  assert.equal(list.find((row) => row.type === "message").waits.length, 1);
  assert.equal(list.some((row) => row.type === "draft"), false);
});

test("a chain that was stopped is a line that says so", () => {
  const stopped = { turn_id: "t1", member_id: AGENT, reason: "budget_spent", message: "" };
  const line = rows(read(says(1, "a"), event(2, "turn.failed", stopped))).at(-1).line;
  assert.equal(line.state, "stopped");
  assert.match(line.parts.join(""), /^Stopped: loop/);
});

test("what the node holds in its outbox is shown too, once", () => {
  const own = withState(withMessage([], "e1", "a", 1), "e1", "waiting");
  const held = (event_id) => [event_id,
    { event_id, kind: "message.user", text: "t", queued_at: 2, state: "waiting", reason: null }];
  const list = joined(own, new Map([held("e1"), held("e2")]));
  assert.deepEqual(list.map((item) => [item.event_id, item.state]),
    [["e1", "waiting"], ["e2", "waiting"]]);
});
