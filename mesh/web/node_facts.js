/**
 * What the page knows of its own node: who it is, its links, profiles, loans, browser sessions.
 *
 * Everything is asked anew when the node says that it changed; nothing is guessed in between.
 *
 * @import { Connection } from "./connection.js"
 * @import { BrowserSession, Grant, Invitation, NodeFacts as Facts, NodeStatus, ProfileStatus }
 *   from "./surface.js"
 */

import { asProblem } from "./problem.js";

export class NodeFacts {
  /**
   * @param {Connection} connection
   * @param {Facts} facts
   * @param {() => void} redraw
   */
  constructor(connection, facts, redraw) {
    this.connection = connection;
    this.redraw = redraw;
    this.facts = facts;
    /** @type {NodeStatus|null} */
    this.status = null;
    /** @type {ProfileStatus[]|null} */
    this.profiles = null;
    /** @type {Grant[]|null} */
    this.grants = null;
    /** @type {BrowserSession[]|null} */
    this.sessions = null;
    /** @type {Map<string, Invitation[]>} by room */
    this.invitations = new Map();
    /** @type {import("./problem.js").Problem|null} */
    this.problem = null;
  }

  /** After every new connection, before anything is asked: what changes then is heard of. */
  async follow() {
    await this.connection.request("node.subscribe");
  }

  /** After every new connection. */
  async connected() {
    await this.#load(async () => {
      this.facts = await this.connection.request("node.info");
      this.status = await this.connection.request("node.status");
    });
  }

  /**
   * A `node.changed` notification.
   * @param {string} what
   */
  async changed(what) {
    if (what === "invitations") {
      for (const room_id of this.invitations.keys()) await this.loadInvitations(room_id);
      return;
    }
    await this.#load(async () => {
      this.status = await this.connection.request("node.status");
    });
    if (what === "profiles" && this.profiles !== null) await this.loadProfiles();
    if (this.grants !== null) await this.loadGrants();
  }

  async loadProfiles() {
    await this.#load(async () => {
      this.profiles = (await this.connection.request("profiles.list")).profiles;
    });
  }

  async loadGrants() {
    await this.#load(async () => {
      this.grants = (await this.connection.request("grants.list")).grants;
    });
  }

  async loadSessions() {
    await this.#load(async () => {
      this.sessions = (await this.connection.request("node.sessions")).sessions;
    });
  }

  /** @param {string} room_id */
  async loadInvitations(room_id) {
    await this.#load(async () => {
      const answer = await this.connection.request("invitations.list", { room_id });
      this.invitations.set(room_id, answer.invitations);
    });
  }

  /** Everything the node's own page shows. */
  async loadAll() {
    await this.#load(async () => {
      this.facts = await this.connection.request("node.info");
      this.status = await this.connection.request("node.status");
    });
    await this.loadProfiles();
    await this.loadGrants();
    await this.loadSessions();
  }

  /** @param {boolean} enabled */
  async setLan(enabled) {
    const answer = await this.connection.request("node.set_lan", { enabled });
    this.facts = { ...this.facts, ...answer };
    this.redraw();
  }

  /**
   * Runs one question; its refusal is kept to be shown on the node's page.
   * @param {() => Promise<void>} question
   */
  async #load(question) {
    try {
      await question();
      this.problem = null;
    } catch (thrown) {
      const problem = asProblem(thrown);
      this.problem = problem.isOutcomeUnknown ? null : problem;
    }
    this.redraw();
  }
}
