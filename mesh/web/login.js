/**
 * Getting in: the one-time link, the browser session, and whether there is one.
 *
 * `roommesh open` prints `URL/#login=SECRET`. The secret travels in the fragment, which browsers
 * do not send, and is posted by this page, so that a prefetch or a chat preview cannot spend it.
 * It is taken out of the address and the history before anything else happens. The page never
 * sees the session: it is an HttpOnly cookie.
 */

import { Problem, problemFrom } from "./problem.js";

const HTTP_DEADLINE_MS = 10_000;

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
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<Response>}
 */
async function post(path, body) {
  try {
    return await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(HTTP_DEADLINE_MS),
    });
  } catch {
    throw new Problem(
      "unreachable",
      "Your node cannot be reached.",
      "Start it with “roommesh up”; this page tries again by itself.",
    );
  }
}

/**
 * @param {Response} response
 * @returns {Promise<any>}
 */
async function answerOf(response) {
  try {
    return await response.json();
  } catch {
    throw new Problem("not_a_node", "What answered is not a roommesh node.", "Check the address.");
  }
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
export async function nodeFacts() {
  const request = { jsonrpc: "2.0", id: 1, method: "node.info", params: {} };
  const response = await post("/rpc", request);
  if (response.status === 401 || response.status === 403) {
    throw new Problem("login_required", "This browser is not signed in.", "Run “roommesh open”.");
  }
  const answer = await answerOf(response);
  if (answer.error) throw problemFrom(answer.error);
  return answer.result;
}
