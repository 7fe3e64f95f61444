/** What observers are told while the store is out of reach, and what becomes of a request whose observer fails. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NO_LOG } from '../../../src/core/log.ts';
import { faultyGateway } from '../../support/faulty-gateway.ts';
import { RecordedRequests } from '../../support/recorded-requests.ts';
import { ask, configText, scriptedGateway } from '../../support/scripted-gateway.ts';
import { type ScriptedCall, ScriptedServer } from '../../support/upstreams/scripted.ts';
import { SPEECH, UPSTREAM_MODEL } from '../../support/upstreams/spoken.ts';

const whole = (upstream: ScriptedCall): void =>
  upstream.reply(200, SPEECH.chat.whole('Hi'), { 'x-request-id': 'prov-77' });

describe('a store that is out of reach', () => {
  test('is the end of a request too, before its admission and after its answer', async () => {
    const provider = await ScriptedServer.start();
    const own = new RecordedRequests();
    const config = configText({
      providers: {
        one: { kind: 'openai', base_url: `http://127.0.0.1:${provider.port}/v1`, api_key: 'sk-one', formats: ['chat'] },
      },
      targets: [{ provider: 'one', model: UPSTREAM_MODEL }],
      limits: { settle_wait: 0.2 },
    });
    {
      await using faulty = await faultyGateway(config, undefined, [own]);
      const paying = await faulty.admin.createKey({ mode: 'credit', credit: '5' });
      provider.answer = whole;
      await ask(paying, 'chat');
      provider.answer = (upstream) => {
        faulty.store.goDown();
        whole(upstream);
      };
      const late = await own.of(String((await ask(paying, 'chat')).headers['x-request-id']));
      assert.deepEqual([late.condition, late.status, late.settledAt], ['service_unavailable', 503, null]);
      assert.ok(late.charged, 'what it will be charged');
      const refused = await own.of(String((await ask(paying, 'chat')).headers['x-request-id']));
      assert.deepEqual([refused.condition, refused.keyId, refused.held], ['service_unavailable', paying.id, null]);
    }
    await provider.close();
  });
});

test('an observer that throws fails no request', async () => {
  const broken = {
    started: () => {
      throw new Error('started');
    },
    finished: () => {
      throw new Error('finished');
    },
  };
  const lines: string[] = [];
  const note = (_: object, message: string): void => {
    lines.push(message);
  };
  await using own = await scriptedGateway({
    observers: [broken],
    log: { ...NO_LOG, error: note },
  });
  own.first.answer = whole;
  assert.equal((await ask(await own.gateway.creditKey(), 'chat')).status, 200);
  assert.deepEqual(lines.filter((line) => line.startsWith('an observer of requests failed')).length, 2);
});
