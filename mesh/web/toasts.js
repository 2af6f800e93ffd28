/**
 * Short notices at the foot of the page: what was refused and what to do, or what was done.
 * Three at most; each goes by itself.
 */

const TOAST_MS = 8_000;
const TOASTS_MAX = 3;

/**
 * @typedef {{id: number, text: string, next: string, tone: "bad"|"good"}} Toast
 */

export class Toasts {
  /** @param {() => void} redraw */
  constructor(redraw) {
    this.redraw = redraw;
    /** @type {readonly Toast[]} */
    this.list = [];
    this.last = 0;
  }

  /** @param {Omit<Toast, "id">} notice */
  add(notice) {
    this.last += 1;
    const id = this.last;
    this.list = [...this.list.slice(1 - TOASTS_MAX), { ...notice, id }];
    setTimeout(() => this.drop(id), TOAST_MS);
    this.redraw();
  }

  /** @param {number} id */
  drop(id) {
    this.list = this.list.filter((toast) => toast.id !== id);
    this.redraw();
  }
}
