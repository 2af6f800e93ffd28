// Markdown: what people write comes through, and nothing of it can become markup or a request.
import assert from "node:assert/strict";
import test from "node:test";

import { MARKDOWN_LENGTH_MAX, parseMarkdown, safeHref } from "../../mesh/web/markdown.js";

const ALLOWED = new Set([
  "text", "p", "plain", "h1", "h2", "h3", "h4", "quote", "strong", "em", "del", "item", "a",
  "code", "pre", "ul", "ol", "table", "br", "hr",
]);

function walk(nodes, visit) {
  for (const node of nodes) {
    visit(node);
    walk(node.children ?? [], visit);
    for (const cells of [node.head ?? [], ...(node.rows ?? [])]) {
      for (const cell of cells) walk(cell, visit);
    }
  }
}

function texts(nodes) {
  let all = "";
  walk(nodes, (node) => {
    if (node.text !== undefined) all += node.text;
  });
  return all;
}

function links(source) {
  const found = [];
  walk(parseMarkdown(source), (node) => node.tag === "a" && found.push(node.href));
  return found;
}

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "text <svg/onload=alert(1)> text",
  "<div>\n\n**bold**\n\n</div>",
  "[a](javascript:alert(1))",
  "[a](JaVaScRiPt:alert(1))",
  "[a](&#106;avascript:alert(1))",
  "[a](java\nscript:alert(1))",
  "[a](\u0001javascript:alert(1))",
  "[a](data:text/html,<script>alert(1)</script>)",
  "[a](vbscript:x)",
  "[a](//evil.example/x)",
  "[a](/rpc)",
  "[a](https://good.example@evil.example/)",
  "![x](javascript:alert(1))",
  "![x](data:image/svg+xml,<svg onload=alert(1)>)",
  "<javascript:alert(1)>",
  "[a]: javascript:alert(1)\n\n[a]",
  "| <script> | b |\n|-|-|\n| <img onerror=x> | [c](javascript:d) |",
  "```\"><script>alert(1)</script>\nx\n```",
  "> > > <iframe src=https://evil.example>",
  "- [ ] <input autofocus onfocus=alert(1)>",
  "<style>*{display:none}</style>",
  "<!-- comment --> <a href='javascript:1'>x</a>",
];

for (const source of HOSTILE) {
  test(`hostile text stays text: ${JSON.stringify(source)}`, () => {
    const nodes = parseMarkdown(source);
    walk(nodes, (node) => {
      assert.ok(ALLOWED.has(node.tag), node.tag);
      if (node.tag === "a") assert.match(node.href, /^https?:\/\//);
      if (node.tag === "pre") assert.match(node.language, /^[\w+#.-]{0,24}$/);
    });
    assert.deepEqual(links(source), []);
  });
}

test("HTML is shown as it was written", () => {
  assert.equal(texts(parseMarkdown("a <b>c</b> d")), "a <b>c</b> d");
  assert.equal(texts(parseMarkdown("<div>x</div>")), "<div>x</div>");
});

test("entities become the signs they name, once", () => {
  assert.equal(texts(parseMarkdown("1 &lt; 2 &amp;&amp; x")), "1 < 2 && x");
  assert.equal(texts(parseMarkdown("&amp;lt;")), "&lt;");
});

test("links of the web are kept; pictures become links and are not loaded", () => {
  assert.deepEqual(links("[a](https://example.org/x?y=1)"), ["https://example.org/x?y=1"]);
  assert.deepEqual(links("see https://example.org"), ["https://example.org/"]);
  const [paragraph] = parseMarkdown("![alt](https://example.org/p.png)");
  assert.deepEqual(paragraph.children[0].image, true);
});

test("a link that looks like another host is not a link", () => {
  assert.equal(safeHref("https://bank.example:x@evil.example"), null);
  assert.equal(safeHref("https://bank.example@evil.example"), null);
  assert.equal(safeHref("ftp://example.org"), null);
  assert.equal(safeHref(undefined), null);
});

test("a link inside a link is none", () => {
  const nested = "[a [b](https://b.example) c](https://a.example)";
  walk(parseMarkdown(nested), (node) => {
    if (node.tag === "a") walk(node.children, (inner) => assert.notEqual(inner.tag, "a"));
  });
});

test("marks that turn the direction of the text around are taken out", () => {
  assert.equal(texts(parseMarkdown("a\u202eb\u2066c\u0007")), "abc");
});

test("ordinary Markdown comes through", () => {
  const tags = (source) => parseMarkdown(source).map((node) => node.tag);
  assert.deepEqual(tags("# a\n\nb\n\n- c\n\n1. d\n\n> e\n\n---\n\n```js\nf\n```"),
    ["h1", "p", "ul", "ol", "quote", "hr", "pre"]);
  const [table] = parseMarkdown("| a | b |\n|:-:|--:|\n| 1 | 2 |");
  assert.deepEqual([table.tag, table.align, table.rows.length], ["table", ["center", "right"], 1]);
  const [list] = parseMarkdown("- [x] done\n- [ ] open\n- plain");
  assert.deepEqual(list.children.map((item) => item.checked), [true, false, null]);
});

test("a line break is a break, as in a chat", () => {
  const [paragraph] = parseMarkdown("a\nb");
  assert.deepEqual(paragraph.children.map((node) => node.tag), ["text", "br", "text"]);
});

test("work is bounded: long and deep texts are shown as text", () => {
  assert.equal(parseMarkdown("*".repeat(MARKDOWN_LENGTH_MAX + 1))[0].tag, "plain");
  let depth = 0;
  walk(parseMarkdown(`${">".repeat(2_000)} x`), () => (depth += 1));
  assert.ok(depth < 100, String(depth));
});
