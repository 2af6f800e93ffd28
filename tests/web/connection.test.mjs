// The connection: requests and deadlines, loss and return, silence, being signed out.
import assert from "node:assert/strict";
import test, { mock } from "node:test";

import { CLOSE_SLOW_READER, Connection, RETRY_MAX_MS, retryBound } from "../../mesh/web/connection.js";

class FakeSocket {
  constructor() {
    this.sent = [];
    FakeSocket.all.push(this);
  }
  send(text) {
    this.sent.push(JSON.parse(text));
  }
  close(code) {
    this.closed = code;
  }
  answer(id, more) {
    this.onmessage({ data: JSON.stringify({ jsonrpc: "2.0", id, ...more }) });
  }
}

function setUp(more = {}) {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });
  FakeSocket.all = [];
  const heard = [];
  const states = [];
  const connection = new Connection({
    url: "ws://node/rpc",
    onNotification: (params) => heard.push(params),
    onStatus: (status) => states.push(status.state),
    makeSocket: () => new FakeSocket(),
    random: () => 0.5,
    ...more,
  });
  connection.start();
  return { connection, heard, states, socket: () => FakeSocket.all.at(-1) };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("requests get their answers, by id and in any order", async () => {
  const { connection, socket } = setUp();
  socket().onopen();
  const one = connection.request("a");
  const two = connection.request("b");
  socket().answer(2, { result: "second" });
  socket().answer(1, { result: "first" });
  assert.deepEqual(await Promise.all([one, two]), ["first", "second"]);
});

test("a refusal is a Problem with its reason and what to do", async () => {
  const { connection, socket } = setUp();
  socket().onopen();
  const asked = connection.request("a");
  const data = { reason: "forbidden", next: "Ask the owner." };
  socket().answer(1, { error: { code: 1, message: "No.", data } });
  await assert.rejects(asked, { reason: "forbidden", message: "No.", next: "Ask the owner." });
});

test("nothing is sent while the node cannot be reached", async () => {
  const { connection, socket } = setUp();
  await assert.rejects(connection.request("a"), { reason: "unreachable" });
  assert.deepEqual(socket().sent, []);
});

test("a request without an answer ends at its deadline, and a late answer is dropped", async () => {
  const { connection, socket } = setUp();
  socket().onopen();
  const asked = connection.request("a", {}, 1_000);
  mock.timers.tick(1_000);
  await assert.rejects(asked, { reason: "no_answer", isOutcomeUnknown: true });
  socket().answer(1, { result: 1 });
});

test("a lost connection ends what was asked, and is dialed again with jitter", async () => {
  const { connection, states, socket } = setUp();
  socket().onopen();
  const asked = connection.request("a");
  socket().onclose({ code: 1006 });
  await assert.rejects(asked, { reason: "connection_lost" });
  assert.equal(states.at(-1), "waiting");
  mock.timers.tick(retryBound(0) / 2);
  assert.equal(FakeSocket.all.length, 2);
});

test("the wait doubles up to a bound", () => {
  assert.deepEqual([0, 1, 2].map(retryBound), [500, 1_000, 2_000]);
  assert.equal(retryBound(50), RETRY_MAX_MS);
});

test("a reader that was too slow resumes at once", () => {
  const { socket } = setUp();
  socket().onopen();
  socket().onclose({ code: CLOSE_SLOW_READER });
  mock.timers.tick(0);
  assert.equal(FakeSocket.all.length, 2);
});

test("silence is questioned, and a dead socket is given up without its close", async () => {
  const { connection, socket } = setUp();
  socket().onopen();
  const first = socket();
  mock.timers.tick(20_000);
  assert.equal(first.sent[0].method, "node.info");
  mock.timers.tick(8_000);
  await settle();
  assert.equal(connection.status.state, "waiting");
  assert.equal(first.closed, 4000);
});

test("what is heard belongs to the socket that is in use", () => {
  const { heard, socket } = setUp();
  const old = socket();
  old.onopen();
  old.onclose({ code: 1006 });
  mock.timers.tick(1_000);
  socket().onopen();
  const notice = { data: JSON.stringify({ method: "event", params: { type: "x" } }) };
  old.onmessage(notice);
  socket().onmessage(notice);
  assert.equal(heard.length, 1);
});

test("something that is not JSON is no node", () => {
  const { connection, socket } = setUp();
  socket().onopen();
  socket().onmessage({ data: "<html>" });
  assert.equal(connection.isUp, false);
});

test("signed out, it does not dial again", async () => {
  const { connection, socket } = setUp({ onRefused: async () => true });
  socket().onopen();
  socket().onclose({ code: 4001 });
  await settle();
  assert.equal(connection.status.state, "stopped");
  mock.timers.tick(60_000);
  assert.equal(FakeSocket.all.length, 1);
});
