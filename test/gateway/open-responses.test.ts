/** The cases of the public Open Responses compliance suite, and failures, against the whole gateway. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { isObject, type JsonObject } from '../../src/lib/json.ts';
import { eventsOf } from '../support/documented.ts';
import { assertEvents, assertResponse } from '../support/open-responses.ts';
import { scriptedGateway, streamed } from '../support/scripted-gateway.ts';
import { call, type StartedGateway, startedGateway } from '../support/started-gateway.ts';
import { SPEECH } from '../support/upstreams/spoken.ts';

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const user = (content: unknown): object => ({ type: 'message', role: 'user', content });
const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

const CASES: Readonly<Record<string, JsonObject>> = {
  'a text': { input: [user('Say hello in exactly three words.')] },
  'a system prompt': { input: [{ type: 'message', role: 'system', content: 'You are a pirate.' }, user('Say hello.')] },
  'a tool call': { input: [user('What is the weather in Paris?')], tools: [WEATHER], tool_choice: 'required' },
  'an image': {
    input: [
      user([
        { type: 'input_text', text: 'What is it?' },
        { type: 'input_image', image_url: PIXEL },
      ]),
    ],
  },
  'a conversation of several turns': {
    input: [user('I am Alice.'), { type: 'message', role: 'assistant', content: 'Hello Alice.' }, user('Who am I?')],
  },
  'a tool without a description or parameters': { input: [user('Hi')], tools: [{ type: 'function', name: 'f' }] },
  'a schema': {
    input: [user('Hi')],
    text: { format: { type: 'json_schema', name: 'o', schema: { type: 'object', properties: {} } } },
  },
} as Record<string, JsonObject>;

describe('[R41] Open Responses', () => {
  let gateway: StartedGateway;
  let key: CreatedKey;

  before(async () => {
    gateway = await startedGateway();
    key = await gateway.creditKey();
  });

  after(() => gateway[Symbol.asyncDispose]());

  const send = (body: object): Promise<Response> =>
    call(`${key.origin}/v1/responses`, { method: 'POST', key: key.key, body });

  for (const model of ['sandbox/alpha', 'sandbox/beta']) {
    for (const [name, body] of Object.entries(CASES)) {
      test(`${name}, whole and streamed, from ${model}`, async () => {
        const whole = await send({ model, ...body });
        const text = await whole.text();
        assert.equal(whole.status, 200, text);
        assertResponse(JSON.parse(text));
        const list = eventsOf(await (await send({ model, ...body, stream: true })).text());
        assertEvents(list);
        assert.equal(list.at(-1)?.type, 'response.completed');
      });
    }
  }

  for (const to of ['chat', 'responses', 'messages'] as const) {
    test(`a stream that breaks off ends with a response.failed like its response.created, from a ${to} target`, async () => {
      await using scripted = await scriptedGateway({ provider: { formats: [to] } });
      const broken = await scripted.gateway.creditKey();
      const client = streamed(broken, 'responses', {
        instructions: 'Be brief.',
        temperature: 0.5,
        metadata: { a: 'b' },
      });
      const upstream = await scripted.first.next();
      upstream.streamHead();
      for (const frame of [...SPEECH[to].opening, SPEECH[to].text('one ')]) upstream.chunk(frame);
      await client.until(/one /);
      upstream.reset();
      const list = eventsOf((await client.ended).text);
      assertEvents(list);
      const created = list[0]?.response as JsonObject;
      const failed = list.at(-1)?.response as JsonObject;
      assert.deepEqual([list.at(-1)?.type, failed.status], ['response.failed', 'failed']);
      // [R64] Only an answer that is complete is kept.
      assert.deepEqual([created.store, failed.store], [true, false]);
      for (const name of Object.keys(created).filter((one) => !['status', 'error', 'output', 'store'].includes(one))) {
        assert.deepEqual(failed[name], created[name], name);
      }
      assert.match(
        JSON.stringify(failed.output),
        /"status":"incomplete".*"text":"one "|"text":"one ".*"status":"incomplete"/,
      );
      assert.ok(isObject(failed.error) && failed.error.code === 'upstream_error');
    });
  }
});
