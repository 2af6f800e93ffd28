/**
 * The frame of every dialog: a title, a way out, and the sheet it becomes on a phone.
 *
 * The browser's own <dialog> keeps the focus inside, makes the rest inert and closes on Escape.
 *
 * @import { Page } from "./page.js"
 */

import { html } from "./vendor/lit-html/lit-html.js";
import { icon } from "./icon.js";

/**
 * @param {Page} page
 * @param {{title: unknown, kind: string, body: unknown, size?: "small"|"wide"}} what
 */
export function dialogFrame(page, { title, kind, body, size = "small" }) {
  const mine = page.dialog;
  const close = () => {
    // The close event of a dialog that was replaced comes late: it must not close the next.
    if (page.dialog === mine) page.closeDialog();
  };
  return html`<dialog class="sheet ${size}" data-role="dialog" data-kind=${kind}
    aria-labelledby="dialog-title"
    @close=${close}
    @click=${(/** @type {Event} */ event) => {
      // Only the backdrop reports the dialog itself as the target.
      if (event.target === event.currentTarget) close();
    }}>
    <div class="sheet-inside">
      <header>
        <h2 id="dialog-title">${title}</h2>
        <button type="button" class="button icon-only" data-role="close" aria-label="Close"
          @click=${close}>${icon("close")}</button>
      </header>
      <div class="sheet-body">${body}</div>
    </div>
  </dialog>`;
}

/**
 * A field with its label and a line of help or of refusal.
 * @param {string} label
 * @param {unknown} field
 * @param {unknown} [help]
 */
export function labelled(label, field, help = "") {
  return html`<label class="labelled"><span>${label}</span>${field}
    <small>${help}</small></label>`;
}

/**
 * What a form holds, as plain texts.
 * @param {Event} event a submit event; its default is prevented
 * @returns {Record<string, string>}
 */
export function valuesOf(event) {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.currentTarget);
  /** @type {Record<string, string>} */
  const values = {};
  for (const [name, value] of new FormData(form)) values[name] = String(value).toWellFormed();
  return values;
}
