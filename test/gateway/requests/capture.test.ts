/** Prompts and answers are kept for keys that the operator captures, and for no others. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { adminFetch } from '../../support/admin-fetch.ts';
import { command } from '../../support/admin-fixture.ts';
import { ask, ClientStream, type ScriptedGateway, scriptedGateway } from '../../support/scripted-gateway.ts';
import { SPEECH } from '../../support/upstreams/spoken.ts';

const PROMPT = 'the question that is kept: né';
const ANSWER = 'the answer that is kept';
let scripted: ScriptedGateway;
let key: CreatedKey;

before(async () => {
  scripted = await scriptedGateway();
  key = await scripted.gateway.creditKey();
});
after(() => scripted[Symbol.asyncDispose]());

/** When the log has it: it is written beside the requests. */
async function content(id: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const fetched = adminFetch(scripted.gateway.dataDir);
  for (const untilMs = Date.now() + 120_000; (await fetched(`/requests/${id}`)).status !== 200; await delay(20)) {
    assert.ok(Date.now() < untilMs, `${id} is not in the log`);
  }
  const { status, body } = await fetched(`/requests/${id}/content`);
  return { status, body: body as Record<string, unknown> };
}

test('content is kept from when the operator turns it on until it is turned off, whole and streamed', async () => {
  const { admin } = scripted.gateway;
  const request = { messages: [{ role: 'user', content: PROMPT }] };
  scripted.first.answer = (call) => call.reply(200, SPEECH.chat.whole(ANSWER));
  const before = await ask(key, 'chat', request);
  await admin.changeKey(key.id, { capture_days: 7 });
  assert.equal((await admin.showKey(key.id)).capture_days, 7);
  const whole = await ask(key, 'chat', request);
  const { opening, text, closing } = SPEECH.chat;
  scripted.first.answer = (call) => call.stream([...opening, text('the answer '), text('that is kept'), ...closing]);
  const client = new ClientStream(key, 'chat', SPEECH.chat.request({ ...request, stream: true })).read();
  const streamed = String((await client.begun).headers['x-request-id']);
  const { text: events } = await client.ended;
  await admin.changeKey(key.id, { capture_days: null });
  scripted.first.answer = (call) => call.reply(200, SPEECH.chat.whole(ANSWER));
  const afterwards = await ask(key, 'chat', request);

  for (const { headers } of [before, afterwards]) {
    const { status, body } = await content(String(headers['x-request-id']));
    assert.equal(status, 404);
    assert.match(JSON.stringify(body), /was not captured.*capture_days/);
  }
  const kept = await content(String(whole.headers['x-request-id']));
  assert.equal(kept.status, 200);
  assert.deepEqual(JSON.parse(String(kept.body.request)).messages, request.messages);
  assert.deepEqual(JSON.parse(String(kept.body.response)), JSON.parse(whole.text));
  assert.equal(kept.body.cut, false);
  const { body } = await content(streamed);
  assert.match(String(body.response), /^data: .*the answer .*that is kept.*\[DONE\]\s*$/s);
  assert.equal(body.response, events);

  const trail = await admin.auditTrail({ action: 'request.content' });
  assert.ok(
    trail.data.some(({ target }) => target === streamed),
    'who read it is kept',
  );
  const changes = await admin.auditTrail({ action: 'key.change', target: key.id });
  assert.ok(
    changes.data.some(({ after }) => JSON.stringify(after).includes('capture_days')),
    'who turned it on is kept',
  );
});

test('what is no number of days is refused by name', async () => {
  for (const capture_days of [0, -1, 366, 1.5, 'always']) {
    await assert.rejects(scripted.gateway.admin.changeKey(key.id, { capture_days }), /capture_days/);
  }
  assert.equal((await scripted.gateway.admin.showKey(key.id)).capture_days, null);
});

test('gateway requests content prints it, with escapes for what a terminal would act on', async () => {
  const { admin } = scripted.gateway;
  await admin.changeKey(key.id, { capture_days: 1 });
  scripted.first.answer = (call) => call.reply(200, SPEECH.chat.whole('red \u009b31m\nand on'));
  const { headers } = await ask(key, 'chat', { messages: [{ role: 'user', content: 'blue \u009b34m' }] });
  const id = String(headers['x-request-id']);
  await content(id);
  const printed = await command(scripted.gateway.dataDir, 'requests', 'content', id);
  assert.equal(printed.stderr, '');
  assert.match(printed.stdout, /^Request \(kept until .*\):\n.*blue \\u\{9b\}34m.*\n\nResponse:\n.*red \\u\{9b\}31m/);
  assert.doesNotMatch(printed.stdout, /\u009b/);
});
