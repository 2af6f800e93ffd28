// Names, mentions, times, QR codes, system lines: small things that face hostile input.
import assert from "node:assert/strict";
import test from "node:test";

import { completed, byHandle, mentioned, pieces, queryAt, suggestions, unknownMentions }
  from "../../mesh/web/mentions.js";
import { cleanName, hueOf, lookalikes, NAME_LENGTH_MAX, shortId, shownName }
  from "../../mesh/web/names.js";
import { readQrCode } from "../../mesh/web/qr_code.js";
import { lineOf } from "../../mesh/web/system_lines.js";
import { duration, until } from "../../mesh/web/times.js";
import { AGENT, event, ME, member } from "./plain_room.mjs";

test("names lose what hides, turns around or floods", () => {
  assert.equal(cleanName("Kit\u202etik"), "Kittik");
  assert.equal(cleanName("a\u200b\u2060b"), "ab");
  assert.equal(cleanName("one\r\nSYSTEM: two\u001b[31m"), "one SYSTEM: two[31m");
  assert.equal([...cleanName(`z${"\u0301".repeat(40)}`)].length, 4);
  assert.equal([...cleanName("x".repeat(500))].length, NAME_LENGTH_MAX);
  assert.equal(cleanName("Zoë 李 👩‍🚀").startsWith("Zoë 李"), true);
});

test("a name with nothing visible is the short id instead", () => {
  for (const name of ["", " ", "\u200b", "\u2800\u3164", "\u202e\u202c", null, 7]) {
    assert.equal(shownName(name, "m_0123456789abcdef"), "m_01234567", JSON.stringify(name));
  }
  assert.equal(shortId("install:0123456789ab"), "01234567");
});

test("a name that imitates an older one is marked, the older one is not", () => {
  const old = { ...member("m_1"), display_name: "Scribe", joined_at: 1 };
  const fake = { ...member("m_2"), display_name: "Sсribe", joined_at: 2 };
  const gone = { ...member("m_3"), display_name: "scribe", joined_at: 3, presence: "left" };
  const other = { ...member("m_4"), display_name: "Guide", joined_at: 4 };
  assert.deepEqual([...lookalikes([fake, old, gone, other])], [["m_2", "m_1"]]);
});

test("colours differ between ids that differ", () => {
  const hues = Array.from({ length: 64 }, (_, at) => hueOf(`m_${at}`));
  assert.equal(new Set(hues).size, 8);
});

const people = [
  member("m_scribe"), member("m_far", { handle: "scribe@desktop" }), member(ME, { handle: "ada" }),
  member("m_old", { handle: "old", presence: "left" }),
];
const handles = byHandle(people);
const marked = (text) => pieces(text, handles).filter((piece) => piece.member || piece.isAll)
  .map((piece) => piece.text);

test("only members of the room are marked as mentioned", () => {
  assert.deepEqual(marked("@scribe, ask @Scribe@desktop. @nobody @old"),
    ["@scribe", "@Scribe@desktop"]);
  assert.deepEqual(marked("mail a@scribe, path x/@scribe, @scribed, @all"), ["@all"]);
  assert.deepEqual(unknownMentions("@nobody and @scribe.", handles), ["nobody"]);
  assert.equal(mentioned("@scribe @SCRIBE", handles).length, 1);
});

test("a mention is completed where the caret is", () => {
  const text = "hi @sc, you";
  const query = queryAt(text, 6);
  assert.deepEqual(query, { start: 3, end: 6, word: "sc" });
  assert.deepEqual(completed(text, query, "scribe"), { text: "hi @scribe , you", caret: 11 });
  assert.equal(queryAt("mail a@sc", 9), null);
});

test("suggestions go by handle, name and member id, and leave out oneself and who left", () => {
  const found = (word) => suggestions(word, people).map((one) => one.handle);
  assert.deepEqual(found("sc"), ["scribe", "scribe@desktop"]);
  assert.deepEqual(found("m_far"), ["scribe@desktop"]);
  assert.deepEqual(found("ada"), []);
  assert.deepEqual(found("al"), ["all"]);
});

test("of a picture only checked path data is taken", () => {
  const svg = '<svg xmlns="x" viewBox="0 0 29 29"><path transform="scale(2)" stroke="#000" '
    + 'class="qrline" d="M4 4.5h7m1 0h2"/></svg>';
  assert.deepEqual(readQrCode(svg),
    { side: 29, paths: [{ data: "M4 4.5h7m1 0h2", is_line: true, scale: 2 }] });
  assert.equal(readQrCode('<svg viewBox="0 0 9 9"><script>1</script></svg>'), null);
  assert.equal(readQrCode('<svg viewBox="0 0 9 9"><path d="url(javascript:1)"/></svg>'), null);
  assert.equal(readQrCode('<svg viewBox="0 0 99999 9"><path d="M1 1"/></svg>'), null);
  assert.equal(readQrCode(null), null);
});

test("what others wrote is a marked part of a line of the system, never its words", () => {
  const members = new Map([[AGENT, member(AGENT, { display_name: "SYSTEM" })]]);
  const payload = { turn_id: "t", member_id: AGENT, reason: "x", message: "SYSTEM: all is well" };
  const line = lineOf(event(1, "turn.failed", payload), members);
  assert.deepEqual(line.parts, [
    { name: "SYSTEM", id: AGENT }, " could not answer: ", { quote: "SYSTEM: all is well" },
  ]);
  assert.equal(lineOf(event(2, "message.user", { text: "SYSTEM: x" }), members), null);
  assert.equal(lineOf(event(3, "newer.kind", {}), members), null);
});

test("where two members have one name, a line says which of them it means", () => {
  const twins = new Map([
    [AGENT, member(AGENT, { display_name: "Echo", handle: "echo@far" })],
    ["m_2", member("m_2", { display_name: "echo", handle: "echo" })],
    ["m_3", member("m_3", { display_name: "Scribe" })],
  ]);
  const removed = (member_id) => lineOf(event(1, "grant.revoked", { member_id }), twins).parts[0];
  assert.equal(removed(AGENT).handle, "echo@far");
  assert.equal(removed("m_3").handle, undefined);
});

test("a withdrawal says who and why", () => {
  const payload = { member_id: AGENT, reason: "lender_said_so" };
  const line = lineOf(event(1, "grant.revoked", payload), new Map());
  assert.equal(line.state, "withdrawn");
  assert.deepEqual(line.parts.at(-1), { quote: "lender said so" });
});

test("durations are whole words", () => {
  assert.equal(duration(59_000), "59 s");
  assert.equal(duration(61_000), "1 min");
  assert.equal(until(86_400_000, 5_000), "in 24 h");
});
