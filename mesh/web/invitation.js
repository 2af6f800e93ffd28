/**
 * One invitation as the guest's page follows it: from the link to the room.
 *
 *   reading -> away (not signed in here: the command) | shown | failed
 *   shown -> joining -> joined | failed | uncertain
 *
 * The request id is minted once and kept for this tab, so that a reload in the middle of joining
 * asks for the same receipt instead of joining twice. The link's secret stays in the fragment.
 *
 * @import { NodeFacts, Preview, ProfileStatus, Receipt } from "./surface.js"
 */

import { rpc } from "./http_request.js";
import { newId } from "./ids.js";
import { asProblem, Problem } from "./problem.js";

const RECEIPT_WAIT_MS = 1_000;
const RECEIPT_TRIES = 30;

/**
 * @typedef {{profile: string, handle?: string, permissions: string[], until: number}} Loan
 * @typedef {"reading"|"away"|"shown"|"joining"|"joined"|"failed"|"uncertain"} State
 */

export class GuestInvitation {
  /**
   * @param {string} link
   * @param {() => void} redraw
   */
  constructor(link, redraw) {
    this.link = link;
    this.redraw = redraw;
    /** @type {State} */
    this.state = "reading";
    /** @type {Preview|null} */
    this.preview = null;
    /** @type {NodeFacts|null} */
    this.facts = null;
    /** @type {ProfileStatus[]} */
    this.profiles = [];
    /** @type {Problem|null} */
    this.problem = null;
    this.room_id = "";
  }

  /** Asks this node who invites to what. */
  async read() {
    this.#become("reading");
    try {
      this.facts = await rpc("node.info");
    } catch (thrown) {
      this.problem = asProblem(thrown);
      this.#become(this.problem.reason === "login_required" ? "away" : "failed");
      return;
    }
    try {
      this.preview = await rpc("invitations.preview", { link: this.link });
      this.profiles = (await rpc("profiles.list")).profiles;
      this.#become("shown");
    } catch (thrown) {
      this.problem = asProblem(thrown);
      this.#become("failed");
    }
  }

  /**
   * @param {string} display_name
   * @param {Loan[]} lend
   */
  async join(display_name, lend) {
    const request_id = this.#requestId();
    this.problem = null;
    this.#become("joining");
    try {
      const params = { link: this.link, request_id, display_name, lend };
      if (display_name === "") Reflect.deleteProperty(params, "display_name");
      await this.#settle(await rpc("invitations.accept", params));
    } catch (thrown) {
      const problem = asProblem(thrown);
      this.problem = problem;
      if (!problem.isOutcomeUnknown) this.#forget();
      this.#become(problem.isOutcomeUnknown ? "uncertain" : "failed");
    }
  }

  /** Asks what became of a join whose answer was lost. Never joins. */
  async askAgain() {
    this.#become("joining");
    try {
      const request_id = this.#requestId();
      await this.#settle(await rpc("invitations.operation", { request_id }));
    } catch (thrown) {
      this.problem = asProblem(thrown);
      this.#become("uncertain");
    }
  }

  /** @param {Receipt} first */
  async #settle(first) {
    let receipt = first;
    for (let tries = 0; receipt.status === "pending" && tries < RECEIPT_TRIES; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, RECEIPT_WAIT_MS));
      receipt = await rpc("invitations.operation", { request_id: receipt.request_id });
    }
    if (receipt.status === "applied") {
      this.#forget();
      this.room_id = receipt.result.room_id;
      this.#become("joined");
      return;
    }
    const words = receipt.message ?? "Nobody knows yet whether you joined.";
    this.problem = new Problem(receipt.reason ?? receipt.status, words);
    if (receipt.status === "rejected") this.#forget();
    this.#become(receipt.status === "rejected" ? "failed" : "uncertain");
  }

  #requestId() {
    const known = sessionStorage.getItem(this.#key);
    if (known !== null) return known;
    const request_id = newId("req");
    sessionStorage.setItem(this.#key, request_id);
    return request_id;
  }

  #forget() {
    sessionStorage.removeItem(this.#key);
  }

  /** The end of the link is its checksum: it tells links apart without the secret. */
  get #key() {
    return `roommesh:join:${this.link.slice(-8)}`;
  }

  /** @param {State} state */
  #become(state) {
    this.state = state;
    this.redraw();
  }
}
