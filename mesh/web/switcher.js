/**
 * The switcher: type a few letters, press Enter, be in that room. Opened by `/` or Ctrl+K.
 *
 * @import { Dialog, Page } from "./page.js"
 */

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { icon } from "./icon.js";
import { dialogFrame } from "./dialog_frame.js";
import { nameOf } from "./marks.js";
import { cleanName } from "./names.js";

/**
 * @typedef {{key: string, icon: string, name: unknown, note: unknown, go: () => void}} Target
 */

/**
 * @param {Page} page
 * @param {Dialog} dialog
 */
export function switcherDialog(page, dialog) {
  const targets = targetsOf(page, String(dialog.words ?? "").toLowerCase());
  const at = Math.min(dialog.at ?? 0, Math.max(0, targets.length - 1));
  const key = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) dialog.at = (at + step + targets.length) % (targets.length || 1);
    else if (event.key === "Enter") targets[at]?.go();
    else return;
    event.preventDefault();
    page.redraw();
  };
  return dialogFrame(page, {
    kind: "switcher",
    title: "Go to",
    body: html`<input class="search" type="search" autofocus autocomplete="off"
        data-role="switcher-text" placeholder="A room’s name" role="combobox"
        aria-expanded="true" aria-controls="targets" aria-label="Go to"
        aria-activedescendant="target-${at}" @keydown=${key}
        @input=${(/** @type {Event} */ event) => {
          dialog.words = /** @type {HTMLInputElement} */ (event.currentTarget).value;
          dialog.at = 0;
          page.redraw();
        }} />
      <ul class="targets" id="targets" role="listbox" aria-label="Places">
        ${targets.map((target, index) => html`<li id="target-${index}" role="option"
          data-role="target" aria-selected=${String(index === at)} @click=${target.go}>
          ${icon(target.icon)}<span class="name">${target.name}</span>
          <span class="sub">${target.note}</span></li>`)}
        ${targets.length === 0 ? html`<li class="none">No room is called like that.</li>` : nothing}
      </ul>
      <p class="keys quiet"><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> go
        <kbd>Esc</kbd> close</p>`,
  });
}

/**
 * @param {Page} page
 * @param {string} words
 * @returns {Target[]}
 */
function targetsOf(page, words) {
  const fits = (/** @type {string} */ name) =>
    words.split(/\s+/).every((word) => cleanName(name).toLowerCase().includes(word));
  const rooms = page.rooms.sorted
    .filter((feed) => fits(feed.state.room.name))
    .map((feed) => {
      const { count } = page.rooms.unread(feed);
      return {
        key: feed.room_id,
        icon: "chat",
        name: nameOf(feed.state.room.name, feed.room_id),
        note: count > 0 ? `${count} new` : "",
        go: () => {
          page.closeDialog();
          page.goRoom(feed.room_id);
        },
      };
    });
  const places = [
    { key: "node", icon: "laptop", words: "This machine", go: () => page.go("#/node") },
    { key: "new", icon: "plus", words: "New room", go: () => page.open({ kind: "create" }) },
    { key: "join", icon: "link", words: "Join with a link", go: () => page.open({ kind: "join" }) },
  ];
  return [
    ...rooms,
    ...places.filter((place) => fits(place.words)).map((place) => ({
      key: place.key,
      icon: place.icon,
      name: place.words,
      note: "",
      go: () => {
        page.closeDialog();
        place.go();
      },
    })),
  ];
}
