/**
 * Small marks that many views show the same way: names, pictures, presence, times, buttons.
 *
 * Names of others always pass through `nameOf`: cleaned, and isolated in <bdi>, so that a name
 * cannot turn the direction of what follows it.
 *
 * @import { Page } from "./page.js"
 * @import { Member } from "./surface.js"
 */

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { icon, presenceDot } from "./icon.js";
import { hueOf, initials, shownName } from "./names.js";
import { ago, clock, fullTime, moment } from "./times.js";

/**
 * @param {unknown} name
 * @param {string|null|undefined} id
 */
export function nameOf(name, id) {
  return html`<bdi>${shownName(name, id)}</bdi>`;
}

/**
 * A round picture for people, a square one for agents; the colour comes from the id.
 * @param {{name: string, id: string, kind: string, presence?: string}} who
 */
export function picture({ name, id, kind, presence }) {
  const shape = kind === "agent" ? "agent" : "person";
  return html`<span class="picture ${shape} hue-${hueOf(id)}" aria-hidden="true">
    <span class="letters">${initials(shownName(name, id))}</span>
    ${presence ? presenceDot(presence) : nothing}
  </span>`;
}

/**
 * Presence in words, with since when and why.
 * @param {Member} member
 * @param {number} now_ms
 */
export function presenceWords(member, now_ms) {
  const since = member.presence_since;
  const when = since && member.presence !== "online" ? ` since ${moment(since, now_ms)}` : "";
  const { presence, reason } = member;
  const isSaid = !reason || presence === "online" || reason === presence;
  return `${presence}${when}${isSaid ? "" : `: ${reasonWords(reason)}`}`;
}

/** @type {Record<string, string>} */
const REASONS = {
  peer_offline: "its machine cannot be reached",
  link_down: "its machine cannot be reached",
  grant_revoked: "the loan was withdrawn",
  revoked: "the loan was withdrawn",
  grant_expired: "the loan has ended",
  failed: "its program failed",
  profile_failed: "its program failed",
  starting: "its program is starting",
};

/** @param {string} reason */
export function reasonWords(reason) {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}

/**
 * @param {number} at_ms
 * @param {"clock"|"moment"|"ago"} [style]
 * @param {number} [now_ms]
 */
export function timeOf(at_ms, style = "clock", now_ms = at_ms) {
  const words = { clock: clock(at_ms), moment: moment(at_ms, now_ms), ago: ago(at_ms, now_ms) };
  return html`<time datetime=${new Date(at_ms).toISOString()} title=${fullTime(at_ms)}
    >${words[style]}</time>`;
}

/**
 * @param {Page} page
 * @param {string} text what is copied
 * @param {string} key which button it is
 * @param {string} [label]
 */
export function copyButton(page, text, key, label = "Copy") {
  const isDone = page.copied === key;
  return html`<button type="button" class="button small copy" data-role="copy" data-key=${key}
    @click=${() => page.copy(text, key)}>
    ${icon(isDone ? "check" : "copy")}<span aria-live="polite">${isDone ? "Copied" : label}</span>
  </button>`;
}

/**
 * A button that asks once more before it does what cannot be undone.
 * @param {Page} page
 * @param {{key: string, label: string, question: string, act: () => void,
 *   icon?: string}} what
 */
export function twoStepButton(page, what) {
  if (page.armed !== what.key) {
    return html`<button type="button" class="button small danger" data-role="act"
      data-act=${what.key.split(":")[0] ?? ""} ?disabled=${page.busy === what.key}
      @click=${() => {
        page.armed = what.key;
        page.redraw();
      }}>
      ${what.icon ? icon(what.icon) : nothing}${what.label}
    </button>`;
  }
  return html`<span class="two-step" role="group" aria-label=${what.question}>
    <span class="question">${what.question}</span>
    <button type="button" class="button small danger solid" data-role="confirm"
      @click=${what.act}>${what.label}</button>
    <button type="button" class="button small" data-role="cancel"
      @click=${() => {
        page.armed = "";
        page.redraw();
      }}>Keep</button>
  </span>`;
}

/**
 * A place with nothing in it, and what to do next.
 * @param {string} name an icon
 * @param {string} title
 * @param {unknown} text
 * @param {unknown} [action]
 */
export function emptyPlace(name, title, text, action = nothing) {
  return html`<div class="empty" data-role="empty">
    ${icon(name)}
    <h2>${title}</h2>
    <p>${text}</p>
    ${action}
  </div>`;
}
