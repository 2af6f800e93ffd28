/**
 * The room on the screen: its head, what has to be said about it, the timeline, the composer.
 *
 * @import { Page } from "./page.js"
 * @import { RoomFeed } from "./room_feed.js"
 * @import { Row, SystemRow } from "./timeline.js"
 * @import { Part } from "./system_lines.js"
 * @import { Member } from "./surface.js"
 */

import { guard } from "./vendor/lit-html/directives/guard.js";
import { keyed } from "./vendor/lit-html/directives/keyed.js";
import { repeat } from "./vendor/lit-html/directives/repeat.js";
import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { icon } from "./icon.js";
import { emptyPlace, nameOf, picture, timeOf } from "./marks.js";
import { present } from "./member.js";
import { byHandle } from "./mentions.js";
import { draftMessage, eventMessage, pendingMessage } from "./message_view.js";
import { cleanName, shownName } from "./names.js";
import { isMessage, rowsOf } from "./timeline.js";
import { clock, dayName, moment } from "./times.js";

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
export function roomView(page, feed) {
  return keyed(feed.room_id, html`
    ${headView(page, feed)}
    <div class="notes">${notes(page, feed)}</div>
    ${timelineView(page, feed)}
    ${page.composer.view(feed)}
  `);
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
function headView(page, feed) {
  const { room, members } = feed.state;
  const inside = present(members);
  const online = inside.filter((member) => member.presence === "online").length;
  const mayInvite = room.role === "owner" ||
    (room.role === "member" && feed.state.policy.invite === "members");
  return html`<header class="room-head">
    <a class="button icon-only back" href="#/" aria-label="All rooms">${icon("back")}</a>
    <button type="button" class="room-title" data-role="room-title" title="Room settings"
      @click=${() => page.open({ kind: "room", room_id: feed.room_id, name: room.name })}>
      <h1>${nameOf(room.name, room.room_id)}</h1>
      <p>${hostWords(page, feed)}${inside.length > 0
        ? html`<span class="middot"> · </span>${online} of ${inside.length} online` : nothing}</p>
    </button>
    ${mayInvite && room.disbanded_at === null
      ? html`<button type="button" class="button primary" data-role="invite"
          @click=${() => page.open({ kind: "invite", room_id: feed.room_id, tab: "new" })}>
          ${icon("invite")}<span class="wide">Invite</span></button>`
      : nothing}
    <button type="button" class="button faces" data-role="members-toggle"
      aria-pressed=${page.isWide.matches ? String(page.preferences.isPanelOpen) : "false"}
      @click=${() => toggleMembers(page, feed)}>
      <span class="stack" aria-hidden="true">${inside.slice(0, 4).map((member) =>
        picture({ id: member.member_id, name: member.display_name, kind: member.kind }))}</span>
      <span>${inside.length || room.members}<span class="visually-hidden"> members</span></span>
    </button>
  </header>`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
function toggleMembers(page, feed) {
  if (page.isWide.matches) {
    page.preferences.isPanelOpen = !page.preferences.isPanelOpen;
    page.redraw();
  } else page.open({ kind: "members", room_id: feed.room_id });
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
function hostWords(page, feed) {
  const { room, members, authority } = feed.state;
  if (!room.copy) return "hosted here";
  const id = authority.gateway_id;
  const host = [...members.values()].find((one) => one.install_id === id)?.install_name ??
    page.node.status?.links.find((link) => link.install_id === id)?.name;
  return html`hosted by ${nameOf(host, id)}`;
}

/**
 * What has to be said above the messages, most urgent first.
 * @param {Page} page
 * @param {RoomFeed} feed
 */
function notes(page, feed) {
  const { authority, room } = feed.state;
  if (feed.problem) {
    return html`<p class="note bad" role="alert">${icon("warn")}
      <span>${feed.problem.message} ${feed.problem.next}</span>
      <button type="button" class="button small" data-role="retry"
        @click=${() => void feed.resume()}>Try again</button>
    </p>`;
  }
  if (room.disbanded_at !== null) {
    return html`<p class="note" role="status">${icon("lock")}
      <span>This room was closed ${moment(room.disbanded_at, page.now())}. You can read it.</span>
    </p>`;
  }
  if (authority.link === "down" && page.connection.isUp) {
    const since = authority.since ? ` since ${moment(authority.since, page.now())}` : "";
    return html`<p class="note warn" role="status" data-role="authority" data-state="down">
      ${icon("offline")}<span>This room’s host cannot be reached${since}. You can read;
      what you write waits here and is sent when it is back.</span></p>`;
  }
  return nothing;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
function timelineView(page, feed) {
  const { state } = feed;
  const { opened } = page.rooms;
  const isOpened = opened.room_id === feed.room_id;
  const marks = { unread_after: isOpened ? opened.unread_after : null };
  const rows = rowsOf(state, page.rooms.outgoing.onTheirWay(feed), marks);
  const handles = byHandle(state.members.values());
  const context = { page, feed, handles };
  const names = [...handles.keys()].join(" ") + (state.room.me ?? "");
  const hasMessages = rows.some((row) => row.type !== "system" && row.type !== "day");
  return html`<div class="timeline-frame">
    <div class="timeline" data-role="timeline" role="log" aria-live="off" tabindex="0"
      aria-label="Messages" aria-busy=${String(!state.stated)}
      @scroll=${() => page.scroll.scrolled()}>
      <div class="rows">
        ${beginning(page, feed)}
        ${repeat(rows, (row) => row.key, (row) =>
          guard(dependsOn(row, names, page), () => rowView(row, context)))}
        ${!hasMessages && state.stated && state.first_seq <= 1
          ? firstSteps(page, feed) : nothing}
      </div>
    </div>
    ${page.scroll.isAtFoot ? nothing : html`<button type="button" class="to-foot"
      data-role="to-foot" @click=${() => page.scroll.toFoot()}>
      ${icon("down")}<span>${page.scroll.below > 0
        ? `${page.scroll.below} new ${page.scroll.below === 1 ? "message" : "messages"}`
        : "Latest"}</span></button>`}
  </div>`;
}

/**
 * What a row is drawn from; it is drawn again only when one of these changed.
 * @param {Row} row
 * @param {string} names
 * @param {Page} page
 * @returns {unknown[]}
 */
function dependsOn(row, names, page) {
  switch (row.type) {
    case "message":
      return [row.event, row.head, row.reply,
        row.waits.map((turn) => turn.turn_id + turn.state).join(), names];
    case "draft":
      return [row.turn, row.draft, row.reply, names];
    case "pending":
      return [row.item.state, row.item.reason, row.head, names];
    case "day":
      return [dayName(row.at, page.now())];
    case "system":
      return [row.seq, row.line.state, row.line.parts.map(partKey).join()];
    default:
      return [row.key];
  }
}

/** @param {Part} part */
function partKey(part) {
  return typeof part === "string" ? part : JSON.stringify(part);
}

/**
 * @param {Row} row
 * @param {{page: Page, feed: RoomFeed, handles: ReadonlyMap<string, Member>}} context
 */
function rowView(row, context) {
  switch (row.type) {
    case "message":
      return eventMessage(row, context);
    case "draft":
      return draftMessage(row, context);
    case "pending":
      return pendingMessage(row, context);
    case "system":
      return systemRow(row, context.page);
    case "day":
      return html`<div class="day" data-role="day" data-key=${row.key} role="separator">
        <span>${dayName(row.at, context.page.now())}</span></div>`;
    case "unread":
      return html`<div class="new-from" data-role="unread" data-key="unread" role="separator">
        <span>New</span></div>`;
  }
}

/**
 * @param {SystemRow} row
 * @param {Page} page
 */
function systemRow({ key, seq, at, line }, page) {
  return html`<div class="system ${line.tone}" data-role="system" data-key=${key}
    data-seq=${seq || nothing} data-state=${line.state}>
    ${icon(line.icon)}
    <span class="words">${line.parts.map((part) => partView(part, page))}</span>
    ${timeOf(at)}
  </div>`;
}

/**
 * @param {Part} part
 * @param {Page} page
 */
function partView(part, page) {
  if (typeof part === "string") return part;
  if ("until" in part) return moment(part.until, page.now());
  if ("quote" in part) return html`<q><bdi>${cleanName(part.quote)}</bdi></q>`;
  return html`<strong>${nameOf(part.name, part.id)}</strong>${part.handle
    ? html` (@<bdi>${cleanName(part.handle)}</bdi>)` : nothing}`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
function beginning(page, feed) {
  const { state } = feed;
  if (state.first_seq > 1) {
    return html`<div class="older"><button type="button" class="button small quiet"
      data-role="older" ?disabled=${feed.isLoadingOlder || !page.connection.isUp}
      @click=${() => void feed.loadOlder()}>
      ${feed.isLoadingOlder ? "Reading…" : "Earlier messages"}</button></div>`;
  }
  if (!state.stated && state.events.length === 0) {
    return html`<div class="skeletons" aria-hidden="true">
      <i></i><i></i><i></i><i></i></div>`;
  }
  return nothing;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
function firstSteps(page, feed) {
  const agent = present(feed.state.members).find((member) => member.kind === "agent");
  const isAlone = feed.state.members.size < 2;
  if (isAlone) {
    return emptyPlace("spark", "Nobody else is here yet",
      "Invite a person on another machine, or seat one of your agents.",
      html`<p class="actions">
        <button type="button" class="button primary" data-role="empty-invite"
          @click=${() => page.open({ kind: "invite", room_id: feed.room_id, tab: "new" })}>
          ${icon("invite")}Invite somebody</button>
        <button type="button" class="button" data-role="empty-add"
          @click=${() => page.open({ kind: "seat", room_id: feed.room_id })}>
          ${icon("spark")}Add an agent</button></p>`);
  }
  const text = agent
    ? html`Write something. To ask <bdi>${shownName(agent.display_name, agent.member_id)}</bdi>,
        mention it as <strong>@${cleanName(agent.handle)}</strong>.`
    : "Write something. Everybody here sees it.";
  return emptyPlace("chat", "A quiet room", text, agent
    ? html`<button type="button" class="button" @click=${() =>
        page.composer.insertMention(agent.handle)}>${icon("at")}Mention
        @${cleanName(agent.handle)}</button>`
    : nothing);
}

/**
 * The words a screen reader gets for the title of the window.
 * @param {Page} page
 */
export function titleOf(page) {
  let count = 0;
  for (const feed of page.rooms.sorted) {
    if (feed !== page.feed || document.hidden) count += page.rooms.unread(feed).count;
  }
  const { feed } = page;
  const place = feed ? shownName(feed.state.room.name, feed.room_id) : "Rooms";
  const last = feed?.state.events.findLast(isMessage);
  const idle = last && !page.connection.isUp ? ` (seen ${clock(last.admitted_at)})` : "";
  return `${count > 0 ? `(${count}) ` : ""}${place}${idle} · roommesh`;
}
