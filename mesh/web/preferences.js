/**
 * What this browser remembers between visits: theme, cursors, drafts, messages on their way.
 *
 * Kept in localStorage under the install id, because two nodes may use one origin one after the
 * other. Storage may be full, forbidden or damaged: then the page works and only forgets. No
 * secret is ever written here.
 *
 * @import { Pending } from "./pending.js"
 */

export class Preferences {
  /**
   * @param {Storage|null} storage
   * @param {string} install_id
   */
  constructor(storage, install_id) {
    this.storage = storage;
    this.prefix = `roommesh:${install_id.replace("install:", "").slice(0, 8)}:`;
  }

  /**
   * @param {string} key
   * @returns {any} null when absent or unreadable
   */
  #read(key) {
    try {
      return JSON.parse(this.storage?.getItem(this.prefix + key) ?? "null");
    } catch {
      return null;
    }
  }

  /**
   * @param {string} key
   * @param {unknown} value null removes
   */
  #write(key, value) {
    try {
      if (value === null) this.storage?.removeItem(this.prefix + key);
      else this.storage?.setItem(this.prefix + key, JSON.stringify(value));
    } catch {
      return; // Full or forbidden: only the memory between visits is lost.
    }
  }

  /**
   * The last seq that was on the screen in a room, or null when it was never opened here.
   * @param {string} room_id
   * @returns {number|null}
   */
  readSeq(room_id) {
    const seq = this.#read(`read:${room_id}`);
    return Number.isSafeInteger(seq) ? seq : null;
  }

  /**
   * @param {string} room_id
   * @param {number} seq
   */
  setReadSeq(room_id, seq) {
    if (seq > (this.readSeq(room_id) ?? -1)) this.#write(`read:${room_id}`, seq);
  }

  /**
   * @param {string} room_id
   * @returns {string}
   */
  draft(room_id) {
    const text = this.#read(`draft:${room_id}`);
    return typeof text === "string" ? text : "";
  }

  /**
   * @param {string} room_id
   * @param {string} text
   */
  setDraft(room_id, text) {
    this.#write(`draft:${room_id}`, text === "" ? null : text);
  }

  /**
   * Messages that had not come back when the page was closed. Sending them again with their
   * event_id is safe.
   * @param {string} room_id
   * @returns {Pending}
   */
  pending(room_id) {
    const items = this.#read(`pending:${room_id}`);
    if (!Array.isArray(items)) return [];
    return items
      .filter((item) => typeof item?.event_id === "string" && typeof item?.text === "string")
      .map(({ event_id, text, at, state, reason, next }) => ({
        event_id,
        text,
        at: Number(at) || 0,
        state: state === "refused" ? state : "unsent",
        reason: String(reason ?? ""),
        next: String(next ?? ""),
      }));
  }

  /**
   * @param {string} room_id
   * @param {Pending} pending
   */
  setPending(room_id, pending) {
    this.#write(`pending:${room_id}`, pending.length === 0 ? null : pending);
  }

  /** @returns {string|null} the room that was open last */
  get lastRoom() {
    const room_id = this.#read("last_room");
    return typeof room_id === "string" ? room_id : null;
  }

  /** @param {string|null} room_id */
  set lastRoom(room_id) {
    this.#write("last_room", room_id);
  }

  /** Whether the members stand beside the room on a wide screen. */
  get isPanelOpen() {
    return this.#read("panel") !== false;
  }

  set isPanelOpen(open) {
    this.#write("panel", open);
  }
}

/**
 * @param {Window} window
 * @returns {Storage|null} null where the browser forbids it
 */
export function storageOf(window) {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}
