/**
 * Names that other people chose, made safe to show and to compare.
 *
 * A name is data from a stranger: it may hold direction overrides, zero-width characters, line
 * breaks, a flood of combining marks, or letters that only look like another member's. What is
 * shown is cleaned here, and a name with nothing visible in it is replaced by the short id. The
 * view still wraps every name in <bdi>. This file never decides who somebody is: ids do that.
 */

/** Longest name shown, in code points; the rest is cut with an ellipsis. */
export const NAME_LENGTH_MAX = 64;

// Control characters, soft hyphen, direction marks and overrides, zero-width characters,
// fillers that are letters by category but draw nothing, variation selectors and tags.
const HIDDEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5" +
    "\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f" +
    "\\ufeff\\uffa0\\ufff0-\\ufffb\\u{e0000}-\\u{e0fff}]",
  "gu",
);
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

// Letters of other scripts that are drawn like a Latin one. Short on purpose: it serves a
// warning beside a name, not a proof.
const LOOKALIKES = new Map(
  Object.entries({
    а: "a", в: "b", с: "c", ԁ: "d", е: "e", һ: "h", і: "i", ј: "j", к: "k", ӏ: "l", м: "m",
    н: "h", о: "o", р: "p", ԛ: "q", г: "r", ѕ: "s", т: "t", у: "y", ѵ: "v", ԝ: "w", х: "x",
    α: "a", β: "b", ε: "e", η: "n", ι: "i", κ: "k", ν: "v", ο: "o", ρ: "p", τ: "t", υ: "u",
    χ: "x", ı: "i", ł: "l", ø: "o", "0": "o", "1": "l", "|": "l",
  }),
);

/**
 * The name with everything taken out that hides, reorders or floods.
 * @param {unknown} name
 * @returns {string} empty when nothing visible is left
 */
export function cleanName(name) {
  if (typeof name !== "string") return "";
  const spaced = name.replace(/[\r\n\t\u2028\u2029]+/g, " ");
  const visible = spaced.replace(HIDDEN, "").replace(/(\p{M}{3})\p{M}+/gu, "$1");
  const trimmed = visible.replace(/\s+/g, " ").trim();
  if (!VISIBLE.test(trimmed)) return "";
  const points = [...trimmed];
  return points.length > NAME_LENGTH_MAX
    ? `${points.slice(0, NAME_LENGTH_MAX - 1).join("")}…`
    : trimmed;
}

/**
 * The first characters of an id, enough for people to tell two apart.
 * @param {string|null|undefined} id
 */
export function shortId(id) {
  if (!id) return "unknown";
  const bare = id.startsWith("install:") ? id.slice("install:".length) : id;
  return bare.slice(0, bare.startsWith("m_") ? 10 : 8);
}

/**
 * What to show for a name: the cleaned name, or the short id when nothing of it is visible.
 * @param {unknown} name
 * @param {string|null|undefined} id
 */
export function shownName(name, id) {
  return cleanName(name) || shortId(id);
}

/**
 * Two names with the same skeleton look alike to a person.
 * @param {string} name
 */
export function skeleton(name) {
  const flat = cleanName(name).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  let out = "";
  for (const letter of flat) out += LOOKALIKES.get(letter) ?? letter;
  return out.replace(/rn/g, "m").replace(/[\s._-]+/g, "");
}

/**
 * Members whose name looks like the name of a member that was here before them.
 * @param {readonly {member_id: string, display_name: string, joined_at: number,
 *   presence: string}[]} members
 * @returns {Map<string, string>} member id to the id of the member it resembles
 */
export function lookalikes(members) {
  /** @type {Map<string, string>} */
  const firsts = new Map();
  /** @type {Map<string, string>} */
  const found = new Map();
  const present = members.filter((member) => member.presence !== "left");
  for (const member of [...present].sort((a, b) => a.joined_at - b.joined_at)) {
    const shape = skeleton(member.display_name);
    if (shape === "") continue;
    const first = firsts.get(shape);
    if (first === undefined) firsts.set(shape, member.member_id);
    else found.set(member.member_id, first);
  }
  return found;
}

/**
 * One or two letters for the picture of a member.
 * @param {string} name a name as shown
 */
export function initials(name) {
  const words = name.split(/[\s._-]+/u).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const letters = words.slice(0, 2).map((word) => [...word][0] ?? "");
  return letters.join("").toUpperCase() || [...name][0] || "?";
}

/**
 * A stable number for a colour, from an id and not from a name that can be imitated.
 * @param {string} id
 * @param {number} count how many colours there are
 */
export function hueOf(id, count = 8) {
  let sum = 0x811c9dc5;
  for (let at = 0; at < id.length; at += 1) {
    sum = Math.imul(sum ^ id.charCodeAt(at), 0x01000193);
  }
  // The low bits alone mix badly.
  return ((sum ^ (sum >>> 15)) >>> 0) % count;
}
