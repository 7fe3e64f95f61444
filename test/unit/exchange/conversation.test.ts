import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ENDPOINTS } from '../../../src/core/endpoints.ts';
import { RequestRecord } from '../../../src/core/request-record.ts';
import { conversationOf } from '../../../src/exchange/conversation.ts';
import type { GenerationRequest, ReadHeader } from '../../../src/exchange/request.ts';
import { NO_COST_FIELDS } from '../../../src/wire/cost-fields.ts';
import { FORMATS } from '../../../src/wire/formats.ts';
import { parseBody } from '../../../src/wire/json/parse-request.ts';

type Name = 'chat' | 'responses' | 'messages';

function conversation(name: Name, body: object, headers: Partial<Record<ReadHeader, string>> = {}): string {
  const parsed = parseBody(Buffer.from(JSON.stringify({ model: 'm', ...body })));
  const info = FORMATS[name].validateRequest(parsed.body, parsed.bytes, { betas: false });
  const request: GenerationRequest = {
    requestId: 'req_1',
    endpoint: ENDPOINTS[name],
    originMode: 'credit',
    origin: null,
    path: ENDPOINTS[name].path,
    query: '',
    headers: { get: (header) => headers[header] ?? null, repeated: () => false },
    clientAddress: '',
    record: new RequestRecord('req_1', ENDPOINTS[name], 0),
    readBody: async () => parsed.bytes,
  };
  return conversationOf(request, { ...parsed, info, costFields: NO_COST_FIELDS });
}

const user = (content: string) => ({ role: 'user', content });
const HELLO = { messages: [user('Hello')] };

describe('the conversation of a request', () => {
  test('is what the client says it is', () => {
    assert.equal(conversation('chat', { ...HELLO, prompt_cache_key: 'k' }), 'k');
    assert.equal(conversation('messages', { ...HELLO, metadata: { user_id: 'u' } }), 'u');
    assert.equal(conversation('responses', { input: 'Hello' }, { session_id: 's' }), 's');
    assert.equal(conversation('chat', HELLO, { 'x-session-id': 'x' }), 'x');
  });

  test('stays the same while its prompt grows, and differs for another beginning', () => {
    const long = 'w'.repeat(2_000);
    const first = conversation('messages', { system: long, messages: [user(`${long} one`)] });
    const next = { role: 'assistant', content: 'Yes?' };
    const later = { system: long, messages: [user(`${long} one`), next, user('two')] };
    assert.equal(conversation('messages', later), first);
    assert.notEqual(conversation('messages', { system: `x${long}`, messages: [user(`${long} one`)] }), first);
    assert.notEqual(conversation('chat', { messages: [user(`y${long}`)] }), first);
  });
});
