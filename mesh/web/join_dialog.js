/**
 * Joining with a link that was pasted: it only finds the link and goes to this node's own
 * invitation page, where the preview and the consent are.
 *
 * @import { Dialog, Page } from "./page.js"
 */

import { html } from "./vendor/lit-html/lit-html.js";
import { dialogFrame, labelled, valuesOf } from "./dialog_frame.js";
import { icon } from "./icon.js";

/**
 * The fragment of an invitation link, from whatever was pasted.
 * @param {string} text
 * @returns {string|null}
 */
export function fragmentOf(text) {
  const match = /(?:\/i#|^#?)([A-Za-z0-9_-]{40,})(?![A-Za-z0-9_-])/.exec(text.trim());
  return match?.[1] ?? null;
}

/**
 * @param {Page} page
 * @param {Dialog} dialog
 */
export function joinDialog(page, dialog) {
  const look = (/** @type {Record<string, string>} */ values) => {
    const fragment = fragmentOf(values.link ?? "");
    if (fragment === null) {
      dialog.error = "This is not a whole invitation link. Copy it again from where it was sent.";
      page.redraw();
      return;
    }
    location.assign(`/i#${fragment}`);
  };
  return dialogFrame(page, {
    kind: "join",
    title: "Join with a link",
    body: html`<form data-role="join-form"
      @submit=${(/** @type {Event} */ event) => look(valuesOf(event))}>
      ${labelled("Invitation link", html`<input name="link" required autofocus autocomplete="off"
        spellcheck="false" placeholder="https://…/i#…" aria-invalid=${String(!!dialog.error)} />`,
        dialog.error ?? "You see who invites to what before anything happens.")}
      <footer><button class="button primary">${icon("eye")}Look at it</button></footer>
    </form>`,
  });
}
