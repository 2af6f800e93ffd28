/**
 * Whom a mention that is being typed may mean: name, handle, machine, id and presence of each.
 *
 * @import { Suggestion } from "./mentions.js"
 */

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { icon } from "./icon.js";
import { nameOf, picture, presenceWords } from "./marks.js";
import { ALL } from "./mentions.js";
import { cleanName, shortId } from "./names.js";

/**
 * @param {readonly Suggestion[]} found
 * @param {number} chosen
 * @param {number} now_ms
 * @param {(handle: string) => void} take
 */
export function suggestionList(found, chosen, now_ms, take) {
  return html`<ul class="suggestions" id="suggestions" role="listbox" aria-label="Members"
    data-role="suggestions">
    ${found.map(({ handle, member }, at) => html`<li id="suggestion-${at}" role="option"
      aria-selected=${String(at === chosen)} data-role="suggestion" data-handle=${handle}
      data-member-id=${member?.member_id ?? nothing}
      @pointerdown=${(/** @type {Event} */ event) => {
        event.preventDefault(); // The field keeps the focus.
        take(handle);
      }}>${member === null ? allView() : suggestionView(member, now_ms)}</li>`)}
  </ul>`;
}

/**
 * @param {import("./surface.js").Member} member
 * @param {number} now_ms
 */
function suggestionView(member, now_ms) {
  const { member_id: id, display_name: name, kind, presence } = member;
  return html`${picture({ id, name, kind, presence })}
    <span class="who"><strong>@<bdi>${cleanName(member.handle)}</bdi></strong>
      ${nameOf(name, id)}</span>
    <span class="where">${kind} on ${nameOf(member.install_name, member.install_id)} ·
      ${shortId(id)} · ${presenceWords(member, now_ms)}</span>`;
}

function allView() {
  return html`<span class="picture agent">${icon("people")}</span>
    <span class="who"><strong>@${ALL}</strong></span>
    <span class="where">every agent of this room</span>`;
}
