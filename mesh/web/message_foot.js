/**
 * What is said beside or below a message about its state, and what can be done about it: an
 * answer being written, a turn that waits, a message on its way or refused.
 *
 * @import { Page } from "./page.js"
 * @import { RoomFeed } from "./room_feed.js"
 * @import { DraftRow, PendingRow } from "./timeline.js"
 * @import { Context } from "./message_view.js"
 * @import { Turn } from "./surface.js"
 */

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { icon } from "./icon.js";
import { nameOf, reasonWords } from "./marks.js";
import { cleanName } from "./names.js";
import { clock } from "./times.js";

/**
 * @param {DraftRow} row
 * @param {Context} context
 */
export function writingStatus({ turn, draft }, { page, feed }) {
  const isWriting = draft !== null && draft.pieces.size > 0;
  const state = turn?.state ?? "running";
  const words = state === "stopping" ? "stopping"
    : state === "queued" ? "queued"
    : isWriting ? "writing"
    : state === "dispatched" ? "asked" : "thinking";
  const since = turn?.since ? ` since ${clock(turn.since)}` : "";
  const turn_id = turn?.turn_id ?? draft?.turn_id ?? "";
  return html`<span class="status live" data-role="turn-state" data-state=${state}
      title="${words}${since}">${words}<span class="visually-hidden">${since}</span></span>
    <button type="button" class="button tiny" data-role="stop" ?disabled=${state === "stopping"}
      @click=${() => stopTurn(page, feed, turn_id)}>${icon("stop")}Stop</button>`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {string} turn_id
 */
export function stopTurn(page, feed, turn_id) {
  const params = { room_id: feed.room_id, turn_id };
  return page.control(`stop:${turn_id}`, "groups.stop", params);
}

/** @param {DraftRow} row */
export function activityLine({ draft }) {
  if (!draft?.activity) return nothing;
  const { tool, text } = draft.activity;
  return html`<p class="foot" data-role="activity">${icon("tool")}
    <span><bdi>${cleanName(tool) || "tool"}</bdi> <bdi>${cleanName(text)}</bdi></span></p>`;
}

/**
 * @param {Turn} turn
 * @param {Context} context
 */
export function waitLine(turn, { page, feed }) {
  const member = feed.state.members.get(turn.member_id);
  const name = nameOf(member?.display_name, turn.member_id);
  const words = turn.state === "offline"
    ? html`${name} is offline since ${clock(turn.since)} and answers when it is back.`
    : html`Nobody knows whether ${name} finished its answer.`;
  return html`<p class="foot warn" data-role="turn-state" data-state=${turn.state}
    data-turn-id=${turn.turn_id}>
    ${icon(turn.state === "offline" ? "offline" : "warn")}
    <span>${words}</span>
    <button type="button" class="button tiny" data-role="stop"
      @click=${() => stopTurn(page, feed, turn.turn_id)}>Don’t wait</button>
  </p>`;
}

/**
 * @param {PendingRow} row
 * @param {Context} context
 */
export function pendingFoot({ item }, { page, feed }) {
  if (item.state === "sending") return nothing;
  const discard = html`<button type="button" class="button tiny" data-role="discard"
    @click=${() => page.ask("discard", () => page.rooms.outgoing.discard(feed.room_id, item))}
    >${icon("trash")}Discard</button>`;
  if (item.state === "waiting") {
    return html`<p class="foot warn">${icon("clock")}
      <span>Waiting: the room’s host cannot be reached. It is sent as soon as it is back.</span>
      ${discard}</p>`;
  }
  if (item.state === "unsent") {
    return html`<p class="foot warn">${icon("offline")}
      <span>Not sent yet: your node cannot be reached. It is tried again by itself.</span></p>`;
  }
  return html`<p class="foot bad">${icon("warn")}
    <span>Not accepted: ${reasonWords(item.reason || "no reason was given")} ${item.next}</span>
    <button type="button" class="button tiny" data-role="retry"
      @click=${() => page.rooms.outgoing.retry(feed.room_id, item)}
      >${icon("reload")}Try again</button>
    ${discard}</p>`;
}
