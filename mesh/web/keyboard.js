/**
 * Keys that work everywhere on the page.
 *
 * `/` and Ctrl+K open the switcher; Alt with an arrow goes to the next room; Escape, when no
 * dialog takes it, goes back to the message field; a letter typed nowhere goes there too.
 *
 * @import { Page } from "./page.js"
 */

/** @param {Page} page */
export function listenToKeys(page) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || page.dialog !== null) return;
    if (isSwitcherKey(event)) page.open({ kind: "switcher" });
    else if (event.altKey && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      step(page, event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Escape" || isLetterForNobody(event)) {
      page.composer.focus();
      return; // The letter itself goes into the field.
    } else return;
    event.preventDefault();
  });
}

/** @param {KeyboardEvent} event */
function isSwitcherKey(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") return true;
  return event.key === "/" && !isTyping(event) && !event.ctrlKey && !event.metaKey;
}

/** @param {Event} event */
function isTyping(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  return target.matches?.("input, textarea, select, [contenteditable]") ?? false;
}

/** @param {KeyboardEvent} event */
function isLetterForNobody(event) {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
  return isPlain && event.key.length === 1 && event.key !== " " && event.target === document.body;
}

/**
 * @param {Page} page
 * @param {1|-1} direction
 */
function step(page, direction) {
  const feeds = page.rooms.sorted;
  if (feeds.length === 0) return;
  const at = feeds.findIndex((feed) => feed === page.feed);
  const next = feeds[(at + direction + feeds.length) % feeds.length];
  if (next) page.goRoom(next.room_id);
}
