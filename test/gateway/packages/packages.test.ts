/** Gemini and Bedrock through their packages, for the official clients of all three formats. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Format } from '../../../src/core/endpoints.ts';
import { call } from '../../support/started-gateway.ts';
import { DIALOGUES } from './clients.ts';
import { BEDROCK_KEY, GOOGLE_KEY, type PackageGateway, packageGateway } from './package-gateway.ts';

const FORMATS: readonly Format[] = ['chat', 'responses', 'messages'];
const MODELS = ['gemini', 'bedrock'] as const;
const FINISH = {
  chat: { text: 'stop', tool: 'tool_calls' },
  responses: { text: 'completed', tool: 'completed' },
  messages: { text: 'end_turn', tool: 'tool_use' },
} as const;

/** aimock takes usage in the terms of the provider that is asked. */
function usage(input: number, output: number): Record<string, number> {
  return { promptTokenCount: input, candidatesTokenCount: output, input_tokens: input, output_tokens: output };
}

let setup: PackageGateway;

before(async () => {
  setup = await packageGateway();
});
after(() => setup[Symbol.asyncDispose]());
beforeEach(() => {
  setup.mock.clearFixtures();
});

async function credits(key: string): Promise<{ last: number; reserved: number; requests: number }> {
  const answer = await call(`${setup.gateway.origin}/v1/usage`, { key });
  const summary = (await answer.json()) as {
    credits: { last_request_cost: number; reserved: number };
    requests: { total: number };
  };
  return {
    last: summary.credits.last_request_cost,
    reserved: summary.credits.reserved,
    requests: summary.requests.total,
  };
}

for (const model of MODELS) {
  for (const format of FORMATS) {
    for (const stream of [false, true]) {
      describe(`${model} for a ${format} client, ${stream ? 'streamed' : 'whole'}`, () => {
        test('[R37] text and usage arrive, and what was reported is charged', async () => {
          setup.mock.onMessage('hello', { content: 'Hi there, good friend.', usage: usage(11, 5) });
          const key = await setup.key();
          const said = await DIALOGUES[format](setup, { model, stream, key }).ask('hello');
          assert.deepEqual(said, {
            text: 'Hi there, good friend.',
            calls: [],
            finish: FINISH[format].text,
            tokens: { input: 11, output: 5 },
          });
          assert.deepEqual(await credits(key), { last: 0.000021, reserved: 0, requests: 1 });
        });

        test('[R37] parallel tools are called and their results are understood', async () => {
          const calls = ['Paris', 'Rome'].map((city) => ({ name: 'get_weather', arguments: JSON.stringify({ city }) }));
          setup.mock.on({ userMessage: 'weather', hasToolResult: false }, { toolCalls: calls, usage: usage(20, 8) });
          setup.mock.on({ userMessage: 'weather', hasToolResult: true }, { content: 'Sunny.', usage: usage(30, 2) });
          const dialogue = DIALOGUES[format](setup, { model, stream, key: await setup.key() });
          const first = await dialogue.ask('weather');
          assert.deepEqual(
            first.calls,
            ['Paris', 'Rome'].map((city) => ({ name: 'get_weather', input: { city } })),
          );
          assert.equal(first.finish, FINISH[format].tool);
          const second = await dialogue.giveResult('sunshine');
          assert.deepEqual([second.text, second.finish], ['Sunny.', FINISH[format].text]);
          const sent = JSON.stringify(setup.mock.getLastRequest()?.body);
          assert.match(sent, /sunshine.*sunshine/, 'both results reach the provider');
        });

        test('[R31] errors of the provider become those of the gateway, without its credential', async () => {
          const secret = model === 'gemini' ? GOOGLE_KEY : BEDROCK_KEY;
          const key = await setup.key();
          const refused = async (status: number, message: string): Promise<{ status?: number; message: string }> => {
            setup.mock.nextRequestError(status, { message });
            const error = await DIALOGUES[format](setup, { model, stream, key })
              .ask('hello')
              .then(
                () => assert.fail('it must be refused'),
                (thrown: unknown) => thrown as { status?: number; message: string },
              );
            assert.doesNotMatch(error.message, new RegExp(secret));
            return error;
          };
          const limited = await refused(429, 'too many');
          assert.deepEqual([limited.status, /429/.test(limited.message)], [502, true]);
          assert.equal((await refused(500, 'broken')).status, 502);
          assert.equal((await refused(401, `bad key ${secret}`)).status, 502);
          const invalid = await refused(400, `temperature is too high, said ${secret}`);
          assert.equal(invalid.status, 400);
          assert.match(invalid.message, /temperature is too high, said \[redacted\]/);
          assert.deepEqual(await credits(key), { last: 0, reserved: 0, requests: 0 });
        });
      });
    }
  }
}

test('[R81] what a package cannot be told is named to a client of the responses format, or refused', async () => {
  setup.mock.onMessage('hello', { content: 'Hi.', usage: usage(11, 5) });
  const key = await setup.key();
  const ask = (input: readonly object[]) =>
    call(`${setup.gateway.origin}/v1/responses`, { key, body: { model: 'gemini', input } });
  const compaction = { type: 'compaction', encrypted_content: 'sealed by a provider' };
  const answer = await ask([{ role: 'user', content: 'x' }, compaction, { role: 'user', content: 'hello' }]);
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get('x-gateway-warnings'), 'left_out;param=input[1]');
  const file = { role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] };
  const refused = await ask([{ role: 'user', content: 'hello' }, file]);
  const { error } = (await refused.json()) as { error: { param: string } };
  assert.deepEqual([refused.status, error.param], [400, 'input[1].content[0].file_id']);
  assert.equal((await credits(key)).requests, 1);
});

test('models are listed with the format that their provider is taken to speak', async () => {
  const key = await setup.key();
  const models = await setup.openai(key).models.list();
  assert.deepEqual(
    models.data.map(({ id }) => id),
    ['gemini', 'bedrock'],
  );
});
