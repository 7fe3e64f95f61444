/** What is kept of a request quotes nothing of its conversation, wherever that comes from, and is a few lines at most. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import type { Format } from '../../../src/core/endpoints.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import type { RequestRecord } from '../../../src/core/request-record.ts';
import { RecordedRequests } from '../../support/recorded-requests.ts';
import { ask, type ScriptedGateway, scriptedGateway, secretOf } from '../../support/scripted-gateway.ts';
import { INPUT_TOKENS, SPEECH } from '../../support/upstreams/spoken.ts';

const SAID = 'the codename is Operation Nightingale Tuesday';
const recorded = new RecordedRequests();
const warned: string[] = [];
let scripted: ScriptedGateway;
let key: CreatedKey;

before(async () => {
  const warn = (fields: object, message: string): void => {
    warned.push(JSON.stringify({ ...fields, message }));
  };
  // Whatever the client speaks, it is translated, apart from messages.
  const provider = { formats: ['messages'], circuit_breaker: false };
  scripted = await scriptedGateway({ provider, observers: [recorded], log: { ...NO_LOG, warn } });
  key = await scripted.gateway.creditKey({ rpm_limit: 10_000 });
});
after(() => scripted[Symbol.asyncDispose]());

async function recordOf(format: Format, extra: object): Promise<RequestRecord> {
  const { headers } = await ask(key, format, extra);
  return recorded.of(String(headers['x-request-id']));
}

/** All that is kept of it, and what was logged meanwhile. */
function kept({ message, attempts, warnings }: RequestRecord): string {
  return JSON.stringify([message, attempts.map((attempt) => attempt.message), warnings, warned]);
}

function refuse(message: string): void {
  scripted.first.answer = (call) =>
    call.reply(400, { type: 'error', error: { type: 'invalid_request_error', message } });
}

function answer(): void {
  scripted.first.answer = (call) => call.reply(200, SPEECH.messages.whole('Hi'));
}

test('not of the turns before that a response refers to', async () => {
  answer();
  const { text } = await ask(key, 'responses', { input: SAID });
  const { id } = JSON.parse(text) as { id: string };
  refuse(`Refused by policy: ${SAID}`);
  const record = await recordOf('responses', { input: 'go on', previous_response_id: id });
  assert.equal(record.message, 'The provider refused the request (status 400): invalid_request_error.');
  assert.doesNotMatch(kept(record), /nightingale/i);
});

test('not of the answer that a stream has brought so far; the client gets the whole message', async () => {
  const { opening, text } = SPEECH.messages;
  const error = { type: 'error', error: { type: 'api_error', message: `filtered: ${SAID}` } };
  for (const [format, said] of [
    ['messages', SAID],
    ['chat', SAID],
    ['messages', 'word '.repeat(4_000)],
  ] as const) {
    scripted.first.answer = (call) => {
      call.streamHead();
      for (const frame of [...opening, text(said)]) call.chunk(frame);
      call.chunk(`event: error\ndata: ${JSON.stringify(error)}\n\n`);
    };
    const { headers, text: received } = await ask(key, format, { stream: true });
    assert.match(received, /filtered: the codename is Operation Nightingale/);
    const record = await recorded.of(String(headers['x-request-id']));
    const message = 'The provider reported an error: api_error.';
    assert.deepEqual([record.message, record.attempts[0]?.message], [message, message]);
    assert.doesNotMatch(kept(record), /nightingale/i);
  }
});

test('not where the gateway itself refuses what the client has sent', async () => {
  // What it does not refuse itself, the provider does.
  refuse(SAID);
  for (const [format, extra] of [
    ['chat', { [SAID]: 1, messages: [{ role: SAID, content: 'Hi' }] }],
    ['chat', { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: SAID } }] }] }],
    ['chat', { messages: [{ role: `a" ${SAID} "b`, content: 'Hi' }] }],
    ['chat', { response_format: { type: `json "${SAID}"` } }],
    ['chat', { metadata: { [SAID]: { [SAID]: SAID } } }],
    ['chat', { [SAID]: '\ud800' }],
    ['chat', { model: SAID }],
    ['chat', { service_tier: SAID }],
    ['responses', { input: 'Hi', previous_response_id: SAID }],
    ['responses', { input: [{ type: SAID }] }],
    ['messages', { messages: [{ role: 'user', content: [{ type: SAID }] }] }],
  ] as const) {
    const { status, headers } = await ask(key, format, extra);
    assert.ok(status >= 400, JSON.stringify(extra));
    const { message } = await recorded.of(String(headers['x-request-id']));
    assert.doesNotMatch(String(message), /nightingale/i, JSON.stringify(extra));
  }
});

test('a long answer that breaks off keeps what the gateway says of it', async () => {
  const { opening, text } = SPEECH.messages;
  scripted.first.answer = (call) => call.stream([...opening, text('word '.repeat(4_000))]);
  const record = await recordOf('messages', { stream: true });
  assert.equal(record.message, 'The provider ended the stream before the answer was complete.');
});

test('not where the translation says what it has left out', async () => {
  answer();
  const tools = [
    { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } },
    { type: `a tool for ${SAID}` },
  ];
  const record = await recordOf('responses', { input: 'Hi', tools });
  assert.match(record.warnings.join(), /tools\[1\]: the hosted tool "\[…\]" is left out/);
  assert.doesNotMatch(kept(record), /nightingale/i);
});

test('what is left out everywhere is one line of the log and of the record', async () => {
  answer();
  const before = warned.length;
  const messages = Array.from({ length: 2_000 }, () => ({ role: 'user', name: 'bob', content: 'Hi' }));
  const record = await recordOf('chat', { messages });
  assert.deepEqual([record.status, record.warnings], [200, ['messages[0].name: left out (and 1999 more like it)']]);
  assert.equal(warned.length - before, 1);
});

test("a provider's own id has no credential, whatever the provider puts there", async () => {
  scripted.first.answer = (call) =>
    call.reply(200, SPEECH.messages.whole('Hi'), { 'x-request-id': `id-1 ${secretOf('one')} ${key.key}` });
  const record = await recordOf('messages', {});
  assert.equal(record.usage?.tokens.input, INPUT_TOKENS);
  assert.equal(record.attempts[0]?.providerRequestId, 'id-1 [redacted] [redacted]');
});
