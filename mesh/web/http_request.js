/**
 * Requests by HTTP, for what has no WebSocket: signing in, and the page of an invitation.
 *
 * Bodies are JSON, the session is the cookie, and no redirect is followed: what answers from
 * elsewhere is not the node.
 */

import { Problem, problemFrom } from "./problem.js";

const HTTP_DEADLINE_MS = 20_000;

/**
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<Response>}
 */
export async function post(path, body) {
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
export async function answerOf(response) {
  try {
    return await response.json();
  } catch {
    throw new Problem("not_a_node", "What answered is not a roommesh node.", "Check the address.");
  }
}

/**
 * One JSON-RPC request. Throws a Problem: `login_required` without a browser session.
 * @param {string} method
 * @param {Record<string, any>} [params]
 * @returns {Promise<any>}
 */
export async function rpc(method, params = {}) {
  const response = await post("/rpc", { jsonrpc: "2.0", id: 1, method, params });
  if (response.status === 401 || response.status === 403) {
    throw new Problem("login_required", "This browser is not signed in.", "Run “roommesh open”.");
  }
  const answer = await answerOf(response);
  if (answer.error) throw problemFrom(answer.error);
  return answer.result;
}
