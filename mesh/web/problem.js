/**
 * Refusals and failures, as one type that a person can read.
 *
 * The node answers errors as `{code, message, data: {reason, status, next}}`; the page adds its
 * own reasons for what happens before the node could answer: `connection_lost`, `no_answer`,
 * `unreachable` and `login_required`. The sentence says what happened; `next` says what to do.
 */

/** Reasons that mean the request may or may not have been done: ask again with the same id. */
const UNKNOWN_OUTCOME = new Set(["connection_lost", "no_answer", "unreachable", "busy"]);

export class Problem extends Error {
  /**
   * @param {string} reason the stable word
   * @param {string} message one sentence
   * @param {string} [next] what to do; may be empty
   * @param {number} [status]
   */
  constructor(reason, message, next = "", status = 0) {
    super(message);
    this.name = "Problem";
    this.reason = reason;
    this.next = next;
    this.status = status;
  }

  /** True when nobody knows whether the request was done. */
  get isOutcomeUnknown() {
    return UNKNOWN_OUTCOME.has(this.reason);
  }
}

/**
 * A Problem from a JSON-RPC error object or from the body of an HTTP refusal.
 * @param {any} error
 * @returns {Problem}
 */
export function problemFrom(error) {
  const facts = error && typeof error === "object" ? error : {};
  const more = facts.data && typeof facts.data === "object" ? facts.data : facts;
  const reason = typeof more.reason === "string" ? more.reason : "unknown";
  const message =
    typeof facts.message === "string" && facts.message !== ""
      ? facts.message
      : `The node answered “${reason}”.`;
  const next = typeof more.next === "string" ? more.next : "";
  return new Problem(reason, message, next, typeof more.status === "number" ? more.status : 0);
}

/**
 * Anything thrown, as a Problem; a fault of the page itself is named as such.
 * @param {unknown} thrown
 * @returns {Problem}
 */
export function asProblem(thrown) {
  if (thrown instanceof Problem) return thrown;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return new Problem("page_fault", `The page itself failed: ${text}`, "Reload the page.");
}
