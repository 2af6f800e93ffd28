/**
 * The rooms of this node: one feed each, what was read, and messages on their way.
 *
 * A message leaves with an `event_id` that this page minted, is kept until its event comes back,
 * and is sent again with the same id after every reconnection. Messages of one room leave one
 * after the other, so that their order is the order in which they were written.
 *
 * @import { Connection } from "./connection.js"
 * @import { Preferences } from "./preferences.js"
 * @import { Pending, PendingMessage } from "./pending.js"
 * @import { Room, RoomEvent } from "./surface.js"
 */

import { newId } from "./ids.js";
import {
  joined,
  stateOfAnswer,
  stateOfProblem,
  withMessage,
  withoutMessage,
  withState,
} from "./pending.js";
import { asProblem } from "./problem.js";
import { RoomFeed, WINDOW } from "./room_feed.js";
import { unreadOf } from "./timeline.js";

/** `groups.send` waits up to 2 s for the authority; the page allows for a slow road. */
const SEND_DEADLINE_MS = 20_000;

/**
 * @typedef {{redraw: () => void, onListed: () => void, now: () => number,
 *   onMessage: (feed: RoomFeed, event: RoomEvent) => void}} RoomsHooks
 */

export class Rooms {
  /**
   * @param {Connection} connection
   * @param {Preferences} preferences
   * @param {RoomsHooks} hooks
   */
  constructor(connection, preferences, hooks) {
    this.connection = connection;
    this.preferences = preferences;
    this.hooks = hooks;
    /** @type {Map<string, RoomFeed>} */
    this.feeds = new Map();
    /** @type {Map<string, Pending>} */
    this.pending = new Map();
    /** @type {Set<string>} rooms whose messages are being sent at the moment */
    this.sending = new Set();
    this.isListed = false;
    /** @type {{room_id: string|null, unread_after: number|null}} */
    this.opened = { room_id: null, unread_after: null };
  }

  /**
   * @param {string|null|undefined} room_id
   * @returns {RoomFeed|undefined}
   */
  feed(room_id) {
    return room_id ? this.feeds.get(room_id) : undefined;
  }

  /** @returns {RoomFeed[]} newest activity first */
  get sorted() {
    return [...this.feeds.values()].sort(
      (a, b) => b.state.room.updated_at - a.state.room.updated_at,
    );
  }

  /** After every new connection: what rooms there are, then every feed from its cursor. */
  async connected() {
    await this.#list();
    this.hooks.onListed();
    const first = this.feed(this.opened.room_id);
    const others = this.sorted.filter((feed) => feed !== first);
    for (const feed of first ? [first, ...others] : others) {
      await feed.resume();
      void this.#sendAll(feed.room_id);
    }
  }

  disconnected() {
    for (const feed of this.feeds.values()) feed.pause();
  }

  /** Asks which rooms there are; new ones get a feed, and those that are gone lose theirs. */
  async refresh() {
    const added = await this.#list();
    this.hooks.onListed();
    for (const feed of added) await feed.resume();
  }

  /** @returns {Promise<RoomFeed[]>} the feeds that are new, not yet subscribed */
  async #list() {
    const { rooms } = await this.connection.request("groups.list");
    /** @type {RoomFeed[]} */
    const added = [];
    for (const room of /** @type {Room[]} */ (rooms)) {
      const feed = this.feeds.get(room.room_id);
      if (feed === undefined) added.push(this.#add(room));
      else feed.state = { ...feed.state, room: { ...room, latest_seq: newest(feed, room) } };
    }
    const ids = new Set(rooms.map((/** @type {Room} */ room) => room.room_id));
    for (const room_id of this.feeds.keys()) {
      if (!ids.has(room_id)) this.feeds.delete(room_id);
    }
    this.isListed = true;
    this.hooks.redraw();
    return added;
  }

  /** @param {Room} room */
  #add(room) {
    const read = this.preferences.readSeq(room.room_id);
    if (read === null) this.preferences.setReadSeq(room.room_id, room.latest_seq);
    const since = Math.max(Math.min(read ?? Infinity, room.latest_seq), room.latest_seq - WINDOW);
    const feed = new RoomFeed(this.connection, room, Math.max(0, since), {
      onChange: this.hooks.redraw,
      onEvent: (source, event) => this.#arrived(source, event),
      now: this.hooks.now,
    });
    this.feeds.set(room.room_id, feed);
    this.pending.set(room.room_id, this.preferences.pending(room.room_id));
    return feed;
  }

  /** @param {any} params */
  take(params) {
    this.feeds.get(params.room_id)?.take(params);
  }

  /**
   * @param {RoomFeed} feed
   * @param {RoomEvent} event
   */
  #arrived(feed, event) {
    if (event.actor.id === feed.state.room.me) {
      const pending = this.pending.get(feed.room_id) ?? [];
      const rest = withoutMessage(pending, event.event_id);
      if (rest.length !== pending.length) this.#keep(feed.room_id, rest);
    }
    this.hooks.onMessage(feed, event);
  }

  // ---- reading ---------------------------------------------------------------------------

  /** @param {string} room_id */
  async open(room_id) {
    if (this.opened.room_id === room_id) return;
    this.feed(this.opened.room_id)?.trim();
    const feed = this.feed(room_id);
    if (feed === undefined) return;
    const read = this.preferences.readSeq(room_id);
    const hasUnread = read !== null && unreadOf(feed.state, read).count > 0;
    this.opened = { room_id, unread_after: hasUnread ? read : null };
    await feed.fill();
  }

  close() {
    this.feed(this.opened.room_id)?.trim();
    this.opened = { room_id: null, unread_after: null };
  }

  /**
   * What is on the screen counts as read.
   * @param {string} room_id
   */
  markRead(room_id) {
    const feed = this.feed(room_id);
    if (feed) this.preferences.setReadSeq(room_id, feed.state.last_seq);
  }

  /**
   * The reader looked away: what comes now is marked as new when they look again.
   * @param {string} room_id
   */
  lookedAway(room_id) {
    if (this.opened.room_id !== room_id) return;
    this.opened = { room_id, unread_after: this.preferences.readSeq(room_id) };
  }

  /** @param {RoomFeed} feed */
  unread(feed) {
    return unreadOf(feed.state, this.preferences.readSeq(feed.room_id) ?? feed.state.last_seq);
  }

  // ---- writing ---------------------------------------------------------------------------

  /**
   * The messages of ours that are not events yet, with what the node's outbox holds.
   * @param {RoomFeed} feed
   * @returns {Pending}
   */
  onTheirWay(feed) {
    return joined(this.pending.get(feed.room_id) ?? [], feed.state.outbox);
  }

  /**
   * @param {string} room_id
   * @param {string} text
   */
  send(room_id, text) {
    const pending = this.pending.get(room_id) ?? [];
    this.#keep(room_id, withMessage(pending, newId("evt"), text, this.hooks.now()));
    void this.#sendAll(room_id);
  }

  /**
   * Sends a refused message again, with the same event_id.
   * @param {string} room_id
   * @param {PendingMessage} item
   */
  retry(room_id, item) {
    this.#keep(room_id, withState(this.pending.get(room_id) ?? [], item.event_id, "unsent"));
    void this.#sendAll(room_id);
  }

  /**
   * Takes a message back. Throws a Problem when the node will not (it was accepted meanwhile).
   * @param {string} room_id
   * @param {PendingMessage} item
   */
  async discard(room_id, item) {
    const feed = this.feed(room_id);
    const isHeld = item.state === "waiting" || feed?.state.outbox.has(item.event_id) === true;
    // Refused by the node itself, it was never stored: there is nothing to take back there.
    if (isHeld || item.state !== "refused") {
      const params = { room_id, event_id: item.event_id };
      await this.connection.request("groups.discard", params);
    }
    this.#keep(room_id, withoutMessage(this.pending.get(room_id) ?? [], item.event_id));
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
      const item = (this.pending.get(room_id) ?? []).find(
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
      this.#keep(room_id, withState(this.pending.get(room_id) ?? [], event_id, state, why));
    if (item.state === "unsent" && this.connection.isUp) set("sending");
    try {
      const params = { room_id, event_id, payload: { text: text.toWellFormed() } };
      const answer = await this.connection.request("groups.send", params, SEND_DEADLINE_MS);
      const isHere = answer.event && answer.event.seq <= (this.feed(room_id)?.state.last_seq ?? 0);
      // Normally the event came back by the road before this answer, or will in a moment.
      if (isHere) this.#keep(room_id, withoutMessage(this.pending.get(room_id) ?? [], event_id));
      else set(stateOfAnswer(answer));
      return true;
    } catch (thrown) {
      const problem = asProblem(thrown);
      set(stateOfProblem(problem), { reason: problem.message, next: problem.next });
      return !problem.isOutcomeUnknown;
    }
  }
}

/**
 * @param {RoomFeed} feed
 * @param {Room} room
 */
function newest(feed, room) {
  return Math.max(feed.state.room.latest_seq, room.latest_seq);
}
