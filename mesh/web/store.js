/**
 * What the page knows of one room: a value, and functions from (value, what came in) to value.
 *
 * The log is the truth. Events are taken once, in order of `seq`, without a gap: one that is
 * already here is dropped, one from further ahead is not taken but noted in `missing_from`, and
 * the feed then asks for what lies between. A different hash for a seq that is already here
 * sets `forked`: the log was rewound, and the feed starts over. What signals add to this value is
 * in signal.js. No clock, no network, no DOM.
 *
 * @import { Authority, Member, Policy, Queued, Room, RoomAnswer, RoomEvent, Turn }
 *   from "./surface.js"
 * @import { Draft } from "./draft.js"
 */

import { foldMemberEvent } from "./member.js";
import { foldTurnAnswer, foldTurnEvent, turnOf } from "./turn.js";

/**
 * @typedef {{key: string, after_seq: number, at: number, member_id: string|null,
 *   what: string, reason: string|null}} Notice
 *
 * @typedef {{
 *   room: Room, events: readonly RoomEvent[], first_seq: number, last_seq: number,
 *   latest_seq: number, protected_seq: number, members: ReadonlyMap<string, Member>,
 *   turns: ReadonlyMap<string, Turn>, drafts: ReadonlyMap<string, Draft>,
 *   authority: Authority, policy: Policy, outbox: ReadonlyMap<string, Queued>,
 *   notices: readonly Notice[], missing_from: number|null, forked: boolean, stated: boolean
 * }} RoomState
 */

/**
 * A room of which nothing after `since_seq` has been read yet.
 * @param {Room} room
 * @param {number} since_seq
 * @returns {RoomState}
 */
export function emptyRoom(room, since_seq) {
  return {
    room,
    events: [],
    first_seq: since_seq + 1,
    last_seq: since_seq,
    latest_seq: room.latest_seq,
    protected_seq: room.protected_seq,
    members: new Map(),
    turns: new Map(),
    drafts: new Map(),
    authority: { gateway_id: room.authority_gateway_id, epoch: room.authority_epoch },
    policy: {},
    outbox: new Map(),
    notices: [],
    missing_from: null,
    forked: false,
    stated: false,
  };
}

/**
 * The answer of `groups.state`: members, turns, authority, outbox, all of them anew.
 * @param {RoomState} state
 * @param {RoomAnswer} answer
 * @returns {RoomState}
 */
export function applyAnswer(state, answer) {
  const members = new Map(state.members);
  for (const member of answer.members ?? []) members.set(member.member_id, member);
  let turns = state.turns;
  for (const turn of answer.turns ?? []) turns = foldTurnAnswer(turns, turn);
  return {
    ...state,
    room: answer.room ?? state.room,
    members,
    turns,
    authority: answer.authority ?? state.authority,
    policy: answer.policy ?? {},
    outbox: new Map((answer.outbox ?? []).map((item) => [item.event_id, item])),
    latest_seq: Math.max(state.last_seq, answer.latest_seq ?? 0),
    protected_seq: Math.max(state.protected_seq, answer.protected_seq ?? 0),
    stated: true,
  };
}

/**
 * One event of the log.
 * @param {RoomState} state
 * @param {RoomEvent} event
 * @returns {RoomState} the same state when the event is already here
 */
export function applyEvent(state, event) {
  if (event.seq <= state.last_seq) {
    const held = state.events[event.seq - state.first_seq];
    const forked = held !== undefined && held.hash !== event.hash;
    return forked ? { ...state, forked: true } : state;
  }
  if (event.seq > state.last_seq + 1) {
    return { ...state, missing_from: state.last_seq, latest_seq: latest(state, event) };
  }
  const missing = state.missing_from !== null && event.seq < state.latest_seq;
  return {
    ...state,
    room: foldRoom(state.room, event),
    events: [...state.events, event],
    last_seq: event.seq,
    latest_seq: latest(state, event),
    members: foldMemberEvent(state.members, event),
    turns: foldTurnEvent(state.turns, event),
    drafts: foldDrafts(state.drafts, event),
    outbox: withoutKey(state.outbox, arrived(state, event)),
    missing_from: missing ? event.seq : null,
  };
}

/**
 * Events older than the first one held, in order and ending right before it.
 * @param {RoomState} state
 * @param {readonly RoomEvent[]} page
 * @returns {RoomState} the same state when the page does not fit
 */
export function applyOlder(state, page) {
  const older = page.filter((event) => event.seq < state.first_seq);
  const last = older.at(-1);
  const first = older[0];
  if (first === undefined || last === undefined || last.seq !== state.first_seq - 1) return state;
  /** @type {ReadonlyMap<string, Turn>} */
  let turns = new Map();
  for (const event of older) turns = foldTurnEvent(turns, event);
  const merged = new Map(turns);
  for (const [turn_id, turn] of state.turns) {
    const known = turns.get(turn_id);
    const trigger_seq = turn.trigger_seq || known?.trigger_seq || 0;
    merged.set(turn_id, { ...known, ...turn, trigger_seq });
  }
  return { ...state, events: [...older, ...state.events], first_seq: first.seq, turns: merged };
}

/**
 * Keeps only the newest events, for rooms that nobody is reading.
 * @param {RoomState} state
 * @param {number} keep
 * @returns {RoomState}
 */
export function trimmed(state, keep) {
  if (state.events.length <= keep) return state;
  const events = state.events.slice(-keep);
  return { ...state, events, first_seq: state.last_seq - events.length + 1 };
}

/**
 * @param {RoomState} state
 * @param {RoomEvent} event
 */
function latest(state, event) {
  return Math.max(state.latest_seq, event.seq);
}

/**
 * @param {Room} room
 * @param {RoomEvent} event
 * @returns {Room}
 */
function foldRoom(room, event) {
  const { payload, admitted_at, seq } = event;
  const moved = { ...room, latest_seq: Math.max(room.latest_seq, seq), updated_at: admitted_at };
  switch (event.kind) {
    case "room.created":
    case "room.renamed":
      return { ...moved, name: payload.name };
    case "room.disbanded":
      return { ...moved, disbanded_at: admitted_at };
    default:
      return moved;
  }
}

/**
 * @param {ReadonlyMap<string, Draft>} drafts
 * @param {RoomEvent} event
 * @returns {ReadonlyMap<string, Draft>}
 */
function foldDrafts(drafts, event) {
  const turn_id = turnOf(event) ?? event.payload.turn_id;
  const draft = drafts.get(turn_id);
  if (draft === undefined) return drafts;
  const ended = event.kind === "turn.cancelled" ? "cancelled" : "failed";
  if (["turn.cancelled", "turn.failed"].includes(event.kind) && draft.pieces.size > 0) {
    // What was written so far stays readable on this page, marked as not posted.
    const kept = { ...draft, ended, ended_after_seq: event.seq, activity: null };
    return new Map(drafts).set(turn_id, /** @type {Draft} */ (kept));
  }
  const over = ["message.member", "turn.settled", "turn.passed", "turn.failed", "turn.cancelled"];
  return over.includes(event.kind) ? withoutKey(drafts, turn_id) : drafts;
}

/**
 * The event_id of ours that this event brought home, or "".
 * @param {RoomState} state
 * @param {RoomEvent} event
 */
function arrived(state, event) {
  if (event.kind === "proposal.voided") return event.payload.event_id;
  return event.actor.id === state.room.me ? event.event_id : "";
}

/**
 * @template V
 * @param {ReadonlyMap<string, V>} map
 * @param {string} key
 * @returns {ReadonlyMap<string, V>}
 */
function withoutKey(map, key) {
  if (!map.has(key)) return map;
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
