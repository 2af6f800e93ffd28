/**
 * The page as a whole: where it is, what lies on top, and when it is drawn again.
 *
 * It owns the one connection and the parts that hang on it, and gives the views what they use:
 * `page.rooms`, `page.node`, `page.ask`, `page.open`, `page.redraw`. Drawing is one pure pass
 * over the state, at most once a frame. Views hold no state of their own except what a person
 * is typing, which lies in the dialog's own object.
 *
 * @import { NodeFacts as Facts, RoomEvent } from "./surface.js"
 * @import { RoomFeed } from "./room_feed.js"
 */

import { Clipboard } from "./clipboard.js";
import { Composer } from "./composer.js";
import { Connection } from "./connection.js";
import { nodeFacts } from "./login.js";
import { shownName } from "./names.js";
import { NodeFacts } from "./node_facts.js";
import { Preferences, storageOf } from "./preferences.js";
import { asProblem } from "./problem.js";
import { Rooms } from "./rooms.js";
import { hashOfRoom, routeOf } from "./route.js";
import { TimelineScroll } from "./timeline_scroll.js";
import { isMessage } from "./timeline.js";
import { Toasts } from "./toasts.js";

/** @typedef {{kind: string, [field: string]: any}} Dialog */

export class Page {
  /**
   * @param {Facts} facts
   * @param {(page: Page) => void} draw
   * @param {() => void} onSignedOut
   */
  constructor(facts, draw, onSignedOut) {
    this.draw = draw;
    this.onSignedOut = onSignedOut;
    this.now = () => Date.now();
    this.preferences = new Preferences(storageOf(window), facts.install_id);
    this.connection = new Connection({
      url: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/rpc`,
      onNotification: (params) => this.#take(params),
      onStatus: (status) => this.#linkChanged(status.state),
      onRefused: () => this.#isSignedOut(),
    });
    this.node = new NodeFacts(this.connection, facts, () => this.redraw());
    this.rooms = new Rooms(this.connection, this.preferences, {
      redraw: () => this.redraw(),
      onListed: () => this.arrive(),
      isAtFoot: () => this.scroll.isAtFoot,
      onMessage: (feed, event) => this.#announce(feed, event),
      now: this.now,
    });
    this.composer = new Composer(this);
    this.scroll = new TimelineScroll(this);
    /** @type {import("./route.js").Route} */
    this.route = routeOf(location.hash);
    /** @type {Dialog|null} */
    this.dialog = null;
    this.toasts = new Toasts(() => this.redraw());
    this.announcement = "";
    this.clipboard = new Clipboard(() => this.redraw());
    this.armed = "";
    this.expanded = "";
    this.busy = "";
    this.isWide = matchMedia("(min-width: 1100px)");
    this.isDrawing = false;
  }

  start() {
    this.isWide.addEventListener("change", () => this.redraw());
    addEventListener("hashchange", () => this.#moved());
    addEventListener("online", () => this.connection.retryNow());
    document.addEventListener("visibilitychange", () => this.#looked());
    setInterval(() => this.redraw(), 20_000); // "3 min ago" grows old.
    this.connection.start();
    this.redraw();
  }

  redraw() {
    if (this.isDrawing) return;
    this.isDrawing = true;
    const run = () => {
      this.isDrawing = false;
      this.scroll.before();
      this.draw(this);
      this.scroll.after();
      this.#showDialog();
    };
    // Frames stop in a hidden page, but its title still has to count.
    if (document.hidden) setTimeout(run, 200);
    else requestAnimationFrame(run);
  }

  /** A dialog element opens only by a call; the browser then keeps the focus inside. */
  #showDialog() {
    const element = document.querySelector("dialog");
    if (element && !element.open) element.showModal();
  }

  /** @param {string} hash */
  go(hash) {
    if (location.hash === hash) this.#moved();
    else location.hash = hash;
  }

  /** @param {string} room_id */
  goRoom(room_id) {
    this.go(hashOfRoom(room_id));
  }

  #moved() {
    this.route = routeOf(location.hash);
    this.closeDialog();
    this.armed = "";
    this.expanded = "";
    this.arrive();
    if (this.route.name === "node") void this.node.loadAll();
  }

  /** Opens what the route names; on a wide screen no route means the last room. */
  arrive() {
    if (this.route.name === "rooms" && this.isTwoColumn) this.#enterSomeRoom();
    const { route } = this;
    if (route.name === "room" && this.rooms.feed(route.room_id)) {
      this.preferences.lastRoom = route.room_id;
      if (this.rooms.opened.room_id !== route.room_id) this.scroll.reset();
      void this.rooms.open(route.room_id);
    }
    if (route.name !== "room") this.rooms.close();
    this.redraw();
  }

  #enterSomeRoom() {
    const last = this.rooms.feed(this.preferences.lastRoom) ?? this.rooms.sorted[0];
    if (last === undefined) return;
    history.replaceState(null, "", hashOfRoom(last.room_id));
    this.route = { name: "room", room_id: last.room_id };
  }

  get isTwoColumn() {
    return matchMedia("(min-width: 760px)").matches;
  }

  /** @returns {RoomFeed|undefined} the room on the screen */
  get feed() {
    return this.route.name === "room" ? this.rooms.feed(this.route.room_id) : undefined;
  }

  /**
   * One request on behalf of a button: while it runs `busy` is its name, and a refusal becomes
   * a toast.
   * @template T
   * @param {string} name
   * @param {() => Promise<T>} work
   * @returns {Promise<T|undefined>} undefined when it was refused
   */
  async ask(name, work) {
    if (this.busy === name) return undefined;
    this.busy = name;
    this.armed = "";
    this.redraw();
    try {
      return await work();
    } catch (thrown) {
      const problem = asProblem(thrown);
      this.toast(problem.message, problem.next);
      return undefined;
    } finally {
      if (this.busy === name) this.busy = "";
      this.redraw();
    }
  }

  /**
   * A control call of a room: refused ones become a toast, queued ones say so.
   * @param {string} name
   * @param {string} method
   * @param {Record<string, any>} params
   */
  async control(name, method, params) {
    const answer = await this.ask(name, () => this.connection.request(method, params));
    if (answer?.queued) {
      this.toast("The room’s host cannot be reached.", "It is done as soon as it is back.", "good");
    }
    return answer;
  }

  /**
   * @param {string} text
   * @param {string} [next]
   * @param {"bad"|"good"} [tone]
   */
  toast(text, next = "", tone = "bad") {
    this.toasts.add({ text, next, tone });
  }

  /** @param {Dialog} dialog */
  open(dialog) {
    this.#closeElement();
    this.dialog = dialog;
    this.armed = "";
    this.redraw();
  }

  closeDialog() {
    if (this.dialog === null) return;
    this.#closeElement();
    this.dialog = null;
    this.armed = "";
    this.redraw();
  }

  /** Closing, unlike removing, gives the focus back to where it was. */
  #closeElement() {
    document.querySelector("dialog")?.close();
  }

  /**
   * @param {string} text
   * @param {string} key which button says "Copied"
   */
  async copy(text, key) {
    if (await this.clipboard.copy(text, key)) return;
    this.toast("This browser does not let the page copy.", "Select the text and copy it.");
  }

  /** Which button says "Copied". */
  get copied() {
    return this.clipboard.copied;
  }

  /** @param {any} params */
  #take(params) {
    if (params.type === "node.changed") {
      if (params.what === "rooms") void this.#quietly(() => this.rooms.refresh());
      void this.#quietly(() => this.node.changed(params.what));
    } else this.rooms.take(params);
  }

  /** @param {string} state */
  #linkChanged(state) {
    if (state === "up") void this.#quietly(() => this.#connected());
    else this.rooms.disconnected();
    this.redraw();
  }

  async #connected() {
    await this.node.follow();
    await this.rooms.connected();
    await this.node.connected();
    if (this.route.name === "node") await this.node.loadAll();
  }

  /**
   * Work that nobody waits for: a lost connection starts it again, anything else is shown.
   * @param {() => Promise<unknown>} work
   */
  async #quietly(work) {
    try {
      await work();
    } catch (thrown) {
      const problem = asProblem(thrown);
      if (!problem.isOutcomeUnknown) this.toast(problem.message, problem.next);
    }
  }

  async #isSignedOut() {
    try {
      await nodeFacts();
      return false;
    } catch (thrown) {
      if (asProblem(thrown).reason !== "login_required") return false;
      this.onSignedOut();
      return true;
    }
  }

  /**
   * @param {RoomFeed} feed
   * @param {RoomEvent} event
   */
  #announce(feed, event) {
    const isOther = isMessage(event) && event.actor.id !== feed.state.room.me;
    if (!isOther || this.feed !== feed || !feed.isLive) return;
    const name = shownName(event.actor.display_name, event.actor.id);
    this.announcement = `${name}: ${String(event.payload.text ?? "").slice(0, 200)}`;
    this.scroll.arrived();
  }

  #looked() {
    if (document.hidden) {
      if (this.feed) this.rooms.lookedAway(this.feed.room_id);
    } else {
      this.rooms.lookedBack();
      this.connection.retryNow();
    }
    this.redraw();
  }
}
