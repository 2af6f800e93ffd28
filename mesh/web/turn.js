/**
 * Turns, folded from events and signals.
 *
 * A turn is one agent member's answer to one event. The log says when it was admitted and how
 * it ended; signals say in between that it was dispatched, is running or waits for an install
 * that is offline. The log wins: a signal that arrives after the end changes nothing. Pure.
 *
 *   queued -> dispatched -> running -> settled | passed | failed | cancelled
 *      \________ offline, stopping, uncertain: seen on the way, not an end
 *
 * @import { RoomEvent, Turn, TurnState } from "./surface.js"
 */

const ENDS = new Set(["settled", "passed", "failed", "cancelled"]);

/** @type {Record<string, TurnState>} */
const STATE_OF_KIND = {
  "turn.started": "running",
  "turn.settled": "settled",
  "turn.passed": "passed",
  "turn.failed": "failed",
  "turn.cancelled": "cancelled",
  "turn.uncertain": "uncertain",
};

/**
 * @param {{state: string}|null|undefined} turn
 * @returns {boolean} true while the turn can still become something else
 */
export function isOpen(turn) {
  return turn != null && !ENDS.has(turn.state);
}

/**
 * True for turns that stand at the foot of the room as an answer to come.
 * @param {Turn} turn
 */
export function isExpected(turn) {
  return ["queued", "dispatched", "running", "stopping"].includes(turn.state);
}

/**
 * The turn a message ends, if any.
 * @param {RoomEvent} event
 * @returns {string|null}
 */
export function turnOf(event) {
  if (event.kind !== "message.member") return null;
  return event.cause?.turn_id ?? event.payload.turn_id ?? null;
}

/**
 * Turns after one event of the log.
 * @param {ReadonlyMap<string, Turn>} turns
 * @param {RoomEvent} event
 * @returns {ReadonlyMap<string, Turn>} the same map when nothing changed
 */
export function foldTurnEvent(turns, event) {
  const { payload } = event;
  if (event.kind === "turn.admitted") return admit(turns, event);
  const turn_id = turnOf(event) ?? payload.turn_id;
  const state = event.kind === "message.member" ? "settled" : STATE_OF_KIND[event.kind];
  if (state === undefined || typeof turn_id !== "string") return turns;
  const before = turns.get(turn_id);
  if (before !== undefined && !isOpen(before) && state !== "failed") return turns;
  const after = {
    ...(before ?? blank(turn_id, payload.member_id ?? event.actor.id, event)),
    state,
    since: event.admitted_at,
    reason: payload.reason ?? null,
    message: payload.message ?? null,
  };
  return new Map(turns).set(turn_id, after);
}

/**
 * Turns after a `turn.state` signal.
 * @param {ReadonlyMap<string, Turn>} turns
 * @param {Turn} turn
 * @returns {ReadonlyMap<string, Turn>}
 */
export function foldTurnSignal(turns, turn) {
  if (!turn || typeof turn.turn_id !== "string") return turns;
  const before = turns.get(turn.turn_id);
  // The end is in the log: whatever was still on its way is older than that.
  if (before !== undefined && !isOpen(before)) return turns;
  // "settled" by signal is only a promise of the event that carries the text.
  const state = turn.state === "settled" && before !== undefined ? before.state : turn.state;
  return new Map(turns).set(turn.turn_id, { ...before, ...turn, state });
}

/**
 * Turns after one entry of `groups.state`, which is as true as the log.
 * @param {ReadonlyMap<string, Turn>} turns
 * @param {Turn} turn
 * @returns {ReadonlyMap<string, Turn>}
 */
export function foldTurnAnswer(turns, turn) {
  const before = turns.get(turn.turn_id);
  if (before !== undefined && !isOpen(before)) return turns;
  return new Map(turns).set(turn.turn_id, { ...before, ...turn });
}

/**
 * @param {ReadonlyMap<string, Turn>} turns
 * @param {RoomEvent} event
 */
function admit(turns, event) {
  const { payload } = event;
  const before = turns.get(payload.turn_id);
  const admitted = {
    ...blank(payload.turn_id, payload.member_id, event),
    root: payload.root,
    trigger_seq: payload.trigger_seq,
    attempt: payload.attempt ?? 1,
    hop: payload.hop ?? 0,
  };
  const { state, since, reason, message } = before ?? admitted;
  return new Map(turns).set(payload.turn_id, { ...admitted, state, since, reason, message });
}

/**
 * @param {string} turn_id
 * @param {string} member_id
 * @param {RoomEvent} event
 * @returns {Turn}
 */
function blank(turn_id, member_id, event) {
  return {
    turn_id,
    member_id,
    root: event.cause?.root ?? event.event_id,
    trigger_seq: 0,
    attempt: 1,
    hop: event.cause?.hop ?? 0,
    state: "queued",
    since: event.admitted_at,
    reason: null,
    message: null,
  };
}
