/**
 * Where the reader is in a room, kept still while the room moves.
 *
 * At the foot, the room stays at the foot while answers grow. Anywhere else, the first row on
 * the screen stays where it is, whatever is added above or below. What is at the foot of a
 * visible page counts as read.
 *
 * @import { Page } from "./page.js"
 */

/** Closer to the foot than this counts as at the foot, in pixels. */
const FOOT = 48;
/** Closer to the top than this asks for older events, in pixels. */
const TOP = 600;

export class TimelineScroll {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.isAtFoot = true;
    this.isPlaced = false;
    /** Messages that came while the reader was further up. */
    this.below = 0;
    /** @type {{key: string, top: number}|null} */
    this.anchor = null;
    /** @type {Element|null} */
    this.watched = null;
    this.sizes = new ResizeObserver(() => {
      const element = this.#element();
      if (element && this.isAtFoot) element.scrollTop = element.scrollHeight;
    });
  }

  /** @returns {HTMLElement|null} */
  #element() {
    return document.querySelector("[data-role=timeline]");
  }

  /** Another room was opened: find the place anew. */
  reset() {
    this.isPlaced = false;
    this.isAtFoot = true;
    this.below = 0;
    this.anchor = null;
  }

  /** Before a drawing: remembers what the reader sees. */
  before() {
    const element = this.#element();
    this.anchor = null;
    if (element === null || this.isAtFoot || !this.isPlaced) return;
    const edge = element.getBoundingClientRect().top;
    for (const row of element.querySelectorAll("[data-key]")) {
      const box = row.getBoundingClientRect();
      if (box.bottom <= edge) continue;
      this.anchor = { key: row.getAttribute("data-key") ?? "", top: box.top };
      return;
    }
  }

  /** After a drawing: puts it back where it was. */
  after() {
    const element = this.#element();
    if (element === null) return;
    if (element !== this.watched) {
      this.sizes.disconnect();
      this.sizes.observe(element);
      this.watched = element;
    }
    if (!this.isPlaced) this.#place(element);
    else if (this.isAtFoot) element.scrollTop = element.scrollHeight;
    else if (this.anchor) {
      const row = element.querySelector(`[data-key="${CSS.escape(this.anchor.key)}"]`);
      if (row) element.scrollTop += row.getBoundingClientRect().top - this.anchor.top;
    }
    this.#read();
  }

  /** @param {HTMLElement} element */
  #place(element) {
    if (element.querySelector("[data-key]") === null) return;
    this.isPlaced = true;
    element.scrollTop = element.scrollHeight;
    const mark = element.querySelector("[data-role=unread]");
    if (mark === null) return;
    const above = mark.getBoundingClientRect().top - element.getBoundingClientRect().top;
    if (above >= 0) return;
    // More is new than fits: start where the new begins.
    element.scrollTop += above - element.clientHeight / 5;
    this.isAtFoot = false;
  }

  /** The reader scrolled. */
  scrolled() {
    const element = this.#element();
    if (element === null || !this.isPlaced) return;
    const left = element.scrollHeight - element.scrollTop - element.clientHeight;
    const wasAtFoot = this.isAtFoot;
    this.isAtFoot = left < FOOT;
    if (this.isAtFoot) this.below = 0;
    if (wasAtFoot !== this.isAtFoot) this.page.redraw();
    if (element.scrollTop < TOP) void this.page.feed?.loadOlder();
    this.#read();
  }

  /** A message of somebody else came in. */
  arrived() {
    if (!this.isAtFoot) this.below += 1;
  }

  toFoot() {
    const element = this.#element();
    this.isAtFoot = true;
    this.below = 0;
    if (element) element.scrollTop = element.scrollHeight;
    this.page.redraw();
  }

  /**
   * Brings one event into view.
   * @param {number} seq
   */
  toSeq(seq) {
    const row = this.#element()?.querySelector(`[data-seq="${seq}"]`);
    if (!row) return;
    this.isAtFoot = false;
    row.scrollIntoView({ block: "center" });
    row.classList.remove("found");
    requestAnimationFrame(() => row.classList.add("found"));
  }

  #read() {
    const { feed } = this.page;
    if (feed && this.isPlaced && this.isAtFoot && !document.hidden) {
      this.page.rooms.markRead(feed.room_id);
    }
  }
}
