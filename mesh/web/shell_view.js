/**
 * The whole page: rooms at the side, the place in the middle, members beside it, what lies on
 * top. On a phone one of them at a time.
 *
 * @import { Page } from "./page.js"
 */

import { keyed } from "./vendor/lit-html/directives/keyed.js";
import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { dialogFrame } from "./dialog_frame.js";
import { icon } from "./icon.js";
import { invitationDialog } from "./invitation_dialog.js";
import { joinDialog } from "./join_dialog.js";
import { emptyPlace } from "./marks.js";
import { membersPanel } from "./members_panel.js";
import { nodePanel } from "./node_panel.js";
import { profileDialog } from "./profile_dialog.js";
import { createRoomDialog, roomDialog } from "./room_dialog.js";
import { roomList } from "./room_list.js";
import { roomView } from "./room_view.js";
import { seatDialog } from "./seat_dialog.js";
import { switcherDialog } from "./switcher.js";
import { ago } from "./times.js";

/** @param {Page} page */
export function shellView(page) {
  const { feed, route } = page;
  const hasPanel = feed !== undefined && page.isWide.matches && page.preferences.isPanelOpen;
  return html`<a class="skip" href="#main" @click=${(/** @type {Event} */ event) => {
      event.preventDefault();
      page.composer.focus();
    }}>To the message field</a>
    <div class="shell ${hasPanel ? "with-panel" : ""}" data-role="shell" data-route=${route.name}>
      ${roomList(page)}
      <main class="main" id="main">${bannerView(page)}${mainView(page)}</main>
      ${hasPanel ? html`<aside class="panel">${membersPanel(page, feed)}</aside>` : nothing}
    </div>
    ${page.dialog ? keyed(page.dialog, dialogView(page, page.dialog)) : nothing}
    ${toastsView(page)}
    <div class="visually-hidden" role="status" aria-live="polite" data-role="announcer"
      >${page.announcement}</div>`;
}

/** @param {Page} page */
function mainView(page) {
  const { feed, route } = page;
  if (route.name === "node") return nodePanel(page);
  if (feed) return roomView(page, feed);
  if (!page.rooms.isListed) {
    return html`<div class="middle" aria-busy="true"><p class="quiet">Connecting…</p></div>`;
  }
  if (route.name === "room") {
    return html`<div class="middle">${emptyPlace("lock", "This room is not here",
      "You may have left it, or it was never on this machine.",
      html`<a class="button" href="#/">All rooms</a>`)}</div>`;
  }
  return html`<div class="middle">${emptyPlace("spark", "Welcome",
    "A room is where people and agents of several machines work together.",
    html`<p class="actions">
      <button type="button" class="button primary" data-role="empty-create"
        @click=${() => page.open({ kind: "create" })}>${icon("plus")}Make a room</button>
      <button type="button" class="button" @click=${() => page.open({ kind: "join" })}>
        ${icon("link")}Join with a link</button></p>`)}</div>`;
}

/** @param {Page} page */
function bannerView(page) {
  const { state, since, was_up, retry_at } = page.connection.status;
  if (state === "up" || (!was_up && state === "connecting")) return nothing;
  const wait_s = retry_at ? Math.ceil((retry_at - page.now()) / 1000) : 0;
  return html`<div class="banner" role="status" data-role="banner" data-state=${state}>
    ${icon("offline")}
    <span>${was_up
      ? html`The connection to your node was lost ${ago(since, page.now())}. What you see is what
          was known then.`
      : "Your node cannot be reached. Start it with “roommesh up”."}
      ${state === "connecting" ? "Trying…" : wait_s > 1 ? "It is tried again soon." : ""}</span>
    <button type="button" class="button small" data-role="retry-now"
      @click=${() => page.connection.retryNow()}>Try now</button>
  </div>`;
}

/**
 * @param {Page} page
 * @param {import("./page.js").Dialog} dialog
 */
function dialogView(page, dialog) {
  const feed = page.rooms.feed(dialog.room_id);
  switch (dialog.kind) {
    case "create":
      return createRoomDialog(page, dialog);
    case "join":
      return joinDialog(page, dialog);
    case "switcher":
      return switcherDialog(page, dialog);
    case "profile":
      return profileDialog(page, dialog);
    default:
      return feed === undefined ? nothing : roomDialogView(page, feed, dialog);
  }
}

/**
 * @param {Page} page
 * @param {import("./room_feed.js").RoomFeed} feed
 * @param {import("./page.js").Dialog} dialog
 */
function roomDialogView(page, feed, dialog) {
  switch (dialog.kind) {
    case "invite":
      return invitationDialog(page, feed, dialog);
    case "room":
      return roomDialog(page, feed, dialog);
    case "seat":
      return seatDialog(page, feed, dialog);
    default:
      return dialogFrame(page, {
        kind: "members",
        title: "Members",
        body: membersPanel(page, feed),
      });
  }
}

/** @param {Page} page */
function toastsView(page) {
  return html`<div class="toasts" role="region" aria-label="Notices" aria-live="assertive">
    ${page.toasts.list.map((toast) => html`<div class="toast ${toast.tone}" data-role="toast"
      data-state=${toast.tone}>
      ${icon(toast.tone === "bad" ? "warn" : "check")}
      <span>${toast.text} ${toast.next}</span>
      <button type="button" class="button icon-only small" aria-label="Dismiss"
        @click=${() => page.toasts.drop(toast.id)}>${icon("close")}</button>
    </div>`)}
  </div>`;
}
