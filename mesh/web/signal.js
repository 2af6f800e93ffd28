/**
 * What signals add to the state of a room: drafts, turn states, presence, the link to the host.
 *
 * A signal is never stored and may be lost, late or repeated. So it decorates: it never changes
 * what the log said, and after the end of a turn nothing of that turn is taken any more. Pure.
 *
 * @import { Signal } from "./surface.js"
 * @import { Notice, RoomState } from "./store.js"
 */

import { newDraft, withActivity, withPiece } from "./draft.js";
import { foldPresence } from "./member.js";
import { foldTurnSignal, isOpen } from "./turn.js";

/** Lines about presence kept in a room; older ones fall away. */
export const NOTICES_MAX = 50;

/**
 * A signal: presence, pieces of an answer, a turn's state, the link to the authority.
 * @param {RoomState} state
 * @param {Signal} signal
 * @param {number} now_ms
 * @returns {RoomState}
 */
export function applySignal(state, signal, now_ms) {
  switch (signal.kind) {
    case "turn.delta":
    case "turn.activity":
      return drafted(state, signal, now_ms);
    case "turn.state":
      return { ...state, turns: foldTurnSignal(state.turns, signal.turn) };
    case "presence":
      return presenceChanged(state, signal, now_ms);
    case "authority":
      return authorityChanged(state, signal, now_ms);
    case "outbox":
      return outboxChanged(state, signal);
    default:
      return state; // A newer node may say more than this page knows.
  }
}

/**
 * @param {RoomState} state
 * @param {Signal} signal
 * @param {number} now_ms
 * @returns {RoomState}
 */
function drafted(state, signal, now_ms) {
  const turn = state.turns.get(signal.turn_id);
  // The turn has ended in the log: a late piece must not bring the draft back.
  if (turn !== undefined && !isOpen(turn)) return state;
  const before =
    state.drafts.get(signal.turn_id) ?? newDraft(signal.turn_id, signal.member_id, now_ms);
  const after = signal.kind === "turn.delta"
    ? withPiece(before, signal)
    : withActivity(before, signal);
  if (after === before) return state;
  return { ...state, drafts: new Map(state.drafts).set(signal.turn_id, after) };
}

/**
 * @param {RoomState} state
 * @param {Signal} signal
 * @param {number} now_ms
 * @returns {RoomState}
 */
function presenceChanged(state, signal, now_ms) {
  const before = state.members.get(signal.member_id);
  const members = foldPresence(state.members, signal);
  if (before === undefined || before.presence === signal.presence || before.me) {
    return { ...state, members };
  }
  // Withdrawals and joins are events; only coming and going is told by signal alone.
  if (signal.presence !== "online" && signal.presence !== "offline") return { ...state, members };
  if (before.presence === "joining") return { ...state, members };
  const notice = {
    member_id: signal.member_id,
    what: signal.presence,
    at: signal.since ?? now_ms,
    reason: signal.reason ?? null,
  };
  return { ...state, members, notices: noted(state, notice) };
}

/**
 * @param {RoomState} state
 * @param {Signal} signal
 * @param {number} now_ms
 * @returns {RoomState}
 */
function authorityChanged(state, signal, now_ms) {
  const { gateway_id, epoch, link, since } = signal;
  const authority = { ...state.authority, gateway_id, epoch, link, since };
  const was = state.authority.link;
  if (was === link || was === undefined || link === "local") return { ...state, authority };
  const what = link === "down" ? "authority_down" : "authority_up";
  const notice = { member_id: null, what, at: since ?? now_ms, reason: null };
  return { ...state, authority, notices: noted(state, notice) };
}

/**
 * Adds a line; when nothing was said since the last line about the same one, replaces that.
 * @param {RoomState} state
 * @param {{member_id: string|null, what: string, at: number, reason: string|null}} notice
 * @returns {readonly Notice[]}
 */
function noted(state, notice) {
  const kept = state.notices.filter(
    (other) => other.after_seq !== state.last_seq || other.member_id !== notice.member_id,
  );
  const key = `notice:${notice.member_id ?? "authority"}:${notice.at}:${state.last_seq}`;
  return [...kept, { ...notice, key, after_seq: state.last_seq }].slice(-NOTICES_MAX);
}

/**
 * @param {RoomState} state
 * @param {Signal} signal
 * @returns {RoomState}
 */
function outboxChanged(state, signal) {
  const item = state.outbox.get(signal.event_id);
  if (item === undefined) return state;
  const next = { ...item, state: signal.state, reason: signal.reason ?? null };
  return { ...state, outbox: new Map(state.outbox).set(signal.event_id, next) };
}
