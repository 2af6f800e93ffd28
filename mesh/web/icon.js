/**
 * Icons, drawn by us as templates: a line picture of 24 by 24 each.
 *
 * They are part of the page and not of a file beside it, so that the icon which says that the
 * node is gone does not have to be fetched from that node. They are decoration: the words stand
 * beside them, or in the label of the button.
 */

import { html, nothing, svg } from "./vendor/lit-html/lit-html.js";

/** @type {Record<string, unknown>} */
const PICTURES = {
  spark: svg`
    <path d="M12 3.5c.8 4.6 3.4 7.2 8 8-4.6.8-7.2 3.4-8 8-.8-4.6-3.4-7.2-8-8 4.6-.8 7.2-3.4 8-8
      Z"/>`,
  pencil: svg`
    <path d="m4 20 1-4.5L16 4.5a2.1 2.1 0 0 1 3 0l.5.5a2.1 2.1 0 0 1 0 3L8.5 19 4 20ZM14 6.5
      l3.5 3.5"/>`,
  lock: svg`<rect x="5" y="11" width="14" height="9" rx="2"/><path d="M8 11V8a4 4 0 0 1 8 0v3"/>`,
  mute: svg`<path d="M4 10v4h3.5L12 18V6L7.5 10H4ZM16 9.5l5 5M21 9.5l-5 5"/>`,
  link: svg`
    <path d="M10 14a4 4 0 0 0 5.7 0l3.1-3.1a4 4 0 0 0-5.7-5.7L12 6.3M14 10a4 4 0 0 0-5.7 0
      l-3.1 3.1a4 4 0 0 0 5.7 5.7L12 17.7"/>`,
  handshake: svg`<path d="M4 12h11M11 8l4 4-4 4M20 5v14"/>`,
  withdrawn: svg`<path d="M20 12H9M13 8l-4 4 4 4M4 5v14"/>`,
  rules: svg`
    <path d="M4 7h9M17 7h3M4 12h3M11 12h9M4 17h7M15 17h5"/>
    <circle cx="15" cy="7" r="2"/>
    <circle cx="9" cy="12" r="2"/>
    <circle cx="13" cy="17" r="2"/>`,
  stop: svg`<rect x="6.5" y="6.5" width="11" height="11" rx="2"/>`,
  pass: svg`<path d="M6 12h12"/>`,
  warn: svg`<path d="M12 4 2.8 19.5h18.4L12 4ZM12 10v4.5M12 17v.2"/>`,
  trash: svg`<path d="M4.5 7h15M9.5 7V4.5h5V7M6.5 7l.8 12.5h9.4L17.5 7M10 11v5M14 11v5"/>`,
  offline: svg`
    <path d="M4 4l16 16M8.5 13.5a5 5 0 0 1 2-1.2M5.5 10.5A9.5 9.5 0 0 1 8.3 8.6M12.5 7.6
      a9.5 9.5 0 0 1 6 2.9M12 18v.2"/>`,
  online: svg`<path d="M8.5 13.8a5 5 0 0 1 7 0M5.3 10.5a9.5 9.5 0 0 1 13.4 0M12 18v.2"/>`,
  wifi: svg`<path d="M8.5 13.8a5 5 0 0 1 7 0M5.3 10.5a9.5 9.5 0 0 1 13.4 0M12 18v.2"/>`,
  reload: svg`<path d="M19.5 12a7.5 7.5 0 1 1-2.3-5.4M19.5 4v4h-4"/>`,
  joined: svg`<path d="M4 12h10M10 8l4 4-4 4M14 4h4a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2h-4"/>`,
  left: svg`<path d="M10 12h10M16 8l4 4-4 4M10 4H6a2 2 0 0 0-2 2v12a2 2 0 0 0 2 2h4"/>`,
  loop: svg`<path d="M4 12a5 5 0 0 1 5-5h9M15 4l3 3-3 3M20 12a5 5 0 0 1-5 5H6M9 20l-3-3 3-3"/>`,
  copy: svg`
    <rect x="8.5" y="8.5" width="11" height="11" rx="2"/>
    <path d="M15.5 5.5V5a1.5 1.5 0 0 0-1.5-1.5H6A1.5 1.5 0 0 0 4.5 5v9A1.5 1.5 0 0 0 6 15.5"/>`,
  check: svg`<path d="m5 12.5 4.5 4.5L19 7.5"/>`,
  "task-done": svg`<rect x="4" y="4" width="16" height="16" rx="3"/><path d="m8 12.3 3 3 5.3-6"/>`,
  "task-open": svg`<rect x="4" y="4" width="16" height="16" rx="3"/>`,
  image: svg`
    <rect x="3.5" y="5" width="17" height="14" rx="2"/>
    <path d="m4 16.5 4.5-4.5 3.5 3.5 3-3 5 4.5M15.5 9v.2"/>`,
  reply: svg`<path d="M5 19v-5a4 4 0 0 1 4-4h10M15 6l4 4-4 4"/>`,
  clock: svg`<circle cx="12" cy="12" r="8.5"/><path d="M12 7.5V12l3 2"/>`,
  tool: svg`
    <path d="M14.5 6.5a4 4 0 0 1 5-1l-2.7 2.7 1.8 1.8 2.7-2.7a4.2 4.2 0 0 1-5.5 5.4L8.5 20
      a2 2 0 0 1-2.9-2.9l7.3-7.3a4.2 4.2 0 0 1 1.6-3.3Z"/>`,
  at: svg`
    <circle cx="12" cy="12" r="3.8"/>
    <path d="M15.8 8.5v4.7a2.4 2.4 0 0 0 4.7.3V12a8.5 8.5 0 1 0-3.3 6.7"/>`,
  back: svg`<path d="M15 5l-7 7 7 7"/>`,
  down: svg`<path d="m6 9.5 6 6 6-6"/>`,
  up: svg`<path d="m6 14.5 6-6 6 6"/>`,
  invite: svg`
    <circle cx="10" cy="8" r="3.8"/>
    <path d="M3 20c.4-4 3.3-6 7-6 1.5 0 2.9.3 4 1M18 13v7M14.5 16.5h7"/>`,
  people: svg`
    <circle cx="9" cy="8.5" r="3.5"/>
    <path d="M2.5 19.5c.4-3.8 3-5.5 6.5-5.5s6.1 1.7 6.5 5.5M15.5 5.3a3.5 3.5 0 0 1 0 6.4M18 14.5
      c2 .7 3.2 2.3 3.5 5"/>`,
  chat: svg`
    <path d="M4 6.5A2.5 2.5 0 0 1 6.5 4h11A2.5 2.5 0 0 1 20 6.5v7a2.5 2.5 0 0 1-2.5 2.5H11l-5 4
      v-4a2 2 0 0 1-2-2v-7.5Z"/>`,
  plus: svg`<path d="M12 5v14M5 12h14"/>`,
  close: svg`<path d="m6 6 12 12M18 6 6 18"/>`,
  send: svg`<path d="M12 20V5M5.5 11.5 12 5l6.5 6.5"/>`,
  laptop: svg`<rect x="4.5" y="5" width="15" height="10.5" rx="1.5"/><path d="M2.5 19h19"/>`,
  globe: svg`
    <circle cx="12" cy="12" r="8.5"/>
    <path d="M3.5 12h17M12 3.5c3 2.7 3.7 5.5 3.7 8.5s-.7 5.8-3.7 8.5c-3-2.7-3.7-5.5-3.7-8.5
      s.7-5.8 3.7-8.5Z"/>`,
  search: svg`<circle cx="10.5" cy="10.5" r="6"/><path d="m15 15 5 5"/>`,
  eye: svg`
    <path d="M2.5 12C5 7.5 8.3 5.5 12 5.5s7 2 9.5 6.5c-2.5 4.5-5.8 6.5-9.5 6.5s-7-2-9.5-6.5Z"/>
    <circle cx="12" cy="12" r="2.8"/>`,
  "theme-light": svg`
    <circle cx="12" cy="12" r="4"/>
    <path d="M12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1.1 1.1M17.3 17.3l1.1 1.1M5.6 18.4
      l1.1-1.1M17.3 6.7l1.1-1.1"/>`,
  "theme-dark": svg`<path d="M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10Z"/>`,
  "theme-system": svg`
    <circle cx="12" cy="12" r="8.5"/>
    <path d="M12 3.5v17a8.5 8.5 0 0 0 0-17Z" fill="currentColor" stroke="none"/>`,
};

/** Presence as a shape: full, hollow, half, crossed out, gone. */
const DOTS = {
  online: svg`<circle cx="6" cy="6" r="5" fill="currentColor"/>`,
  offline: svg`<circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="2"/>`,
  joining: svg`
    <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="2"/>
    <path d="M6 2a4 4 0 0 1 0 8Z" fill="currentColor"/>`,
  withdrawn: svg`
    <circle cx="6" cy="6" r="5" fill="currentColor"/><path class="bar" d="M3.5 6h5"/>`,
  left: svg`
    <path d="M2.5 2.5l7 7M9.5 2.5l-7 7" fill="none" stroke="currentColor" stroke-width="2"/>`,
};

/** @param {string} name one of PICTURES */
export function icon(name) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    ${PICTURES[name] ?? nothing}</svg>`;
}

/**
 * The shape for a presence. The words stand elsewhere, always.
 * @param {string} presence
 */
export function presenceDot(presence) {
  const known = presence in DOTS ? /** @type {keyof typeof DOTS} */ (presence) : "offline";
  return html`<svg class="dot ${known}" viewBox="0 0 12 12" aria-hidden="true">
    ${DOTS[known]}</svg>`;
}

/** @param {"large"|"small"} [size] */
export function brand(size = "small") {
  return html`<svg class="brand ${size}" viewBox="0 0 32 32" aria-hidden="true">
    <path d="M8.5 10.5 16 6l7.5 4.5M8.5 21.5 16 26l7.5-4.5M7 12v8M25 12v8" fill="none"
      stroke="currentColor" stroke-width="2" opacity=".55"/>
    <circle cx="16" cy="6" r="3.5"/><circle cx="7" cy="10.8" r="3.5"/>
    <circle cx="25" cy="10.8" r="3.5"/><circle cx="7" cy="21.2" r="3.5"/>
    <circle cx="25" cy="21.2" r="3.5"/><circle cx="16" cy="26" r="3.5"/>
    <circle cx="16" cy="16" r="3" opacity=".8"/>
  </svg>`;
}
