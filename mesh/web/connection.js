/**
 * JSON-RPC 2.0 over one WebSocket to the page's own node, for as long as the page lives.
 *
 * A lost connection is dialed again with full jitter (a random wait up to a bound that doubles),
 * at once when the browser says that it is online again or the page is looked at. Requests have
 * a deadline and fail with a reason; none is repeated here, because only the caller knows
 * whether asking twice is safe. After silence a small request proves that the node still hears.
 * A socket closed with 4008 (this page read too slowly) is dialed at once: the feeds resume
 * from their cursors. It never decides what a notification means.
 */

import { Problem, problemFrom } from "./problem.js";

export const REQUEST_DEADLINE_MS = 15_000;
export const RETRY_FIRST_MS = 500;
export const RETRY_MAX_MS = 15_000;
export const SILENCE_MS = 20_000;
export const PROOF_DEADLINE_MS = 8_000;
/** The node closes with this code when a reader does not read. */
export const CLOSE_SLOW_READER = 4008;

/**
 * @typedef {"connecting"|"up"|"waiting"|"stopped"} LinkState
 * @typedef {{state: LinkState, since: number, retry_at: number|null, was_up: boolean}} Status
 * @typedef {{resolve: (value: any) => void, reject: (problem: Problem) => void,
 *   timer: any}} Waiting
 * @typedef {{
 *   url: string,
 *   onNotification: (params: any) => void,
 *   onStatus: (status: Status) => void,
 *   onRefused?: () => Promise<boolean>,
 *   makeSocket?: (url: string) => WebSocket,
 *   random?: () => number,
 *   now?: () => number
 * }} Options `onRefused` answers true when it makes no sense to dial again (signed out)
 */

/**
 * The longest wait before attempt number n (from 0), in milliseconds.
 * @param {number} attempt
 */
export function retryBound(attempt) {
  return Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(attempt, 10));
}

export class Connection {
  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    this.random = options.random ?? Math.random;
    this.now = options.now ?? Date.now;
    /** @type {Status} */
    this.status = { state: "stopped", since: this.now(), retry_at: null, was_up: false };
    /** @type {WebSocket|null} */
    this.socket = null;
    /** @type {Map<number, Waiting>} */
    this.waiting = new Map();
    this.lastId = 0;
    this.attempt = 0;
    this.heardAt = 0;
    /** @type {any} */
    this.retryTimer = null;
    /** @type {any} */
    this.silenceTimer = null;
  }

  start() {
    if (this.status.state === "stopped") this.#dial();
  }

  /** Closes for good, until start() is called again. */
  stop() {
    clearTimeout(this.retryTimer);
    this.#become("stopped");
    this.#drop(1000);
  }

  /** Dials now when waiting for the next attempt. */
  retryNow() {
    if (this.status.state !== "waiting") return;
    clearTimeout(this.retryTimer);
    this.#dial();
  }

  get isUp() {
    return this.status.state === "up";
  }

  /**
   * One request. Rejects with a Problem: the node's refusal, or `unreachable` (nothing was
   * sent), `connection_lost` and `no_answer` (nobody knows whether it was done).
   * @param {string} method
   * @param {Record<string, any>} [params]
   * @param {number} [deadline_ms]
   * @returns {Promise<any>}
   */
  request(method, params = {}, deadline_ms = REQUEST_DEADLINE_MS) {
    const socket = this.socket;
    if (!this.isUp || socket === null) {
      return Promise.reject(
        new Problem("unreachable", "Your node cannot be reached.", "It is tried again by itself."),
      );
    }
    this.lastId += 1;
    const id = this.lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new Problem("no_answer", "Your node did not answer in time.", "Try again."));
      }, deadline_ms);
      this.waiting.set(id, { resolve, reject, timer });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  #dial() {
    this.#become("connecting");
    const make = this.options.makeSocket ?? ((url) => new WebSocket(url));
    const socket = make(this.options.url);
    this.socket = socket;
    socket.onopen = () => {
      if (this.socket !== socket) return;
      this.attempt = 0;
      this.heardAt = this.now();
      this.#become("up");
      this.silenceTimer = setInterval(() => this.#listen(), SILENCE_MS / 2);
    };
    socket.onmessage = (message) => {
      if (this.socket === socket) this.#take(message.data);
    };
    socket.onclose = (close) => {
      if (this.socket === socket) this.#lost(close.code);
    };
  }

  /** @param {unknown} data */
  #take(data) {
    this.heardAt = this.now();
    let frame;
    try {
      frame = JSON.parse(String(data));
    } catch {
      this.#drop(4002); // Not JSON: this is no node. Close, and start anew.
      return;
    }
    if (frame.method === "event") {
      this.options.onNotification(frame.params ?? {});
      return;
    }
    const waiting = this.waiting.get(frame.id);
    if (waiting === undefined) return; // The answer came after its deadline.
    this.waiting.delete(frame.id);
    clearTimeout(waiting.timer);
    if (frame.error) waiting.reject(problemFrom(frame.error));
    else waiting.resolve(frame.result);
  }

  /** After silence, asks for something small; no answer means that the socket is dead. */
  #listen() {
    if (!this.isUp || this.now() - this.heardAt < SILENCE_MS) return;
    this.heardAt = this.now();
    this.request("node.info", {}, PROOF_DEADLINE_MS).catch((problem) => {
      if (problem.reason === "no_answer") this.#drop(4000);
    });
  }

  /** @param {number} code */
  #drop(code) {
    const socket = this.socket;
    if (socket === null) return;
    socket.close(code);
    // A dead peer may never confirm the close: do not wait for it.
    if (this.socket === socket) this.#lost(code);
  }

  /** @param {number} code */
  #lost(code) {
    const wasUp = this.status.state === "up";
    this.socket = null;
    clearInterval(this.silenceTimer);
    const lost = new Problem("connection_lost", "The connection to your node was lost.");
    for (const { reject, timer } of this.waiting.values()) {
      clearTimeout(timer);
      reject(lost);
    }
    this.waiting.clear();
    if (this.status.state === "stopped") return;
    if (wasUp && code === CLOSE_SLOW_READER) this.#wait(0);
    else void this.#afterLoss();
  }

  async #afterLoss() {
    const wait_ms = this.random() * retryBound(this.attempt);
    this.attempt += 1;
    this.#wait(wait_ms);
    // A refused WebSocket shows no status to a page, so ask by HTTP whether we are signed out.
    const isOver = this.options.onRefused ? await this.options.onRefused() : false;
    if (isOver && this.status.state !== "up") this.stop();
  }

  /** @param {number} wait_ms */
  #wait(wait_ms) {
    this.#become("waiting", this.now() + wait_ms);
    this.retryTimer = setTimeout(() => {
      if (this.status.state === "waiting") this.#dial();
    }, wait_ms);
  }

  /**
   * @param {LinkState} state
   * @param {number|null} [retry_at]
   */
  #become(state, retry_at = null) {
    const before = this.status;
    const isSame = (before.state === "up") === (state === "up");
    const since = isSame ? before.since : this.now();
    const was_up = before.was_up || state === "up";
    this.status = { state, since, retry_at, was_up };
    this.options.onStatus(this.status);
  }
}
