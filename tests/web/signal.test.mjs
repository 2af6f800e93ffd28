// Signals decorate and never win against the log: drafts, turn states, presence, the host.
import assert from "node:assert/strict";
import test from "node:test";

import { draftText } from "../../mesh/web/draft.js";
import { applySignal } from "../../mesh/web/signal.js";
import { applyEvent, emptyRoom } from "../../mesh/web/store.js";
import { AGENT, admitted, answers, delta, event, member, ROOM, says } from "./plain_room.mjs";

const start = () => [says(1, "@agent?"), admitted(2, "t1", 1)].reduce(applyEvent, emptyRoom(ROOM, 0));
const hear = (state, ...signals) =>
  signals.reduce((now, signal) => applySignal(now, signal, 1_000), state);
const text = (state) => draftText(state.drafts.get("t1"));

test("pieces make the text, whatever their order", () => {
  assert.equal(text(hear(start(), delta("t1", 0, "one "), delta("t1", 1, "two"))), "one two");
  assert.equal(text(hear(start(), delta("t1", 1, "two"), delta("t1", 0, "one "))), "one two");
});

test("a piece is never shown twice", () => {
  const state = hear(start(), delta("t1", 0, "one"), delta("t1", 1, " two"));
  assert.equal(hear(state, delta("t1", 1, " two"), delta("t1", 0, "one")), state);
});

test("a missing piece is an ellipsis until it comes", () => {
  const hole = hear(start(), delta("t1", 0, "a "), delta("t1", 2, "c"));
  assert.equal(text(hole), "a … c");
  assert.equal(text(hear(hole, delta("t1", 1, "b "))), "a b c");
});

test("a page that opened in the middle says that it did", () => {
  assert.equal(text(hear(start(), delta("t1", 7, "end"))), "… end");
});

test("the event replaces the draft, and late pieces do not bring it back", () => {
  const written = hear(start(), delta("t1", 0, "half"));
  const final = applyEvent(written, answers(3, "half and half", "t1"));
  assert.equal(final.drafts.size, 0);
  assert.equal(hear(final, delta("t1", 1, " and half")), final);
});

test("a state that comes after the end changes nothing", () => {
  const final = applyEvent(start(), answers(3, "yes", "t1"));
  const turn = { ...final.turns.get("t1"), state: "running" };
  assert.equal(hear(final, { kind: "turn.state", turn }).turns.get("t1").state, "settled");
});

test("settled by signal waits for the event that carries the text", () => {
  const running = { ...start().turns.get("t1"), state: "running" };
  const state = hear(start(), { kind: "turn.state", turn: running }, delta("t1", 0, "x"));
  const told = hear(state, { kind: "turn.state", turn: { ...running, state: "settled" } });
  assert.equal(told.turns.get("t1").state, "running");
  assert.equal(text(told), "x");
});

test("what was written before a stop stays readable and is marked", () => {
  const written = hear(start(), delta("t1", 0, "half"));
  const ended = applyEvent(written, event(3, "turn.cancelled", { turn_id: "t1", member_id: AGENT }));
  assert.equal(ended.drafts.get("t1").ended, "cancelled");
  const nothing = applyEvent(start(), event(3, "turn.cancelled", { turn_id: "t1" }));
  assert.equal(nothing.drafts.size, 0);
});

test("going offline and back is a line each, unless nothing was said between", () => {
  const seated = applyEvent(start(), event(3, "member.joined", { member: member(AGENT) }));
  const here = hear(seated, { kind: "presence", member_id: AGENT, presence: "online" });
  assert.equal(here.notices.length, 0, "arriving is told by the event");
  const away = hear(here, { kind: "presence", member_id: AGENT, presence: "offline", since: 5 });
  assert.deepEqual(away.notices.map((one) => one.what), ["offline"]);
  const back = hear(away, { kind: "presence", member_id: AGENT, presence: "online", since: 6 });
  assert.deepEqual(back.notices.map((one) => one.what), ["online"]);
  const said = hear(applyEvent(away, says(4, "hm")),
    { kind: "presence", member_id: AGENT, presence: "online", since: 6 });
  assert.deepEqual(said.notices.map((one) => one.what), ["offline", "online"]);
});

test("presence of somebody unknown is ignored", () => {
  const state = hear(start(), { kind: "presence", member_id: "m_x", presence: "offline" });
  assert.equal(state.notices.length, 0);
});

test("the host's going and coming is told once each", () => {
  const signal = { kind: "authority", gateway_id: "install:bb", epoch: 1, since: 1 };
  const up = { ...start(), authority: { gateway_id: "install:bb", epoch: 1, link: "up" } };
  const down = hear(up, { ...signal, link: "down" });
  assert.equal(down.authority.link, "down");
  assert.deepEqual(down.notices.map((one) => one.what), ["authority_down"]);
  assert.equal(hear(down, { ...signal, link: "down" }).notices.length, 1);
});

test("a signal of a newer node is ignored", () => {
  const state = start();
  assert.equal(hear(state, { kind: "voice.speaking" }), state);
});
