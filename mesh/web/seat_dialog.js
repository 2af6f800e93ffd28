/**
 * Seating an agent of this machine in a room.
 *
 * @import { Dialog, Page } from "./page.js"
 * @import { RoomFeed } from "./room_feed.js"
 * @import { ProfileStatus } from "./surface.js"
 */

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { dialogFrame } from "./dialog_frame.js";
import { icon } from "./icon.js";
import { emptyPlace, nameOf, picture, reasonWords } from "./marks.js";
import { present } from "./member.js";
import { cleanName } from "./names.js";

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {Dialog} dialog
 */
export function seatDialog(page, feed, dialog) {
  if (!dialog.isAsked) {
    dialog.isAsked = true;
    void page.node.loadProfiles();
  }
  const { profiles } = page.node;
  const seated = new Set(
    present(feed.state.members).filter((member) => member.mine).map((member) => member.profile),
  );
  const add = html`<button type="button" class="button" data-role="new-profile"
    @click=${() => page.open({ kind: "profile", backend: "builtin", then: feed.room_id })}>
    ${icon("plus")}New profile</button>`;
  return dialogFrame(page, {
    kind: "seat",
    title: "Add an agent of this machine",
    body: profiles === null ? html`<p class="quiet">Reading…</p>`
      : profiles.length === 0
        ? emptyPlace("spark", "No profile yet",
            "A profile is an agent that lives on this machine. Make one first.", add)
        : html`<ul class="choices">${profiles.map((profile) =>
            choice(page, feed, profile, seated.has(profile.name)))}</ul>
          <footer>${add}</footer>`,
  });
}

/**
 * @param {Page} page
 * @param {RoomFeed} feed
 * @param {ProfileStatus} profile
 * @param {boolean} isSeated
 */
function choice(page, feed, profile, isSeated) {
  const name = `seat:${profile.name}`;
  const seat = async () => {
    const params = { room_id: feed.room_id, profile: profile.name };
    if (await page.control(name, "groups.member.add", params)) page.closeDialog();
  };
  return html`<li data-role="profile-choice" data-profile=${profile.name}>
    ${picture({ id: profile.name, name: profile.display_name, kind: "agent" })}
    <span class="lines"><strong>${nameOf(profile.display_name, profile.name)}</strong>
      <span class="sub">${cleanName(profile.description) || profile.backend}</span>
      ${profile.state === "ready" ? nothing
        : html`<span class="sub warn">${icon("warn")}${profile.state}${profile.reason
            ? `: ${reasonWords(profile.reason)}` : ""}</span>`}</span>
    <button type="button" class="button small" ?disabled=${isSeated || page.busy === name}
      @click=${seat}>${isSeated ? "Is here" : "Add"}</button>
  </li>`;
}
