/**
 * An answer while it is being written: the pieces of `turn.delta` signals of one turn.
 *
 * Signals may be lost, repeated or start in the middle (a page that opened late). Pieces are
 * kept by their number, so none is ever shown twice and a late one finds its place. A hole is
 * shown as an ellipsis; the event with the final text replaces everything anyway. Pure.
 *
 * @import { Signal } from "./surface.js"
 */

/** Characters kept of one draft; an answer that grows past it is shown cut until the event. */
export const DRAFT_LENGTH_MAX = 200_000;

/**
 * @typedef {{
 *   turn_id: string, member_id: string, pieces: ReadonlyMap<number, string>, size: number,
 *   activity: {tool: string, text: string, state: string}|null, started_at: number,
 *   ended: null|"cancelled"|"failed", ended_after_seq: number
 * }} Draft
 */

/**
 * @param {string} turn_id
 * @param {string} member_id
 * @param {number} now_ms
 * @returns {Draft}
 */
export function newDraft(turn_id, member_id, now_ms) {
  return {
    turn_id,
    member_id,
    pieces: new Map(),
    size: 0,
    activity: null,
    started_at: now_ms,
    ended: null,
    ended_after_seq: 0,
  };
}

/**
 * The draft with one more piece; the same draft when the piece is already there.
 * @param {Draft} draft
 * @param {Signal} signal a `turn.delta`
 * @returns {Draft}
 */
export function withPiece(draft, signal) {
  const { n, text } = signal;
  if (!Number.isInteger(n) || n < 0 || typeof text !== "string") return draft;
  if (draft.pieces.has(n) || draft.size + text.length > DRAFT_LENGTH_MAX) return draft;
  return {
    ...draft,
    pieces: new Map(draft.pieces).set(n, text),
    size: draft.size + text.length,
    activity: null,
  };
}

/**
 * @param {Draft} draft
 * @param {Signal} signal a `turn.activity`
 * @returns {Draft}
 */
export function withActivity(draft, signal) {
  if (signal.state !== "started") return { ...draft, activity: null };
  return {
    ...draft,
    activity: {
      tool: String(signal.tool ?? ""),
      text: String(signal.text ?? ""),
      state: String(signal.state ?? ""),
    },
  };
}

/** @type {WeakMap<ReadonlyMap<number, string>, string>} */
const texts = new WeakMap();

/**
 * The text so far, in the order of the pieces, with an ellipsis where one is missing.
 * @param {Draft} draft
 * @returns {string}
 */
export function draftText(draft) {
  const known = texts.get(draft.pieces);
  if (known !== undefined) return known;
  const numbers = [...draft.pieces.keys()].sort((a, b) => a - b);
  let text = "";
  let expected = 0;
  for (const n of numbers) {
    if (n !== expected) text += "… ";
    text += draft.pieces.get(n);
    expected = n + 1;
  }
  texts.set(draft.pieces, text);
  return text;
}
