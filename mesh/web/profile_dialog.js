/**
 * A new profile: a built-in agent, or one that speaks through an OpenAI-compatible endpoint.
 *
 * A key never passes through the page: the form takes the name of an environment variable or of
 * a file on the node's machine where the key lies.
 *
 * @import { Dialog, Page } from "./page.js"
 */

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { dialogFrame, labelled, valuesOf } from "./dialog_frame.js";
import { icon } from "./icon.js";

const AGENTS = [
  ["scribe", "Scribe: summaries, minutes, who is here"],
  ["guide", "Guide: explains the room it is in"],
  ["echo", "Echo: says what it was told, without a model"],
];

/**
 * @param {Page} page
 * @param {Dialog} dialog
 */
export function profileDialog(page, dialog) {
  const isEndpoint = dialog.backend === "openai";
  const backend = (/** @type {string} */ name, /** @type {string} */ title,
    /** @type {string} */ note) => html`<label>
      <input type="radio" name="backend" value=${name} ?checked=${dialog.backend === name}
        @change=${() => {
          dialog.backend = name;
          page.redraw();
        }} />
      <span><strong>${title}</strong><small>${note}</small></span></label>`;
  return dialogFrame(page, {
    kind: "profile",
    title: "New profile",
    body: html`<form data-role="profile-form"
      @submit=${(/** @type {Event} */ event) => void add(page, dialog, valuesOf(event))}>
      <fieldset class="segments"><legend>What answers</legend>
        ${backend("builtin", "Built in", "works at once, needs no model")}
        ${backend("openai", "A model", "any OpenAI-compatible endpoint")}
      </fieldset>
      ${isEndpoint ? endpointFields() : builtinFields()}
      ${labelled("Name", html`<input name="name" required maxlength="32" autocomplete="off"
        pattern="[a-z0-9][a-z0-9_\\-]*" placeholder="helper" />`,
        "Small letters, digits, - and _. It becomes its @handle.")}
      ${labelled("What it is for", html`<input name="description" maxlength="200"
        autocomplete="off" />`, "Others see this when you lend it.")}
      ${dialog.problem ? html`<p class="note bad" role="alert">${icon("warn")}
        <span>${dialog.problem}</span></p>` : nothing}
      <footer><button class="button primary" ?disabled=${page.busy === "profile"}>
        ${icon("plus")}Add the profile</button></footer>
    </form>`,
  });
}

function builtinFields() {
  return labelled("Agent", html`<select name="agent">${AGENTS.map(([name, words]) =>
    html`<option value=${name ?? ""}>${words}</option>`)}</select>`);
}

function endpointFields() {
  return html`
    ${labelled("Address", html`<input name="base_url" type="url" required autocomplete="off"
      placeholder="http://127.0.0.1:11434/v1" />`, "Ollama, vLLM, llama.cpp, or a hosted one.")}
    ${labelled("Model", html`<input name="model" required autocomplete="off" />`)}
    ${labelled("Environment variable with the key", html`<input name="api_key_env"
      autocomplete="off" placeholder="may be empty" pattern="[A-Za-z_][A-Za-z0-9_]*" />`,
      "Of the node’s process. The key itself never passes through this page.")}`;
}

/**
 * @param {Page} page
 * @param {Dialog} dialog
 * @param {Record<string, string>} values
 */
async function add(page, dialog, values) {
  const { backend, name, description } = values;
  const keys = backend === "openai" ? ["base_url", "model", "api_key_env"] : ["agent"];
  const options = Object.fromEntries(
    keys.map((key) => [key, values[key] ?? ""]).filter(([, value]) => value !== ""),
  );
  const config = { name, backend, options, ...(description ? { description } : {}) };
  const added = await page.ask("profile", () =>
    page.connection.request("profiles.add", { config }));
  if (added === undefined) return;
  await page.node.loadProfiles();
  page.toast(`The profile “${name}” was added.`, "", "good");
  if (dialog.then) page.open({ kind: "seat", room_id: dialog.then });
  else page.closeDialog();
}
