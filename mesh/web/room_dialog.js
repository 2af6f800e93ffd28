/**
 * Making a room, and its settings: name, rules, leaving, closing.
 *
 * A name with nothing visible in it is refused here already, with the reason.
 *
 * @import { Dialog, Page } from "./page.js"
 * @import { RoomFeed } from "./room_feed.js"
 */

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { dialogFrame, labelled, valuesOf } from "./dialog_frame.js";
import { icon } from "./icon.js";
import { nameOf, twoStepButton } from "./marks.js";
import { cleanName, shortId, shownName } from "./names.js";
import { moment } from "./times.js";

const NO_NAME = "A name needs at least one visible letter.";

/**
 * @param {Page} page
 * @param {Dialog} dialog
 */
export function createRoomDialog(page, dialog) {
  const profiles = page.node.profiles ?? page.node.status?.profiles ?? [];
  return dialogFrame(page, {
    kind: "create-room",
    title: "New room",
    body: html`<form data-role="create-room-form"
      @submit=${(/** @type {Event} */ event) => void createRoom(page, dialog, valuesOf(event))}>
      ${labelled("Name", html`<input name="name" required maxlength="80" autofocus
        autocomplete="off" placeholder="What is it about?" aria-invalid=${String(!!dialog.error)}
        @input=${() => clear(page, dialog)} />`, dialog.error ?? "")}
      ${profiles.length > 0
        ? html`<fieldset><legend>Agents of this machine</legend>
            ${profiles.map((profile) => html`<label class="check">
              <input type="checkbox" name="profile:${profile.name}"
                ?checked=${profile.backend === "builtin"} />
              <span><strong>@<bdi>${cleanName(profile.name)}</bdi></strong>
                <small>${cleanName(profile.description)}</small></span></label>`)}
          </fieldset>`
        : nothing}
      <footer><button class="button primary" ?disabled=${page.busy === "create-room"}>
        ${icon("plus")}Make the room</button></footer>
    </form>`,
  });
}

/**
 * @param {Page} page
 * @param {Dialog} dialog
 */
function clear(page, dialog) {
  if (!dialog.error) return;
  dialog.error = undefined;
  page.redraw();
}

/**
 * @param {Page} page
 * @param {Dialog} dialog
 * @param {Record<string, string>} values
 */
async function createRoom(page, dialog, values) {
  const name = cleanName(values.name);
  if (name === "") {
    dialog.error = NO_NAME;
    page.redraw();
    return;
  }
  const members = Object.keys(values)
    .filter((key) => key.startsWith("profile:"))
    .map((key) => ({ profile: key.slice("profile:".length) }));
  const answer = await page.ask("create-room", () =>
    page.connection.request("groups.create", { name, members }));
  if (!answer) return;
  await page.ask("create-room", () => page.rooms.refresh());
  page.goRoom(answer.room.room_id);
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Dialog} dialog
 */
export function roomDialog(page, feed, dialog) {
  const { room } = feed.state;
  const isOwner = room.role === "owner" && room.disbanded_at === null;
  return dialogFrame(page, {
    kind: "room",
    title: nameOf(room.name, room.room_id),
    body: html`
      ${isOwner ? nameForm(page, feed, dialog) : nothing}
      ${isOwner ? rulesForm(page, feed) : nothing}
      ${factsView(page, feed)}
      ${room.disbanded_at === null ? endings(page, feed) : nothing}`,
  });
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Dialog} dialog
 */
function nameForm(page, feed, dialog) {
  const rename = async (/** @type {Record<string, string>} */ values) => {
    const name = cleanName(values.name);
    if (name === "") dialog.error = NO_NAME;
    else if (await page.control("rename", "groups.rename", { room_id: feed.room_id, name })) {
      page.closeDialog();
    }
    page.redraw();
  };
  return html`<form class="inline" data-role="rename-form"
    @submit=${(/** @type {Event} */ event) => void rename(valuesOf(event))}>
    ${labelled("Name", html`<input name="name" required maxlength="80" autocomplete="off"
      .defaultValue=${feed.state.room.name} @input=${() => clear(page, dialog)} />`,
      dialog.error ?? "")}
    <button class="button" ?disabled=${page.busy === "rename"}>Rename</button>
  </form>`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
function rulesForm(page, feed) {
  const { policy } = feed.state;
  const save = (/** @type {Record<string, string>} */ values) =>
    page.control("policy", "groups.policy.set", {
      room_id: feed.room_id,
      policy: { invite: values.invite, budget: Number(values.budget) },
    });
  return html`<form class="rules" data-role="policy-form"
    @submit=${(/** @type {Event} */ event) => void save(valuesOf(event))}>
    ${labelled("Who may invite", html`<select name="invite">
      <option value="owner" ?selected=${policy.invite !== "members"}>Only the owner</option>
      <option value="members" ?selected=${policy.invite === "members"}>Every member</option>
    </select>`)}
    ${labelled("Agent answers per message", html`<input name="budget" type="number" min="1"
      max="64" required .defaultValue=${String(policy.budget ?? 8)} />`,
      "A chain of agents answering each other stops here.")}
    <button class="button" ?disabled=${page.busy === "policy"}>Save the rules</button>
  </form>`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
function factsView(page, feed) {
  const { room, authority, last_seq, latest_seq, protected_seq, policy } = feed.state;
  return html`<dl class="facts">
    <dt>Room</dt><dd><code>${shortId(room.room_id)}</code></dd>
    <dt>Hosted by</dt>
    <dd>${room.copy ? html`<code>${shortId(authority.gateway_id)}</code>` : "this machine"},
      epoch ${authority.epoch}</dd>
    <dt>Log</dt><dd>${last_seq} of ${latest_seq} events here, ${protected_seq} protected</dd>
    <dt>Made</dt><dd>${moment(room.created_at, page.now())}</dd>
    <dt>Invite</dt><dd>${policy.invite === "members" ? "every member" : "only the owner"}</dd>
  </dl>`;
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 */
function endings(page, feed) {
  const { room } = feed.state;
  const name = shownName(room.name, room.room_id);
  const end = async (/** @type {string} */ method) => {
    const answer = await page.control(method, method, { room_id: feed.room_id });
    if (answer) page.closeDialog();
  };
  return html`<p class="actions endings">
    ${twoStepButton(page, {
      key: "groups.stop",
      label: "Stop all answers",
      icon: "stop",
      question: "Stop every answer being written?",
      act: () => page.control("groups.stop", "groups.stop", { room_id: feed.room_id }),
    })}
    ${room.role === "owner" ? nothing : twoStepButton(page, {
      key: "groups.leave",
      label: "Leave",
      icon: "left",
      question: `Leave ${name}? Your agents leave too.`,
      act: () => void end("groups.leave"),
    })}
    ${room.role === "owner" ? twoStepButton(page, {
      key: "groups.disband",
      label: "Close the room",
      icon: "lock",
      question: `Close ${name} for everybody, for ever?`,
      act: () => void end("groups.disband"),
    }) : nothing}
  </p>`;
}
