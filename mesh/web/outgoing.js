/**
 * Messages of ours on their way to the log.
 *
 * A message leaves with an `event_id` that this page minted, is kept until its event comes back,
 * and is sent again with the same id after every reconnection. Messages of one room leave one
 * after the other, so that their order is the order in which they were written.
 *
 * @import { Connection } from "./connection.js"
 * @import { Preferences } from "./preferences.js"
 * @import { Pending, PendingMessage } from "./pending.js"
 * @import { RoomFeed } from "./room_feed.js"
 */

import { newId } from "./ids.js";
import {
  joined, stateOfAnswer, stateOfProblem, withMessage, withoutMessage, withState,
} from "./pending.js";
import { asProblem } from "./problem.js";

/** `groups.send` waits up to 2 s for the authority; the page allows for a slow road. */
const SEND_DEADLINE_MS = 20_000;

/**
 * @typedef {{redraw: () => void, feed: (room_id: string) => RoomFeed|undefined,
 *   now: () => number}} Hooks
 */

export class Outgoing {
  /**
   * @param {Connection} connection
   * @param {Preferences} preferences
   * @param {Hooks} hooks
   */
  constructor(connection, preferences, hooks) {
    this.connection = connection;
    this.preferences = preferences;
    this.hooks = hooks;
    /** @type {Map<string, Pending>} by room */
    this.pending = new Map();
    /** @type {Set<string>} rooms whose messages are being sent at the moment */
    this.sending = new Set();
  }

  /**
   * The page's own list for a room; the first time it comes from the last visit.
   * @param {string} room_id
   * @returns {Pending}
   */
  of(room_id) {
    let pending = this.pending.get(room_id);
    if (pending === undefined) {
      pending = this.preferences.pending(room_id);
      this.pending.set(room_id, pending);
    }
    return pending;
  }

  /**
   * A message came back as an event.
   * @param {string} room_id
   * @param {string} event_id
   */
  arrived(room_id, event_id) {
    const pending = this.of(room_id);
    const rest = withoutMessage(pending, event_id);
    if (rest.length !== pending.length) this.#keep(room_id, rest);
  }

  /**
   * After a new connection: sends what could not be sent, or whose answer was lost.
   * @param {string} room_id
   */
  resume(room_id) {
    void this.#sendAll(room_id);
  }

  /**
   * The messages of ours that are not events yet, with what the node's outbox holds.
   * @param {RoomFeed} feed
   * @returns {Pending}
   */
  onTheirWay(feed) {
    return joined(this.of(feed.room_id), feed.state.outbox);
  }

  /**
   * @param {string} room_id
   * @param {string} text
   */
  send(room_id, text) {
    const pending = this.of(room_id);
    this.#keep(room_id, withMessage(pending, newId("evt"), text, this.hooks.now()));
    void this.#sendAll(room_id);
  }

  /**
   * Sends a refused message again, with the same event_id.
   * @param {string} room_id
   * @param {PendingMessage} item
   */
  retry(room_id, item) {
    this.#keep(room_id, withState(this.of(room_id), item.event_id, "unsent"));
    void this.#sendAll(room_id);
  }

  /**
   * Takes a message back. Throws a Problem when the node will not (it was accepted meanwhile).
   * @param {string} room_id
   * @param {PendingMessage} item
   */
  async discard(room_id, item) {
    const feed = this.hooks.feed(room_id);
    const isHeld = item.state === "waiting" || feed?.state.outbox.has(item.event_id) === true;
    // Refused by the node itself, it was never stored: there is nothing to take back there.
    if (isHeld || item.state !== "refused") {
      const params = { room_id, event_id: item.event_id };
      await this.connection.request("groups.discard", params);
    }
    this.#keep(room_id, withoutMessage(this.of(room_id), item.event_id));
    await feed?.restate();
  }

  /**
   * @param {string} room_id
   * @param {Pending} pending
   */
  #keep(room_id, pending) {
    this.pending.set(room_id, pending);
    this.preferences.setPending(room_id, pending);
    this.hooks.redraw();
  }

  /**
   * Sends what is not sent, in order, one at a time.
   * @param {string} room_id
   */
  async #sendAll(room_id) {
    if (this.sending.has(room_id)) return;
    this.sending.add(room_id);
    /** @type {Set<string>} */
    const tried = new Set();
    for (;;) {
      const item = this.of(room_id).find(
        (one) => (one.state === "sending" || one.state === "unsent") && !tried.has(one.event_id),
      );
      if (item === undefined) break;
      tried.add(item.event_id);
      if (!(await this.#sendOne(room_id, item))) break;
    }
    this.sending.delete(room_id);
  }

  /**
   * @param {string} room_id
   * @param {PendingMessage} item
   * @returns {Promise<boolean>} false when nothing can be sent at the moment
   */
  async #sendOne(room_id, item) {
    const { event_id, text } = item;
    const set = (/** @type {PendingMessage["state"]} */ state, why = {}) =>
      this.#keep(room_id, withState(this.of(room_id), event_id, state, why));
    if (item.state === "unsent" && this.connection.isUp) set("sending");
    try {
      const params = { room_id, event_id, payload: { text: text.toWellFormed() } };
      const answer = await this.connection.request("groups.send", params, SEND_DEADLINE_MS);
      const last_seq = this.hooks.feed(room_id)?.state.last_seq ?? 0;
      const isHere = answer.event && answer.event.seq <= last_seq;
      // Normally the event came back by the road before this answer, or will in a moment.
      if (isHere) this.#keep(room_id, withoutMessage(this.of(room_id), event_id));
      else set(stateOfAnswer(answer));
      return true;
    } catch (thrown) {
      const problem = asProblem(thrown);
      set(stateOfProblem(problem), { reason: problem.message, next: problem.next });
      return !problem.isOutcomeUnknown;
    }
  }
}
