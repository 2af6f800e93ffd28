/**
 * The page of a browser that is not signed in: which command helps, and why it is needed.
 */

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { brand, icon } from "./icon.js";

/**
 * @param {{reason: string, message: string, next: string}} problem
 * @param {{copy: (text: string) => void, isCopied: boolean, retry: () => void}} actions
 */
export function loginView(problem, actions) {
  const isGone = problem.reason === "unreachable" || problem.reason === "not_a_node";
  const isSpent = problem.reason === "login_spent";
  return html`<main class="alone" data-role="login" data-state=${problem.reason}>
    <div class="alone-card">
      ${brand("large")}
      <h1>${isGone ? "Your node does not answer" : isSpent ? "This link was used already"
        : "Sign in to this node"}</h1>
      <p>${isGone ? `${problem.message} ${problem.next}`
        : isSpent ? "A sign-in link works once and for ten minutes. For a new one, run this in a "
          + "terminal on the machine where the node runs:"
        : "There is no password. Run this in a terminal on the machine where the node runs; it "
          + "opens a link that signs this browser in:"}</p>
      <div class="command"><code>${isGone ? "roommesh up" : "roommesh open"}</code>
        <button type="button" class="button small" data-role="copy"
          @click=${() => actions.copy(isGone ? "roommesh up" : "roommesh open")}>
          ${icon(actions.isCopied ? "check" : "copy")}${actions.isCopied ? "Copied" : "Copy"}
        </button></div>
      <p class="quiet">${isGone ? nothing : html`For another device:
        <code>roommesh open --print</code> prints the link, <code>--qr</code> shows it as a
        code.`}</p>
      <button type="button" class="button" data-role="retry" @click=${actions.retry}>
        ${icon("reload")}Try again</button>
    </div>
  </main>`;
}
