/**
 * Icons, from one SVG file of our own. They are decoration: the words stand beside them, or in
 * the label of the button.
 */

import { html } from "./vendor/lit-html/lit-html.js";

/** @param {string} name a symbol of icons.svg */
export function icon(name) {
  return html`<svg class="icon" aria-hidden="true" focusable="false">
    <use href="/web/icons.svg#${name}"></use>
  </svg>`;
}
