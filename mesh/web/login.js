/**
 * Getting in: the one-time link, the browser session, and whether there is one.
 *
 * `roommesh open` prints `URL/#login=SECRET`. The secret travels in the fragment, which browsers
 * do not send, and is posted by this page, so that a prefetch or a chat preview cannot spend it.
 * It is taken out of the address and the history before anything else happens. The page never
 * sees the session: it is an HttpOnly cookie.
 */

import { answerOf, post, rpc } from "./http_request.js";
import { problemFrom } from "./problem.js";

/**
 * Takes the secret of a login link out of the address.
 * @param {Location} location
 * @param {History} history
 * @returns {string|null}
 */
export function takeLoginSecret(location, history) {
  const match = /^#login=([^&]+)$/.exec(location.hash);
  if (match === null) return null;
  // First of all: back, forward and the history list must not hold the secret.
  history.replaceState(null, "", location.pathname);
  return match[1] ?? null;
}

/**
 * Spends a login link.
 * @param {string} secret
 */
export async function login(secret) {
  const response = await post("/login", { secret });
  const answer = await answerOf(response);
  if (!response.ok) throw problemFrom(answer.error);
}

/** Ends this browser session. */
export async function logout() {
  await post("/logout", {});
}

/**
 * Who this page talks to. Throws `login_required` without a session, `unreachable` without a
 * node.
 * @returns {Promise<import("./surface.js").NodeFacts>}
 */
export function nodeFacts() {
  return rpc("node.info");
}
