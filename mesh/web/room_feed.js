/**
 * One room's stream from the node into its state: subscribe, catch up, resume, start over.
 *
 * The cursor is the last seq in the state. After every new connection the feed subscribes again
 * from there; a hole is filled from the log; a gap notice or a different history makes it read
 * the newest part anew and say so. It applies, and never interprets: that is store.js.
 *
 * @import { Connection } from "./connection.js"
 * @import { Room, RoomEvent } from "./surface.js"
 */

import { asProblem } from "./problem.js";
import { applySignal } from "./signal.js";
import { applyAnswer, applyEvent, applyOlder, emptyRoom, trimmed } from "./store.js";
import { isMessage } from "./timeline.js";

/** Events read when a room is opened for the first time. */
export const WINDOW = 200;
/** Further behind than this, the newest window is read instead of everything. */
export const BEHIND_MAX = 1_000;
/** Messages wanted on the screen when a room is opened. */
const MESSAGES_WANTED = 30;

/** Events after which members, turns and the like are asked for again. */
const RESTATED = /^(member\.|route\.|grant\.|policy\.|room\.|invitation\.redeemed)/;

export class RoomFeed {
  /**
   * @param {Connection} connection
   * @param {Room} room
   * @param {number} since_seq where reading starts
   * @param {{onChange: () => void, onEvent: (feed: RoomFeed, event: RoomEvent) => void,
   *   now: () => number}} hooks
   */
  constructor(connection, room, since_seq, hooks) {
    this.connection = connection;
    this.hooks = hooks;
    this.state = emptyRoom(room, since_seq);
    this.isLoadingOlder = false;
    this.isLive = false;
    /** @type {import("./problem.js").Problem|null} */
    this.problem = null;
    this.isCatchingUp = false;
    /** @type {any} */
    this.stateTimer = null;
  }

  get room_id() {
    return this.state.room.room_id;
  }

  /** @param {import("./store.js").RoomState} state */
  #set(state) {
    if (state === this.state) return;
    this.state = state;
    this.hooks.onChange();
  }

  /** Subscribes from the cursor; called after every (re)connection. */
  async resume() {
    const { room } = this.state;
    if (room.latest_seq - this.state.last_seq > BEHIND_MAX) {
      this.state = this.#anew(Math.max(0, room.latest_seq - WINDOW));
    }
    await this.#guarded(async () => {
      const answer = await this.connection.request("groups.subscribe", {
        room_id: this.room_id,
        since_seq: this.state.last_seq,
      });
      this.isLive = true;
      if (answer.latest_seq < this.state.last_seq) {
        // The log is shorter than what was read here: it was rewound, or is another one.
        await this.#startOver();
        return;
      }
      const authority = { ...this.state.authority, ...answer.authority };
      const latest_seq = Math.max(this.state.latest_seq, answer.latest_seq);
      this.#set({ ...this.state, authority, latest_seq });
      await this.restate();
    });
  }

  /** The connection is gone: nothing is live until resume(). */
  pause() {
    this.isLive = false;
    clearTimeout(this.stateTimer);
    this.stateTimer = null;
  }

  /** Asks for members, turns and authority again. */
  async restate() {
    await this.#guarded(async () => {
      const answer = await this.connection.request("groups.state", { room_id: this.room_id });
      this.#set(applyAnswer(this.state, answer));
    });
  }

  /**
   * One notification of this room's subscription.
   * @param {any} params
   */
  take(params) {
    if (params.type === "group.event") this.#event(params.payload);
    else if (params.type === "group.gap") void this.#gap(params);
    else if (params.type === "group.signal") {
      this.#set(applySignal(this.state, params.payload, this.hooks.now()));
    }
  }

  /** @param {RoomEvent} event */
  #event(event) {
    const before = this.state.last_seq;
    const after = applyEvent(this.state, event);
    this.#set(after);
    if (after.forked) void this.#startOver();
    else if (after.missing_from !== null) void this.#catchUp();
    if (after.last_seq === before) return;
    this.hooks.onEvent(this, event);
    if (RESTATED.test(event.kind)) this.#restateSoon();
  }

  /** Joins and leaves often come in a row: one question after them is enough. */
  #restateSoon() {
    clearTimeout(this.stateTimer);
    this.stateTimer = setTimeout(() => {
      if (this.isLive) void this.restate();
    }, 150);
  }

  /** Reads what lies between the cursor and an event that came too early. */
  async #catchUp() {
    if (this.isCatchingUp) return;
    this.isCatchingUp = true;
    await this.#guarded(async () => {
      for (let more = true; more; ) {
        const page = await this.#page(this.state.last_seq, 500);
        const before = this.state.last_seq;
        for (const event of page.events) this.#event(event);
        const isBehind = page.has_more === true || this.state.missing_from !== null;
        more = isBehind && this.state.last_seq > before;
      }
    });
    this.isCatchingUp = false;
  }

  /** @param {any} gap */
  async #gap(gap) {
    if (gap.state) this.state = applyAnswer(this.state, gap.state);
    await this.#startOver();
  }

  /** Drops what was read and reads the newest part of the log; says so in the room. */
  async #startOver() {
    await this.#guarded(async () => {
      const answer = await this.connection.request("groups.state", { room_id: this.room_id });
      const since = Math.max(0, answer.latest_seq - WINDOW);
      const state = applyAnswer(this.#anew(since), answer);
      const notice = {
        key: `notice:reloaded:${this.hooks.now()}`,
        after_seq: answer.latest_seq,
        at: this.hooks.now(),
        member_id: null,
        what: "reloaded",
        reason: null,
      };
      this.#set({ ...state, notices: [notice] });
      const params = { room_id: this.room_id, since_seq: since };
      await this.connection.request("groups.subscribe", params);
    });
  }

  /** @param {number} since_seq */
  #anew(since_seq) {
    const { room, members, authority, policy, outbox, stated } = this.state;
    return { ...emptyRoom(room, since_seq), members, authority, policy, outbox, stated };
  }

  /** Reads enough of the past to fill the screen when the room is opened. */
  async fill() {
    for (let tries = 0; tries < 5; tries += 1) {
      const shown = this.state.events.filter(isMessage).length;
      if (shown >= MESSAGES_WANTED || this.state.first_seq <= 1) return;
      if (!(await this.loadOlder())) return;
    }
  }

  /**
   * One page of the past.
   * @returns {Promise<boolean>} true when something older was added
   */
  async loadOlder() {
    const { first_seq } = this.state;
    if (this.isLoadingOlder || first_seq <= 1) return false;
    this.isLoadingOlder = true;
    this.hooks.onChange();
    await this.#guarded(async () => {
      const since = Math.max(0, first_seq - 1 - WINDOW);
      const page = await this.#page(since, first_seq - 1 - since);
      this.#set(applyOlder(this.state, page.events));
    });
    this.isLoadingOlder = false;
    this.hooks.onChange();
    return this.state.first_seq < first_seq;
  }

  /**
   * Forgets old events, in larger steps so that it seldom happens.
   * @param {number} keep
   */
  trimTo(keep) {
    if (this.state.events.length > keep * 1.5) this.#set(trimmed(this.state, keep));
  }

  /**
   * @param {number} since_seq
   * @param {number} limit
   */
  async #page(since_seq, limit) {
    const params = { room_id: this.room_id, since_seq, limit: Math.min(limit, 1000) };
    return await this.connection.request("groups.log", params);
  }

  /**
   * Runs one exchange; a refusal is kept to be shown, a lost connection is resumed anyway.
   * @param {() => Promise<void>} exchange
   */
  async #guarded(exchange) {
    try {
      await exchange();
      this.problem = null;
    } catch (thrown) {
      const problem = asProblem(thrown);
      this.problem = problem.isOutcomeUnknown ? null : problem;
      this.hooks.onChange();
    }
  }
}
