/**
 * Mentions: finding them in a text, and completing them while one is typed.
 *
 * `@handle` addresses the member with that handle in this room, wherever it lives; handles are
 * unique without regard to case, and may have a place in them (`scribe@desktop`). `@all`
 * addresses every agent. A member id works too while typing, and is completed to the handle.
 * Only members of the room are ever marked. The node decides who is addressed, by the same
 * reading of the text (core/discussion.py); here it is only shown. Pure.
 *
 * @import { Member } from "./surface.js"
 */

/** Suggestions shown at once. */
export const SUGGESTIONS_MAX = 8;

/** The word that addresses every agent of the room. */
export const ALL = "all";

const MENTION = /(?<![\p{L}\p{N}_@/.])@([\p{L}\p{N}][\p{L}\p{N}_.@-]*)/gu;

/**
 * @typedef {{text: string, member: Member|null, isAll?: boolean}} Piece
 * @typedef {{handle: string, member: Member|null}} Suggestion `member` is null for `@all`
 * @typedef {{start: number, end: number, word: string}} Query
 */

/**
 * The form in which two handles are compared.
 * @param {string} handle
 */
function folded(handle) {
  return handle.normalize("NFKC").toLowerCase();
}

/**
 * Members by folded handle, without those who left.
 * @param {Iterable<Member>} members
 * @returns {Map<string, Member>}
 */
export function byHandle(members) {
  const found = new Map();
  for (const member of members) {
    if (member.presence !== "left") found.set(folded(member.handle), member);
  }
  return found;
}

/**
 * A text cut at its mentions.
 * @param {string} text
 * @param {ReadonlyMap<string, Member>} handles from byHandle
 * @returns {Piece[]}
 */
export function pieces(text, handles) {
  /** @type {Piece[]} */
  const out = [];
  let from = 0;
  for (const match of text.matchAll(MENTION)) {
    const handle = knownPart(match[1] ?? "", handles);
    if (handle === null) continue;
    const at = match.index;
    if (at > from) out.push({ text: text.slice(from, at), member: null });
    const member = handles.get(folded(handle)) ?? null;
    out.push({ text: `@${handle}`, member, isAll: member === null });
    from = at + 1 + handle.length;
  }
  if (from < text.length) out.push({ text: text.slice(from), member: null });
  return out;
}

/**
 * The handles written in a text that nobody in the room has.
 * @param {string} text
 * @param {ReadonlyMap<string, Member>} handles
 * @returns {string[]}
 */
export function unknownMentions(text, handles) {
  const found = [...text.matchAll(MENTION)].map(([, written = ""]) => written);
  return [...new Set(found.filter((written) => knownPart(written, handles) === null))];
}

/**
 * The members mentioned in a text, each once.
 * @param {string} text
 * @param {ReadonlyMap<string, Member>} handles
 * @returns {Member[]}
 */
export function mentioned(text, handles) {
  const found = pieces(text, handles).flatMap((piece) => piece.member ?? []);
  return [...new Set(found)];
}

/**
 * The longest beginning of a written word that is a handle: a full stop may end the sentence.
 * @param {string} written
 * @param {ReadonlyMap<string, Member>} handles
 * @returns {string|null}
 */
function knownPart(written, handles) {
  for (let word = written; word !== ""; word = word.slice(0, -1)) {
    if (handles.has(folded(word)) || folded(word) === ALL) return word;
    if (!/[._@-]$/.test(word)) return null;
  }
  return null;
}

/**
 * The mention being typed at the caret, or null.
 * @param {string} text
 * @param {number} caret
 * @returns {Query|null}
 */
export function queryAt(text, caret) {
  const before = text.slice(0, caret);
  const match = /(?:^|[\s([{"'“‘*>])@([\p{L}\p{N}_.@-]{0,40})$/u.exec(before);
  if (match === null) return null;
  const word = match[1] ?? "";
  return { start: caret - word.length - 1, end: caret, word };
}

/**
 * Whom what was typed may mean, best first: handle, then name, then member id; `@all` last.
 * @param {string} word
 * @param {readonly Member[]} members
 * @returns {Suggestion[]}
 */
export function suggestions(word, members) {
  const wanted = folded(word);
  const rank = (/** @type {Member} */ member) => {
    const handle = folded(member.handle);
    if (handle.startsWith(wanted)) return 0;
    if (member.display_name.toLowerCase().startsWith(wanted)) return 1;
    if (handle.includes(wanted)) return 2;
    return wanted.startsWith("m_") && member.member_id.startsWith(wanted) ? 3 : 9;
  };
  const agents = members.filter((member) => member.kind === "agent" && member.presence !== "left");
  const all = agents.length > 1 && ALL.startsWith(wanted) ? [{ handle: ALL, member: null }] : [];
  const fitting = members
    .filter((member) => !member.me && member.presence !== "left")
    .map((member) => ({ member, at: rank(member) }))
    .filter(({ at }) => at < 9)
    .sort(
      (a, b) =>
        a.at - b.at ||
        Number(b.member.kind === "agent") - Number(a.member.kind === "agent") ||
        a.member.handle.localeCompare(b.member.handle),
    )
    .slice(0, SUGGESTIONS_MAX - all.length)
    .map(({ member }) => ({ handle: member.handle, member }));
  return [...fitting, ...all];
}

/**
 * The text after a suggestion was taken, and where the caret goes.
 * @param {string} text
 * @param {Query} query
 * @param {string} handle
 * @returns {{text: string, caret: number}}
 */
export function completed(text, query, handle) {
  const after = text.slice(query.end);
  const insert = `@${handle}${/^\s/.test(after) ? "" : " "}`;
  const caret = query.start + insert.length + (/^\s/.test(after) ? 1 : 0);
  return { text: text.slice(0, query.start) + insert + after, caret };
}
