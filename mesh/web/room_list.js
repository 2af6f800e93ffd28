/**
 * The rooms at the side: where something is new, and the ways to a new one.
 *
 * @import { Page } from "./page.js"
 * @import { RoomFeed } from "./room_feed.js"
 */

import { repeat } from "./vendor/lit-html/directives/repeat.js";
import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { brand, icon } from "./icon.js";
import { emptyPlace, nameOf } from "./marks.js";
import { cleanName } from "./names.js";
import { isMessage } from "./timeline.js";
import { moment } from "./times.js";

/** @param {Page} page */
export function roomList(page) {
  const { facts } = page.node;
  const feeds = page.rooms.sorted;
  return html`<nav class="sidebar" aria-label="Rooms">
    <header class="sidebar-head">
      <a class="node ${page.route.name === "node" ? "current" : ""}" href="#/node"
        data-role="node-link" title="This machine">
        ${brand()}
        <span class="lines"><strong>${nameOf(facts.name, facts.install_id)}</strong>
          <span class="sub">${nodeWords(page)}</span></span>
      </a>
      <button type="button" class="button icon-only" data-role="switcher" title="Go to (Ctrl+K)"
        aria-label="Go to a room" aria-keyshortcuts="Control+K /"
        @click=${() => page.open({ kind: "switcher" })}>${icon("search")}</button>
    </header>
    <div class="sidebar-title"><h2>Rooms</h2>
      <button type="button" class="button icon-only small" data-role="create-room" title="New room"
        aria-label="New room" @click=${() => page.open({ kind: "create" })}>${icon("plus")}</button>
    </div>
    ${feeds.length > 0
      ? html`<ul class="rooms">${repeat(feeds, (feed) => feed.room_id, (feed) =>
          roomItem(page, feed))}</ul>`
      : page.rooms.isListed ? emptyPlace("chat", "No room yet",
          "Make one and invite somebody, or join with a link that you were sent.")
        : html`<div class="skeletons" aria-hidden="true"><i></i><i></i><i></i></div>`}
    <footer class="sidebar-foot">
      <button type="button" class="button quiet" data-role="join"
        @click=${() => page.open({ kind: "join" })}>${icon("link")}Join with a link</button>
      ${themeButton(page)}
    </footer>
  </nav>`;
}

/** @param {Page} page */
function nodeWords(page) {
  if (!page.connection.isUp) return "not connected";
  const { status, facts } = page.node;
  const down = status?.links.filter((link) => link.state === "down").length ?? 0;
  if (down > 0) return `${down} of ${status?.links.length} machines away`;
  return facts.lan ? "open to your network" : "this machine only";
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
function roomItem(page, feed) {
  const { room, events } = feed.state;
  const isCurrent = page.route.name === "room" && page.route.room_id === feed.room_id;
  const { count, mentioned } = page.rooms.unread(feed);
  const isUnread = count > 0 && !(isCurrent && page.scroll.isAtFoot && !document.hidden);
  const last = events.findLast(isMessage);
  const own = page.rooms.outgoing.onTheirWay(feed);
  const waiting = own.filter((item) => item.state !== "sending").length;
  return html`<li><a class="room ${isCurrent ? "current" : ""} ${isUnread ? "unread" : ""}"
    href="#/r/${encodeURIComponent(feed.room_id)}" data-role="room" data-room-id=${feed.room_id}
    data-unread=${count} aria-current=${isCurrent ? "page" : "false"}>
    <span class="lines">
      <span class="name">${nameOf(room.name, room.room_id)}
        ${room.disbanded_at === null ? nothing : icon("lock")}</span>
      <span class="sub">${last
        ? html`<bdi>${cleanName(last.actor.display_name)}</bdi>: <bdi>${cleanName(
            String(last.payload.text ?? "").replace(/[*_`#>~]+/g, "").slice(0, 80))}</bdi>`
        : `${room.members} ${room.members === 1 ? "member" : "members"}`}</span>
    </span>
    <span class="side">
      <time class="sub">${moment(room.updated_at, page.now())}</time>
      ${waiting > 0 ? html`<span class="badge waiting" title="waiting to be sent"
        >${icon("clock")}${waiting}</span>` : nothing}
      ${isUnread ? html`<span class="badge ${mentioned ? "mention" : ""}" data-role="unread-count"
        >${mentioned ? "@" : ""}${count > 99 ? "99+" : count}<span class="visually-hidden">
        new</span></span>` : nothing}
    </span>
  </a></li>`;
}

/**
 * Light, dark, as the system.
 * @param {Page} page
 */
export function themeButton(page) {
  const theme = /** @type {any} */ (window).roommeshTheme;
  const chosen = theme.chosen();
  const next = { system: "light", light: "dark", dark: "system" }[/** @type {"light"} */ (chosen)];
  return html`<button type="button" class="button icon-only" data-role="theme" data-state=${chosen}
    title="Colours: ${chosen}" aria-label="Colours: ${chosen}. Change to ${next}"
    @click=${() => {
      theme.choose(next);
      page.redraw();
    }}>${icon(`theme-${chosen}`)}</button>`;
}
