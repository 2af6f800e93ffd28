/**
 * The Markdown of messages, as a tree of allowed elements. It never makes HTML.
 *
 * marked's lexer cuts the text into tokens; each token known here becomes a node of the tree,
 * and everything else becomes plain text. HTML in a message is shown as the text it is. Links
 * are kept only for http and https, and images are never loaded: they become links (a picture
 * from elsewhere would tell its host who reads this room). The view turns the tree into
 * templates, so there is no place where a string could become markup. Pure.
 */

import { Lexer } from "./vendor/marked/marked.esm.js";

/** Longer texts are shown as they are: the lexer's work must stay bounded. */
export const MARKDOWN_LENGTH_MAX = 100_000;
/** Deeper nesting is shown as text. */
export const DEPTH_MAX = 24;

/**
 * @typedef {{tag: "text", text: string}} TextNode
 * @typedef {{tag: "p"|"h1"|"h2"|"h3"|"h4"|"quote"|"strong"|"em"|"del"|"item"|"plain",
 *   children: readonly Node[], checked?: boolean|null}} ParentNode
 * @typedef {{tag: "a", href: string, image: boolean, children: readonly Node[]}} LinkNode
 * @typedef {{tag: "code", text: string}} CodeNode
 * @typedef {{tag: "pre", text: string, language: string}} PreNode
 * @typedef {{tag: "ul"|"ol", start: number, children: readonly Node[]}} ListNode
 * @typedef {{tag: "table", align: readonly (string|null)[], head: readonly (readonly Node[])[],
 *   rows: readonly (readonly (readonly Node[])[])[]}} TableNode
 * @typedef {{tag: "br"}|{tag: "hr"}} BreakNode
 * @typedef {TextNode|ParentNode|LinkNode|CodeNode|PreNode|ListNode|TableNode|BreakNode} Node
 */

const ENTITIES = new Map(
  Object.entries({
    "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&apos;": "'",
    "&nbsp;": "\u00a0",
  }),
);
// Marks that reorder text across what follows, and controls other than line feed and tab.
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/**
 * @param {string} source the text of a message
 * @returns {readonly Node[]}
 */
export function parseMarkdown(source) {
  const text = source.replace(/\r\n?/g, "\n").replace(UNSAFE, "");
  if (text.length > MARKDOWN_LENGTH_MAX) return [plain(text)];
  try {
    return blocks(new Lexer({ gfm: true, breaks: true }).lex(text), 0);
  } catch (error) {
    // The lexer recurses; text made to exhaust the stack is shown as the text it is.
    if (error instanceof RangeError) return [plain(text)];
    throw error;
  }
}

/**
 * The address when it may be followed, else null.
 * @param {unknown} href
 * @returns {string|null}
 */
export function safeHref(href) {
  if (typeof href !== "string") return null;
  let url;
  try {
    url = new URL(href);
  } catch {
    return null; // Relative addresses too: a message has no base of its own.
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return null;
  // A name and password in front of the host serve only to make one host look like another.
  if (url.username !== "" || url.password !== "") return null;
  return url.href;
}

/**
 * @param {string} text
 * @returns {TextNode}
 */
function word(text) {
  return { tag: "text", text };
}

/**
 * @param {string} text
 * @returns {ParentNode}
 */
function plain(text) {
  return { tag: "plain", children: [word(text)] };
}

/** @param {string} text */
function decoded(text) {
  return text.replace(/&(?:amp|lt|gt|quot|apos|nbsp|#39);/g, (name) => ENTITIES.get(name) ?? name);
}

/**
 * @param {any[]} tokens
 * @param {number} depth
 * @returns {Node[]}
 */
function blocks(tokens, depth) {
  return tokens.flatMap((token) => block(token, depth) ?? []);
}

/**
 * @param {any} token
 * @param {number} depth
 * @returns {Node|null}
 */
function block(token, depth) {
  if (depth > DEPTH_MAX) return plain(String(token.raw ?? ""));
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const level = Math.min(Math.max(Number(token.depth) || 1, 1), 4);
      const tag = /** @type {"h1"|"h2"|"h3"|"h4"} */ (`h${level}`);
      return { tag, children: inlines(token.tokens, depth + 1) };
    }
    case "paragraph":
      return { tag: "p", children: inlines(token.tokens, depth + 1) };
    case "text":
      return { tag: "p", children: inlineText(token, depth) };
    case "blockquote":
      return { tag: "quote", children: blocks(token.tokens ?? [], depth + 1) };
    case "code":
      return { tag: "pre", text: token.text, language: languageOf(token.lang) };
    case "hr":
      return { tag: "hr" };
    case "list":
      return listOf(token, depth);
    case "table":
      return tableOf(token, depth);
    default: // "html" and whatever a newer lexer may add
      return plain(String(token.raw ?? "").trim());
  }
}

/** @param {unknown} lang */
function languageOf(lang) {
  const first = String(lang ?? "").trim().split(/\s/)[0] ?? "";
  return /^[\w+#.-]{1,24}$/.test(first) ? first : "";
}

/**
 * @param {any} token
 * @param {number} depth
 * @returns {ListNode}
 */
function listOf(token, depth) {
  const start = Number.isSafeInteger(token.start) ? token.start : 1;
  const children = token.items.map((/** @type {any} */ item) => ({
    tag: /** @type {const} */ ("item"),
    checked: item.task ? item.checked === true : null,
    children: itemOf(item, depth + 1),
  }));
  return { tag: token.ordered ? "ol" : "ul", start, children };
}

/**
 * A tight item holds its text directly, a loose one holds paragraphs.
 * @param {any} item
 * @param {number} depth
 * @returns {Node[]}
 */
function itemOf(item, depth) {
  return (item.tokens ?? []).flatMap((/** @type {any} */ token) => {
    if (token.type === "checkbox") return [];
    if (token.type === "text") return inlineText(token, depth);
    return block(token, depth) ?? [];
  });
}

/**
 * @param {any} token
 * @param {number} depth
 * @returns {TableNode}
 */
function tableOf(token, depth) {
  const cell = (/** @type {any} */ one) => inlines(one.tokens, depth + 1);
  return {
    tag: "table",
    align: token.align.map((/** @type {any} */ side) =>
      side === "center" || side === "right" ? side : null,
    ),
    head: token.header.map(cell),
    rows: token.rows.map((/** @type {any[]} */ row) => row.map(cell)),
  };
}

/**
 * @param {any} token
 * @param {number} depth
 * @returns {Node[]}
 */
function inlineText(token, depth) {
  if (token.tokens) return inlines(token.tokens, depth + 1);
  return [word(decoded(String(token.text ?? token.raw ?? "")))];
}

/**
 * @param {any[]|undefined} tokens
 * @param {number} depth
 * @returns {Node[]}
 */
function inlines(tokens, depth) {
  return (tokens ?? []).flatMap((token) => inline(token, depth));
}

/**
 * @param {any} token
 * @param {number} depth
 * @returns {Node|Node[]}
 */
function inline(token, depth) {
  if (depth > DEPTH_MAX) return word(String(token.raw ?? ""));
  switch (token.type) {
    case "text":
    case "escape":
      return inlineText(token, depth);
    case "strong":
    case "em":
    case "del":
      return { tag: token.type, children: inlines(token.tokens, depth + 1) };
    case "codespan":
      return { tag: "code", text: String(token.text ?? "") };
    case "br":
      return { tag: "br" };
    case "link":
    case "image":
      return linkOf(token, depth);
    default:
      return word(String(token.raw ?? ""));
  }
}

/**
 * @param {any} token
 * @param {number} depth
 * @returns {Node|Node[]}
 */
function linkOf(token, depth) {
  const href = safeHref(token.href);
  if (href === null) return word(String(token.raw ?? ""));
  const image = token.type === "image";
  const label = image ? [word(String(token.text || href))] : inlines(token.tokens, depth + 1);
  // A link inside a link is no link: only its words are kept.
  const children = label.flatMap((node) => (node.tag === "a" ? [...node.children] : [node]));
  return { tag: "a", href, image, children };
}
