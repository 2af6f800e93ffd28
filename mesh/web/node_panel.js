/**
 * This machine: its name and addresses, who may reach it, its links, profiles, loans, browsers.
 *
 * @import { Page } from "./page.js"
 * @import { BrowserSession, Grant, LinkStatus, ProfileStatus } from "./surface.js"
 */

import { live } from "./vendor/lit-html/directives/live.js";
import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { icon, presenceDot } from "./icon.js";
import { logout } from "./login.js";
import {
  copyButton, nameOf, picture, reasonWords, timeOf, twoStepButton,
} from "./marks.js";
import { cleanName, shortId } from "./names.js";
import { allowed } from "./system_lines.js";
import { ago, duration, moment } from "./times.js";

/** @param {Page} page */
export function nodePanel(page) {
  const { facts, problem, status } = page.node;
  return html`<header class="room-head">
      <a class="button icon-only back" href="#/" aria-label="All rooms">${icon("back")}</a>
      <div class="room-title"><h1>${nameOf(facts.name, facts.install_id)}</h1>
        <p>This machine · roommesh ${facts.version} · up
          ${duration(page.now() - facts.started_at_ms)}</p></div>
    </header>
    <div class="node-page" data-role="node-page">
      ${problem ? html`<p class="note bad" role="alert">${icon("warn")}
        <span>${problem.message} ${problem.next}</span></p>` : nothing}
      ${(status?.warnings ?? []).map((text) => html`<p class="note warn" role="status">
        ${icon("warn")}<span>${text}</span></p>`)}
      ${reachSection(page)} ${linksSection(page)} ${profilesSection(page)}
      ${loansSection(page)} ${browsersSection(page)} ${factsSection(page)}
    </div>`;
}

/** @param {Page} page */
function reachSection(page) {
  const { facts } = page.node;
  return html`<section class="card" data-role="reach-section">
    <h2>Who can reach it</h2>
    <label class="switch-row">
      <span class="lines"><strong>Let other machines connect</strong>
        <span class="sub">${facts.lan
          ? "Machines in your network can dial this node and open its page."
          : "Only programs and browsers on this machine can. Invitations then work here alone."}
        </span></span>
      <input type="checkbox" role="switch" data-role="lan" .checked=${live(facts.lan)}
        ?disabled=${page.busy === "lan"}
        @change=${(/** @type {Event} */ event) => {
          const { checked } = /** @type {HTMLInputElement} */ (event.currentTarget);
          void page.ask("lan", () => page.node.setLan(checked));
        }} />
    </label>
    ${facts.lan && facts.lan_urls.length > 0 ? html`
      <ul class="addresses">${facts.lan_urls.map((url) => html`<li><code>${url}</code>
        ${copyButton(page, url, `url:${url}`)}</li>`)}</ul>
      <div class="fingerprint"><p class="sub">Fingerprint of its certificate</p>
        <code data-role="fingerprint">${facts.fingerprint}</code>
        ${copyButton(page, facts.fingerprint, "fingerprint")}</div>
      <details class="why"><summary>Why does a browser warn me?</summary>
        <p>The node made its certificate itself, so no authority vouches for it and a browser says
        “your connection is not private”. The connection is encrypted. To be sure that you reached
        this machine, open the certificate in the browser and compare its SHA-256 fingerprint
        with the one above; if they are the same, go on. On this machine itself there is no
        warning.</p></details>` : nothing}
  </section>`;
}

/** @param {Page} page */
function linksSection(page) {
  const { status } = page.node;
  const links = status?.links ?? [];
  const sightings = (status?.sightings ?? []).filter((one) =>
    !links.some((link) => link.install_id === one.install_id));
  return html`<section class="card" data-role="links-section">
    <h2>Other machines</h2>
    ${links.length === 0 ? html`<p class="quiet">No link yet. A link appears when you join a room
      elsewhere, or somebody joins one here.</p>` : nothing}
    <ul class="lines-list">${links.map((link) => linkView(page, link))}</ul>
    ${sightings.length > 0 ? html`<h3>Seen in your network</h3>
      <ul class="lines-list">${sightings.map((one) => html`<li>${icon("eye")}
        <span class="lines"><strong>${nameOf(one.name, one.install_id)}</strong>
        <span class="sub">${one.address} · ${shortId(one.install_id)} · not verified</span></span>
      </li>`)}</ul>` : nothing}
  </section>`;
}

/**
 * @param {Page} page
 * @param {LinkStatus} link
 */
function linkView(page, link) {
  const isUp = link.state === "up";
  const why = !isUp && link.reason ? `: ${reasonWords(link.reason)}` : "";
  return html`<li data-role="link" data-state=${link.state} data-install-id=${link.install_id}>
    ${presenceDot(isUp ? "online" : "offline")}
    <span class="lines"><strong>${nameOf(link.name, link.install_id)}</strong>
      <span class="sub">${isUp ? "connected" : "away"} since
        ${moment(link.since_ms, page.now())}${why}</span>
      <span class="sub"><code>${shortId(link.install_id)}</code> ${link.address}</span></span>
  </li>`;
}

/** @param {Page} page */
function profilesSection(page) {
  const profiles = page.node.profiles ?? page.node.status?.profiles ?? [];
  return html`<section class="card" data-role="profiles-section">
    <h2>Agents of this machine</h2>
    <ul class="lines-list">${profiles.map((profile) => profileView(page, profile))}</ul>
    ${profiles.length === 0 ? html`<p class="quiet">No profile yet. A built-in one works at once,
      without a model.</p>` : nothing}
    <button type="button" class="button" data-role="add-profile"
      @click=${() => page.open({ kind: "profile", backend: "builtin" })}>${icon("plus")}
      Add a profile</button>
  </section>`;
}

/**
 * @param {Page} page
 * @param {ProfileStatus} profile
 */
function profileView(page, profile) {
  const params = { profile: profile.name };
  const test = () => page.ask(`test:${profile.name}`, async () => {
    const answer = await page.connection.request("profiles.test", params, 60_000);
    if (answer.ok) page.toast(`${profile.name} answered in ${answer.latency_ms} ms.`, "", "good");
    else page.toast(answer.message || answer.reason, answer.next);
  });
  const remove = `drop-profile:${profile.name}`;
  return html`<li data-role="profile" data-state=${profile.state} data-profile=${profile.name}>
    ${picture({ id: profile.name, name: profile.display_name, kind: "agent" })}
    <span class="lines"><strong>${nameOf(profile.display_name, profile.name)}</strong>
      <span class="sub">@<bdi>${cleanName(profile.name)}</bdi> · ${profile.backend} ·
        <span class=${profile.state === "failed" ? "bad" : ""}>${profile.state}${profile.reason
          ? `: ${reasonWords(profile.reason)}` : ""}</span></span>
      <span class="sub">${cleanName(profile.description)}</span></span>
    <span class="actions">
      <button type="button" class="button small" data-role="test-profile"
        ?disabled=${page.busy === `test:${profile.name}`} @click=${test}>
        ${page.busy === `test:${profile.name}` ? "Asking…" : "Test"}</button>
      ${twoStepButton(page, {
        key: remove,
        label: "Remove",
        question: "It leaves every room.",
        act: () => page.ask(remove, async () => {
          await page.connection.request("profiles.remove", params);
          await page.node.loadProfiles();
        }),
      })}
    </span>
  </li>`;
}

/** @param {Page} page */
function loansSection(page) {
  const grants = (page.node.grants ?? []).filter((grant) =>
    grant.direction === "issued" && grant.state === "active");
  if (grants.length === 0) return nothing;
  return html`<section class="card" data-role="loans-section">
    <h2>What you lend</h2>
    <ul class="lines-list">${grants.map((grant) => loanView(page, grant))}</ul>
  </section>`;
}

/**
 * @param {Page} page
 * @param {Grant} grant
 */
function loanView(page, grant) {
  const key = `withdraw:${grant.grant_id}`;
  const end = grant.until ? ` until ${moment(grant.until, page.now())}` : "";
  const used = grant.last_used_at ? `last used ${ago(grant.last_used_at, page.now())}` : "not used";
  return html`<li data-role="grant" data-state=${grant.state} data-grant-id=${grant.grant_id}>
    ${icon("handshake")}
    <span class="lines"><strong>@<bdi>${cleanName(grant.handle)}</bdi></strong>
      <span class="sub">in ${nameOf(grant.room_name, grant.room_id)}: may
        ${allowed(grant.permissions)}${end}</span>
      <span class="sub">${used}</span></span>
    ${twoStepButton(page, {
      key,
      label: "Withdraw",
      question: "A running answer stops.",
      act: () => page.ask(key, async () => {
        await page.connection.request("grants.revoke", { grant_id: grant.grant_id });
        await page.node.loadGrants();
      }),
    })}
  </li>`;
}

/** @param {Page} page */
function browsersSection(page) {
  const sessions = page.node.sessions ?? [];
  return html`<section class="card" data-role="browsers-section">
    <h2>Browsers that are signed in</h2>
    <ul class="lines-list">${sessions.map((one) => sessionView(page, one))}</ul>
    <p class="quiet">To sign another browser in, run <code>roommesh open --print</code> on this
      machine and open the link there.</p>
  </section>`;
}

/**
 * @param {Page} page
 * @param {BrowserSession} one
 */
function sessionView(page, one) {
  const key = `session:${one.session_id}`;
  const end = async () => {
    if (one.current) {
      await logout();
      location.assign("/");
      return;
    }
    await page.connection.request("node.session_revoke", { session_id: one.session_id });
    await page.node.loadSessions();
  };
  return html`<li data-role="browser-session" data-session-id=${one.session_id}>
    ${icon("laptop")}
    <span class="lines"><strong>${browserWords(one.user_agent)}</strong>
      ${one.current ? html`<span class="tag">this one</span>` : nothing}
      <span class="sub">since ${timeOf(one.created_at, "moment", page.now())}, last seen
        ${ago(one.last_seen_at, page.now())}</span></span>
    ${twoStepButton(page, {
      key,
      label: "Sign out",
      question: one.current ? "You need a new link to come back." : "Its pages close at once.",
      act: () => page.ask(key, end),
    })}
  </li>`;
}

/**
 * "Firefox on Linux", as far as the browser says so.
 * @param {string} agent
 */
export function browserWords(agent) {
  const browser = [["Edg/", "Edge"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"],
    ["Safari/", "Safari"]].find(([mark]) => agent.includes(mark ?? ""))?.[1];
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"].find((name) =>
    agent.includes(name));
  if (!browser) return cleanName(agent.slice(0, 60)) || "a browser";
  return system ? `${browser} on ${system.replace("Mac OS", "macOS")}` : browser;
}

/** @param {Page} page */
function factsSection(page) {
  const { facts, status } = page.node;
  return html`<section class="card">
    <h2>Facts</h2>
    <dl class="facts">
      <dt>Install</dt><dd><code>${facts.install_id}</code></dd>
      <dt>You are</dt><dd>${nameOf(facts.operator.member_name, facts.install_id)}</dd>
      <dt>Listens on</dt><dd>${facts.listen.map((url) => html`<code>${url}</code> `)}</dd>
      <dt>Home</dt><dd><code>${facts.home}</code></dd>
      ${status ? html`<dt>Stored</dt><dd>${status.storage.events} events,
        ${status.storage.queue} waiting to be written</dd>` : nothing}
    </dl>
  </section>`;
}
