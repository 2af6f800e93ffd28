/**
 * The tree of a message's Markdown, as templates. Every string becomes a text node or a checked
 * attribute value; there is no way from a message to markup.
 *
 * @import { Member } from "./surface.js"
 * @import { Node } from "./markdown.js"
 */

import { html, nothing } from "./vendor/lit-html/lit-html.js";
import { icon } from "./icon.js";
import { pieces } from "./mentions.js";
import { shortId } from "./names.js";

/**
 * @typedef {{handles: ReadonlyMap<string, Member>,
 *   onCopy: (text: string, event: Event) => void}} Context
 */

/**
 * @param {readonly Node[]} nodes
 * @param {Context} context
 * @returns {unknown}
 */
export function markdownView(nodes, context) {
  return nodes.map((node) => view(node, context));
}

/**
 * @param {Node} node
 * @param {Context} context
 * @returns {unknown}
 */
function view(node, context) {
  const inside = () => ("children" in node ? markdownView(node.children, context) : nothing);
  switch (node.tag) {
    case "text":
      return textView(node.text, context);
    case "p":
      return html`<p>${inside()}</p>`;
    case "plain":
      return html`<p class="plain">${inside()}</p>`;
    // A message is no document of its own: its headings start below the page's.
    case "h1":
    case "h2":
      return html`<h3>${inside()}</h3>`;
    case "h3":
      return html`<h4>${inside()}</h4>`;
    case "h4":
      return html`<h5>${inside()}</h5>`;
    case "quote":
      return html`<blockquote>${inside()}</blockquote>`;
    case "strong":
      return html`<strong>${inside()}</strong>`;
    case "em":
      return html`<em>${inside()}</em>`;
    case "del":
      return html`<del>${inside()}</del>`;
    case "br":
      return html`<br />`;
    case "hr":
      return html`<hr />`;
    case "code":
      return html`<code dir="ltr">${node.text}</code>`;
    case "pre":
      return codeView(node.text, node.language, context);
    case "ul":
      return html`<ul>${inside()}</ul>`;
    case "ol":
      return html`<ol start=${node.start}>${inside()}</ol>`;
    case "item":
      return html`<li class=${node.checked == null ? "" : "task"}>
        ${taskMark(node.checked ?? null)}${inside()}
      </li>`;
    case "a":
      return linkView(node, context);
    case "table":
      return tableView(node, context);
  }
}

/**
 * @param {string} text
 * @param {Context} context
 */
function textView(text, { handles }) {
  if (!text.includes("@")) return text;
  return pieces(text, handles).map(({ text: words, member, isAll }) =>
    member === null
      ? isAll ? html`<span class="mention">${words}</span>` : words
      : html`<span class="mention ${member.me ? "me" : ""}" data-member-id=${member.member_id}
          title="${member.kind} on ${member.install_name}, ${shortId(member.member_id)}"
          >${words}</span>`,
  );
}

/**
 * @param {string} text
 * @param {string} language
 * @param {Context} context
 */
function codeView(text, language, { onCopy }) {
  return html`<figure class="code">
    <figcaption>
      <span>${language || "text"}</span>
      <button type="button" class="button small quiet" data-role="copy-code"
        @click=${(/** @type {Event} */ event) => onCopy(text, event)}>
        ${icon("copy")}<span>Copy</span>
      </button>
    </figcaption>
    <pre dir="ltr" tabindex="0"><code>${text}</code></pre>
  </figure>`;
}

/** @param {boolean|null} checked */
function taskMark(checked) {
  if (checked === null) return nothing;
  return html`<span class="mark" role="img" aria-label=${checked ? "done" : "to do"}
    >${icon(checked ? "task-done" : "task-open")}</span>`;
}

/**
 * @param {import("./markdown.js").LinkNode} node
 * @param {Context} context
 */
function linkView(node, context) {
  return html`<a href=${node.href} target="_blank" rel="noopener noreferrer nofollow"
    title=${node.href} class=${node.image ? "image" : ""}
    >${node.image ? icon("image") : nothing}${markdownView(node.children, context)}</a>`;
}

/**
 * @param {import("./markdown.js").TableNode} node
 * @param {Context} context
 */
function tableView(node, context) {
  const side = (/** @type {number} */ at) => node.align[at] ?? "";
  return html`<div class="table" tabindex="0" role="region" aria-label="Table">
    <table>
      <thead>
        <tr>${node.head.map((cell, at) =>
          html`<th scope="col" class=${side(at)}>${markdownView(cell, context)}</th>`)}</tr>
      </thead>
      <tbody>
        ${node.rows.map((row) => html`<tr>${row.map((cell, at) =>
          html`<td class=${side(at)}>${markdownView(cell, context)}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`;
}
