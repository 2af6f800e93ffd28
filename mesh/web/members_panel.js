/**
 * The members of a room: who they are, where they live, whether they can be reached, what they
 * do, what was lent, and what may be done about it.
 *
 * Presence is said in words and shown by shape, never by colour alone. A name that looks like
 * the name of somebody who was here first is marked; the short ids tell them apart.
 *
 * @import { Page } from "./page.js"
 * @import { RoomFeed } from "./room_feed.js"
 * @import { Member, Turn } from "./surface.js"
 */

import { repeat } from "./vendor/lit-html/directives/repeat.js";
import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { icon } from "./icon.js";
import { nameOf, picture, presenceWords, reasonWords, twoStepButton } from "./marks.js";
import { present } from "./member.js";
import { stopTurn } from "./message_foot.js";
import { cleanName, lookalikes, shortId, shownName } from "./names.js";
import { allowed } from "./system_lines.js";
import { moment } from "./times.js";
import { isOpen } from "./turn.js";

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
export function membersPanel(page, feed) {
  const members = present(feed.state.members);
  const alike = lookalikes(members);
  const people = members.filter((member) => member.kind !== "agent");
  const agents = members.filter((member) => member.kind === "agent");
  const isClosed = feed.state.room.disbanded_at !== null;
  const list = (/** @type {Member[]} */ group) =>
    repeat(group, (member) => member.member_id, (member) =>
      memberView(page, feed, member, alike.get(member.member_id)));
  return html`<section class="members" data-role="members" aria-label="Members">
    <h2>People <span class="count">${people.length}</span></h2>
    <ul>${list(people)}</ul>
    <h2>Agents <span class="count">${agents.length}</span></h2>
    ${agents.length === 0
      ? html`<p class="quiet">No agent is here yet. Add one of this machine, or invite somebody
          who lends one.</p>`
      : html`<ul>${list(agents)}</ul>`}
    ${isClosed || feed.state.room.role === "listener" ? nothing
      : html`<button type="button" class="button wide-button" data-role="add-member"
          @click=${() => page.open({ kind: "seat", room_id: feed.room_id })}>
          ${icon("plus")}Add an agent of this machine</button>`}
  </section>`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Member} member
 * @param {string|undefined} resembles the id of the member it looks like
 */
function memberView(page, feed, member, resembles) {
  const id = member.member_id;
  const isExpanded = page.expanded === id;
  const turn = turnOfMember(feed, member);
  return html`<li class="member" data-role="member" data-member-id=${id}
    data-presence=${member.presence} data-state=${turn?.state ?? "idle"}>
    <button type="button" class="summary" aria-expanded=${String(isExpanded)}
      @click=${() => {
        page.expanded = isExpanded ? "" : id;
        page.armed = "";
        page.redraw();
      }}>
      ${picture({ id, name: member.display_name, kind: member.kind, presence: member.presence })}
      <span class="lines">
        <span class="name">${nameOf(member.display_name, id)}
          ${member.me ? html`<span class="tag">you</span>` : nothing}
          ${member.role === "owner" ? html`<span class="tag">owner</span>` : nothing}
          ${member.role === "listener" ? html`<span class="tag">listener</span>` : nothing}
          ${member.muted ? html`<span class="tag warn">${icon("mute")}muted</span>` : nothing}
        </span>
        <span class="sub">@<bdi>${cleanName(member.handle)}</bdi> ·
          ${nameOf(member.install_name, member.install_id)}</span>
        <span class="sub presence ${member.presence}" data-role="presence">
          ${presenceWords(member, page.now())}</span>
      </span>
      ${icon(isExpanded ? "up" : "down")}
    </button>
    ${alikeView(member, resembles ? feed.state.members.get(resembles) : undefined, isExpanded)}
    ${turn ? turnView(page, feed, turn) : nothing}
    ${member.lent && member.presence !== "withdrawn" ? lentView(page, member) : nothing}
    ${isExpanded ? details(page, feed, member) : nothing}
  </li>`;
}

/**
 * A name made of look-alike letters is a warning; the same name is common, and its handle and
 * machine stand there anyway.
 * @param {Member} member
 * @param {Member|undefined} first who had the name before
 * @param {boolean} isExpanded
 */
function alikeView(member, first, isExpanded) {
  if (first === undefined) return nothing;
  const isSame = cleanName(member.display_name) === cleanName(first.display_name);
  if (isSame && !isExpanded) return nothing;
  const other = html`@<bdi>${cleanName(first.handle)}</bdi>
    (<code>${shortId(first.member_id)}</code>)`;
  return html`<p class="alike ${isSame ? "" : "warn"}" data-role="alike"
    data-state=${isSame ? "same" : "imitates"}>${icon(isSame ? "people" : "warn")}
    <span>${isSame ? html`Has the name of ${other} too.`
      : html`Only looks like ${nameOf(first.display_name, first.member_id)}, ${other}.`}
      This one is <code>${shortId(member.member_id)}</code>.</span></p>`;
}

/**
 * @param {RoomFeed} feed
 * @param {Member} member
 * @returns {Turn|null}
 */
function turnOfMember(feed, member) {
  /** @type {Turn|null} */
  let newest = null;
  for (const turn of feed.state.turns.values()) {
    if (turn.member_id !== member.member_id) continue;
    if (newest === null || (isOpen(turn) ? 1 : 0) * 1e15 + turn.since >
      (isOpen(newest) ? 1 : 0) * 1e15 + newest.since) newest = turn;
  }
  return newest ?? (member.turn && isOpen(member.turn) ? member.turn : null);
}

/** @type {Record<string, string>} */
const TURN_WORDS = {
  queued: "waits for its turn",
  dispatched: "was asked",
  running: "is answering",
  stopping: "is stopping",
  offline: "is asked when it is back",
  uncertain: "may or may not have answered",
  settled: "answered",
  passed: "had nothing to add",
  failed: "could not answer",
  cancelled: "was stopped",
};

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Turn} turn
 */
function turnView(page, feed, turn) {
  const open = isOpen(turn);
  const words = TURN_WORDS[turn.state] ?? turn.state;
  const why = turnReason(turn);
  return html`<p class="turn ${open ? "open" : ""}" data-role="turn-state"
    data-state=${turn.state} data-turn-id=${turn.turn_id}>
    ${icon(open ? "clock" : turn.state === "settled" ? "check" : "pass")}
    <span>${words}${why}, ${open ? "since " : ""}${moment(turn.since, page.now())}</span>
    ${open && turn.state !== "stopping"
      ? html`<button type="button" class="button tiny" data-role="stop"
          @click=${() => stopTurn(page, feed, turn.turn_id)}>${icon("stop")}Stop</button>`
      : nothing}
  </p>`;
}

/** @param {Turn} turn */
function turnReason({ state, reason, message }) {
  // Why it is offline stands right above, with its presence.
  if (!reason || state === "offline") return "";
  if (reason === "budget_spent") return ": stopped: loop";
  // The sentence goes on with the time.
  return `: ${cleanName(message).replace(/\.$/, "") || reasonWords(reason)}`;
}

/**
 * @param {Page} page
 * @param {Member} member
 */
function lentView(page, member) {
  const { lent } = member;
  if (!lent) return nothing;
  const end = lent.until ? ` until ${moment(lent.until, page.now())}` : "";
  return html`<p class="lent" data-role="lent">${icon("handshake")}<span>Lent by
    ${member.mine ? "you" : nameOf(member.install_name, member.install_id)}: may
    ${allowed(lent.permissions)}${end}</span></p>`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Member} member
 */
function details(page, feed, member) {
  const name = shownName(member.display_name, member.member_id);
  return html`<div class="details">
    <dl>
      <dt>Member</dt><dd><code>${shortId(member.member_id)}</code></dd>
      <dt>Machine</dt>
      <dd>${nameOf(member.install_name, member.install_id)}
        <code>${shortId(member.install_id)}</code></dd>
      ${member.profile ? html`<dt>Profile</dt><dd><bdi>${cleanName(member.profile)}</bdi></dd>`
        : nothing}
      <dt>Here since</dt><dd>${moment(member.joined_at, page.now())}</dd>
    </dl>
    <p class="actions">
      ${member.me ? nothing : html`<button type="button" class="button small"
        @click=${() => {
          page.closeDialog();
          page.composer.insertMention(member.handle);
        }}>${icon("at")}Mention</button>`}
      ${ownerActions(page, feed, member, name)}
      ${loanActions(page, feed, member, name)}
    </p>
  </div>`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Member} member
 * @param {string} name
 */
function ownerActions(page, feed, member, name) {
  const isOwner = feed.state.room.role === "owner";
  const params = { room_id: feed.room_id, member_id: member.member_id };
  const mayRemove = !member.me && (isOwner || (member.mine && !member.lent));
  return html`${isOwner && !member.me
    ? html`<button type="button" class="button small" data-role="mute"
        @click=${() => page.control(`mute:${member.member_id}`, "groups.member.mute",
          { ...params, muted: !member.muted })}>
        ${icon("mute")}${member.muted ? "Let speak" : "Mute"}</button>`
    : nothing}
  ${mayRemove
    ? twoStepButton(page, {
        key: `remove:${member.member_id}`,
        label: "Remove",
        icon: "left",
        question: `Remove ${name} from this room?`,
        act: () => page.control(`remove:${member.member_id}`, "groups.member.remove", params),
      })
    : nothing}`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Member} member
 * @param {string} name
 */
function loanActions(page, feed, member, name) {
  const isLoan = member.mine && member.kind === "agent" && member.lent !== null;
  if (!isLoan || member.presence === "withdrawn") return nothing;
  const key = `withdraw:${member.member_id}`;
  const params = { room_id: feed.room_id, member_id: member.member_id };
  return twoStepButton(page, {
    key,
    label: "Withdraw",
    icon: "withdrawn",
    question: `Take ${name} back? A running answer stops.`,
    act: () => page.ask(key, () => page.connection.request("grants.revoke", params)),
  });
}
