/**
 * Messages that this page was asked to send and that have not come back as events yet.
 *
 * Nothing is shown as sent before the event comes back by the road. Until then a message is
 * `sending`, `waiting` (the node holds it, the authority cannot be reached), `unsent` (the page
 * could not reach the node, or lost it before the answer) or `refused`. Every attempt uses the
 * same `event_id`, so that asking again can never post it twice. Pure.
 *
 *   unsent <-> sending -> (event) gone
 *                 |-> waiting -> sending
 *                 '-> refused -> sending (again) | gone (discard)
 *
 * @import { Queued } from "./surface.js"
 * @import { Problem } from "./problem.js"
 */

/**
 * @typedef {{event_id: string, text: string, at: number,
 *   state: "sending"|"waiting"|"unsent"|"refused", reason: string, next: string}} PendingMessage
 * @typedef {readonly PendingMessage[]} Pending
 */

/**
 * @param {Pending} pending
 * @param {string} event_id
 * @param {string} text
 * @param {number} now_ms
 * @returns {Pending}
 */
export function withMessage(pending, event_id, text, now_ms) {
  const item = { event_id, text, at: now_ms, reason: "", next: "" };
  return [...pending, { ...item, state: /** @type {const} */ ("sending") }];
}

/**
 * @param {Pending} pending
 * @param {string} event_id
 * @returns {Pending}
 */
export function withoutMessage(pending, event_id) {
  return pending.filter((item) => item.event_id !== event_id);
}

/**
 * @param {Pending} pending
 * @param {string} event_id
 * @param {PendingMessage["state"]} state
 * @param {{reason?: string, next?: string}} [why]
 * @returns {Pending}
 */
export function withState(pending, event_id, state, why = {}) {
  return pending.map((item) =>
    item.event_id === event_id
      ? { ...item, state, reason: why.reason ?? "", next: why.next ?? "" }
      : item,
  );
}

/**
 * What an answer of `groups.send` makes of the message.
 * @param {any} answer
 * @returns {"sending"|"waiting"}
 */
export function stateOfAnswer(answer) {
  return answer && answer.accepted === false && answer.queued === true ? "waiting" : "sending";
}

/**
 * What a refusal makes of the message.
 * @param {Problem} problem
 * @returns {"unsent"|"refused"}
 */
export function stateOfProblem(problem) {
  return problem.isOutcomeUnknown ? "unsent" : "refused";
}

/**
 * The page's own list together with what the node holds in its outbox (from another page, or
 * from before a reload), without saying anything twice.
 * @param {Pending} pending
 * @param {ReadonlyMap<string, Queued>} outbox
 * @returns {Pending}
 */
export function joined(pending, outbox) {
  const own = pending.map((item) => {
    const queued = outbox.get(item.event_id);
    if (queued === undefined || item.state === "unsent") return item;
    return { ...item, state: stateOfQueued(queued), reason: queued.reason ?? item.reason };
  });
  const known = new Set(pending.map((item) => item.event_id));
  const others = [...outbox.values()].filter(
    (item) => item.kind === "message.user" && !known.has(item.event_id),
  );
  return [
    ...own,
    ...others.map((item) => ({
      event_id: item.event_id,
      text: item.text,
      at: item.queued_at,
      state: stateOfQueued(item),
      reason: item.reason ?? "",
      next: "",
    })),
  ].sort((a, b) => a.at - b.at);
}

/**
 * @param {Queued} queued
 * @returns {"waiting"|"sending"|"refused"}
 */
function stateOfQueued(queued) {
  if (queued.state === "refused") return "refused";
  return queued.state === "waiting" ? "waiting" : "sending";
}
