/**
 * The rooms of this node: one feed each, which is on the screen, and what was read.
 *
 * @import { Connection } from "./connection.js"
 * @import { Preferences } from "./preferences.js"
 * @import { Room, RoomEvent } from "./surface.js"
 */

import { Outgoing } from "./outgoing.js";
import { RoomFeed, WINDOW } from "./room_feed.js";
import { unreadOf } from "./timeline.js";

/** Events kept of a room that is not on the screen, and of one that is. */
const KEEP_UNSEEN = 600;
const KEEP_SEEN = 800;

/** Events read of every room, for the line under its name. */
const FOR_THE_LIST = 20;

/**
 * @typedef {{redraw: () => void, onListed: () => void, isAtFoot: () => boolean,
 *   now: () => number,
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
    this.outgoing = new Outgoing(connection, preferences, {
      redraw: hooks.redraw,
      feed: (room_id) => this.feed(room_id),
      now: hooks.now,
    });
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
      this.outgoing.resume(feed.room_id);
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
    // A few events more than what is new, so that the list can show the last message.
    const wanted = Math.min(read ?? Infinity, room.latest_seq - FOR_THE_LIST);
    const since = Math.max(wanted, room.latest_seq - WINDOW);
    const feed = new RoomFeed(this.connection, room, Math.max(0, since), {
      onChange: this.hooks.redraw,
      onEvent: (source, event) => this.#arrived(source, event),
      now: this.hooks.now,
    });
    this.feeds.set(room.room_id, feed);
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
      this.outgoing.arrived(feed.room_id, event.event_id);
    }
    const isLooked = this.opened.room_id === feed.room_id;
    if (!isLooked) feed.trimTo(KEEP_UNSEEN);
    else if (this.hooks.isAtFoot()) feed.trimTo(KEEP_SEEN);
    this.hooks.onMessage(feed, event);
  }

  /** @param {string} room_id */
  async open(room_id) {
    if (this.opened.room_id === room_id) return;
    this.feed(this.opened.room_id)?.trimTo(KEEP_UNSEEN);
    const feed = this.feed(room_id);
    if (feed === undefined) return;
    const read = this.preferences.readSeq(room_id);
    const hasUnread = read !== null && unreadOf(feed.state, read).count > 0;
    this.opened = { room_id, unread_after: hasUnread ? read : null };
    await feed.fill();
  }

  close() {
    this.feed(this.opened.room_id)?.trimTo(KEEP_UNSEEN);
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

  /** The reader looks again: nothing new means that no line is needed. */
  lookedBack() {
    const feed = this.feed(this.opened.room_id);
    if (feed && this.unread(feed).count === 0) this.answered();
  }

  /** Whoever writes has read. */
  answered() {
    this.opened = { ...this.opened, unread_after: null };
  }

  /** @param {RoomFeed} feed */
  unread(feed) {
    return unreadOf(feed.state, this.preferences.readSeq(feed.room_id) ?? feed.state.last_seq);
  }
}

/**
 * @param {RoomFeed} feed
 * @param {Room} room
 */
function newest(feed, room) {
  return Math.max(feed.state.room.latest_seq, room.latest_seq);
}
