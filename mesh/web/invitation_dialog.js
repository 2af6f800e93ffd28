/**
 * Invitations of a room: making one, showing its link once, and the life of each.
 *
 * The link holds the secret, is shown once and never stored by the page. How far it reaches is
 * said in words before it is sent to somebody who could not use it.
 *
 * @import { Dialog, Page } from "./page.js"
 * @import { RoomFeed } from "./room_feed.js"
 * @import { Invitation, NewInvitation } from "./surface.js"
 */

import { html, nothing, svg } from "./vendor/lit-html/lit-html.js";
import { dialogFrame, labelled, valuesOf } from "./dialog_frame.js";
import { icon } from "./icon.js";
import { copyButton, emptyPlace, nameOf, twoStepButton } from "./marks.js";
import { readQrCode } from "./qr_code.js";
import { moment, until } from "./times.js";

const HOUR_S = 3600;
const LIVES = [
  [HOUR_S, "1 hour"], [24 * HOUR_S, "1 day"], [7 * 24 * HOUR_S, "7 days"],
  [30 * 24 * HOUR_S, "30 days"],
];

/** @type {Record<NewInvitation["reach"], {icon: string, title: string, text: string}>} */
const REACH = {
  this_machine: {
    icon: "laptop",
    title: "This machine only",
    text: "Other machines cannot open this link, because your node listens to this one alone.",
  },
  lan: {
    icon: "wifi",
    title: "Your network",
    text: "It works for machines in the same network as yours.",
  },
  public: { icon: "globe", title: "Public", text: "It works from anywhere." },
};

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Dialog} dialog
 */
export function invitationDialog(page, feed, dialog) {
  if (!dialog.isAsked) {
    dialog.isAsked = true;
    void page.node.loadInvitations(feed.room_id);
  }
  const all = page.node.invitations.get(feed.room_id) ?? [];
  const tab = (/** @type {string} */ name, /** @type {unknown} */ words) => html`<button
    type="button" role="tab" data-role="tab-${name}" aria-selected=${String(dialog.tab === name)}
    @click=${() => {
      dialog.tab = name;
      page.armed = "";
      page.redraw();
    }}>${words}</button>`;
  return dialogFrame(page, {
    kind: "invite",
    title: html`Invite to ${nameOf(feed.state.room.name, feed.room_id)}`,
    body: html`<div class="tabs" role="tablist">
        ${tab("new", dialog.made ? "The link" : "New invitation")}
        ${tab("all", html`All invitations <span class="count">${all.length}</span>`)}
      </div>
      ${dialog.tab === "all" ? listView(page, all)
        : dialog.made ? madeView(page, feed, dialog, all) : createForm(page, feed, dialog)}`,
  });
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Dialog} dialog
 */
function createForm(page, feed, dialog) {
  const create = async (/** @type {Record<string, string>} */ values) => {
    dialog.terms = values;
    const made = await page.ask("invite", () => page.connection.request("invitations.create", {
      room_id: feed.room_id,
      ttl_seconds: Number(values.ttl),
      uses: Number(values.uses),
      role: values.role,
    }));
    if (made === undefined) return;
    dialog.made = made;
    await page.node.loadInvitations(feed.room_id);
  };
  return html`<form data-role="invite-form"
    @submit=${(/** @type {Event} */ event) => void create(valuesOf(event))}>
    <fieldset class="segments"><legend>They can</legend>
      <label><input type="radio" name="role" value="member" checked />
        <span><strong>Take part</strong><small>read, write, bring an agent</small></span></label>
      <label><input type="radio" name="role" value="listener" />
        <span><strong>Listen</strong><small>read only</small></span></label>
    </fieldset>
    <div class="pair">
      ${labelled("Works for", html`<select name="uses">${[1, 2, 5, 10, 25].map((uses) =>
        html`<option value=${uses}>${uses === 1 ? "one guest" : `${uses} guests`}</option>`)}
      </select>`)}
      ${labelled("How long", html`<select name="ttl">${LIVES.map(([seconds, words]) =>
        html`<option value=${seconds ?? 0} ?selected=${seconds === 24 * HOUR_S}>${words}</option>`)}
      </select>`)}
    </div>
    <footer><button class="button primary" data-role="create-invitation"
      ?disabled=${page.busy === "invite"}>${icon("link")}Make the link</button></footer>
  </form>`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Dialog} dialog
 * @param {Invitation[]} all
 */
function madeView(page, feed, dialog, all) {
  const made = /** @type {NewInvitation} */ (dialog.made);
  const life = all.find((one) => one.invitation_id === made.invitation_id);
  const isOpen = life === undefined || life.state === "open";
  return html`<div class="made" data-role="invitation" data-state=${life?.state ?? "open"}
    data-invitation-id=${made.invitation_id}>
    ${isOpen ? linkView(page, feed, dialog, made) : nothing}
    ${life ? lifeView(page, life) : nothing}
    ${isOpen ? nothing : html`<footer><button type="button" class="button primary"
      @click=${() => {
        dialog.made = undefined;
        page.redraw();
      }}>${icon("plus")}Make another</button></footer>`}
  </div>`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Dialog} dialog
 * @param {NewInvitation} made
 */
function linkView(page, feed, dialog, made) {
  const reach = REACH[made.reach] ?? REACH.lan;
  const isLocal = made.reach === "this_machine";
  return html`<p class="quiet">Send this link to the person you invite. It is shown only now.</p>
    <div class="link-row">
      <input readonly data-role="invitation-link" aria-label="Invitation link" .value=${made.link}
        @focus=${(/** @type {Event} */ event) =>
          /** @type {HTMLInputElement} */ (event.currentTarget).select()} />
      ${copyButton(page, made.link, "invitation")}
    </div>
    <div class="link-more">
      ${qrView(made.qr_svg)}
      <div class="lines">
        <p class="reach ${isLocal ? "warn" : ""}" data-role="reach" data-state=${made.reach}>
          ${icon(reach.icon)}<span><strong>${reach.title}.</strong> ${reach.text}</span></p>
        ${isLocal ? html`<button type="button" class="button small" data-role="open-lan"
          ?disabled=${page.busy === "lan"} @click=${() => void reachFurther(page, feed, dialog)}>
          ${icon("wifi")}Let other machines connect</button>` : nothing}
        <p class="quiet">Or, in a terminal on their machine:</p>
        <div class="command"><code>roommesh join '…'</code>
          ${copyButton(page, `roommesh join '${made.link}'`, "join-command")}</div>
      </div>
    </div>`;
}

/**
 * Opens the node to the network, takes the narrow link back and makes a wider one.
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Dialog} dialog
 */
async function reachFurther(page, feed, dialog) {
  await page.ask("lan", async () => {
    await page.node.setLan(true);
    const { invitation_id } = dialog.made;
    await page.connection.request("invitations.revoke", { invitation_id });
    dialog.made = await page.connection.request("invitations.create", {
      room_id: feed.room_id,
      ttl_seconds: Number(dialog.terms.ttl),
      uses: Number(dialog.terms.uses),
      role: dialog.terms.role,
    });
    await page.node.loadInvitations(feed.room_id);
  });
}

/** @param {string} text the SVG of the node */
function qrView(text) {
  const code = readQrCode(text);
  if (code === null) return nothing;
  return html`<svg class="qr" data-role="qr" viewBox="0 0 ${code.side} ${code.side}" role="img"
    aria-label="The link as a QR code">
    ${code.paths.map(({ data, is_line, scale }) => svg`<path class=${is_line ? "line" : "area"}
      d=${data} transform="scale(${scale})"></path>`)}
  </svg>`;
}

/**
 * @param {Page} page
 * @param {Invitation[]} all
 */
function listView(page, all) {
  if (all.length === 0) {
    return emptyPlace("link", "No invitation yet", "Make a link and send it to somebody.");
  }
  return html`<ul class="invitations" data-role="invitations">${all.map((one) =>
    html`<li data-role="invitation" data-state=${one.state}
      data-invitation-id=${one.invitation_id}>${lifeView(page, one)}</li>`)}</ul>`;
}

/** @type {Record<Invitation["state"], string>} */
const STATES = { open: "open", used: "used", expired: "expired", revoked: "taken back" };

/**
 * The life of one invitation: open, opened by somebody, used by whom, over.
 * @param {Page} page
 * @param {Invitation} one
 */
function lifeView(page, one) {
  const now = page.now();
  const step = (/** @type {string} */ state, /** @type {string} */ name,
    /** @type {unknown} */ words) =>
    html`<li class=${state} data-role="life" data-state=${name}>${words}</li>`;
  const end = {
    open: step("to-come", "expires", html`ends ${until(one.expires_at, now)}`),
    used: nothing,
    expired: step("over", "expired", html`ended ${moment(one.expires_at, now)}`),
    revoked: step("over", "revoked", "taken back: nobody can use it any more"),
  }[one.state];
  return html`<div class="life-head">
      <span class="state ${one.state}">${STATES[one.state]}</span>
      <span>${one.role === "listener" ? "to listen" : "to take part"} ·
        ${one.used} of ${one.uses} used</span>
    </div>
    <ol class="life">
      ${step("done", "made", html`made by ${nameOf(one.issuer.display_name, one.issuer.member_id)},
        ${moment(one.created_at, now)}`)}
      ${one.previewed_at
        ? step("done", "previewed", `opened by somebody, ${moment(one.previewed_at, now)}`)
        : one.state === "open" ? step("to-come", "previewed", "not opened yet") : nothing}
      ${one.redeemed_by.map((guest) => step("done", "used",
        html`used by ${nameOf(guest.display_name, guest.member_id)}, ${moment(guest.at, now)}`))}
      ${end}
    </ol>
    ${one.state === "open" ? twoStepButton(page, {
      key: `revoke:${one.invitation_id}`,
      label: "Take back",
      icon: "close",
      question: "Nobody can use this link any more.",
      act: () => page.control(`revoke:${one.invitation_id}`, "invitations.revoke",
        { invitation_id: one.invitation_id })
        .then(() => page.node.loadInvitations(one.room_id)),
    }) : nothing}`;
}
