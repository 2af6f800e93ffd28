/**
 * The rows of a room's page, made from its state: what stands where, and what belongs together.
 *
 * Rows have stable keys. The draft of an answer and the message that replaces it share one key
 * (`turn:ID`), and so do a message being sent and its event (`sent:ID`): the view keeps the same
 * element, so nothing jumps. Order is the log's; drafts and messages on their way come last.
 *
 * @import { RoomEvent, Turn } from "./surface.js"
 * @import { Draft } from "./draft.js"
 * @import { Pending, PendingMessage } from "./pending.js"
 * @import { Notice, RoomState } from "./store.js"
 * @import { Line } from "./system_lines.js"
 */

import { lineOf, lineOfNotice } from "./system_lines.js";
import { dayKey } from "./times.js";
import { isExpected, turnOf } from "./turn.js";

/** Messages of one author closer than this stand under one head. */
export const GROUP_SPAN_MS = 5 * 60_000;

/**
 * @typedef {{type: "day", key: string, at: number}} DayRow
 * @typedef {{type: "unread", key: string}} UnreadRow
 * @typedef {{type: "system", key: string, at: number, seq: number, line: Line}} SystemRow
 * @typedef {{type: "message", key: string, event: RoomEvent, head: boolean,
 *   reply: RoomEvent|null, waits: readonly Turn[]}} MessageRow
 * @typedef {{type: "draft", key: string, turn: Turn|null, draft: Draft|null, member_id: string,
 *   reply: RoomEvent|null}} DraftRow
 * @typedef {{type: "pending", key: string, item: PendingMessage, head: boolean}} PendingRow
 * @typedef {DayRow|UnreadRow|SystemRow|MessageRow|DraftRow|PendingRow} Row
 */

/**
 * @param {RoomEvent} event
 * @returns {boolean}
 */
export function isMessage(event) {
  return event.kind === "message.user" || event.kind === "message.member";
}

/**
 * All rows, top to bottom.
 * @param {RoomState} state
 * @param {Pending} pending
 * @param {{unread_after: number|null}} marks the last seq that had been read on opening
 * @returns {Row[]}
 */
export function rowsOf(state, pending, marks) {
  const waits = waitsByTrigger(state);
  /** @type {Row[]} */
  const rows = [];
  let day = "";
  /** @type {RoomEvent|null} */
  let previous = null;
  let unread = marks.unread_after;
  const notices = [...state.notices, ...endedDrafts(state)].sort((a, b) => seqOf(a) - seqOf(b));
  let next = 0;
  /** @type {Map<string, string>} what each member was last said to be allowed */
  const allowances = new Map();
  for (const event of state.events) {
    if (isRenewal(event, allowances)) continue;
    for (; next < notices.length && seqOf(notices[next]) < event.seq; next += 1) {
      previous = pushAside(rows, state, notices[next]) ? null : previous;
    }
    const row = rowOf(state, event, previous, waits);
    if (row === null) continue;
    if (dayKey(event.admitted_at) !== day) {
      day = dayKey(event.admitted_at);
      rows.push({ type: "day", key: `day:${day}`, at: event.admitted_at });
      if (row.type === "message") row.head = true;
    }
    // Our own message, written in another browser, is not what is new.
    const isNew = unread !== null && event.seq > unread && event.actor.id !== state.room.me;
    if (isNew && isMessage(event)) {
      rows.push({ type: "unread", key: "unread" });
      unread = null;
      if (row.type === "message") row.head = true;
    }
    rows.push(row);
    previous = isMessage(event) ? event : null;
  }
  for (; next < notices.length; next += 1) pushAside(rows, state, notices[next]);
  return [...rows, ...draftRows(state), ...pendingRows(state, pending, previous)];
}

/**
 * A route that is registered again with the same permissions says nothing new.
 * @param {RoomEvent} event
 * @param {Map<string, string>} allowances kept up to date here
 */
function isRenewal({ kind, payload }, allowances) {
  if (kind === "grant.revoked" || kind === "route.revoked") allowances.delete(payload.member_id);
  if (kind !== "route.registered") return false;
  const permissions = String(payload.permissions);
  const isSame = allowances.get(payload.member_id) === permissions;
  allowances.set(payload.member_id, permissions);
  return isSame;
}

/**
 * Messages of others after a seq, and whether one of them mentions the reader.
 * @param {RoomState} state
 * @param {number} read_seq
 * @returns {{count: number, mentioned: boolean}}
 */
export function unreadOf(state, read_seq) {
  const handle = state.room.me ? state.members.get(state.room.me)?.handle : undefined;
  let count = 0;
  let mentioned = false;
  for (let at = state.events.length - 1; at >= 0; at -= 1) {
    const event = state.events[at];
    if (event === undefined || event.seq <= read_seq) break;
    if (!isMessage(event) || event.actor.id === state.room.me) continue;
    count += 1;
    const text = String(event.payload.text ?? "").toLowerCase();
    if (handle && text.includes(`@${handle.toLowerCase()}`)) mentioned = true;
  }
  return { count, mentioned };
}

/**
 * @param {Notice|Draft|undefined} aside
 * @returns {number}
 */
function seqOf(aside) {
  if (aside === undefined) return 0;
  return "pieces" in aside ? aside.ended_after_seq : aside.after_seq;
}

/**
 * @param {RoomState} state
 * @returns {Draft[]}
 */
function endedDrafts(state) {
  return [...state.drafts.values()].filter((draft) => draft.ended !== null);
}

/**
 * @param {Row[]} rows
 * @param {RoomState} state
 * @param {Notice|Draft|undefined} aside
 * @returns {boolean} true when a row was added
 */
function pushAside(rows, state, aside) {
  if (aside === undefined) return false;
  if ("pieces" in aside) {
    const turn = state.turns.get(aside.turn_id) ?? null;
    const { member_id } = aside;
    const key = `turn:${aside.turn_id}`;
    rows.push({ type: "draft", key, turn, draft: aside, member_id, reply: null });
    return true;
  }
  const line = lineOfNotice(aside, state.members);
  if (line === null) return false;
  rows.push({ type: "system", key: aside.key, at: aside.at, seq: 0, line });
  return true;
}

/**
 * @param {RoomState} state
 * @param {RoomEvent} event
 * @param {RoomEvent|null} previous the message right above, if a message is
 * @param {ReadonlyMap<number, Turn[]>} waits
 * @returns {MessageRow|SystemRow|null}
 */
function rowOf(state, event, previous, waits) {
  if (!isMessage(event)) {
    const line = lineOf(event, state.members);
    if (line === null) return null;
    return { type: "system", key: `seq:${event.seq}`, at: event.admitted_at, seq: event.seq, line };
  }
  const turn_id = turnOf(event);
  const own = event.actor.id === state.room.me;
  return {
    type: "message",
    key: turn_id ? `turn:${turn_id}` : own ? `sent:${event.event_id}` : `seq:${event.seq}`,
    event,
    head: !follows(previous, event.actor.id, event.admitted_at),
    reply: turn_id ? replyTo(state, turn_id, previous) : null,
    waits: waits.get(event.seq) ?? [],
  };
}

/**
 * @param {RoomEvent|null} previous
 * @param {string|null} member_id
 * @param {number} at
 */
function follows(previous, member_id, at) {
  return (
    previous !== null &&
    previous.actor.id === member_id &&
    at - previous.admitted_at < GROUP_SPAN_MS
  );
}

/**
 * The message a turn answers, unless it is the one right above.
 * @param {RoomState} state
 * @param {string} turn_id
 * @param {RoomEvent|null} previous
 * @returns {RoomEvent|null}
 */
function replyTo(state, turn_id, previous) {
  const seq = state.turns.get(turn_id)?.trigger_seq;
  if (!seq || previous?.seq === seq) return null;
  return state.events[seq - state.first_seq] ?? null;
}

/**
 * Turns that wait for something, to be said under the message they answer.
 * @param {RoomState} state
 * @returns {Map<number, Turn[]>}
 */
function waitsByTrigger(state) {
  /** @type {Map<number, Turn[]>} */
  const waits = new Map();
  for (const turn of state.turns.values()) {
    if (turn.state !== "offline" && turn.state !== "uncertain") continue;
    waits.set(turn.trigger_seq, [...(waits.get(turn.trigger_seq) ?? []), turn]);
  }
  return waits;
}

/**
 * @param {RoomState} state
 * @returns {DraftRow[]}
 */
function draftRows(state) {
  const last = state.events.findLast(isMessage) ?? null;
  /** @type {Map<string, DraftRow>} */
  const rows = new Map();
  for (const turn of state.turns.values()) {
    if (!isExpected(turn)) continue;
    const draft = state.drafts.get(turn.turn_id) ?? null;
    const reply = replyTo(state, turn.turn_id, last);
    const key = `turn:${turn.turn_id}`;
    rows.set(key, { type: "draft", key, turn, draft, member_id: turn.member_id, reply });
  }
  for (const draft of state.drafts.values()) {
    const key = `turn:${draft.turn_id}`;
    if (draft.ended !== null || rows.has(key)) continue;
    const turn = state.turns.get(draft.turn_id) ?? null;
    rows.set(key, { type: "draft", key, turn, draft, member_id: draft.member_id, reply: null });
  }
  return [...rows.values()];
}

/**
 * @param {RoomState} state
 * @param {Pending} pending
 * @param {RoomEvent|null} previous
 * @returns {PendingRow[]}
 */
function pendingRows(state, pending, previous) {
  const held = new Set();
  for (const event of state.events) {
    if (event.actor.id === state.room.me) held.add(event.event_id);
  }
  return pending
    .filter((item) => !held.has(item.event_id))
    .map((item, at) => ({
      type: /** @type {const} */ ("pending"),
      key: `sent:${item.event_id}`,
      item,
      head: at === 0 && !follows(previous, state.room.me, item.at),
    }));
}
