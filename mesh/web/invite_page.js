/**
 * The page of an invitation link: who invites to what, what to lend, one button.
 *
 * Opened on the inviter's machine by a guest, this browser is not signed in there; then it says
 * the one command, and offers to open the same invitation in the guest's own node.
 *
 * @import { GuestInvitation, Loan } from "./invitation.js"
 * @import { ProfileStatus } from "./surface.js"
 */

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { labelled, valuesOf } from "./dialog_frame.js";
import { brand, icon } from "./icon.js";
import { nameOf, picture } from "./marks.js";
import { cleanName, shortId } from "./names.js";
import { endOfFriday, fullTime, until } from "./times.js";

const DAY_MS = 24 * 3_600_000;
const OWN_NODE = "http://127.0.0.1:7420";

/**
 * @typedef {{copy: (text: string) => void, isCopied: boolean}} Actions
 * @param {GuestInvitation} invitation
 * @param {Actions} actions
 */
export function invitePage(invitation, actions) {
  return html`<main class="alone" data-role="invite-page" data-state=${invitation.state}>
    <div class="alone-card">
      ${brand("large")}
      ${content(invitation, actions)}
    </div>
  </main>`;
}

/**
 * @param {GuestInvitation} invitation
 * @param {Actions} actions
 */
function content(invitation, actions) {
  switch (invitation.state) {
    case "reading":
      return html`<h1>An invitation</h1><p role="status">Asking who invites to what…</p>`;
    case "away":
      return awayView(invitation, actions);
    case "shown":
      return invitation.preview?.already_member ? memberView(invitation) : offerView(invitation);
    case "joining":
      return html`<h1>Joining…</h1><p role="status">Your node and the room’s host agree on it.</p>`;
    case "joined":
      return html`<h1>You are in</h1><p><a class="button primary" data-role="open-room"
        href="/#/r/${encodeURIComponent(invitation.room_id)}">Open the room</a></p>`;
    case "uncertain":
      return html`<h1>Not known yet</h1><p role="alert">${invitation.problem?.message}
        The invitation was sent, and the answer was lost. Asking again is safe.</p>
        <button type="button" class="button primary" data-role="ask-again"
          @click=${() => void invitation.askAgain()}>Ask again</button>`;
    case "failed":
      return failedView(invitation);
  }
}

/** @param {GuestInvitation} invitation */
function failedView(invitation) {
  const { problem } = invitation;
  return html`<h1>This did not work</h1>
    <p role="alert" data-role="problem" data-state=${problem?.reason ?? ""}>${problem?.message}
      ${problem?.next}</p>
    <p class="actions"><button type="button" class="button" @click=${() => void invitation.read()}>
      ${icon("reload")}Try again</button> <a class="button quiet" href="/">To the rooms</a></p>`;
}

/**
 * @param {GuestInvitation} invitation
 * @param {Actions} actions
 */
function awayView(invitation, actions) {
  const command = `roommesh join '${invitation.link}'`;
  const fragment = invitation.link.slice(invitation.link.indexOf("#"));
  const isOwn = location.origin === OWN_NODE;
  return html`<h1>You are invited to a room</h1>
    <p>Rooms live on people’s own machines. To see who invites to what, and to join, run this on
      yours:</p>
    <div class="command long"><code data-role="join-command" tabindex="0">${command}</code>
      <button type="button" class="button small" data-role="copy"
        @click=${() => actions.copy(command)}>
        ${icon(actions.isCopied ? "check" : "copy")}${actions.isCopied ? "Copied" : "Copy"}</button>
    </div>
    <p class="quiet">It shows you everything first and asks before it joins. It starts a node when
      none runs.</p>
    ${isOwn ? nothing : html`<p><a class="button" data-role="own-node" rel="noreferrer"
      href="${OWN_NODE}/i${fragment}">${icon("laptop")}Open it in my own node</a></p>`}
    <p class="quiet">Is this your own node? Sign this browser in with
      <code>roommesh open</code>, then reload.</p>`;
}

/** @param {GuestInvitation} invitation */
function memberView({ preview }) {
  return html`<h1>You are a member already</h1>
    <p>This link leads to ${nameOf(preview?.room_name, preview?.room_id)}, where you are in.</p>
    <p><a class="button primary" data-role="open-room"
      href="/#/r/${encodeURIComponent(preview?.room_id ?? "")}">Open the room</a></p>`;
}

/** @param {GuestInvitation} invitation */
function offerView(invitation) {
  const { preview, facts, profiles } = invitation;
  if (preview === null) return nothing;
  const { inviter } = preview;
  const count = Array.isArray(preview.members) ? preview.members.length : preview.members;
  const join = (/** @type {Event} */ event) => {
    const values = valuesOf(event);
    void invitation.join(cleanName(values.display_name), loansOf(values, profiles));
  };
  return html`<h1>${nameOf(preview.room_name, preview.room_id)}</h1>
    <p class="inviter">${picture({ id: inviter.install_id, name: inviter.display_name,
      kind: "person" })}
      <span class="lines"><strong>${nameOf(inviter.display_name, inviter.install_id)} invites
        you</strong><span class="sub">from ${nameOf(inviter.install_name, inviter.install_id)},
        <code>${shortId(inviter.install_id)}</code></span></span></p>
    <dl class="facts">
      <dt>You can</dt><dd>${preview.role === "listener" ? "read" : "read and write, bring an agent"}
      </dd>
      <dt>Members</dt><dd>${count}</dd>
      <dt>The link</dt><dd title=${fullTime(preview.expires_at)}>ends
        ${until(preview.expires_at, preview.server_time)}, ${preview.uses_left}
        ${preview.uses_left === 1 ? "use" : "uses"} left</dd>
    </dl>
    <form data-role="join-form" @submit=${join}>
      ${labelled("Your name there", html`<input name="display_name" maxlength="80"
        autocomplete="name" .defaultValue=${facts?.operator.member_name ?? ""} />`)}
      ${profiles.length > 0 && preview.role !== "listener" ? html`<fieldset>
        <legend>Lend an agent of yours?</legend>
        ${profiles.map((profile) => loanFields(profile))}</fieldset>` : nothing}
      <footer><button class="button primary" data-role="join">${icon("joined")}Join</button>
        <a class="button quiet" href="/">Not now</a></footer>
    </form>`;
}

/** @param {ProfileStatus} profile */
function loanFields({ name, display_name, description }) {
  const permission = (/** @type {string} */ word, /** @type {string} */ words) => html`<label
    class="check small"><input type="checkbox" name="${word}:${name}" checked />
    <span>${words}</span></label>`;
  return html`<div class="loan" data-role="loan" data-profile=${name}>
    <label class="check"><input type="checkbox" name="lend:${name}" />
      <span><strong>${nameOf(display_name, name)}</strong>
        <small>${cleanName(description)}</small></span></label>
    <div class="loan-terms">
      <p class="checks">${permission("dispatch", "may be asked")}
        ${permission("stop", "may be stopped")} ${permission("status", "may be watched")}</p>
      <div class="pair">
        ${labelled("Until", html`<select name="until:${name}">
          <option value="day">Tomorrow</option><option value="friday" selected>Friday</option>
          <option value="month">30 days</option></select>`)}
        ${labelled("Called there", html`<input name="handle:${name}" maxlength="20"
          autocomplete="off" .defaultValue=${name} />`)}
      </div>
      <p class="quiet">You can take it back at any moment; a running answer then stops.</p>
    </div>
  </div>`;
}

/**
 * @param {Record<string, string>} values
 * @param {ProfileStatus[]} profiles
 * @returns {Loan[]}
 */
function loansOf(values, profiles) {
  const now = Date.now();
  const ends = {
    day: now + DAY_MS,
    friday: Math.max(endOfFriday(now), now + 3_600_000),
    month: now + 30 * DAY_MS,
  };
  return profiles.filter(({ name }) => values[`lend:${name}`] === "on").map(({ name }) => {
    const handle = values[`handle:${name}`]?.trim();
    const wanted = ["dispatch", "stop", "status"];
    return {
      profile: name,
      permissions: wanted.filter((word) => values[`${word}:${name}`] === "on"),
      until: ends[/** @type {"day"} */ (values[`until:${name}`] ?? "friday")] ?? ends.friday,
      ...(handle && handle !== name ? { handle } : {}),
    };
  });
}
