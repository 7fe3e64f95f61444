/** A foreign upstream, aimock, with and without its chaos, behind the gateway; the official SDKs in front of it. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { LLMock } from '@copilotkit/aimock';
import OpenAI from 'openai';
import type { CreatedKey } from '../../../src/admin/keys/schema.ts';
import { ask, assertUncharged, configText, errorOf, settled } from '../../support/scripted-gateway.ts';
import { type StartedGateway, startedGateway } from '../../support/started-gateway.ts';
import { FORMAT_NAMES, SPEECH } from '../../support/upstreams/spoken.ts';

const SAID = 'Hello from a server that is not ours: grüß dich, 世界.';
const USAGE = { input_tokens: 17, output_tokens: 23 };
const TOTAL = 40;

let mock: LLMock;
let gateway: StartedGateway;
let key: CreatedKey;

before(async () => {
  mock = new LLMock({ port: 0, logLevel: 'silent' });
  mock.onMessage(/./, { content: SAID, usage: USAGE });
  await mock.start();
});

after(() => mock.stop());

/** A gateway for each test: its circuit would carry the chaos of one over to the next. */
beforeEach(async (context) => {
  gateway = await startedGateway({
    config: configText({
      providers: {
        openai: { kind: 'openai', base_url: `${mock.url}/v1`, api_key: 'sk-any', formats: ['chat', 'responses'] },
        anthropic: { kind: 'anthropic', base_url: mock.url, api_key: 'sk-any' },
      },
      targets: [
        { provider: 'openai', model: 'gpt-4o-mini' },
        { provider: 'anthropic', model: 'claude-sonnet-4' },
      ],
      routing: { max_attempts: 1 },
    }),
  });
  key = await gateway.tokenKey();
  if ('after' in context) {
    context.after(async () => {
      mock.clearChaos();
      await gateway[Symbol.asyncDispose]();
    });
  }
});

function openai(): OpenAI {
  return new OpenAI({ apiKey: key.key, baseURL: key.base_url, maxRetries: 0 });
}

function anthropic(): Anthropic {
  return new Anthropic({ apiKey: null, authToken: key.key, baseURL: key.origin, maxRetries: 0 });
}

async function charged(): Promise<void> {
  const { used, requests } = await settled(gateway, key);
  assert.deepEqual({ used, requests }, { used: TOTAL, requests: 1 });
}

describe('the official SDKs through the gateway to aimock', () => {
  test('chat, whole', async () => {
    const answer = await openai().chat.completions.create({
      model: 'tested',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    assert.equal(answer.choices[0]?.message.content, SAID);
    assert.equal(answer.model, 'tested');
    await charged();
  });

  test('[R39] chat, streamed; the usage chunk that the client did not ask for is not sent on', async () => {
    const stream = await openai().chat.completions.create({
      model: 'tested',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
    });
    let said = '';
    for await (const chunk of stream) {
      assert.equal(chunk.model, 'tested');
      assert.equal(chunk.choices.length, 1);
      said += chunk.choices[0]?.delta.content ?? '';
    }
    assert.equal(said, SAID);
    await charged();
  });

  test('responses, whole', async () => {
    const answer = await openai().responses.create({ model: 'tested', input: 'Hello' });
    assert.equal(answer.output_text, SAID);
    assert.equal(answer.model, 'tested');
    await charged();
  });

  test('responses, streamed', async () => {
    const stream = openai().responses.stream({ model: 'tested', input: 'Hello' });
    let said = '';
    stream.on('response.output_text.delta', ({ delta }) => {
      said += delta;
    });
    const answer = await stream.finalResponse();
    assert.equal(said, SAID);
    assert.equal(answer.model, 'tested');
    await charged();
  });

  test('[R41] responses that aimock leaves incomplete are completed: every field, every event numbered', async () => {
    const whole: unknown = JSON.parse((await ask(key, 'responses')).text);
    const { text } = await ask(key, 'responses', { stream: true });
    const events = text
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice('data: '.length)) as { sequence_number: number; response?: object });
    assert.deepEqual(
      events.map((event) => event.sequence_number),
      events.map((_, index) => index),
    );
    const objects = [whole, ...events.flatMap(({ response }) => (response ? [response] : []))];
    assert.ok(objects.length >= 3);
    for (const response of objects) {
      for (const field of ['error', 'incomplete_details', 'instructions', 'metadata', 'parallel_tool_calls', 'tools']) {
        assert.ok(Object.hasOwn(response as object, field), field);
      }
    }
    assert.equal((await settled(gateway, key)).used, 2 * TOTAL);
  });

  test('messages, whole', async () => {
    const answer = await anthropic().messages.create({
      model: 'tested',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hello' }],
    });
    assert.deepEqual(
      answer.content.map((block) => (block.type === 'text' ? block.text : null)),
      [SAID],
    );
    assert.equal(answer.model, 'tested');
    await charged();
  });

  test('messages, streamed', async () => {
    const stream = anthropic().messages.stream({
      model: 'tested',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hello' }],
    });
    assert.equal(await stream.finalText(), SAID);
    assert.equal((await stream.finalMessage()).model, 'tested');
    await charged();
  });
});

describe('the chaos of aimock', () => {
  for (const format of FORMAT_NAMES) {
    for (const stream of [false, true]) {
      const how = `${format}, ${stream ? 'streamed' : 'whole'}`;

      test(`[R31] it fails with 500: upstream_error, no charge (${how})`, async () => {
        mock.setChaos({ dropRate: 1 });
        const { status, code } = errorOf(await ask(key, format, { stream }));
        assert.deepEqual([status, code], [502, 'upstream_error']);
        await assertUncharged(gateway, key);
      });

      test(`[F17] it answers with malformed JSON: upstream_error, no charge (${how})`, async () => {
        mock.setChaos({ malformedRate: 1 });
        const { status, code } = errorOf(await ask(key, format, { stream }));
        assert.deepEqual([status, code], [502, 'upstream_error']);
        await assertUncharged(gateway, key);
      });

      test(`[R31] it limits with 429 and Retry-After: provider_unavailable, no charge (${how})`, async () => {
        mock.setChaos({ rateLimitRate: 1 });
        const answer = await ask(key, format, { stream });
        const { status, code } = errorOf(answer);
        assert.deepEqual([status, code], [502, 'provider_unavailable']);
        assert.match(answer.headers['retry-after'] ?? '', /^\d+$/);
        await assertUncharged(gateway, key);
      });

      test(`[F15] it drops the connection: 502, no charge (${how})`, async () => {
        mock.setChaos({ disconnectRate: 1 });
        assert.equal(errorOf(await ask(key, format, { stream })).status, 502);
        await assertUncharged(gateway, key);
      });
    }

    test(`[F15] [R46] [R50] it breaks off in the middle of a stream: in-band, billed with a record (${format})`, async () => {
      mock.prependFixture({
        match: { userMessage: /Hello/ },
        response: { content: SAID },
        truncateAfterChunks: 6,
        latency: 20,
        chunkSize: 4,
      });
      try {
        const { status, text } = await ask(key, format, { stream: true });
        assert.equal(status, 200);
        assert.match(text, SPEECH[format].inBandFailure);
        assert.doesNotMatch(text, SPEECH[format].terminal);
        const { used, requests } = await settled(gateway, key);
        assert.ok(used > 0);
        assert.equal(requests, 1);
      } finally {
        mock.clearFixtures();
        mock.onMessage(/./, { content: SAID, usage: USAGE });
      }
    });
  }
});
