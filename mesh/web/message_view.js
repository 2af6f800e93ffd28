/**
 * One message, whatever its life: being written, on its way, refused, or an event of the log.
 *
 * All of them are drawn by the same template with the same key, so that the draft becomes the
 * message in place. Where a state needs words, they stand in the head or in a line below the
 * text, never over it.
 *
 * @import { Page } from "./page.js"
 * @import { RoomFeed } from "./room_feed.js"
 * @import { DraftRow, MessageRow, PendingRow } from "./timeline.js"
 * @import { Member, RoomEvent } from "./surface.js"
 */

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { draftText } from "./draft.js";
import { icon } from "./icon.js";
import { parseMarkdown } from "./markdown.js";
import { markdownView } from "./markdown_view.js";
import { nameOf, picture, timeOf } from "./marks.js";
import { activityLine, pendingFoot, waitLine, writingStatus } from "./message_foot.js";
import { cleanName, shownName } from "./names.js";

/**
 * @typedef {{
 *   key: string, state: string, head: boolean, text: string, at: number|null,
 *   who: {id: string, name: string, handle: string, kind: string, where: string},
 *   seq?: number, event_id?: string, turn_id?: string, isOwn?: boolean, isForMe?: boolean,
 *   status?: unknown, reply?: RoomEvent|null, foot?: unknown, level?: string
 * }} MessageView
 *
 * @typedef {{page: Page, feed: RoomFeed, handles: ReadonlyMap<string, Member>}} Context
 */

/**
 * @param {MessageRow} row
 * @param {Context} context
 */
export function eventMessage(row, context) {
  const { event } = row;
  const { state } = context.feed;
  const me = state.room.me ? state.members.get(state.room.me) : undefined;
  const text = String(event.payload.text ?? "");
  const isForMe = me !== undefined && isMentioned(text, me, context.handles);
  const turn_id = event.cause?.turn_id ?? event.payload.turn_id;
  return messageView(
    {
      key: row.key,
      state: "posted",
      head: row.head || turn_id !== undefined,
      text,
      at: event.admitted_at,
      who: whoOf(state.members.get(event.actor.id), event.actor),
      seq: event.seq,
      event_id: event.event_id,
      turn_id,
      isOwn: event.actor.id === state.room.me,
      isForMe,
      reply: row.reply,
      level: event.level,
      foot: row.waits.map((turn) => waitLine(turn, context)),
    },
    context,
  );
}

/**
 * @param {DraftRow} row
 * @param {Context} context
 */
export function draftMessage(row, context) {
  const { turn, draft } = row;
  const { members } = context.feed.state;
  const ended = draft?.ended ?? null;
  return messageView(
    {
      key: row.key,
      state: ended ? "stopped" : "writing",
      head: true,
      text: draft ? draftText(draft) : "",
      at: ended ? (turn?.since ?? null) : null,
      who: whoOf(members.get(row.member_id), { id: row.member_id, kind: "agent" }),
      turn_id: turn?.turn_id ?? draft?.turn_id,
      reply: row.reply,
      status: ended ? nothing : writingStatus(row, context),
      foot: ended
        ? html`<p class="foot warn">${icon("stop")}
            ${ended === "cancelled" ? "Stopped" : "Broken off"} here. This part was not posted.</p>`
        : activityLine(row),
    },
    context,
  );
}

/**
 * @param {PendingRow} row
 * @param {Context} context
 */
export function pendingMessage(row, context) {
  const { item } = row;
  const { state } = context.feed;
  const me = state.room.me ? state.members.get(state.room.me) : undefined;
  return messageView(
    {
      key: row.key,
      state: item.state,
      head: row.head,
      text: item.text,
      at: null,
      who: whoOf(me, { id: state.room.me ?? "", kind: "person" }),
      event_id: item.event_id,
      isOwn: true,
      status: html`<span class="status sending">${icon("clock")}sending</span>`,
      foot: pendingFoot(row, context),
    },
    context,
  );
}

/**
 * @param {MessageView} view
 * @param {Context} context
 */
function messageView(view, context) {
  const { who } = view;
  const classes = [
    "message", view.head ? "head" : "", view.state, view.isForMe ? "for-me" : "", who.kind,
  ];
  return html`<article class=${classes.join(" ")} data-role="message" data-key=${view.key}
    data-state=${view.state} data-seq=${view.seq ?? nothing}
    data-event-id=${view.event_id ?? nothing} data-turn-id=${view.turn_id ?? nothing}
    data-member-id=${who.id} aria-busy=${view.state === "writing" ? "true" : "false"}
    aria-label="Message of ${shownName(who.name, who.id)}">
    <div class="margin">
      ${view.head ? picture(who) : view.at ? timeOf(view.at) : nothing}
    </div>
    <div class="content">
      ${view.head ? headView(view) : nothing}
      ${view.reply ? replyView(view.reply, context) : nothing}
      <div class="body" dir="auto">${bodyView(view, context)}</div>
      ${view.foot ?? nothing}
    </div>
    ${view.state === "posted" ? toolbar(view, context) : nothing}
  </article>`;
}

/** @param {MessageView} view */
function headView({ who, at, status, level, seq }) {
  const title = seq === undefined ? "" : `event ${seq}, ${level ?? ""}`;
  return html`<header>
    <span class="author">${nameOf(who.name, who.id)}</span>
    <span class="handle">@<bdi>${cleanName(who.handle)}</bdi></span>
    ${who.kind === "agent" ? html`<span class="tag">agent</span>` : nothing}
    <span class="where" title=${title}>${nameOf(who.where, "")}</span>
    ${at ? timeOf(at) : nothing} ${status ?? nothing}
  </header>`;
}

/**
 * @param {MessageView} view
 * @param {Context} context
 */
function bodyView(view, { page, handles }) {
  if (view.text === "" && view.state === "writing") {
    return html`<span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>`;
  }
  return markdownView(parseMarkdown(view.text), {
    handles,
    onCopy: (text, event) => void copyCode(page, text, event),
  });
}

/**
 * The block says "Copied" by itself: the message around it is not drawn again for that.
 * @param {Page} page
 * @param {string} text
 * @param {Event} event
 */
async function copyCode(page, text, event) {
  const button = /** @type {HTMLElement} */ (event.currentTarget);
  await page.copy(text, "code");
  if (page.copied !== "code") return;
  button.dataset.state = "copied";
  setTimeout(() => delete button.dataset.state, 1_800);
}

/**
 * @param {RoomEvent} reply
 * @param {Context} context
 */
function replyView(reply, { page }) {
  const text = String(reply.payload.text ?? "").replace(/\s+/g, " ").slice(0, 120);
  return html`<button type="button" class="reply" data-role="reply" title="Show that message"
    @click=${() => page.scroll.toSeq(reply.seq)}>
    ${icon("reply")}<span>${nameOf(reply.actor.display_name, reply.actor.id)}</span>
    <span class="quote" dir="auto">${text}</span>
  </button>`;
}

/**
 * @param {MessageView} view
 * @param {Context} context
 */
function toolbar(view, { page }) {
  return html`<div class="toolbar" role="group" aria-label="For this message">
    ${view.isOwn ? nothing : html`<button type="button" class="button icon-only small"
      aria-label="Mention ${shownName(view.who.name, view.who.id)}" title="Mention"
      @click=${() => page.composer.insertMention(view.who.handle)}>${icon("at")}</button>`}
    <button type="button" class="button icon-only small" aria-label="Copy the text" title="Copy"
      @click=${() => page.copy(view.text, `message:${view.key}`)}>${icon("copy")}</button>
  </div>`;
}

/**
 * @param {string} text
 * @param {Member} me
 * @param {ReadonlyMap<string, Member>} handles
 */
function isMentioned(text, me, handles) {
  const wanted = `@${me.handle.toLowerCase()}`;
  return text.toLowerCase().includes(wanted) && handles.has(me.handle.toLowerCase());
}

/**
 * @param {Member|undefined} member
 * @param {{id: string, kind: string, display_name?: string, handle?: string,
 *   install_id?: string}} actor
 */
function whoOf(member, actor) {
  return {
    id: actor.id,
    name: actor.display_name ?? member?.display_name ?? "",
    handle: actor.handle ?? member?.handle ?? "",
    kind: member?.kind ?? actor.kind,
    where: shownName(member?.install_name, actor.install_id ?? member?.install_id),
  };
}
