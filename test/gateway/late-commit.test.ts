/** A call that failed, on a store that cannot commit its end in time: the client is still told what happened to the call. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import type { FamilyName } from '../../src/observe/metrics/families.ts';
import { type FaultyGateway, faultyGateway } from '../support/faulty-gateway.ts';
import { ClientStream, errorOf } from '../support/scripted-gateway.ts';
import { type ScriptedCall, ScriptedServer } from '../support/upstreams/scripted.ts';
import { SPEECH, UPSTREAM_MODEL } from '../support/upstreams/spoken.ts';

interface Stage extends AsyncDisposable {
  readonly gateway: FaultyGateway;
  readonly provider: ScriptedServer;
  readonly key: CreatedKey;
}

async function stage(): Promise<Stage> {
  const provider = await ScriptedServer.start();
  const gateway = await faultyGateway(
    JSON.stringify({
      providers: {
        one: {
          kind: 'openai',
          base_url: `http://127.0.0.1:${provider.port}/v1`,
          api_key: 'sk-one-secret-0123',
          formats: ['chat', 'responses', 'messages'],
        },
      },
      models: [
        {
          id: 'tested',
          targets: [{ provider: 'one', model: UPSTREAM_MODEL }],
          context_window: 200_000,
          max_output_tokens: 8_000,
          pricing: { input: 1, output: 4 },
        },
      ],
      sandbox: false,
      routing: { max_attempts: 1 },
      // What the store fails to take is tried again at growing intervals: the drain waits for whichever it has come to.
      limits: { drain: 600, settle_wait: 0.2 },
    }),
  );
  const key = await gateway.admin.createKey({ mode: 'credit', credit: '5' });
  return {
    gateway,
    provider,
    key,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await provider.close();
    },
  };
}

async function assertEnded({ gateway, key }: Stage, charged: boolean): Promise<void> {
  gateway.store.comeBack();
  for (
    let view = await gateway.admin.showKey(key.id);
    view.live_holds > 0;
    view = await gateway.admin.showKey(key.id)
  ) {
    await delay(20);
  }
  const { used, reserved, requests } = await gateway.admin.showKey(key.id);
  assert.deepEqual({ charged: used > 0, reserved, requests }, { charged, reserved: 0, requests: charged ? 1 : 0 });
  assert.deepEqual((await gateway.admin.audit()).findings, []);
}

for (const format of ['chat', 'responses', 'messages'] as const) {
  test(`[F7] [R46] [R50] a stream that breaks while the store is down ends with its in-band failure (${format})`, async () => {
    await using fixture = await stage();
    const client = new ClientStream(fixture.key, format, SPEECH[format].request({ stream: true })).read();
    const call: ScriptedCall = await fixture.provider.next();
    call.streamHead();
    for (const frame of SPEECH[format].opening) call.chunk(frame);
    call.chunk(SPEECH[format].text('Hello'));
    await client.until(/Hello/);
    fixture.gateway.store.goDown();
    call.reset();
    const { text, complete } = await client.ended;
    assert.match(text, SPEECH[format].inBandFailure);
    assert.match(text, /upstream_error/);
    assert.equal(complete, true, 'the response is ended, not cut');
    await assertEnded(fixture, true);
  });

  test(`[F7] [R31] [R51] a refusal of the provider while the store is down is told as what it is (${format})`, async () => {
    await using fixture = await stage();
    const client = new ClientStream(fixture.key, format, SPEECH[format].request()).read();
    const call = await fixture.provider.next();
    fixture.gateway.store.goDown();
    call.reply(500, { error: { message: 'It broke.' } });
    const response = await client.begun;
    const answer = { status: response.statusCode ?? 0, headers: response.headers, text: (await client.ended).text };
    assert.deepEqual(errorOf(answer), {
      status: 502,
      code: 'upstream_error',
      message: 'The provider returned an error (status 500).',
    });
    await assertEnded(fixture, false);
  });
}

test('[R51] a responses stream whose charge is late goes on counting its events in the failure, and is still a hold', async () => {
  await using fixture = await stage();
  const client = new ClientStream(fixture.key, 'responses', SPEECH.responses.request({ stream: true })).read();
  const call = await fixture.provider.next();
  call.streamHead();
  for (const frame of SPEECH.responses.opening) call.chunk(frame);
  call.chunk(SPEECH.responses.text('Hi'));
  await client.until(/"delta":"Hi"/);
  fixture.gateway.store.goDown();
  for (const frame of SPEECH.responses.closing) call.chunk(frame);
  call.finish();
  const { text } = await client.ended;
  assert.match(text, /"code":"service_unavailable"/);
  const [reading] = await fixture.gateway.metrics();
  const value = (name: FamilyName): number =>
    Number(reading?.[name]?.find(({ labels }) => labels[0] !== 'token_budget')?.value);
  assert.equal(value('gateway_holds'), 1, 'answered, but held until the store has taken the charge');
  assert.ok(value('gateway_held_credits') > 0);
  assert.ok(value('gateway_oldest_hold_seconds') > 0);
  assert.ok(value('gateway_ledger_backlog') >= 1, 'its charge waits for the store');
  const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
  assert.deepEqual(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
  assert.match(text, /"type":"response\.failed","sequence_number":[78],"response":\{"id":"resp_1"/);
  await assertEnded(fixture, true);
});

test('[F9] [R51] a charge that is late is still made when the gateway is told to stop', async () => {
  const taken: string[] = [];
  {
    await using fixture = await stage();
    const client = new ClientStream(fixture.key, 'chat', SPEECH.chat.request()).read();
    const call = await fixture.provider.next();
    const { store } = fixture.gateway;
    store.goDown();
    call.reply(200, SPEECH.chat.whole('Hi'));
    assert.equal((await client.begun).statusCode, 503);
    await client.ended;
    const apply = store.apply.bind(store);
    store.apply = async (batch) => {
      const results = await apply(batch);
      taken.push(...batch.map(({ op }) => op));
      return results;
    };
    // From here the store takes everything again, and the gateway closes.
  }
  assert.ok(taken.includes('settle'), taken.join());
});
